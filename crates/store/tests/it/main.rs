//! The store from outside.

#[cfg(test)]
mod common;
#[cfg(test)]
mod search;
#[cfg(test)]
mod sessions;
