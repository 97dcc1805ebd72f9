//! What is known about models without asking anyone.
//!
//! A data file in the shape of models.dev is shipped with the program
//! (`models.json`); a newer one that was fetched and a file of the user, both in
//! the same shape, are laid over it ([`update`]). The
//! group `families` holds what is true of every model of a name, such as the
//! smallest window any of them has; it names no prices.
//!
//! Prices are given only to a model of the very provider that lists them:
//! what a custom server asks for a model of the same name is not known.

pub mod providers;
pub mod update;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use talaria_types::ModelIdentity;

/// Windows of families, which no provider sells under this name.
const FAMILIES: &str = "families";

/// The models known, by provider and id.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    providers: HashMap<String, HashMap<String, ModelFacts>>,
}

/// What is known about one model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelFacts {
    /// Its limits in tokens.
    #[serde(default)]
    pub limit: Limit,
    /// Its prices; none when they are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// What it takes.
    #[serde(default)]
    pub modalities: Modalities,
    /// It thinks before it answers.
    #[serde(default)]
    pub reasoning: bool,
}

/// Limits in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    /// The window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<u64>,
    /// The longest answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
}

/// Prices in US dollars for a million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Sent.
    pub input: f64,
    /// Answered, thinking included.
    pub output: f64,
    /// Read from the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// Written to the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
    /// What is asked instead when more than 200 000 tokens are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_over_200k: Option<LargeCost>,
}

/// Prices of large requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LargeCost {
    /// Sent.
    pub input: f64,
    /// Answered.
    pub output: f64,
    /// Read from the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// Written to the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
}

/// What a model takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Modalities {
    /// `text`, `image` and others.
    #[serde(default)]
    pub input: Vec<String>,
}

/// A catalogue file that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the model catalogue is not readable: {0}; it must have the shape of https://models.dev/api.json")]
pub struct CatalogueError(#[from] serde_json::Error);

#[derive(Deserialize)]
struct Group {
    #[serde(default)]
    models: HashMap<String, ModelFacts>,
}

impl Catalogue {
    /// The catalogue shipped with the program.
    pub fn shipped() -> Arc<Self> {
        static SHIPPED: OnceLock<Arc<Catalogue>> = OnceLock::new();
        let read = || Arc::new(Self::parse(include_str!("models.json")).unwrap_or_default());
        Arc::clone(SHIPPED.get_or_init(read))
    }

    /// Reads a catalogue.
    ///
    /// # Errors
    /// When the text is no JSON of models.dev's shape.
    pub fn parse(json: &str) -> Result<Self, CatalogueError> {
        let groups: HashMap<String, Group> = serde_json::from_str(json)?;
        let group = |(provider, group): (String, Group)| {
            (
                providers::canonical(&provider).to_owned(),
                group
                    .models
                    .into_iter()
                    .map(|(id, facts)| (plain(&id), facts))
                    .collect(),
            )
        };
        Ok(Self {
            providers: groups.into_iter().map(group).collect(),
        })
    }

    /// This catalogue with another one laid over it; the other one's models win.
    #[must_use]
    pub fn overlaid(mut self, over: Self) -> Self {
        for (provider, models) in over.providers {
            self.providers.entry(provider).or_default().extend(models);
        }
        self
    }

    /// The model as this very provider offers it: prices included.
    pub fn offered(&self, identity: &ModelIdentity) -> Option<&ModelFacts> {
        let model = plain(&identity.model);
        let own = self
            .providers
            .get(providers::canonical(&identity.provider))
            .filter(|_| identity.provider != FAMILIES);
        if let Some(facts) = own.and_then(|models| same_model(models, &model)) {
            return Some(facts);
        }
        // An aggregator passes on the vendor's price.
        let (vendor, rest) = model
            .split_once('/')
            .filter(|_| providers::passes_prices_on(&identity.provider))?;
        same_model(self.providers.get(providers::vendor(vendor))?, rest)
    }

    /// The window and the longest answer of a model, whoever serves it.
    pub fn limits(&self, identity: &ModelIdentity) -> Limit {
        if let Some(facts) = self.offered(identity) {
            return facts.limit;
        }
        let model = &plain(&identity.model);
        let named = self.providers.iter().flat_map(|(provider, models)| {
            models.iter().filter(move |(id, _)| {
                if provider == FAMILIES {
                    model.contains(id.as_str())
                } else {
                    names(model, id)
                }
            })
        });
        // Two providers may list the same id; the smaller window is safe at both.
        let best = named.max_by_key(|(id, facts)| (id.len(), std::cmp::Reverse(facts.limit.context)));
        best.map(|(_, facts)| facts.limit).unwrap_or_default()
    }
}

/// An id as it is compared: `claude-sonnet-4.5` and `claude-sonnet-4-5` are one model.
fn plain(id: &str) -> String {
    id.to_ascii_lowercase().replace('.', "-")
}

/// The model of this id, dated and tagged variants of it included.
fn same_model<'a>(models: &'a HashMap<String, ModelFacts>, model: &str) -> Option<&'a ModelFacts> {
    let is_variant = |id: &str| {
        let Some(rest) = model.strip_prefix(id) else {
            return false;
        };
        // One digit is a version of its own (`-4-7`), more are a date.
        let harmless = |word: &str| {
            (word.len() >= 2 && word.bytes().all(|byte| byte.is_ascii_digit()))
                || matches!(word, "latest" | "preview" | "exp" | "beta")
        };
        rest.is_empty()
            || rest
                .strip_prefix(['-', ':', '@'])
                .is_some_and(|rest| rest.split(['-', ':', '@']).all(harmless))
    };
    let found = models
        .iter()
        .filter(|(id, _)| is_variant(id))
        .max_by_key(|(id, _)| id.len());
    found.map(|(_, facts)| facts)
}

/// `model` names `id` as a whole word.
fn names(model: &str, id: &str) -> bool {
    let edge = |byte: Option<&u8>| byte.is_none_or(|byte| !byte.is_ascii_alphanumeric());
    let bytes = model.as_bytes();
    model.match_indices(id).any(|(at, _)| {
        edge(at.checked_sub(1).and_then(|before| bytes.get(before))) && edge(bytes.get(at + id.len()))
    })
}

#[cfg(test)]
mod tests {
    use talaria_types::ApiMode;

    use super::*;

    fn identity(provider: &str, model: &str) -> ModelIdentity {
        ModelIdentity {
            provider: provider.to_owned(),
            model: model.to_owned(),
            base_url: String::new(),
            api_mode: ApiMode::ChatCompletions,
        }
    }

    fn window(model: &str) -> Option<u64> {
        Catalogue::shipped().limits(&identity("custom", model)).context
    }

    #[test]
    fn the_shipped_catalogue_is_readable() {
        assert!(
            Catalogue::parse(include_str!("models.json"))
                .unwrap()
                .providers
                .len()
                > 8
        );
    }

    #[test]
    fn the_longest_name_decides_the_window() {
        for (model, tokens) in [
            ("claude-sonnet-4-5-20250929", Some(200_000)),
            ("anthropic/claude-sonnet-4.6", Some(1_000_000)),
            ("gpt-4.1-mini", Some(1_047_576)),
            ("gpt-4-1106-preview", Some(8_192)),
            ("Qwen3-32B-AWQ", Some(131_072)),
            ("qwen3-coder-plus", Some(1_048_576)),
            ("meta-llama/Llama-3.3-70B-Instruct", Some(131_072)),
            ("mock-model", None),
        ] {
            assert_eq!(window(model), tokens, "{model}");
        }
    }

    #[test]
    fn a_price_is_known_only_where_the_provider_lists_it() {
        let price = |provider, model| {
            Catalogue::shipped()
                .offered(&identity(provider, model))
                .and_then(|facts| facts.cost)
        };
        assert_eq!(
            price("anthropic", "claude-sonnet-4-5").map(|cost| cost.input),
            Some(3.0)
        );
        assert_eq!(
            price("claude", "claude-sonnet-4-5-20250929").map(|cost| cost.output),
            Some(15.0)
        );
        assert_eq!(
            price("openrouter", "anthropic/claude-sonnet-4.5").map(|cost| cost.input),
            Some(3.0)
        );
        assert_eq!(
            price("openai", "gpt-4o-2024-08-06").map(|cost| cost.input),
            Some(2.5)
        );
        assert_eq!(price("custom", "gpt-4o"), None);
        assert_eq!(price("openai", "gpt-4o-search"), None);
        assert_eq!(price("openrouter", "someone/else"), None);
    }

    #[test]
    fn a_users_file_is_laid_over_the_shipped_one() {
        let own = Catalogue::parse(
            r#"{"custom": {"models": {"my-model": {"limit": {"context": 5000}, "cost": {"input": 1, "output": 2}}}}}"#,
        );
        let all = (*Catalogue::shipped()).clone().overlaid(own.unwrap());
        assert_eq!(all.limits(&identity("custom", "my-model")).context, Some(5000));
        assert!(
            all.offered(&identity("custom", "my-model"))
                .unwrap()
                .cost
                .is_some()
        );
        assert!(Catalogue::parse("[]").is_err());
    }
}
