//! The store from outside.

#[cfg(test)]
mod care;
#[cfg(test)]
mod common;
#[cfg(test)]
mod compat;
#[cfg(test)]
mod delegations;
#[cfg(test)]
mod rotation;
#[cfg(test)]
mod search;
#[cfg(test)]
mod sessions;
