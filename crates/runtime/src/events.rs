//! Tells the face what happens.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use talaria_types::{Envelope, Event, SessionId, TurnId};
use tokio::sync::mpsc;

/// The place of the last event of this process.
static SEQUENCE: AtomicU64 = AtomicU64::new(0);

/// Where a session's events go.
#[derive(Clone)]
pub(crate) struct Sink {
    sender: mpsc::UnboundedSender<Envelope>,
    place: Arc<Mutex<(SessionId, TurnId)>>,
    warnings: Arc<Mutex<Vec<String>>>,
}

impl Sink {
    /// A sink for session `id`, before its first turn.
    pub(crate) fn new(id: SessionId) -> (Self, mpsc::UnboundedReceiver<Envelope>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let sink = Self {
            sender,
            place: Arc::new(Mutex::new((id, TurnId::new("")))),
            warnings: Arc::default(),
        };
        (sink, receiver)
    }

    /// From here on events belong to this session and turn.
    pub(crate) fn enter(&self, session: SessionId, turn: TurnId) {
        *self.place.lock().unwrap_or_else(PoisonError::into_inner) = (session, turn);
    }

    /// The turn goes on under another id.
    pub(crate) fn move_to(&self, session: SessionId) {
        self.place.lock().unwrap_or_else(PoisonError::into_inner).0 = session;
    }

    /// Tells one event. A face that has gone away misses it.
    pub(crate) fn tell(&self, event: Event) {
        if let Event::Warning { text } = &event {
            self.warnings
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(text.clone());
        }
        let (session_id, turn_id) = self.place.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let seq = SEQUENCE.fetch_add(1, Ordering::Relaxed) + 1;
        let _ = self.sender.send(Envelope {
            event,
            session_id,
            turn_id,
            seq,
        });
    }

    /// Warns the person; the turn's result carries it too.
    pub(crate) fn warn(&self, text: impl Into<String>) {
        let text = text.into();
        tracing::warn!("{text}");
        self.tell(Event::Warning { text });
    }

    /// Tells the person what is going on.
    pub(crate) fn status(&self, text: impl Into<String>) {
        self.tell(Event::Status { text: text.into() });
    }

    /// The warnings since the last call.
    pub(crate) fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.warnings.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
