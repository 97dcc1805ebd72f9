//! One turn of a conversation, as steps.
//!
//! ```text
//!               ┌────────────────────────── Step ──────────────────────────┐
//!  begin  ──►   │  CallModel ──ok──► reply? ──text──► Done                 │ ──► Ending
//!               │     ▲   │            ├──tool calls─► RunTools ──┐        │
//!               │     │   │            ├──empty──► empty chain    │        │
//!               │     │   │            └──cut off─► (call again) ─┤        │
//!               │     │   └─failed─► recovery chain ──────────────┤        │
//!               │     │                 │      │      │      │    │        │
//!               │     └── (rewrite) ◄───┘  Compact  Switch  Refresh / Wait │
//!               └──────────────────────────────────────────────────────────┘
//! ```
//!
//! [`begin`] gives the first [`Step`]. The driver does what the step says and
//! answers it; the answer is the next step. Each step owns the turn's
//! [`State`] and has only its own answer method, so answering out of order does
//! not compile, and there are no flags to restart by: a remedy *is* the next
//! step. Before it acts on any step the driver writes what the step depends on
//! ([`Step::unsaved`]) and tells what happened ([`Step::take_notices`]).
//!
//! Nothing here does I/O, knows the time or draws random numbers. Streamed text
//! does not pass through: the driver forwards deltas and answers with the
//! assembled completion.

#![deny(clippy::wildcard_enum_match_arm)]

mod budget;
mod call_model;
mod compact;
mod ending;
mod grow_output;
mod join;
mod refresh;
mod run_tools;
mod state;
mod step;
mod switch_provider;
mod talk;
mod wait;

pub use budget::Budget;
pub use call_model::CallModel;
pub use compact::{Compact, Compacted};
pub use ending::{Ending, Outcome};
pub use refresh::{Refresh, RefreshKind};
pub use run_tools::{RunTools, ToolRound};
pub use state::{ModelSetup, Notice, Setup, State, Tally};
pub use step::{Step, begin};
pub use switch_provider::SwitchProvider;
pub use talk::{Entry, Kind, Talk};
pub use wait::Wait;
