//! Which models a server offers, and whether it answers at all.

use std::time::Duration;

use secrecy::ExposeSecret;
use serde_json::Value;

use crate::endpoint::{Endpoint, adapter};
use crate::tls;

/// A list takes no longer than this, or there is none.
const PATIENCE: Duration = Duration::from_secs(10);
/// The protocol version Anthropic insists on; others ignore it.
const VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");

/// Why there is no list.
#[derive(Debug, thiserror::Error)]
pub enum ListingError {
    /// No client could be made.
    #[error("{0}")]
    Client(String),
    /// The server did not answer.
    #[error("{url} does not answer: {cause}")]
    Unreachable {
        /// What was asked.
        url: String,
        /// In the transport's words.
        cause: String,
    },
    /// The server said no.
    #[error("{url} answered {status}")]
    Refused {
        /// What was asked.
        url: String,
        /// With what.
        status: u16,
    },
    /// The answer is no list.
    #[error("the answer of {url} is no list of models")]
    NoList {
        /// What was asked.
        url: String,
    },
}

/// The ids of the models a server offers, in its order.
///
/// # Errors
/// When there is no list; the text says why.
pub async fn models(endpoint: &Endpoint) -> Result<Vec<String>, ListingError> {
    let base = &endpoint.identity.base_url;
    let client = tls::client(base, endpoint.ca_bundle.as_deref());
    let client = client.map_err(|error| ListingError::Client(error.to_string()))?;
    let has_version = base.ends_with("/v1") || base.ends_with("/v1beta") || !base.contains("anthropic");
    let url = format!("{base}{}", if has_version { "/models" } else { "/v1/models" });
    let mut question = client.get(&url).timeout(PATIENCE).header(VERSION.0, VERSION.1);
    if let Some(key) = &endpoint.api_key {
        let (name, value) = adapter(endpoint).credential(key.expose_secret());
        question = question.header(name, value);
    }
    let unreachable = |error: reqwest::Error| ListingError::Unreachable {
        url: url.clone(),
        cause: error.without_url().to_string(),
    };
    let answer = question.send().await.map_err(unreachable)?;
    if !answer.status().is_success() {
        return Err(ListingError::Refused {
            url,
            status: answer.status().as_u16(),
        });
    }
    let bytes = answer.bytes().await.map_err(unreachable)?;
    let list = serde_json::from_slice(&bytes).ok().and_then(|list| ids(&list));
    list.ok_or(ListingError::NoList { url })
}

fn ids(list: &Value) -> Option<Vec<String>> {
    let entries = ["data", "models"]
        .iter()
        .find_map(|name| list.get(name)?.as_array())
        .or_else(|| list.as_array())?;
    let id = |entry: &Value| {
        let id = ["id", "name", "model"]
            .iter()
            .find_map(|member| entry.get(member)?.as_str())?;
        Some(id.trim_start_matches("models/").to_owned())
    };
    Some(entries.iter().filter_map(id).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_servers_list_is_read() {
        let some = Some(vec!["a".to_owned(), "b".to_owned()]);
        assert_eq!(ids(&json!({"data": [{"id": "a"}, {"id": "b"}]})), some);
        assert_eq!(
            ids(&json!({"models": [{"name": "models/a"}, {"name": "b"}]})),
            some
        );
        assert_eq!(ids(&json!([{"id": "a"}, {"id": "b"}])), some);
        assert_eq!(ids(&json!({"error": "no"})), None);
    }
}
