//! Credentials: which ones a provider has, which is good now, and where each secret stands.
//!
//! [`CredentialPool`] is the list of one provider; `entry` reads and marks one of
//! them, `secret` fetches its key, `file` keeps them in `auth.json`. Logins, whose
//! keys run out, are renewed by `login` and `oauth`.

mod entry;
mod file;
mod login;
pub(crate) mod oauth;
mod pool;
mod secret;

pub use entry::Listed;
pub use pool::{CredentialPool, NewCredential, PoolError, Strategy};

pub(crate) use login::KeyState;
pub(crate) use pool::Picked;
