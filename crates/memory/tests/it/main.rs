//! The memory on a disk, alone and with many writers; and providers against what they really speak to.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod disk;
mod place;
mod process;
mod services;
mod writers;
