//! Starts reviews beside the conversation, and stops them with it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use talaria_context::compress::{COMPACTION_NOTE, is_summary};
use talaria_recovery::ErrorKind;
use talaria_types::{Message, SessionId, ToolSpec, TurnResult};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::fork::{self, Conversation};
use super::queue::{Claim, Queue};
use crate::engine::Shared;
use crate::events::Sink;
use crate::models::Model;
use crate::nudge::{Due, is_prompt};
use crate::session::Session;

/// How many reviews one turn sets off at most, those that were left over included.
const AT_ONCE: usize = 3;

/// How long a review that is stopped may take to notice.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// The reviews of one session.
pub(crate) struct Reviews {
    running: Option<JoinHandle<()>>,
    cancel: CancellationToken,
    busy: watch::Sender<bool>,
}

impl Reviews {
    /// None yet.
    pub(crate) fn new() -> Self {
        Self {
            running: None,
            cancel: CancellationToken::new(),
            busy: watch::Sender::new(false),
        }
    }

    /// Says whether one runs.
    pub(crate) fn watch(&self) -> watch::Receiver<bool> {
        self.busy.subscribe()
    }

    fn is_running(&self) -> bool {
        self.running.as_ref().is_some_and(|task| !task.is_finished())
    }

    /// Stops what runs. What is not done is left for the next start.
    pub(crate) async fn stop(&mut self) {
        self.cancel.cancel();
        let Some(mut task) = self.running.take() else {
            return;
        };
        // It ends at its next wait; a call in flight is dropped.
        if tokio::time::timeout(LAST_WORDS, &mut task).await.is_err() {
            task.abort();
        }
    }
}

/// What one turn has set off.
pub(crate) struct Wanted {
    due: Due,
    start: bool,
}

impl Session {
    /// Counts the turn that has ended, and says from now on that a review runs, if one will. Before the person
    /// hears of the turn's end, so that who asks then gets a true answer.
    pub(crate) fn want_review(&mut self, result: &TurnResult) -> Wanted {
        let prompt = self.history.iter().rposition(|(_, message)| is_prompt(message));
        let after = prompt.map_or(0, |prompt| prompt + 1);
        let due = self
            .nudges
            .turn(self.history[after..].iter().map(|(_, message)| message));
        let answered = result.completed
            && result
                .final_response
                .as_deref()
                .is_some_and(|text| !text.is_empty());
        let affordable = !due.any() || self.over_budget(self.gauge.in_flight()).is_none();
        let due = if answered && affordable {
            due
        } else {
            Due::default()
        };
        let queue = Queue::of(self.shared.loaded.home.root());
        let start = answered && (due.any() || queue.has_waiting());
        if start && !self.shared.reviews_later.load(Ordering::Relaxed) {
            self.reviews.busy.send_replace(true);
        }
        Wanted { due, start }
    }

    /// Starts what was wanted; costs the person nothing but a ticket.
    pub(crate) fn review(&mut self, wanted: &Wanted) {
        if !wanted.start {
            return;
        }
        let queue = Queue::of(self.shared.loaded.home.root());
        let own = wanted
            .due
            .any()
            .then(|| queue.push(self.id.as_str(), wanted.due))
            .flatten();
        if self.reviews.is_running() || self.shared.reviews_later.load(Ordering::Relaxed) {
            // One at a time: the ticket waits for the end of a later turn.
            return;
        }
        let runner = Runner {
            shared: self.shared.clone(),
            sink: self.sink.clone(),
            model: self.models.current().clone(),
            tools: self.tools.clone(),
            queue,
            cancel: self.reviews.cancel.clone(),
            busy: self.reviews.busy.clone(),
        };
        let own = own.map(|claim| (claim, self.conversation()));
        self.reviews.running = Some(tokio::spawn(runner.run(own)));
    }

    /// The conversation as its next turn would send it.
    fn conversation(&self) -> Conversation {
        Conversation {
            session: self.id.clone(),
            system: self.system.clone().unwrap_or_default(),
            note: self.note(),
            messages: self.messages(),
            tools: self.tools.clone(),
            rewrites: self.rewrites.clone(),
            model: self.models.current().clone(),
        }
    }
}

/// Works on tickets, one after the other.
struct Runner {
    shared: Arc<Shared>,
    sink: Sink,
    model: Arc<Model>,
    tools: Arc<[ToolSpec]>,
    queue: Queue,
    cancel: CancellationToken,
    busy: watch::Sender<bool>,
}

impl Runner {
    async fn run(self, own: Option<(Claim, Conversation)>) {
        let mut seen = Vec::new();
        if let Some((claim, conversation)) = own {
            seen.push(claim.ticket.id.clone());
            self.work(claim, Some(conversation)).await;
        }
        // What fails now is not tried again before the next start.
        while seen.len() < AT_ONCE && !self.cancel.is_cancelled() {
            let Some(claim) = self.queue.take(&seen) else {
                break;
            };
            seen.push(claim.ticket.id.clone());
            let session = SessionId::new(claim.ticket.session.as_str());
            let conversation = self.stored(&session);
            self.work(claim, conversation).await;
        }
        self.busy.send_replace(false);
    }

    /// One ticket. A conversation that is gone needs no review.
    async fn work(&self, mut claim: Claim, conversation: Option<Conversation>) {
        let Some(conversation) = conversation else {
            claim.done();
            return;
        };
        claim.tried();
        let due = claim.ticket.due();
        match fork::run(&self.shared, conversation, due, &self.cancel).await {
            Ok(deeds) => {
                claim.done();
                if let Some(line) = deeds.line() {
                    tracing::info!("{line}");
                    self.sink.status(line);
                }
            }
            Err(failure) if failure.kind == ErrorKind::Interrupted => {
                claim.stopped();
                tracing::info!(review = %claim.ticket.id, "a review was stopped; the next start goes on with it");
            }
            Err(failure) => {
                tracing::warn!(review = %claim.ticket.id, kind = ?failure.kind, "a review failed: {}", failure.message);
            }
        }
    }

    /// A conversation that another process had.
    fn stored(&self, session: &SessionId) -> Option<Conversation> {
        let store = &self.shared.store;
        let tip = store.tip(session).ok()?;
        let row = store.session(&tip).ok()??;
        let messages: Vec<Arc<Message>> = store
            .live(&tip)
            .ok()?
            .into_iter()
            .map(|row| row.message)
            .collect();
        let compressed = messages.iter().any(|message| is_summary(message));
        (!messages.is_empty()).then(|| Conversation {
            session: tip,
            system: row.system_prompt.unwrap_or_default().into(),
            note: compressed.then(|| Arc::from(COMPACTION_NOTE)),
            messages,
            tools: self.tools.clone(),
            rewrites: Vec::new(),
            model: self.model.clone(),
        })
    }
}
