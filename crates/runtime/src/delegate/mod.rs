//! Subagents: work that a session hands to others.
//!
//! A subagent is a session of its own, with a turn like any other: its own rows, journal, budget of
//! model calls and compressions. What makes it one is its [`Nest`]: whose work it does, which tools it has,
//! and the [`Purse`] it spends from. It knows nothing of the conversation that started it but what it is told.
//!
//! - [`tool`] is `delegate_task`: what the model asks for.
//! - [`child`] runs one subagent to its end, whatever happens to it.
//! - [`report`] is what its parent reads of it.
//! - [`desk`] is a session's side: what it is charged for, and what goes on beside it ([`beside`]).
//! - [`lost`] says after a restart what became of those that were at work.

mod beside;
mod child;
mod desk;
mod lost;
mod nest;
mod purse;
mod report;
mod tool;

pub(crate) use beside::GO_ON;
pub(crate) use desk::Desk;
pub(crate) use lost::of_call as lost_result;
pub(crate) use nest::Nest;
pub(crate) use tool::DelegateTask;

use report::Report;
use talaria_plugins::{Event, Payload};
use talaria_types::SessionId;

use crate::engine::Shared;

/// A subagent that has ended, for whoever is to hear of it.
pub(crate) struct Delegated<'a> {
    /// The session that started it.
    pub(crate) parent: &'a SessionId,
    /// What it was asked to do.
    pub(crate) goal: &'a str,
    /// What became of it.
    pub(crate) report: &'a Report,
}

/// The one place where the end of a subagent is told to others: hooks (`subagent_stop`), memory providers
/// (`on_delegation`).
fn finished(shared: &Shared, delegated: &Delegated<'_>) {
    tracing::info!(
        parent = %delegated.parent,
        session = delegated.report.session_id,
        status = delegated.report.status.as_str(),
        goal_chars = delegated.goal.chars().count(),
        "a subagent has ended"
    );
    tell(shared, Event::SubagentStop, |payload| {
        let report = delegated.report;
        payload
            .with("parent_session_id", delegated.parent.as_str())
            .with("child_session_id", report.session_id.as_str())
            .with("child_role", role(shared))
            .with("child_goal", delegated.goal)
            .with("child_summary", report.summary.as_deref())
            .with("child_status", report.status.as_str())
            .with("duration_ms", (report.duration_seconds * 1000.0) as u64)
    });
}

/// A subagent begins.
fn begun(shared: &Shared, parent: &SessionId, id: &SessionId, goal: &str) {
    tell(shared, Event::SubagentStart, |payload| {
        payload
            .with("parent_session_id", parent.as_str())
            .with("child_session_id", id.as_str())
            .with("child_role", role(shared))
            .with("child_goal", goal)
    });
}

fn role(shared: &Shared) -> &'static str {
    match &shared.nest {
        Some(nest) if nest.may_delegate => "orchestrator",
        _ => "leaf",
    }
}

fn tell(shared: &Shared, event: Event, facts: impl FnOnce(Payload) -> Payload) {
    let Some(hooks) = shared.extensions.get().map(|extensions| &extensions.hooks) else {
        return;
    };
    if let (true, Some(nest)) = (hooks.hear(event), &shared.nest) {
        hooks.tell(facts(Payload::new(
            event,
            nest.parent.as_str(),
            &shared.options.cwd,
        )));
    }
}
