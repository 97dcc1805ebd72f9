//! The provider port: what a model is, to everyone who calls one.
//!
//! [`Provider`] is one model at one address. The wire adapters and the HTTP
//! driver behind it live in `talaria-providers`; [`fake`] is the scripted one
//! for tests. The parts every adapter shares stand here: [`sse`] splits a byte
//! stream into events, [`assemble`] joins deltas into one [`Completion`], [`think`]
//! parts thoughts from text, [`json`] mends what servers write.

pub mod assemble;
pub mod fake;
pub mod json;
pub mod sse;
pub mod think;

use futures_util::future::BoxFuture;
use talaria_recovery::Failure;
use talaria_types::{Completion, Delta, ModelIdentity, ModelRequest};
use tokio_util::sync::CancellationToken;

/// One model at one address.
pub trait Provider: Send + Sync {
    /// Which model, where, in which protocol.
    fn identity(&self) -> &ModelIdentity;

    /// Asks the model and assembles its answer.
    ///
    /// Deltas go to `sink` as they arrive. One call is one HTTP request: no
    /// retries, no waiting, those are decided above. When `cancel` fires the
    /// connection is dropped and the result is a [`Failure`] of kind
    /// `Interrupted`; what had been streamed travels in [`Failure::partial`],
    /// as it does for every other failure in mid-stream.
    ///
    /// # Errors
    /// A [`Failure`] with status, code, message and body as far as they are known.
    fn complete<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a (dyn Fn(Delta) + Send + Sync),
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Completion, Failure>>;

    /// The model's context window in tokens, found out once and remembered.
    ///
    /// Never fails: what cannot be found out in a few seconds is the default.
    fn context_window(&self) -> BoxFuture<'_, Window>;

    /// Takes note that the window is only this large: the server has said so when
    /// it refused a request. Later answers of [`Provider::context_window`] are no
    /// larger, in other processes too where there is a place to keep it.
    fn learn_window(&self, tokens: u64) {
        let _ = tokens;
    }

    /// What could be done about a refused credential.
    fn credentials(&self) -> Credentials {
        Credentials::default()
    }

    /// Lays the credential in use to rest because of `failure` and takes the next
    /// one of the pool; says whether there was one.
    fn next_credential(&self, failure: &Failure) -> bool {
        let _ = failure;
        false
    }

    /// Fetches a fresh token for the credential in use; says whether there is one.
    fn refresh_credential(&self) -> BoxFuture<'_, bool> {
        Box::pin(std::future::ready(false))
    }

    /// Drops every open connection, so that the next call starts from a clean one.
    fn rebuild_transport(&self);
}

/// What could be done about a refused credential.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Credentials {
    /// The pool holds another one that is good.
    pub can_rotate: bool,
    /// The one in use can be refreshed.
    pub can_refresh: bool,
}

/// A context window and where it is known from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Tokens.
    pub tokens: u64,
    /// Who says so.
    pub source: WindowSource,
    /// Most output tokens of one answer, where known.
    pub max_output: Option<u64>,
}

/// Who says how large a window is, surest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowSource {
    /// `model.context_length`.
    Config,
    /// An earlier answer of the provider, kept in `context_length_cache.yaml`.
    Cache,
    /// The server, asked just now.
    Server,
    /// The catalogue shipped with the program.
    Catalogue,
    /// Nobody; a guess.
    Default,
}
