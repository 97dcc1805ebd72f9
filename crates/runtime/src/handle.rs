//! What a face holds of a session.

use std::sync::Arc;
use std::time::Duration;

use talaria_plugins::Hooks;
use talaria_types::{Envelope, Op, SessionId};
use tokio::sync::{mpsc, watch};

use crate::inbox::Inbox;

/// How long a session may take to end its children.
const FAREWELL: Duration = Duration::from_millis(700);
/// The same with a memory provider, which has bounds of its own.
const MEMORY_FAREWELL: Duration = Duration::from_secs(7);
/// How long hooks may take in all to hear the last of what happened.
const HOOKS_PATIENCE: Duration = Duration::from_secs(60);

/// A session's events, in order; ends when the actor does.
pub type Events = mpsc::UnboundedReceiver<Envelope>;

/// A running session. Dropping it ends the session's actor.
pub struct SessionHandle {
    ops: mpsc::UnboundedSender<Op>,
    events: Option<Events>,
    id: SessionId,
    inbox: Arc<Inbox>,
    busy: watch::Receiver<bool>,
    /// There is a memory provider to be told the last of it.
    remembers: bool,
    hooks: Arc<Hooks>,
}

impl SessionHandle {
    pub(crate) fn new(
        ops: mpsc::UnboundedSender<Op>,
        events: Events,
        id: SessionId,
        inbox: Arc<Inbox>,
        (busy, hooks, remembers): (watch::Receiver<bool>, Arc<Hooks>, bool),
    ) -> Self {
        Self {
            ops,
            events: Some(events),
            id,
            inbox,
            busy,
            hooks,
            remembers,
        }
    }

    /// How long its end may take after [`Op::Shutdown`]: a moment, and longer while a memory provider is told the
    /// last turns.
    pub fn ends_within(&self) -> Duration {
        if self.remembers && !self.goes_on() {
            MEMORY_FAREWELL
        } else {
            FAREWELL
        }
    }

    /// Asks something of the session; does nothing when its actor has ended.
    pub fn send(&self, op: Op) {
        let _ = self.ops.send(op);
    }

    /// The events; there is one listener, the first to ask.
    pub fn events(&mut self) -> Option<Events> {
        self.events.take()
    }

    /// Whether a turn runs or is queued. When a turn's last event has come, this says
    /// whether the session goes on by itself (a standing goal, guidance nobody heard).
    pub fn goes_on(&self) -> bool {
        self.inbox.goes_on()
    }

    /// Waits until nothing goes on beside the conversation any more (the review of its last turn). What is not
    /// waited for is stopped with the session and done by the next start.
    pub async fn settled(&self) {
        let mut busy = self.busy.clone();
        // The actor's end settles it too.
        let _ = busy.wait_for(|busy| !*busy).await;
    }

    /// Waits until hooks have heard everything that happened, also after the session has ended.
    pub fn hooks_done(&self) -> impl Future<Output = ()> + use<> {
        let hooks = self.hooks.clone();
        async move { hooks.drained(HOOKS_PATIENCE).await }
    }

    /// The id it was opened under (a compression moves it; the events say so).
    pub fn id(&self) -> &SessionId {
        &self.id
    }
}
