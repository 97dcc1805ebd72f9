//! How long functions are. The lint refuses those over 100 lines; this tells how the rest are spread.

use super::Findings;
use crate::tree::Tree;

const WISHED: usize = 60;

pub(super) fn check(tree: &Tree, findings: &mut Findings) {
    let mut all: Vec<(usize, String)> = Vec::new();
    for file in tree.product() {
        let lines: Vec<&str> = file.code().collect();
        all.extend(functions(&lines).map(|(name, length)| (length, format!("{}:{name}", file.path))));
    }
    all.sort();
    let Some(last) = all.last() else { return };
    let at = |part: usize| all[(all.len() * part / 100).min(all.len() - 1)].0;
    findings.note(format!(
        "{} functions; half have at most {} lines, 90 % {}, 99 % {}, the longest {} ({})",
        all.len(),
        at(50),
        at(90),
        at(99),
        last.0,
        last.1
    ));
    if at(99) > WISHED {
        let long: Vec<&str> = all
            .iter()
            .filter(|(length, _)| *length > WISHED)
            .map(|(_, name)| name.as_str())
            .collect();
        findings.problem(format!(
            "one function in a hundred has more than {WISHED} lines: {}",
            long.join(", ")
        ));
    }
}

/// Name and length of each function. Formatted code closes a body at the indentation of its `fn`.
fn functions<'a>(lines: &'a [&'a str]) -> impl Iterator<Item = (&'a str, usize)> {
    lines.iter().enumerate().filter_map(|(at, line)| {
        let indent = line.len() - line.trim_start().len();
        let name = function_name(line.trim_start())?;
        let closing = format!("{}}}", &line[..indent]);
        let rest = &lines[at..];
        // One-line bodies and declarations of traits end where they begin.
        let head = rest
            .iter()
            .position(|line| line.ends_with('{') || line.ends_with(';') || line.ends_with('}'))?;
        if !rest[head].ends_with('{') {
            return Some((name, head + 1));
        }
        let end = rest.iter().position(|line| **line == closing)?;
        Some((name, end + 1))
    })
}

fn function_name(line: &str) -> Option<&str> {
    let start = line.find("fn ")?;
    let before = line[..start].trim_end();
    let words = before.split(' ').all(|word| {
        word.is_empty()
            || word.starts_with("pub")
            || matches!(word, "async" | "const" | "extern" | "in" | "crate)" | "super)")
    });
    let name = line[start + 3..].split(['(', '<']).next()?;
    (words && !name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_measured_from_its_head_to_its_closing_brace() {
        let text = "impl A {\n    pub(crate) async fn b(\n        c: u8,\n    ) -> u8 {\n        c\n    }\n\n    fn d(&self);\n}\nfn e() {}\n";
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            functions(&lines).collect::<Vec<_>>(),
            [("b", 5), ("d", 1), ("e", 1)]
        );
    }
}
