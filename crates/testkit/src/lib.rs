//! What tests, the demo and the benchmarks stand on: a scripted model server that is spoken to over
//! real HTTP, temporary home folders that point at it, a fixed moment, and filters for snapshots.
//!
//! No product code may depend on this crate, except the `demo` and `mock-llm` commands, which are the
//! scripted server itself.

pub mod demo;
mod filters;
mod home;
mod mock;
mod mutate;
mod pages;
mod secrets;

pub use filters::SNAPSHOT_FILTERS;
pub use home::{FIXED_NOW, TempHome};
pub use mock::{
    Api, Call, GivenUsage, MockServer, Recorded, Scenario, ScenarioError, ServeOptions, Step, TaskKind,
    UsageSpec, serve, validate,
};
pub use mutate::Mutator;
pub use pages::Pages;
pub use secrets::{Planted, planted};
