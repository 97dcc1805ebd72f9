//! Speaks to models: pure wire adapters and the one HTTP driver.
//!
//! An adapter is a folder of pure functions (`encode`, `decode`, `failure`);
//! the driver in [`http`] owns connections, time-outs and framing and is the
//! same for all of them. [`resolve`] turns a configuration's words into an
//! [`Endpoint`]; [`connect`] turns an endpoint into a [`talaria_llm::Provider`].

mod endpoint;

pub use endpoint::{Endpoint, connect};
