//! Whole turns as traces: what the driver is asked to do, in order.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod answers;
mod failures;
mod laws;
mod play;
mod tools;
