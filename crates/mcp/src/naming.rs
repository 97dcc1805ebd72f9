//! Names of tools as the model calls them: `mcp__server__tool`.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

/// The longest name that every provider takes.
const LONGEST: usize = 64;
/// Characters that tell names apart that were cut or are equal otherwise.
const MARK: usize = 6;

/// The toolset of a server.
pub(crate) fn toolset(server: &str) -> String {
    format!("mcp-{server}")
}

/// The name of `tool` of `server`: letters, digits and underscores, at most 64, unlike all of `taken`.
pub(crate) fn tool(server: &str, tool: &str, taken: &BTreeSet<String>) -> String {
    let plain = format!("mcp__{}__{}", clean(server), clean(tool));
    if plain.len() <= LONGEST && !taken.contains(&plain) {
        return plain;
    }
    let digest = Sha256::digest(format!("{server}\0{tool}"));
    let mark: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let kept: String = plain.chars().take(LONGEST - MARK - 1).collect();
    format!("{kept}_{}", &mark[..MARK])
}

/// As a file name: nothing that leaves its folder.
pub(crate) fn file(server: &str) -> String {
    let safe = |c: char| {
        if c.is_ascii_alphanumeric() || "-_".contains(c) {
            c
        } else {
            '_'
        }
    };
    server.chars().map(safe).take(80).collect()
}

fn clean(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    name.chars().map(safe).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_clean_and_unlike_each_other() {
        let mut taken = BTreeSet::new();
        assert_eq!(tool("my.server", "get-sum", &taken), "mcp__my_server__get_sum");
        taken.insert("mcp__my_server__get_sum".to_owned());
        let other = tool("my.server", "get_sum", &taken);
        assert!(
            other.starts_with("mcp__my_server__get_sum_") && other.len() <= LONGEST,
            "{other}"
        );
    }

    #[test]
    fn a_long_name_is_cut_and_stays_its_own() {
        let names = ["a", "b"].map(|end| {
            tool(
                "server",
                &format!("{}{end}", "long_".repeat(30)),
                &BTreeSet::new(),
            )
        });
        assert!(names.iter().all(|name| name.len() == LONGEST));
        assert_ne!(names[0], names[1]);
    }

    #[test]
    fn a_servers_name_is_no_path() {
        assert_eq!(file("../../etc/passwd"), "______etc_passwd");
    }
}
