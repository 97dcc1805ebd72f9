//! Finds out how large a model's window is.
//!
//! In order: the configuration; an earlier answer kept on disk; the server
//! itself; the catalogue; a guess. The server is asked only where the catalogue
//! does not know its model, and a local one always, because what it serves is
//! decided at its start and not by the model. A server that hangs costs three
//! seconds at the most, once.

use std::time::Duration;

use reqwest::Client;
use serde_json::{Value, json};
use talaria_llm::{Window, WindowSource};

use crate::endpoint::Endpoint;
use crate::{address, window_file};

/// All questions together may take this long.
const PATIENCE: Duration = Duration::from_secs(3);
/// The list of models may take this long, so that time is left for other questions.
const LIST_PATIENCE: Duration = Duration::from_millis(1_500);
/// What is assumed of a model nobody knows.
const GUESS: u64 = 256_000;
/// Outside of these bounds a number is no window.
const PLAUSIBLE: std::ops::RangeInclusive<u64> = 1_024..=20_000_000;

/// What a server says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    tokens: Option<u64>,
    max_output: Option<u64>,
    /// What the model was trained for; what is served may be less.
    trained: Option<u64>,
}

/// A server to be asked.
pub(crate) struct Server<'a> {
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) client: Client,
    /// The header that carries the key.
    pub(crate) credential: Option<(&'static str, String)>,
}

/// Finds the window out. `server` is called only if a server is to be asked.
pub(crate) async fn discover<'a>(
    endpoint: &'a Endpoint,
    server: impl FnOnce() -> Option<Server<'a>>,
) -> Window {
    let known = endpoint.catalogue.limits(&endpoint.identity);
    let window = |tokens, source| Window {
        tokens,
        source,
        max_output: known.output,
    };
    if let Some(tokens) = endpoint.context_length {
        return window(tokens, WindowSource::Config);
    }
    let is_near = address::is_near(&endpoint.identity.base_url);
    let kept = endpoint
        .window_cache
        .as_deref()
        .and_then(|file| window_file::read(file, &endpoint.identity));
    if let (Some(tokens), false) = (kept, is_near) {
        return window(tokens, WindowSource::Cache);
    }
    if is_near || known.context.is_none() {
        let told = match server() {
            Some(server) => tokio::time::timeout(PATIENCE, server.ask(is_near))
                .await
                .unwrap_or_default(),
            None => Told::default(),
        };
        if let Some(tokens) = told.tokens.or(told.trained) {
            if let Some(file) = &endpoint.window_cache {
                window_file::write(file, &endpoint.identity, tokens);
            }
            return Window {
                max_output: told.max_output.or(known.output),
                ..window(tokens, WindowSource::Server)
            };
        }
    }
    match (kept, known.context) {
        (Some(tokens), _) => window(tokens, WindowSource::Cache),
        (None, Some(tokens)) => window(tokens, WindowSource::Catalogue),
        (None, None) => window(GUESS, WindowSource::Default),
    }
}

impl Server<'_> {
    async fn ask(&self, is_near: bool) -> Told {
        let list = format!("{}/models", self.base());
        let listed = tokio::time::timeout(LIST_PATIENCE, self.get(&list))
            .await
            .ok()
            .flatten();
        let told = listed.map_or_else(Told::default, |list| {
            from_list(&list, &self.endpoint.identity.model)
        });
        if told.tokens.is_some() || !is_near {
            return told;
        }
        let (props, studio, running, shown) = tokio::join!(
            self.llama_cpp(),
            self.lm_studio(),
            self.ollama_running(),
            self.ollama_shown()
        );
        let tokens = props.or(studio).or(running).or(shown.tokens);
        Told {
            tokens,
            trained: told.trained.or(shown.trained),
            ..told
        }
    }

    async fn llama_cpp(&self) -> Option<u64> {
        let props = self.get(&format!("{}/props", self.root())).await?;
        plausible(
            props
                .pointer("/default_generation_settings/n_ctx")
                .or_else(|| props.get("n_ctx"))?,
        )
    }

    async fn lm_studio(&self) -> Option<u64> {
        let list = self.get(&format!("{}/api/v0/models", self.root())).await?;
        from_list(&list, &self.endpoint.identity.model).tokens
    }

    async fn ollama_running(&self) -> Option<u64> {
        let running = self.get(&format!("{}/api/ps", self.root())).await?;
        let models = running.get("models")?.as_array()?;
        let model = &self.endpoint.identity.model;
        let ours = |entry: &&Value| entry["name"] == **model || entry["model"] == **model;
        plausible(models.iter().find(ours)?.get("context_length")?)
    }

    async fn ollama_shown(&self) -> Told {
        let url = format!("{}/api/show", self.root());
        let body = json!({"model": self.endpoint.identity.model}).to_string();
        let question = self
            .client
            .post(url)
            .header("content-type", "application/json")
            .body(body);
        self.json(question)
            .await
            .map_or_else(Told::default, |shown| from_show(&shown))
    }

    async fn get(&self, url: &str) -> Option<Value> {
        self.json(self.client.get(url)).await
    }

    async fn json(&self, question: reqwest::RequestBuilder) -> Option<Value> {
        let question = match &self.credential {
            Some((name, value)) => question.header(*name, value),
            None => question,
        };
        let question = question.header("anthropic-version", "2023-06-01");
        let answer = question.send().await.ok()?.error_for_status().ok()?;
        serde_json::from_slice(&answer.bytes().await.ok()?).ok()
    }

    fn base(&self) -> &str {
        &self.endpoint.identity.base_url
    }

    /// The server's own address, without the path of the API.
    fn root(&self) -> &str {
        let base = self.base();
        base.strip_suffix("/v1")
            .or_else(|| base.strip_suffix("/api/v1"))
            .unwrap_or(base)
    }
}

/// Reads the entry of a model from a list of models, in the words of any server.
fn from_list(list: &Value, model: &str) -> Told {
    let entries = ["data", "models"]
        .iter()
        .find_map(|name| list.get(name)?.as_array());
    let entries = entries
        .or_else(|| list.as_array())
        .map(Vec::as_slice)
        .unwrap_or_default();
    let is_named = |entry: &&Value, name: &str| {
        ["id", "name", "model"].iter().any(|member| {
            entry
                .get(member)
                .and_then(Value::as_str)
                .is_some_and(|id| id.trim_start_matches("models/") == name)
        })
    };
    let found = entries.iter().find(|entry| is_named(entry, model));
    // A server with one model answers with it, whatever it is asked for.
    let entry = match (found, entries) {
        (Some(entry), _) => entry,
        (None, [only]) => only,
        (None, _) => return Told::default(),
    };
    let number = |paths: &[&str]| paths.iter().find_map(|path| plausible(entry.pointer(path)?));
    Told {
        tokens: number(&[
            "/loaded_context_length",
            "/max_model_len",
            "/meta/n_ctx",
            "/n_ctx",
            "/context_length",
            "/context_window",
            "/inputTokenLimit",
            "/max_input_tokens",
            "/max_context_length",
            "/limits/max_context_window_tokens",
            "/capabilities/limits/max_context_window_tokens",
        ]),
        trained: number(&["/meta/n_ctx_train"]),
        max_output: number(&[
            "/top_provider/max_completion_tokens",
            "/outputTokenLimit",
            "/max_output_tokens",
        ]),
    }
}

/// Reads Ollama's description of a model: what it is set to, and what it was trained for.
fn from_show(shown: &Value) -> Told {
    let set = shown
        .get("parameters")
        .and_then(Value::as_str)
        .and_then(|parameters| {
            let words = parameters
                .lines()
                .find_map(|line| line.trim().strip_prefix("num_ctx"))?;
            words
                .trim()
                .parse()
                .ok()
                .filter(|tokens| PLAUSIBLE.contains(tokens))
        });
    let trained = shown
        .get("model_info")
        .and_then(Value::as_object)
        .and_then(|info| {
            info.iter()
                .find(|(name, _)| name.ends_with(".context_length"))
                .and_then(|(_, value)| plausible(value))
        });
    Told {
        tokens: set,
        trained,
        max_output: None,
    }
}

fn plausible(value: &Value) -> Option<u64> {
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok())?;
    PLAUSIBLE.contains(&number).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_served_window_is_read_in_every_servers_words() {
        for (entry, tokens) in [
            (json!({"max_model_len": 32768}), Some(32768)),
            (json!({"context_length": 131072}), Some(131_072)),
            (
                json!({"loaded_context_length": 8192, "max_context_length": 131072}),
                Some(8192),
            ),
            (json!({"meta": {"n_ctx_train": 131072}}), None),
            (
                json!({"meta": {"n_ctx_train": 131072, "n_ctx": 4096}}),
                Some(4096),
            ),
            (json!({"context_length": 0}), None),
            (json!({}), None),
        ] {
            let mut entry = entry;
            entry["id"] = "m".into();
            let list = json!({"data": [{"id": "other", "context_length": 5000}, entry]});
            assert_eq!(from_list(&list, "m").tokens, tokens, "{list}");
        }
    }

    #[test]
    fn a_list_without_the_model_tells_nothing_unless_it_has_only_one() {
        let two = json!({"data": [{"id": "a", "context_length": 5000}, {"id": "b", "context_length": 6000}]});
        assert_eq!(from_list(&two, "m"), Told::default());
        let one = json!({"data": [{"id": "a", "context_length": 5000}]});
        assert_eq!(from_list(&one, "m").tokens, Some(5000));
    }

    #[test]
    fn ollamas_setting_wins_over_what_the_model_was_trained_for() {
        let shown = json!({
            "parameters": "stop \"x\"\nnum_ctx                        16384\n",
            "model_info": {"llama.context_length": 131072},
        });
        assert_eq!(
            from_show(&shown),
            Told {
                tokens: Some(16384),
                trained: Some(131_072),
                max_output: None
            }
        );
        assert_eq!(
            from_show(&json!({"model_info": {"qwen2.context_length": 32768}})).trained,
            Some(32768)
        );
    }
}
