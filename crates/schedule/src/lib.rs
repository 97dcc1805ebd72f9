//! Jobs that run at their time: kept, due, locked, and what came of them.
//!
//! `cron/jobs.json` has Hermes' shape, and what this program does not know of it stays in it. When a job is
//! due next is a function of its schedule and a moment. Whether it may run now is decided under locks that
//! the system takes back from a process that is killed, so that a job never runs twice and a run that died
//! is told of.
//!
//! Not here: what a run does. Whoever drives the engine takes what is due from [`Book::due`] and gives back
//! what came of it.

mod book;
mod job;
mod moment;
mod output;
mod script;
mod when;

pub use book::{Book, Broken, Running, ScheduleError, Taken};
pub use job::{Job, Outcome, Repeat, Status};
pub use moment::{now, stamp};
pub use output::keep;
pub use script::{Gate, gate, script_path};
pub use when::Schedule;
