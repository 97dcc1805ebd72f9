//! The built-in tools, one file or folder each.

pub mod process;
pub mod terminal;
