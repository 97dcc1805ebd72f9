//! Finds and masks secrets by a table of vendor shapes.
