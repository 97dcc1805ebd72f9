//! The engine against a scripted model server, over real HTTP.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod approvals;
mod arrows;
mod commands;
mod compression;
mod crash;
mod delegation;
mod external;
mod hooks;
mod injections;
mod laws;
mod memory;
mod mutations;
mod plugins;
mod recoveries;
mod review;
mod rig;
mod sessions;
mod skills;
mod web;
