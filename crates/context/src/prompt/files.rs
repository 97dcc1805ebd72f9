//! Project files of the prompt: which one, how much of it, and whether at all.

use std::fmt::Write as _;

use super::threats;

/// The kinds of project files, the first that is found wins. Names of one kind
/// are spellings of the same file. `true`: looked for from the working folder up.
const KINDS: &[(&[&str], bool)] = &[
    (&[".hermes.md", "HERMES.md"], true),
    (&["AGENTS.md", "agents.md"], true),
    (&["CLAUDE.md", "claude.md"], true),
    (&[".cursorrules", ".cursor/rules/*.mdc"], false),
];

/// A project file that was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectFile {
    /// How many folders above the working folder it is.
    pub above: usize,
    /// Its name in that folder.
    pub name: &'static str,
    /// What it says, without frontmatter.
    pub body: String,
}

/// Chooses the project files: exactly one kind, of it the nearest folder's.
///
/// `folders` counts the working folder and its parents up to the root of the
/// repository. `read` is asked for a name in the folder so many levels up and
/// answers with the text when there is such a file; for `.cursor/rules/*.mdc` with
/// the texts of all of them, one after the other.
pub fn choose(folders: usize, mut read: impl FnMut(usize, &str) -> Option<String>) -> Vec<ProjectFile> {
    for (names, upward) in KINDS {
        let reach = if *upward { folders } else { folders.min(1) };
        for above in 0..reach {
            let found = names.iter().filter_map(|name| {
                let body = without_frontmatter(&read(above, name)?).trim().to_owned();
                (!body.is_empty()).then_some(ProjectFile { above, name, body })
            });
            // Two spellings are one file on some systems; two cursor sources are not.
            let files: Vec<ProjectFile> = if *upward {
                found.take(1).collect()
            } else {
                found.collect()
            };
            if !files.is_empty() {
                return files;
            }
        }
    }
    Vec::new()
}

fn without_frontmatter(text: &str) -> &str {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some(rest) = text
        .strip_prefix("---\n")
        .or_else(|| text.strip_prefix("---\r\n"))
    else {
        return text;
    };
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        at += line.len();
        if line.trim_end() == "---" {
            return &rest[at..];
        }
    }
    text
}

/// The `# Project Context` block; empty without files.
pub(super) fn section(files: &[(String, String)], max_chars: usize, warnings: &mut Vec<String>) -> String {
    let mut block = String::new();
    for (path, body) in files {
        let body = safe_body(path, body.trim(), max_chars, warnings);
        if body.is_empty() {
            continue;
        }
        if block.is_empty() {
            block.push_str("# Project Context");
        }
        // Writing into a String cannot fail.
        let _ = write!(block, "\n\n## {path}\n\n{body}");
    }
    block
}

/// A file's text as it may stand in a prompt: blocked when it tries to command the
/// model, cut when it is too long.
pub(super) fn safe_body(path: &str, body: &str, max_chars: usize, warnings: &mut Vec<String>) -> String {
    let threats = threats::scan(body);
    if !threats.is_empty() {
        let ids = threats.join(", ");
        warnings.push(format!(
            "{path} was not loaded: it looks like a prompt injection ({ids})"
        ));
        return format!(
            "[BLOCKED: {path} contained potential prompt injection ({ids}). Content not loaded.]"
        );
    }
    cut(path, body, max_chars, warnings)
}

/// Keeps 70 % of the limit from the beginning and 20 % from the end.
fn cut(path: &str, body: &str, max_chars: usize, warnings: &mut Vec<String>) -> String {
    // Bytes first: most files are far below the limit.
    if max_chars == 0 || body.len() <= max_chars {
        return body.to_owned();
    }
    let total = body.chars().count();
    if total <= max_chars {
        return body.to_owned();
    }
    let (head, tail) = (max_chars * 7 / 10, max_chars * 2 / 10);
    let at = |chars: usize| {
        body.char_indices()
            .nth(chars)
            .map_or(body.len(), |(index, _)| index)
    };
    warnings.push(format!(
        "{path} was cut: {head} + {tail} of {total} characters are in the prompt"
    ));
    format!(
        "{}\n\n[...{path} cut: the first {head} and last {tail} of {total} characters are shown; read the file for the rest...]\n\n{}",
        &body[..at(head)],
        &body[at(total - tail)..]
    )
}
