//! Sites the person does not want fetched.

use std::path::{Path, PathBuf};

/// One rule, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// A domain; it covers its subdomains. `*.example.com` covers the subdomains alone.
    pub domain: String,
    /// `config`, or the file it stands in.
    pub source: String,
}

/// `security.website_blocklist`.
#[derive(Clone, Debug, Default)]
pub struct Blocklist {
    /// Rules of the configuration.
    pub domains: Vec<String>,
    /// Files with one domain a line, `#` begins a comment; read anew for each look, so that a list
    /// that somebody else keeps is always the newest.
    pub files: Vec<PathBuf>,
}

impl Blocklist {
    /// The rule that forbids `host`.
    pub fn forbids(&self, host: &str) -> Option<Rule> {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let own = self.domains.iter().find(|domain| covers(domain, &host));
        if let Some(domain) = own {
            return Some(Rule {
                domain: domain.clone(),
                source: "config".to_owned(),
            });
        }
        self.files.iter().find_map(|file| in_file(file, &host))
    }
}

fn in_file(file: &Path, host: &str) -> Option<Rule> {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) => {
            tracing::warn!(file = %file.display(), %error, "a list of blocked sites cannot be read");
            return None;
        }
    };
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default());
    lines
        .into_iter()
        .find(|line| covers(line, host))
        .map(|line| Rule {
            domain: line.trim().to_owned(),
            source: file.display().to_string(),
        })
}

/// Whether a rule, which may be written as an address, covers a host.
fn covers(rule: &str, host: &str) -> bool {
    let rule = rule.trim().to_ascii_lowercase();
    let rule = rule.split_once("://").map_or(rule.as_str(), |(_, rest)| rest);
    let rule = rule.split(['/', ':']).next().unwrap_or_default();
    let below = |domain: &str| {
        host.strip_suffix(domain)
            .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
    };
    if rule == "*" {
        return true;
    }
    if let Some(domain) = rule.strip_prefix("*.") {
        return !domain.is_empty() && below(domain);
    }
    let domain = rule.trim_start_matches("www.").trim_end_matches('.');
    !domain.is_empty() && (host == domain || below(domain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_covers_its_subdomains_and_nothing_that_only_ends_like_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("shared.txt");
        std::fs::write(&file, "# kept by others\nads.example.net # banner\n\n").unwrap();
        let list = Blocklist {
            domains: vec![
                "example.com".into(),
                "*.example.org".into(),
                "https://www.third.net/x".into(),
            ],
            files: vec![file, folder.path().join("missing")],
        };
        let forbidden = |host: &str| list.forbids(host).map(|rule| rule.domain);
        assert_eq!(forbidden("EXAMPLE.com."), Some("example.com".to_owned()));
        assert_eq!(forbidden("a.b.example.com"), Some("example.com".to_owned()));
        assert_eq!(forbidden("notexample.com"), None);
        assert_eq!(forbidden("a.example.org"), Some("*.example.org".to_owned()));
        assert_eq!(forbidden("example.org"), None);
        assert!(forbidden("third.net").is_some());
        assert_eq!(forbidden("x.ads.example.net"), Some("ads.example.net".to_owned()));
        assert_eq!(Blocklist::default().forbids("example.com"), None);
    }
}
