//! What can go wrong between this program and a server.

use std::time::Duration;

/// Why a server could not be used, or a call came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum McpError {
    /// What is written about a server makes no sense.
    #[error("the MCP server {server:?} is left out: {detail}")]
    Settings {
        /// Its name.
        server: String,
        /// What is wrong, and where.
        detail: String,
    },
    /// It could not be started or reached.
    #[error("the MCP server {server:?} cannot be used: {detail}")]
    Unreachable {
        /// Its name.
        server: String,
        /// Why, with its own last words.
        detail: String,
    },
    /// It wants a login.
    #[error("the MCP server {server:?} wants a login; `talaria mcp login {server}` does it")]
    NeedsLogin {
        /// Its name.
        server: String,
    },
    /// It failed too often in a row.
    #[error("the MCP server {server:?} failed {failures} times in a row and is left alone for {} s more: {last}", .wait.as_secs().max(1))]
    Resting {
        /// Its name.
        server: String,
        /// How often.
        failures: u32,
        /// How long it is left alone.
        wait: Duration,
        /// What the last failure was.
        last: String,
    },
    /// It did not answer in time.
    #[error("the MCP server {server:?} did not answer within {} s; whether it did what was asked is not known", .after.as_secs())]
    Timeout {
        /// Its name.
        server: String,
        /// The time it had.
        after: Duration,
    },
    /// It ended or hung up while a call ran.
    #[error(
        "the MCP server {server:?} ended while the call ran; whether it did what was asked is not known: {detail}"
    )]
    Gone {
        /// Its name.
        server: String,
        /// Its last words.
        detail: String,
    },
    /// It answered with an error of the protocol.
    #[error("the MCP server {server:?} refused: {detail}")]
    Refused {
        /// Its name.
        server: String,
        /// In its words.
        detail: String,
    },
    /// The person stopped the call.
    #[error("interrupted")]
    Interrupted,
    /// Something on this machine.
    #[error("{0}")]
    Here(String),
}
