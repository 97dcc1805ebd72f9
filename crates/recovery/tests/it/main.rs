//! The laws of both chains, and every fixture.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends by a panic"
)]

mod fixtures;
mod laws;
