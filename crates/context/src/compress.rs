//! compress.
