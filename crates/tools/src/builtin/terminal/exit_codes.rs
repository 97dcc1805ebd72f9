//! Exit codes that are an answer and not a failure.

/// Programs, the code, and what it says.
const MEANINGS: &[(&[&str], i32, &str)] = &[
    (
        &["grep", "egrep", "fgrep", "rg", "ag", "ack"],
        1,
        "no match was found (not an error)",
    ),
    (&["diff", "cmp"], 1, "the files differ (not an error)"),
    (
        &["find"],
        1,
        "some folders could not be read; the rest was searched",
    ),
    (&["test", "[", "[["], 1, "the condition is false (not an error)"),
    (&["curl"], 6, "the host could not be resolved"),
    (&["curl"], 7, "the connection was refused"),
    (&["curl"], 22, "the server answered with an error status"),
    (&["curl"], 28, "the request timed out"),
    (
        &["git"],
        1,
        "often not an error: git diff --exit-code found changes, or nothing was to be done",
    ),
];

/// Codes of the shell itself.
const SHELL: &[(i32, &str)] = &[
    (126, "the program was found but cannot be run"),
    (127, "the command was not found"),
    (137, "killed (signal 9), often for want of memory"),
    (139, "segmentation fault (signal 11)"),
    (143, "terminated (signal 15)"),
];

/// What `code` of `command` says, when that is not plain.
pub(super) fn meaning(command: &str, code: i32) -> Option<&'static str> {
    if let Some((_, meaning)) = SHELL.iter().find(|(known, _)| *known == code) {
        return Some(meaning);
    }
    let program = last_program(command)?;
    let found = MEANINGS
        .iter()
        .find(|(programs, known, _)| *known == code && programs.contains(&program.as_str()));
    found.map(|(_, _, meaning)| *meaning)
}

/// The program whose exit code is that of the whole command.
fn last_program(command: &str) -> Option<String> {
    crate::approval::last_program(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_program_of_a_pipeline_gives_the_meaning() {
        assert_eq!(
            meaning("cat x | grep y", 1),
            Some("no match was found (not an error)")
        );
        assert_eq!(meaning("grep y x | cat", 1), None);
        assert_eq!(
            meaning("cd a && FOO=1 /usr/bin/diff a b", 1),
            Some("the files differ (not an error)")
        );
        assert_eq!(meaning("grep 'a|b' x", 2), None);
        assert_eq!(meaning("nope", 127), Some("the command was not found"));
    }
}
