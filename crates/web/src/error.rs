//! Why something of the web could not be had.

use crate::address::UrlRefusal;

/// Why something of the web could not be had; the text tells a model what to do.
#[derive(Debug, thiserror::Error)]
pub enum WebError {
    /// The address may not be fetched.
    #[error(transparent)]
    Refused(#[from] UrlRefusal),
    /// The address carries a secret to its host.
    #[error("the URL holds what looks like a secret; it is not sent anywhere. Leave the secret out")]
    Secret,
    /// The person's list of sites forbids it.
    #[error("{host} is blocked by the website policy (rule {rule:?} of {source_name})")]
    Blocked {
        /// The host.
        host: String,
        /// The rule that matched.
        rule: String,
        /// Where the rule stands.
        source_name: String,
    },
    /// The host has no address.
    #[error("{host} cannot be resolved: {why}")]
    Unresolved {
        /// The host.
        host: String,
        /// What the resolver said.
        why: String,
    },
    /// It was redirected again and again.
    #[error("more than {0} redirects")]
    Redirects(usize),
    /// The server said no.
    #[error("the server answered {0}")]
    Status(String),
    /// The connection failed.
    #[error("it could not be fetched: {0}")]
    Connection(String),
    /// It took too long.
    #[error("it took longer than {0} s")]
    Slow(u64),
    /// It is too much.
    #[error("it is larger than {0} MB")]
    Large(u64),
    /// It is nothing that can be read.
    #[error("{0} cannot be read as text")]
    Kind(String),
    /// A PDF that gives no text.
    #[error("the PDF could not be read: {0}")]
    Pdf(String),
    /// The search service answered what makes no sense, or refused.
    #[error("{backend}: {why}")]
    Search {
        /// Which service.
        backend: &'static str,
        /// What it said.
        why: String,
    },
}
