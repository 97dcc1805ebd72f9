//! The engine against a scripted model server, over real HTTP.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod approvals;
mod arrows;
mod compression;
mod crash;
mod delegation;
mod laws;
mod memory;
mod mutations;
mod review;
mod rig;
mod sessions;
mod skills;
