//! The HTTP driver against a server that does exactly what a test says.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod cloud;
mod driver;
mod oauth;
mod server;
mod windows;
