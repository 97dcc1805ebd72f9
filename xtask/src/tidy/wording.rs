//! What a server's error says is read in one place, `recovery/classify`; elsewhere kinds are matched.

use super::Findings;
use crate::tree::Tree;

/// Where texts of errors are read on purpose.
const PLACE: &str = "crates/recovery/src/classify/";

/// Names under which texts of errors travel.
const CARRIERS: &[&str] = &[
    "message",
    "msg",
    "error",
    "err",
    "reason",
    "raw_body",
    "detail",
    "to_string()",
];

/// Files that may, and why.
const EXCEPTIONS: &[(&str, &str)] = &[(
    "crates/providers/src/failure.rs",
    "the HTTP library has no type for a name that was not found",
)];

pub(super) fn check(tree: &Tree, findings: &mut Findings) {
    let engine = ["recovery", "turn", "runtime", "llm", "providers", "context"];
    let files = tree.product().filter(|file| {
        !file.path.starts_with(PLACE)
            && !EXCEPTIONS.iter().any(|(path, _)| file.path == *path)
            && engine
                .iter()
                .any(|name| file.path.starts_with(&format!("crates/{name}/src/")))
    });
    for file in files {
        for (index, line) in file.code().enumerate() {
            if reads_an_error(line) {
                findings.problem(format!(
                    "{}:{}: an error is told by its text: {}",
                    file.path,
                    index + 1,
                    line.trim()
                ));
            }
        }
    }
}

/// Whether a literal is looked for in something that carries an error's text.
fn reads_an_error(line: &str) -> bool {
    [".contains(\"", ".starts_with(\"", ".ends_with(\""]
        .iter()
        .any(|call| {
            line.match_indices(call).any(|(at, _)| {
                let receiver = &line[..at];
                CARRIERS.iter().any(|name| {
                    receiver.strip_suffix(name).is_some_and(|before| {
                        !before.ends_with(|char: char| char.is_alphanumeric() || char == '_')
                    })
                })
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_an_error_is_told_from_reading_a_path() {
        assert!(reads_an_error("if failure.message.contains(\"rate limit\") {"));
        assert!(reads_an_error("error.to_string().contains(\"x\")"));
        assert!(!reads_an_error("if path.contains(\"models\") {"));
        assert!(!reads_an_error("if tool_message.contains(\"x\") {"));
    }
}
