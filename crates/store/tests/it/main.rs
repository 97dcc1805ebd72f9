//! The store from outside.

mod common;
mod sessions;
