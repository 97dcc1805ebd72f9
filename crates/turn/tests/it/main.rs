//! Whole turns as traces: what the driver is asked to do, in order.

mod answers;
mod failures;
mod laws;
mod play;
mod tools;
