//! Where one session ends and another goes on: the one list of these events, what
//! each writes as the reason, and who is told.
//!
//! A front end hears of every boundary through [`Event::SessionRotated`], which says
//! the old id, the new one and the reason. Whoever keeps something by session (memory
//! providers, hooks) belongs into [`Session::leave`], which runs under the **old** id
//! before the old row ends, and [`Session::arrived`], which runs under the new one.
//! Before a compression they hear [`Event::CompactionStarted`].

use talaria_store::StoreError;
use talaria_types::{Event, SessionId};

use crate::clock;
use crate::reset::ResetReason;
use crate::session::Session;

/// Why a conversation goes on under another id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Boundary {
    /// `/new`.
    New,
    /// `/resume` of another session.
    Resumed,
    /// `/branch`.
    Branched,
    /// The first turn in a segment that was opened as it was.
    BranchedOff,
    /// A compression; the store ends the old row in its own transaction.
    Compressed,
    /// `/uncompress`; the compressed session stays as it is.
    Uncompressed,
    /// `-c` found the session older than the reset policy allows.
    Reset(ResetReason),
}

impl Boundary {
    /// What the old row's `end_reason` becomes; nothing where it stays open or the
    /// store writes it.
    pub(crate) fn end_reason(self) -> Option<&'static str> {
        match self {
            Self::New => Some("new_session"),
            Self::Resumed => Some("resumed_other"),
            Self::Branched => Some("branched"),
            Self::Reset(reason) => Some(reason.as_str()),
            Self::BranchedOff | Self::Compressed | Self::Uncompressed => None,
        }
    }

    /// The reason in the event.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::New => "new_session",
            Self::Resumed => "resume",
            Self::Branched => "branch",
            Self::BranchedOff => "branched",
            Self::Compressed => "compression",
            Self::Uncompressed => "uncompress",
            Self::Reset(reason) => reason.as_str(),
        }
    }
}

impl Session {
    /// The session is left, under its own id still: its row ends.
    ///
    /// # Errors
    /// When that cannot be written.
    pub(crate) async fn leave(&self, boundary: Boundary) -> Result<(), StoreError> {
        self.tell_hooks(talaria_plugins::Event::OnSessionFinalize, |payload| {
            payload.with("reason", boundary.reason())
        });
        self.memory_ends().await;
        self.engine_ends();
        match boundary.end_reason().filter(|_| self.stored) {
            Some(reason) => self.store().end_session(&self.id, reason, clock::now()),
            None => Ok(()),
        }
    }

    /// The conversation goes on under the session's present id.
    pub(crate) fn arrived(&self, from: &SessionId, boundary: Boundary) {
        self.memory_switches(from, boundary);
        if matches!(boundary, Boundary::New | Boundary::Reset(_)) {
            self.tell_hooks(talaria_plugins::Event::OnSessionReset, |payload| {
                payload
                    .with("old_session_id", from.as_str())
                    .with("reason", boundary.reason())
            });
        }
        self.sink.tell(Event::SessionRotated {
            from: from.clone(),
            to: self.id.clone(),
            reason: boundary.reason().to_owned(),
        });
    }
}
