//! The program as a person or a script drives it: real processes, a home of their own each.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod auth;
mod config;
mod conversation;
mod cron;
mod database;
mod doctor;
mod hooks;
mod mcp;
mod memory;
mod memory_providers;
mod models;
mod program;
mod secrets;
mod sessions;
mod skills;
mod spending;
mod turns;
mod usage;
mod web;
