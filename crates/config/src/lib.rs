//! Everything that can be set: the schema with its defaults, the loader that
//! joins flags, environment, project and home files, the folders and files of a
//! home, and every environment variable by name.
//!
//! The sections of [`Config`] carry the names of `config.yaml`; each value is
//! known with its [`Origin`]. Nothing else in the program reads the environment.

pub mod env;
mod error;
mod home;
mod load;
mod origin;
mod schema;
mod write;

pub use error::ConfigError;
pub use home::Home;
pub use load::{Loaded, Overrides, load};
pub use origin::Origin;
pub use schema::*;
pub use write::{set, unset};
