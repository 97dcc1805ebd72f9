//! What a request is made of and what becomes of it when it grows too large.
//!
//! [`compose`] turns a stored conversation into valid messages without changing
//! what was sent before; [`prompt`] builds the system prompt; [`tokens`] counts;
//! [`meter`] says when to compress; [`compress`] says what to hide; [`view`] shows what
//! fills the window. All of it is
//! pure: no I/O, no clock, no randomness, no environment.

#![deny(clippy::wildcard_enum_match_arm)]

pub mod compose;
pub mod compress;
pub mod meter;
pub mod prompt;
pub mod tokens;
pub mod view;
