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
mod memory;
mod review;
mod mutations;
mod rig;
mod sessions;
mod skills;
