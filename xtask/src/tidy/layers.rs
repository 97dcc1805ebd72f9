//! Which crate may use which: the table of docs/architecture.md against the manifests.

use super::Findings;
use crate::tree::Tree;

/// A crate, its floor, and the neighbours of its own floor that it may use.
struct Floor {
    name: &'static str,
    floor: u8,
    neighbours: &'static [&'static str],
}

const fn at(name: &'static str, floor: u8, neighbours: &'static [&'static str]) -> Floor {
    Floor {
        name,
        floor,
        neighbours,
    }
}

const FLOORS: &[Floor] = &[
    at("types", 0, &[]),
    at("redact", 1, &[]),
    at("context", 1, &["redact"]),
    at("recovery", 1, &[]),
    at("turn", 1, &["context", "recovery"]),
    at("llm", 2, &[]),
    at("providers", 2, &["llm"]),
    at("store", 2, &[]),
    at("tools", 2, &["web"]),
    at("peer", 2, &[]),
    at("plugins", 2, &["peer"]),
    at("mcp", 2, &["tools"]),
    at("web", 2, &[]),
    at("schedule", 2, &[]),
    at("memory", 2, &["peer"]),
    at("skills", 2, &[]),
    at("config", 2, &[]),
    at("runtime", 3, &[]),
    at("tui", 4, &[]),
    at("gateway", 4, &[]),
    at("http", 4, &[]),
    at("cli", 4, &["tui", "gateway", "http"]),
];

/// Outside of the floors: used by tests, and by the two commands of the binary that are the scripted
/// server themselves.
const SIDE: &str = "testkit";

pub(super) fn check(tree: &Tree, findings: &mut Findings) {
    for name in tree.crates() {
        let path = format!("crates/{name}/Cargo.toml");
        let Some(manifest) = tree.text(&path) else {
            continue;
        };
        for used in used(manifest) {
            if let Some(problem) = refuse(name, used) {
                findings.problem(format!("{path}: {problem}"));
            }
        }
        if name != SIDE && !FLOORS.iter().any(|floor| floor.name == name) {
            findings.problem(format!(
                "{path}: the crate has no floor; add it to the table in xtask/src/tidy/layers.rs"
            ));
        }
    }
}

/// Why this crate may not use that one.
fn refuse(user: &str, used: &str) -> Option<String> {
    let find = |name: &str| FLOORS.iter().find(|floor| floor.name == name);
    if used == SIDE {
        return (user != "cli").then(|| "testkit is for tests; make it a dev-dependency".to_owned());
    }
    if user == SIDE {
        return (used != "types").then(|| format!("testkit stands beside the floors and may not use {used}"));
    }
    let (user, used) = (find(user)?, find(used)?);
    let below = used.floor < user.floor || user.neighbours.contains(&used.name);
    (!below).then(|| {
        format!(
            "{} (floor {}) may not use {} (floor {})",
            user.name, user.floor, used.name, used.floor
        )
    })
}

/// The crates of the workspace among the dependencies proper.
fn used(manifest: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    manifest.lines().filter_map(move |line| {
        if line.starts_with('[') {
            inside = line.trim() == "[dependencies]";
        }
        let name = line.strip_prefix("talaria-").filter(|_| inside)?;
        name.split(['.', ' ', '=']).next()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pure_crate_may_not_use_the_edge_and_a_face_may_use_all_below() {
        assert!(refuse("turn", "store").is_some());
        assert!(refuse("store", "tools").is_some());
        assert!(refuse("store", "testkit").is_some());
        assert!(refuse("cli", "store").is_none());
        assert!(refuse("turn", "recovery").is_none());
    }

    #[test]
    fn only_proper_dependencies_count() {
        let manifest = "[dependencies]\ntalaria-types.workspace = true\n[dev-dependencies]\ntalaria-testkit.workspace = true\n";
        assert_eq!(used(manifest).collect::<Vec<_>>(), ["types"]);
    }
}
