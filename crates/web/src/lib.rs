//! Fetches pages without reaching into the private network, reads them as Markdown, searches the web.
//!
//! What comes back is a stranger's word. This crate bounds it (addresses, bytes, time) and makes text of
//! it; framing it as a stranger's word is up to whoever shows it to a model.

pub mod address;
mod blocklist;
mod charset;
mod error;
mod fetch;
mod guard;
mod html;
mod page;
pub mod pdf;
mod search;

pub use blocklist::{Blocklist, Rule};
pub use error::WebError;
pub use fetch::{Fetched, Fetcher, Settings, Tls};
pub use guard::{Resolver, system_resolver};
pub use page::{Page, read};
pub use search::{Hit, Search};
