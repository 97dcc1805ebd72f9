//! The program as a person or a script drives it: real processes, a home of their own each.

mod config;
mod database;
mod doctor;
mod program;
mod sessions;
mod turns;
mod usage;
