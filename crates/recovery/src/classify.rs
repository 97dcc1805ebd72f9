//! classify.
