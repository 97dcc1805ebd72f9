//! Logins: how one logs in to a provider that takes no plain key, and how its token is renewed.
//!
//! [`rows`] is the table of what differs between the providers. `tokens` speaks to
//! a token server, `renew` makes a usable key of what is stored, `device` and
//! `browser` are the two ways to log in for the first time.

mod browser;
mod device;
mod pkce;
pub(crate) mod renew;
mod rows;
mod tokens;

pub use browser::BrowserLogin;
pub use device::DeviceLogin;
pub use rows::{LoginRow, login_row};
pub use tokens::LoginError;

pub(crate) use rows::headers;
