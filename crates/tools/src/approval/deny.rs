//! `approvals.deny`: commands that the person never wants to run.

use globset::GlobBuilder;

use super::normalize::normalize;
use super::shell::Scene;

/// The pattern of `patterns` that `command`, or a program in it, matches.
pub(super) fn denied<'a>(command: &str, patterns: &'a [String]) -> Option<&'a str> {
    if patterns.is_empty() {
        return None;
    }
    let command = normalize(command);
    let scene = Scene::read(&command, None, None);
    // Programs inside of the command too: `true; echo forbidden` is no way around.
    let mut texts = vec![command.trim().to_owned()];
    for call in &scene.calls {
        let words: Vec<String> = call.words.iter().map(super::shell::Word::text).collect();
        let arguments = words.get(1..).unwrap_or_default().join(" ");
        texts.push(format!("{} {arguments}", call.program).trim().to_owned());
        texts.push(words.join(" "));
        if !call.wrappers.is_empty() {
            texts.push(format!("{} {}", call.wrappers.join(" "), words.join(" ")));
        }
    }
    patterns
        .iter()
        .map(String::as_str)
        .find(|pattern| texts.iter().any(|text| matches(pattern, text)))
}

/// A `*` stands for anything, slashes too; letters match in either case.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let glob = GlobBuilder::new(pattern.trim())
        .case_insensitive(true)
        .literal_separator(false)
        .backslash_escape(true)
        .build();
    match glob {
        Ok(glob) => glob.compile_matcher().is_match(text),
        // A pattern that is none means itself.
        Err(_) => pattern.trim().eq_ignore_ascii_case(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denied_command_is_found_wherever_it_stands() {
        let patterns = ["echo forbidden*".to_owned(), "git push*".to_owned()];
        for command in [
            "echo forbidden thing",
            "true && echo forbidden",
            "sudo git push x",
            "bash -c 'git push'",
            "/usr/bin/git  push",
            "ECHO Forbidden",
        ] {
            assert!(denied(command, &patterns).is_some(), "{command}");
        }
        for command in ["echo allowed", "echo 'git push'", "git pushover"] {
            let found = denied(command, &patterns);
            assert_eq!(
                found,
                (command == "git pushover").then_some("git push*"),
                "{command}"
            );
        }
    }

    #[test]
    fn a_pattern_that_is_no_glob_means_itself() {
        assert!(matches("a[b", "a[b"));
        assert!(!matches("a[b", "ab"));
    }
}
