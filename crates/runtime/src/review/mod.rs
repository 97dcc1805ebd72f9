//! The review after a turn: a fork of the conversation that looks back at it and
//! saves what will matter later.
//!
//! It sends the conversation's own prefix, byte for byte, so that it reads the
//! provider's cache, and one message more. All tools are declared, because they
//! are part of those bytes; only those of memory and skills do anything. It
//! writes no message, asks nobody, shows nothing but one line, reviews nothing
//! itself, and never keeps the person waiting: it runs beside the next turn, is
//! stopped with the session, and what was stopped is done by the next start.

mod fork;
mod prompt;
mod queue;
mod runner;
mod tools;

pub(crate) use runner::Reviews;
