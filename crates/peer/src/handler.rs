//! What the program may ask of us.

use futures_util::future::BoxFuture;
use serde_json::Value;

/// JSON-RPC's code for a method that is not known.
pub const METHOD_NOT_FOUND: i64 = -32601;

/// The answer to a call that is not granted.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// JSON-RPC's error code.
    pub code: i64,
    /// What is wrong, for the program's author.
    pub message: String,
}

impl Refusal {
    /// The method is not known.
    pub fn unknown(method: &str) -> Self {
        Self {
            code: METHOD_NOT_FOUND,
            message: format!("no method \"{method}\""),
        }
    }
}

/// Answers what the program calls and takes what it notifies.
pub trait Handler: Send + Sync + 'static {
    /// A request of the program. Runs beside others; a program that has too many open gets a refusal.
    fn call<'a>(&'a self, method: &'a str, _params: Value) -> BoxFuture<'a, Result<Value, Refusal>> {
        Box::pin(async move { Err(Refusal::unknown(method)) })
    }

    /// A notification of the program; one after the other, in order.
    fn notified<'a>(&'a self, _method: &'a str, _params: Value) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }
}

/// Answers every request with "unknown method" and ignores notifications.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quiet;

impl Handler for Quiet {}
