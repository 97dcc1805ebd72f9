//! The built-in tools, one file or folder each.
