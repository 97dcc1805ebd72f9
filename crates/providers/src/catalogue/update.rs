//! Fetches a newer catalogue, keeps what is used of it, and lays the user's own over it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Catalogue, ModelFacts};
use crate::tls;

/// Where the facts of all models are collected.
pub const SOURCE: &str = "https://models.dev/api.json";

/// The whole of it is some megabytes.
const PATIENCE: Duration = Duration::from_secs(60);
/// Nothing that is a catalogue is larger.
const LIMIT: usize = 64 * 1024 * 1024;

/// Why there is no newer catalogue.
#[derive(Debug, thiserror::Error)]
pub enum UpdateError {
    /// It cannot be had.
    #[error("{url} cannot be fetched: {cause}")]
    Fetch {
        /// What was asked.
        url: String,
        /// Why not.
        cause: String,
    },
    /// It has another shape.
    #[error(
        "what {url} serves is no catalogue of models; it must have the shape of https://models.dev/api.json"
    )]
    Shape {
        /// What was asked.
        url: String,
    },
}

/// A catalogue as it is kept: what this program uses of it, and no more.
#[derive(Debug, Default, Serialize)]
pub struct Reduced {
    #[serde(flatten)]
    providers: BTreeMap<String, Models>,
}

#[derive(Debug, Default, Serialize)]
struct Models {
    models: BTreeMap<String, ModelFacts>,
}

impl Reduced {
    /// How many providers and models it holds.
    pub fn counts(&self) -> (usize, usize) {
        let models = self.providers.values().map(|group| group.models.len()).sum();
        (self.providers.len(), models)
    }
}

/// Fetches a catalogue of models.dev's shape.
///
/// # Errors
/// When it cannot be had, or is none.
pub async fn fetch(url: &str, bundle: Option<&Path>) -> Result<Reduced, UpdateError> {
    let fail = |cause: String| UpdateError::Fetch {
        url: url.to_owned(),
        cause,
    };
    let client = tls::client(url, bundle).map_err(|error| fail(error.to_string()))?;
    let answer = client.get(url).timeout(PATIENCE).send().await;
    let mut answer = answer.map_err(|error| fail(error.without_url().to_string()))?;
    if !answer.status().is_success() {
        return Err(fail(format!("it answered {}", answer.status().as_u16())));
    }
    let mut text = Vec::new();
    while let Some(chunk) = answer
        .chunk()
        .await
        .map_err(|error| fail(error.without_url().to_string()))?
    {
        text.extend_from_slice(&chunk);
        if text.len() > LIMIT {
            return Err(fail("it is larger than 64 MiB".to_owned()));
        }
    }
    let reduced = reduce(&text).filter(|reduced| reduced.counts().1 > 0);
    reduced.ok_or_else(|| UpdateError::Shape { url: url.to_owned() })
}

/// What is used of a catalogue. A model whose facts are of another shape is left out, not the rest.
fn reduce(text: &[u8]) -> Option<Reduced> {
    let groups: BTreeMap<String, Value> = serde_json::from_slice(text).ok()?;
    let providers = groups.into_iter().filter_map(|(id, group)| {
        let models = group.get("models")?.as_object()?;
        let facts = models
            .iter()
            .filter_map(|(id, facts)| Some((id.clone(), ModelFacts::deserialize(facts).ok()?)));
        Some((
            id,
            Models {
                models: facts.collect(),
            },
        ))
    });
    Some(Reduced {
        providers: providers.collect(),
    })
}

/// The shipped catalogue with `updated` and then the user's `own` file laid over it, and what
/// should be known about files that cannot be used.
pub fn layered(updated: &Path, own: &Path) -> (Arc<Catalogue>, Vec<String>) {
    let mut warnings = Vec::new();
    let mut all = Catalogue::shipped();
    for file in [updated, own] {
        let text = match std::fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => {
                warnings.push(format!("{} is not used: {error}", file.display()));
                continue;
            }
        };
        match Catalogue::parse(&text) {
            Ok(over) => all = Arc::new((*all).clone().overlaid(over)),
            Err(error) => warnings.push(format!("{} is not used: {error}", file.display())),
        }
    }
    (all, warnings)
}

#[cfg(test)]
mod tests {
    use talaria_types::{ApiMode, ModelIdentity};

    use super::*;

    const SERVED: &str = r#"{"openai": {"id": "openai", "env": ["OPENAI_API_KEY"], "models": {
        "gpt-99": {"id": "gpt-99", "limit": {"context": 9000000, "output": 1}, "cost": {"input": 7, "output": 8}},
        "odd": {"limit": "none"}}}, "empty": {}}"#;

    #[test]
    fn a_fetched_catalogue_is_kept_without_what_is_not_used() {
        let reduced = reduce(SERVED.as_bytes()).unwrap();
        assert_eq!(reduced.counts(), (1, 1));
        let kept = serde_json::to_string(&reduced).unwrap();
        assert!(
            !kept.contains("OPENAI_API_KEY") && kept.contains("9000000"),
            "{kept}"
        );
        assert!(reduce(b"<html>").is_none());
    }

    #[test]
    fn the_users_file_wins_and_a_damaged_one_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let (updated, own) = (
            folder.path().join("updated.json"),
            folder.path().join("models.json"),
        );
        std::fs::write(
            &updated,
            serde_json::to_string(&reduce(SERVED.as_bytes()).unwrap()).unwrap(),
        )
        .unwrap();
        std::fs::write(
            &own,
            r#"{"openai": {"models": {"gpt-99": {"limit": {"context": 5}}}}}"#,
        )
        .unwrap();
        let identity = ModelIdentity {
            provider: "openai".to_owned(),
            model: "gpt-99".to_owned(),
            base_url: String::new(),
            api_mode: ApiMode::ChatCompletions,
        };
        let (all, warnings) = layered(&updated, &own);
        assert_eq!((all.limits(&identity).context, warnings.len()), (Some(5), 0));
        std::fs::write(&own, "broken").unwrap();
        let (all, warnings) = layered(&updated, &own);
        assert_eq!(all.limits(&identity).context, Some(9_000_000));
        assert!(warnings[0].contains("models.json"), "{warnings:?}");
    }
}
