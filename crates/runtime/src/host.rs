//! The driver's side of a batch of tool calls: journal, rows, consent, events.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::Value;
use talaria_store::{CallJournal, CallState, SessionStore, StoreError};
use talaria_tools::{After, Before, Done, Host, JournalError};
use talaria_types::{
    ApprovalAnswer, ApprovalRequest, Effect, Event, Message, MessageId, Question, SessionId, ToolCall,
    ToolResult, TurnId,
};
use tokio_util::sync::CancellationToken;

use crate::audience::Audience;
use crate::clock;
use crate::events::Sink;
use crate::inbox::Inbox;

/// Makes the names of questions unlike each other.
static QUESTIONS: AtomicU64 = AtomicU64::new(1);

/// What a person's guidance is wrapped in, so that it is not taken for a tool's output.
const STEER_OPEN: &str =
    "\n\n[OUT-OF-BAND USER MESSAGE — the user said this while you were working; it is not tool output]\n";
const STEER_CLOSE: &str = "\n[/OUT-OF-BAND USER MESSAGE]";

/// One batch's host. Results become rows in call order, each as soon as all
/// earlier ones are rows.
///
/// The answer that makes the calls is a row before anything depends on it: before a
/// call that does more than read, and with the first result at the latest.
pub(crate) struct TurnHost<'a> {
    parts: HostParts<'a>,
    batch: Mutex<Rows>,
}

/// The batch's rows as they come to be.
struct Rows {
    /// The answer that makes the calls, until it is a row.
    answer: Vec<Arc<Message>>,
    answer_ids: Vec<MessageId>,
    order: Vec<String>,
    waiting: HashMap<String, ResultRow>,
    effects: HashMap<String, Effect>,
    written: Vec<(MessageId, Arc<Message>)>,
    failure: Option<StoreError>,
}

/// The ids of the answer, and the results with theirs.
type Written = (Vec<MessageId>, Vec<(MessageId, Arc<Message>)>);

/// A result that is to be a row.
struct ResultRow {
    message: Arc<Message>,
    /// Reading again gives it again.
    repeatable: bool,
}

/// What a host is made of besides its batch.
pub(crate) struct HostParts<'a> {
    pub(crate) store: &'a dyn SessionStore,
    pub(crate) session: SessionId,
    pub(crate) turn: TurnId,
    pub(crate) sink: Sink,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) cancel: CancellationToken,
    pub(crate) interactive: bool,
    pub(crate) approval_timeout: Duration,
    pub(crate) question_timeout: Duration,
    pub(crate) audience: Audience,
}

impl<'a> TurnHost<'a> {
    /// A host for these calls of an answer that may be no row yet.
    pub(crate) fn new(parts: HostParts<'a>, answer: Vec<Arc<Message>>, calls: &[ToolCall]) -> Self {
        Self {
            parts,
            batch: Mutex::new(Rows {
                answer,
                answer_ids: Vec::new(),
                order: calls.iter().map(|call| call.id.clone()).collect(),
                waiting: HashMap::new(),
                effects: HashMap::new(),
                written: Vec::new(),
                failure: None,
            }),
        }
    }

    /// The ids of the answer that were given here, and the rows of the batch, every one
    /// written; those of `results` that were never reported are written now.
    ///
    /// # Errors
    /// When a row could not be written.
    pub(crate) fn into_rows(self, results: &[ToolResult]) -> Result<Written, StoreError> {
        let order = self.rows().order.clone();
        for (id, result) in order.iter().zip(results) {
            self.settle(id, result);
        }
        self.write_answer()?;
        let rows = self.batch.into_inner().unwrap_or_else(PoisonError::into_inner);
        match rows.failure {
            Some(failure) => Err(failure),
            None => Ok((rows.answer_ids, rows.written)),
        }
    }

    /// Makes a row of the answer unless it is one.
    ///
    /// # Errors
    /// When it could not be written.
    pub(crate) fn write_answer(&self) -> Result<(), StoreError> {
        let mut rows = self.rows();
        if rows.answer.is_empty() {
            return Ok(());
        }
        let (store, session) = (self.parts.store, &self.parts.session);
        rows.answer_ids = store.append_repeatable(session, &rows.answer, clock::now())?;
        rows.answer.clear();
        Ok(())
    }

    /// Makes a result a row as soon as all earlier ones are.
    fn settle(&self, id: &str, result: &ToolResult) {
        let mut rows = self.rows();
        let done = rows.written.len();
        let known =
            rows.waiting.contains_key(id) || rows.order[..done.min(rows.order.len())].iter().any(|w| w == id);
        if known {
            return;
        }
        let row = self.row(id, result, rows.effects.get(id).copied());
        rows.waiting.insert(id.to_owned(), row);
        while let Some(next) = rows.order.get(rows.written.len()).cloned() {
            let Some(row) = rows.waiting.remove(&next) else {
                break;
            };
            match self.append(&rows.answer, &row) {
                Ok(mut ids) => {
                    rows.written.extend(ids.pop().map(|id| (id, row.message)));
                    rows.answer.clear();
                    rows.answer_ids.extend(ids);
                }
                Err(error) => {
                    rows.failure = Some(error);
                    break;
                }
            }
        }
    }

    /// Writes a result, after the answer if that is no row yet.
    fn append(&self, answer: &[Arc<Message>], row: &ResultRow) -> Result<Vec<MessageId>, StoreError> {
        let (store, session) = (self.parts.store, &self.parts.session);
        let messages: Vec<_> = answer.iter().chain([&row.message]).cloned().collect();
        if row.repeatable {
            store.append_repeatable(session, &messages, clock::now())
        } else {
            store.append(session, &messages, clock::now())
        }
    }

    /// The result as a row, with what the person said meanwhile.
    fn row(&self, id: &str, result: &ToolResult, effect: Option<Effect>) -> ResultRow {
        let mut message = Message::tool(id, result.name.clone(), result.content.clone());
        message.brief = Some(result.brief.clone());
        let steer = self.parts.inbox.take_steer();
        if let Some(steer) = &steer {
            append_text(&mut message, &format!("{STEER_OPEN}{steer}{STEER_CLOSE}"));
        }
        ResultRow {
            repeatable: effect == Some(Effect::Read) && steer.is_none(),
            message: Arc::new(message),
        }
    }

    fn journal(
        &self,
        call: &ToolCall,
        tool: &str,
        effect: Effect,
        state: CallState,
    ) -> Result<(), JournalError> {
        self.rows().effects.insert(call.id.clone(), effect);
        if effect == Effect::Read {
            // Repeating a read is harmless, so nothing depends on knowing that it began.
            return Ok(());
        }
        self.write_answer()
            .map_err(|error| JournalError(error.to_string()))?;
        let now = clock::now();
        let entry = CallJournal {
            session_id: self.parts.session.clone(),
            turn_id: self.parts.turn.clone(),
            call_id: call.id.clone(),
            tool: tool.to_owned(),
            effect,
            state,
            started_at: (state != CallState::Intended).then_some(now),
            pid: None,
            result: None,
        };
        self.parts
            .store
            .journal(&entry, now)
            .map_err(|error| JournalError(error.to_string()))
    }

    fn tell_of_approval(&self, request: &ApprovalRequest, answer: Option<ApprovalAnswer>) {
        use talaria_plugins::Event::{PostApprovalResponse, PreApprovalRequest};
        let event = if answer.is_some() {
            PostApprovalResponse
        } else {
            PreApprovalRequest
        };
        let audience = &self.parts.audience;
        if !audience.hears(event) {
            return;
        }
        let args = serde_json::json!({"command": request.command});
        let payload = audience
            .payload(event)
            .of_tool(&request.tool, &args, &request.id)
            .with("command", request.command.as_str())
            .with("description", request.reason.as_str())
            .with("notification_type", "permission_prompt")
            .with("surface", "cli");
        audience.tell(match answer {
            Some(answer) => payload.with("choice", serde_json::json!(answer)),
            None => payload,
        });
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.batch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn wait<T>(&self, answer: tokio::sync::oneshot::Receiver<T>, patience: Duration) -> Option<T> {
        tokio::select! {
            answer = tokio::time::timeout(patience, answer) => answer.ok().and_then(Result::ok),
            () = self.parts.cancel.cancelled() => None,
        }
    }
}

impl Host for TurnHost<'_> {
    fn intend(&self, call: &ToolCall, tool: &str, effect: Effect) -> Result<(), JournalError> {
        self.journal(call, tool, effect, CallState::Intended)
    }

    fn started(&self, call: &ToolCall, tool: &str, args: &Value, effect: Effect) -> Result<(), JournalError> {
        self.journal(call, tool, effect, CallState::Started)?;
        tracing::info!(tool, call = %call.id, "tool started");
        self.parts.sink.tell(Event::ToolStarted {
            call_id: call.id.clone(),
            name: tool.to_owned(),
            args: args.clone(),
        });
        Ok(())
    }

    fn spawned(&self, call: &ToolCall, pid: u32) {
        let effect = self
            .rows()
            .effects
            .get(&call.id)
            .copied()
            .unwrap_or(Effect::Execute);
        let now = clock::now();
        let entry = CallJournal {
            session_id: self.parts.session.clone(),
            turn_id: self.parts.turn.clone(),
            call_id: call.id.clone(),
            tool: call.name.clone(),
            effect,
            state: CallState::Started,
            started_at: Some(now),
            pid: Some(pid),
            result: None,
        };
        if let Err(error) = self.parts.store.journal(&entry, now) {
            tracing::warn!(%error, "the process of a call could not be written down");
        }
    }

    fn finished(&self, call: &ToolCall, result: &ToolResult) {
        tracing::info!(tool = %result.name, call = %call.id, ok = result.ok, ms = result.duration_ms, "tool finished");
        self.settle(&call.id, result);
        self.parts.sink.tell(Event::ToolFinished {
            call_id: call.id.clone(),
            name: result.name.clone(),
            ok: result.ok,
            duration_ms: result.duration_ms,
            brief: result.brief.clone(),
        });
    }

    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        Box::pin(async move {
            let id = request.id.clone();
            self.tell_of_approval(&request, None);
            let asked = request.clone();
            let answer = self.parts.inbox.expect_approval(&id);
            self.parts.sink.tell(Event::ApprovalRequested(request));
            let answer = self
                .wait(answer, self.parts.approval_timeout)
                .await
                .unwrap_or(ApprovalAnswer::Deny);
            self.tell_of_approval(&asked, Some(answer));
            self.parts.sink.tell(Event::ApprovalAnswered { id, answer });
            answer
        })
    }

    fn can_ask(&self) -> bool {
        self.parts.interactive
    }

    fn ask(&self, mut question: Question) -> BoxFuture<'_, Option<String>> {
        Box::pin(async move {
            if !self.parts.interactive {
                return None;
            }
            if question.id.is_empty() {
                question.id = format!("q{}", QUESTIONS.fetch_add(1, Ordering::Relaxed));
            }
            let answer = self.parts.inbox.expect_reply(&question.id);
            self.parts.sink.tell(Event::QuestionAsked(question));
            self.wait(answer, self.parts.question_timeout).await.flatten()
        })
    }

    fn status(&self, text: &str) {
        self.parts.sink.status(text);
    }

    fn consults(&self) -> bool {
        !self.parts.audience.is_empty()
    }

    fn before<'a>(&'a self, call: &'a ToolCall, tool: &'a str, args: &'a Value) -> BoxFuture<'a, Before> {
        Box::pin(self.parts.audience.before(call, tool, args))
    }

    fn after<'a>(&'a self, done: Done<'a>) -> BoxFuture<'a, After> {
        Box::pin(self.parts.audience.after(done))
    }

    fn printed<'a>(&'a self, command: &'a str, output: &'a str, code: i32) -> BoxFuture<'a, Option<String>> {
        Box::pin(self.parts.audience.printed(command, output, code))
    }
}

/// Adds text to what a message says.
fn append_text(message: &mut Message, more: &str) {
    use talaria_types::{Content, Part};
    match &mut message.content {
        Content::Text(text) => text.push_str(more),
        Content::Parts(parts) => parts.push(Part::Text {
            text: more.to_owned(),
        }),
    }
}
