//! What makes a program dangerous, by kind.

pub(super) mod code;
pub(super) mod files;
pub(super) mod git;
pub(super) mod services;
