//! The store in SQLite.
