//! One model at one address, with everything needed to call it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use talaria_llm::Provider;
use talaria_llm::sse::{Event, Framer};
use talaria_recovery::Login;
use talaria_types::{ApiMode, Completion, Delta, ModelIdentity, ModelRequest};

use crate::address;
use crate::anthropic::MessagesAdapter;
use crate::catalogue::Catalogue;
use crate::chat::{self, ChatAdapter};
use crate::cloud::Cloud;
use crate::credentials::CredentialPool;
use crate::debug::HttpLog;
use crate::effort::Effort;
use crate::gemini::GeminiAdapter;
use crate::http;
use crate::responses::ResponsesAdapter;
use crate::wire::Adapter;

/// One model at one address, with everything needed to call it.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Which model, where, in which protocol.
    pub identity: ModelIdentity,
    /// The key; none for local servers that want none.
    pub api_key: Option<SecretString>,
    /// Where other keys of the same provider are, when `api_key` is one of several.
    pub pool: Option<CredentialPool>,
    /// Which one of the pool `api_key` is.
    pub pool_entry: Option<String>,
    /// The address was given by the user: no credential moves it.
    pub pinned_address: bool,
    /// `model.context_length`, when set.
    pub context_length: Option<u64>,
    /// `model.max_tokens`, when set.
    pub max_output_tokens: Option<u64>,
    /// Without a byte for this long a stream is given up.
    pub stale_timeout: Duration,
    /// `prompt_caching.cache_ttl` is `1h`.
    pub long_cache: bool,
    /// Where found-out windows are kept (`context_length_cache.yaml`).
    pub window_cache: Option<PathBuf>,
    /// Folder of image bytes, to resend stored images.
    pub images: PathBuf,
    /// A file of additional root certificates.
    pub ca_bundle: Option<PathBuf>,
    /// `agent.reasoning_effort`; the provider's own when absent.
    pub effort: Option<Effort>,
    /// The cloud it is served by, which is asked in its own way.
    pub(crate) cloud: Option<Arc<Cloud>>,
    /// Where calls are written down, when they are.
    pub debug: Option<Arc<HttpLog>>,
    /// What is known about models.
    pub catalogue: Arc<Catalogue>,
}

impl Endpoint {
    /// Which of the known kinds of server it is taken for, for people.
    pub fn dialect(&self) -> &'static str {
        match self.identity.api_mode {
            ApiMode::ChatCompletions => chat::dialect::of(&self.identity).name,
            ApiMode::AnthropicMessages => "Anthropic Messages",
            ApiMode::CodexResponses => "OpenAI Responses",
            ApiMode::Gemini => "Gemini",
        }
    }

    /// The key is the token of a login and not a key: it is sent another way and runs out.
    pub(crate) fn has_oauth_key(&self) -> bool {
        self.is_login(self.api_key.as_ref())
    }

    /// Whether this key would be the token of a login.
    pub(crate) fn is_login(&self, key: Option<&SecretString>) -> bool {
        let key = key.map_or("", |key| key.expose_secret());
        match self.identity.api_mode {
            ApiMode::AnthropicMessages => key.starts_with("sk-ant-oat"),
            ApiMode::Gemini => key.starts_with("ya29."),
            ApiMode::ChatCompletions | ApiMode::CodexResponses => {
                matches!(
                    self.identity.provider.as_str(),
                    "openai-codex" | "xai-oauth" | "nous" | "qwen-oauth" | "copilot"
                )
            }
        }
    }

    /// Which kind of login this key is of.
    pub(crate) fn login(&self, key: Option<&SecretString>) -> Login {
        match self.identity.provider.as_str() {
            _ if !self.is_login(key) => Login::ApiKey,
            "anthropic" => Login::Anthropic,
            "openai-codex" => Login::Codex,
            "xai-oauth" => Login::Xai,
            "nous" => Login::Nous,
            "copilot" => Login::Copilot,
            _ => Login::Other,
        }
    }

    /// A server of the person's own that wants no key: nobody sends a bill.
    pub fn is_free(&self) -> bool {
        self.api_key.is_none() && address::is_near(&self.identity.base_url)
    }

    /// The model goes on from an assistant message in the last place of a request.
    pub fn takes_prefill(&self) -> bool {
        match self.identity.api_mode {
            ApiMode::ChatCompletions => chat::dialect::of(&self.identity).takes_prefill,
            ApiMode::AnthropicMessages | ApiMode::CodexResponses | ApiMode::Gemini => false,
        }
    }
}

/// Makes a provider of an endpoint. Opens no connection yet.
pub fn connect(endpoint: Endpoint) -> Arc<dyn Provider> {
    let adapter = adapter(&endpoint);
    http::provider(endpoint, adapter)
}

/// The adapter of an endpoint's protocol.
pub(crate) fn adapter(endpoint: &Endpoint) -> Arc<dyn Adapter> {
    match endpoint.identity.api_mode {
        ApiMode::ChatCompletions => Arc::new(ChatAdapter::new(endpoint)),
        ApiMode::AnthropicMessages => Arc::new(MessagesAdapter::new(endpoint)),
        ApiMode::CodexResponses => Arc::new(ResponsesAdapter::new(endpoint)),
        ApiMode::Gemini => Arc::new(GeminiAdapter::new(endpoint)),
    }
}

/// Reads a recorded answer of an endpoint as if it arrived now, without a network.
///
/// # Errors
/// Why the bytes are no answer, in words.
pub fn decode(
    endpoint: &Endpoint,
    request: &ModelRequest,
    bytes: &[u8],
    sink: &mut dyn FnMut(Delta),
) -> Result<Completion, String> {
    let mut decoder = adapter(endpoint).decoder(request);
    let mut out = Vec::new();
    let mut failed = None;
    let mut framer = Framer::default();
    let mut take = |event: Event<'_>| {
        if failed.is_none() {
            failed = decoder.event(event, &mut out).err();
            out.drain(..).for_each(&mut *sink);
        }
    };
    framer.push(bytes, &mut take);
    framer.finish(&mut take);
    let result = match failed {
        Some(error) => Err(error),
        None => decoder.finish(&mut out),
    };
    out.drain(..).for_each(sink);
    result.map_err(|error| error.to_string())
}
