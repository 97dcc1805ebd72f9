//! Real servers, over each transport, through the registry and the executor that sessions use.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod doors;
mod questions;
mod results;
mod rig;
mod trouble;
