//! Everything that can be set: the schema with its defaults, the loader that
//! joins flags, environment, project and home files, the folders and files of a
//! home, and every environment variable by name.
//!
//! The sections of [`Config`] carry the names of `config.yaml`; each value is
//! known with its [`Origin`]. Nothing else in the program reads the environment.
//!
//! How the parts meet: [`keys`] is the table of fixed keys, [`records`] that of
//! entries with names of their own; each row points at a typed [`slot`]. [`yaml`]
//! reads a file into a tree with lines, [`layer`] and [`load`] put trees into
//! slots, [`show`] reads slots out again, and [`edit`] changes a file in place.

mod defaults;
mod dotenv;
mod edit;
pub mod env;
mod error;
mod home;
mod keys;
mod layer;
mod load;
mod origin;
mod records;
mod schema;
mod show;
mod slot;
mod write;
mod yaml;

pub use env::Environment;
pub use error::ConfigError;
pub use home::{Home, expand_tilde};
pub use load::{Loaded, Overrides, load, load_from};
pub use origin::Origin;
pub use schema::*;
pub use write::{is_known, known_keys, raw, set, unknown_keys, unset};
