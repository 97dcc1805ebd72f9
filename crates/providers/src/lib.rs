//! Speaks to models: pure wire adapters and the one HTTP driver.
//!
//! An adapter is a folder of pure functions (`encode`, `decode`); the driver in
//! `http` owns connections, time-outs and framing and is the same for all of
//! them. [`resolve`] turns a configuration's words into an [`Endpoint`];
//! [`connect`] turns an endpoint into a [`talaria_llm::Provider`]. [`pricing`]
//! knows what a call cost.

mod address;
mod answer;
mod anthropic;
mod cache;
pub mod catalogue;
mod chat;
mod cloud;
#[cfg(test)]
mod conformance;
mod credentials;
mod debug;
mod effort;
mod endpoint;
mod facts;
mod failure;
mod gemini;
mod http;
mod images;
mod listing;
mod loose;
mod params;
mod pictures;
pub mod pricing;
pub mod resolve;
mod responses;
mod runs;
mod scrub;
mod shrink;
#[cfg(test)]
mod testing;
mod tls;
mod window;
mod window_file;
mod wire;

pub use credentials::oauth::{BrowserLogin, DeviceLogin, LoginError, LoginRow, login_row};
pub use credentials::{CredentialPool, Listed, NewCredential, PoolError, Strategy};
pub use debug::HttpLog;
pub use effort::{Effort, ParseEffortError};
pub use endpoint::{Endpoint, connect, decode};
pub use listing::{ListingError, models};
pub use resolve::{ProviderRequest, ResolveError, resolve};
pub use secrecy::SecretString;
pub use tls::http_client;
pub use tls::trusted_tls;
