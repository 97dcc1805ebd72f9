//! `approvals.deny`: commands that the person never wants to run.

use globset::GlobBuilder;

use super::matchers::git::subcommand;
use super::normalize::normalize;
use super::shell::{Scene, program_name};

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
        // Git's own options stand before what it is asked to do.
        if let Some((name, rest)) = subcommand(call) {
            texts.push(format!("git {name} {}", rest.join(" ")).trim().to_owned());
        }
        // A pattern in the place of a program's name stands for every program it fits.
        let pattern_name = call.words.first().filter(|word| word.is_pattern());
        if let Some(name) = pattern_name.map(program_name) {
            let meant = patterns
                .iter()
                .filter_map(|pattern| pattern.split_whitespace().next())
                .filter(|program| matches(&name, program));
            texts.extend(meant.map(|program| format!("{program} {arguments}").trim().to_owned()));
        }
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
    fn a_denied_program_ran_by_its_folder_its_options_or_a_pattern() {
        let patterns = ["curl *".to_owned(), "git push*".to_owned()];
        for command in [
            "/usr/bin/curl http://127.0.0.1/",
            "/usr/bin/cur? http://127.0.0.1/",
            "/usr/bin/c[u]rl http://127.0.0.1/",
            "git -C . push origin",
            "git -c a=b --no-pager push",
            "/usr/bin/gi? -C . push",
            "x=curl; $x http://127.0.0.1/",
        ] {
            assert!(denied(command, &patterns).is_some(), "{command}");
        }
        for command in [
            "git -C push status",
            "/usr/bin/ca? curl",
            "git log push",
            "curlew x",
        ] {
            assert_eq!(denied(command, &patterns), None, "{command}");
        }
    }

    #[test]
    fn a_pattern_that_is_no_glob_means_itself() {
        assert!(matches("a[b", "a[b"));
        assert!(!matches("a[b", "ab"));
    }
}
