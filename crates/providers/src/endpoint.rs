//! One model at one address, with everything needed to call it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use talaria_llm::Provider;
use talaria_types::ModelIdentity;

/// One model at one address, with everything needed to call it.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Which model, where, in which protocol.
    pub identity: ModelIdentity,
    /// The key; none for local servers that want none.
    pub api_key: Option<SecretString>,
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
}

/// Makes a provider of an endpoint. Opens no connection yet.
pub fn connect(_endpoint: Endpoint) -> Arc<dyn Provider> {
    unimplemented!()
}
