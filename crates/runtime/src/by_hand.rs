//! Compressions and their undoing by hand, outside of a conversation.

use std::sync::Arc;

use serde::Serialize;
use talaria_store::SessionStore;
use talaria_types::{CompactionReport, SessionId, Trigger};
use tokio_util::sync::CancellationToken;

use crate::boundary::Boundary;
use crate::compaction::Order;
use crate::events::Sink;
use crate::inbox::Inbox;
use crate::lease::{Lease, NoLease};
use crate::session::Session;
use crate::{Engine, EngineError, clock};

/// What undoing a compression came to, as `talaria uncompress --json` prints it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Uncompressed {
    /// The new session.
    pub session_id: SessionId,
    /// The session that was the live end.
    pub from: SessionId,
    /// Messages of the new session.
    pub messages: u64,
    /// What they need, estimated.
    pub tokens: u64,
}

impl Engine {
    /// Compresses a session whatever its size; with `preview` only says what would
    /// be hidden. What the person should know comes beside the report.
    ///
    /// # Errors
    /// When the session is unknown, busy, or cannot be read.
    pub async fn compress(
        &self,
        name: &str,
        focus: Option<String>,
        preview: bool,
    ) -> Result<(CompactionReport, Vec<String>), EngineError> {
        let mut session = self.opened(name).await?;
        let order = Order {
            trigger: Trigger::Command,
            focus,
            keep_exchanges: None,
        };
        let report = if preview {
            session.preview(&order).await?
        } else {
            let store = session.shared.store.clone();
            let lease = take_lease(&*store, &session.root).await?;
            session.catch_up()?;
            session.open_memory();
            let (_, report) = session.compact(&order, &CancellationToken::new()).await?;
            drop(lease);
            session.part_from_memory().await;
            report
        };
        Ok((report, session.sink.take_warnings()))
    }

    /// Undoes the newest `steps` compressions: a new session holds the originals and
    /// all that came after.
    ///
    /// # Errors
    /// When there is nothing to undo, or the originals do not fit the model's window.
    pub async fn uncompress(&self, name: &str, steps: usize) -> Result<Uncompressed, EngineError> {
        let mut session = self.opened(name).await?;
        let undone = session.uncompress(steps).await?;
        session.open_memory();
        session.id = undone.session_id.clone();
        session.memory_switches(&undone.from, Boundary::Uncompressed);
        session.part_from_memory().await;
        Ok(undone)
    }

    pub(crate) async fn opened(&self, name: &str) -> Result<Session, EngineError> {
        let found = self.store().resolve(name)?;
        let id = self.store().tip(&found)?;
        let (sink, _) = Sink::new(id.clone());
        let mut session = self.blank(id.clone(), sink, Arc::new(Inbox::default())).await?;
        session.open(&id)?;
        Ok(session)
    }
}

impl Session {
    /// See [`Engine::uncompress`]; the session goes on as the new one.
    pub(crate) async fn uncompress(&mut self, steps: usize) -> Result<Uncompressed, EngineError> {
        let originals = self.store().originals(&self.id, steps)?;
        let (setup, _) = self.models.setup().await;
        let request = self.whole_request(&originals);
        self.gauge.meter.change_model();
        let tokens = self.gauge.size(&request, &setup.plan);
        if tokens > setup.plan.room() {
            return Err(EngineError::TooLarge(format!(
                "the originals need about {tokens} tokens, the model's window has room for {}; choose a larger model",
                setup.plan.room()
            )));
        }
        let from = self.id.clone();
        let new = clock::fresh_session_id();
        let mut row = self.new_row(Some(from.clone()));
        row.id = new;
        row.model_config["_branched_from"] = from.as_str().into();
        row.model_config["_undo_of"] = from.as_str().into();
        let undone = self.store().uncompress(&from, steps, &row)?;
        self.move_goal(&from, &undone.session)?;
        Ok(Uncompressed {
            session_id: undone.session,
            from: undone.from,
            messages: undone.messages,
            tokens,
        })
    }
}

async fn take_lease<'a>(store: &'a dyn SessionStore, root: &SessionId) -> Result<Lease<'a>, EngineError> {
    let cancel = CancellationToken::new();
    let lease = Lease::take(store, root, &cancel, |_| {}).await;
    lease.map_err(|reason| match reason {
        NoLease::Busy(holder) => {
            EngineError::Busy(format!("another process ({holder}) runs a turn of this session"))
        }
        NoLease::Interrupted => EngineError::Busy("interrupted".to_owned()),
        NoLease::Store(error) => EngineError::Store(error),
    })
}
