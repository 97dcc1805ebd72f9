//! What makes a program dangerous, by kind.

pub(super) mod code;
pub(super) mod containers;
pub(super) mod escapes;
pub(super) mod files;
pub(super) mod git;
pub(super) mod own;
mod sed;
pub(super) mod services;
pub(super) mod variables;
