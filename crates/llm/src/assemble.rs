//! Joins deltas into one completion.
