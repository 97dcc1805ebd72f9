//! Runs the calls of one answer.

use std::sync::Arc;

use talaria_types::{ToolCall, ToolResult};
use tokio_util::sync::CancellationToken;

use crate::{Host, Registry, Selection, ToolSession};

/// Runs batches of calls for one session.
pub struct Executor {
    registry: Arc<Registry>,
    selection: Selection,
    session: Arc<ToolSession>,
}

/// What came of a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// One result a call, in call order.
    pub results: Vec<ToolResult>,
    /// Set when the same thing was tried too often and the turn should end; says what, for the person.
    pub halt: Option<String>,
    /// Tools whose calls could not be understood (unknown name, bad arguments); they ran nothing.
    pub invalid_calls: u32,
}

impl Executor {
    /// Runs the tools of `selection` for `session`.
    pub fn new(registry: Arc<Registry>, selection: Selection, session: Arc<ToolSession>) -> Self {
        Self {
            registry,
            selection,
            session,
        }
    }

    /// Forgets what the loop guard-rails counted; a new turn begins.
    pub fn begin_turn(&self) {
        unimplemented!()
    }

    /// Runs every call and answers with one result for each, in call order.
    ///
    /// Never fails: what goes wrong is the result of the call it went wrong in.
    /// When `cancel` fires, running tools are stopped, finished ones keep their
    /// results, and calls that were not begun say so.
    pub async fn run_all(&self, _calls: &[ToolCall], _host: &dyn Host, _cancel: &CancellationToken) -> Batch {
        unimplemented!()
    }

    /// The session.
    pub fn session(&self) -> &Arc<ToolSession> {
        &self.session
    }
}
