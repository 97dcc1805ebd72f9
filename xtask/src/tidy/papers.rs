//! The papers a reader expects are there, and short enough to be read.

use super::Findings;
use crate::tree::Tree;

/// Papers and how many lines each may have.
const PAPERS: &[(&str, usize)] = &[
    ("README.md", 200),
    ("AGENTS.md", 150),
    ("CHANGELOG.md", 2000),
    ("docs/architecture.md", 600),
    ("LICENSE-MIT", 40),
    ("LICENSE-APACHE", 220),
    ("justfile", 80),
    ("deny.toml", 80),
    (".ci/run", 120),
];

/// Papers whose paths must lead somewhere.
const GUIDES: &[&str] = &["README.md", "AGENTS.md", "docs/architecture.md"];

pub(super) fn check(tree: &Tree, findings: &mut Findings) {
    for (path, most) in PAPERS {
        match tree.text(path).map(|text| text.lines().count()) {
            None => findings.problem(format!("{path} is missing")),
            Some(lines) if lines > *most => {
                findings.problem(format!("{path} has {lines} lines; at most {most}"));
            }
            Some(_) => {}
        }
    }
    for guide in GUIDES {
        for (line, place) in places(guide, tree.text(guide).unwrap_or_default()) {
            // NAME and NNNN stand for what the reader chooses.
            let is_pattern = place.contains("NAME") || place.contains("NNNN");
            if !is_pattern && !tree.root.join(&place).exists() {
                findings.problem(format!("{guide}:{line}: there is no {place}"));
            }
        }
    }
}

/// Line and path of each link to a file, and of each path in backticks that begins at the root.
fn places(guide: &str, text: &str) -> Vec<(usize, String)> {
    let folder = guide.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut places = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for link in line.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if !link.contains("://") && !link.starts_with('#') {
                places.push((
                    index + 1,
                    format!("{folder}/{link}").trim_start_matches('/').to_owned(),
                ));
            }
        }
        for word in line.split('`').skip(1).step_by(2) {
            if ["crates/", "xtask/", "docs/"]
                .iter()
                .any(|start| word.starts_with(start))
                && !word.contains(' ')
            {
                places.push((index + 1, word.to_owned()));
            }
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_paths_are_found_and_addresses_are_not() {
        let text = "[a](../crates/x.rs) `crates/y/` [b](https://z) `cargo test`\n";
        let found: Vec<String> = places("docs/g.md", text)
            .into_iter()
            .map(|(_, place)| place)
            .collect();
        assert_eq!(found, ["docs/../crates/x.rs", "crates/y/"]);
    }
}
