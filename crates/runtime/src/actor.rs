//! The session's actor: one thing after another.

use std::sync::atomic::Ordering;

use talaria_types::{Content, ErrorKind, Event, ExitReason, Op, TurnError, TurnId, TurnResult};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use talaria_turn::Setup;

use crate::clock;
use crate::commands;
use crate::external_memory;
use crate::lease::{Lease, NoLease};
use crate::prepare;
use crate::record::{self, Digester, Record};
use crate::session::Session;
use crate::turn_loop::Drive;

/// Does what is asked, until the face goes away.
pub(crate) async fn run(mut session: Session, mut work: mpsc::UnboundedReceiver<Op>) {
    while let Some(op) = work.recv().await {
        match op {
            Op::Prompt { content } => session.turn(content).await,
            Op::Command { name, args } => commands::run(&mut session, &name, &args).await,
            Op::Shutdown => break,
            // These concern a running turn and are sorted out before they get here.
            Op::Steer { .. } | Op::Interrupt | Op::Approve { .. } | Op::Reply { .. } => {}
        }
    }
    session.executor.session().shutdown();
    session.inbox.close();
    session.desk.close().await;
    session.engine_ends();
    session.tell_hooks(talaria_plugins::Event::OnSessionFinalize, |payload| {
        payload.with("reason", "exit")
    });
    let is_last = session.shared.open_sessions.fetch_sub(1, Ordering::Relaxed) == 1;
    if let Some(extensions) = session.shared.known_extensions().filter(|_| is_last) {
        extensions.close().await;
    }
    let memory = session.closing_memory();
    tokio::join!(session.reviews.stop(), memory);
}

impl Session {
    /// Runs one turn; its last event carries the result, whatever happened.
    pub(crate) async fn turn(&mut self, content: Content) {
        let turn = TurnId::new(format!("t{:016x}", clock::entropy()));
        let cancel = self.inbox.begin_turn();
        self.sink.enter(self.id.clone(), turn.clone());
        self.sink.tell(Event::TurnStarted {
            prompt: content.text().into_owned(),
        });
        let span = tracing::info_span!("turn", session = %self.id, turn = %turn);
        let prompt = content.text().into_owned();
        let mut result = self
            .guarded(content, turn.clone(), &cancel)
            .instrument(span)
            .await;
        let mut times = 0;
        while let Some(why) = self.sent_back(&result, times, &cancel).await {
            times += 1;
            let again = TurnId::new(format!("t{:016x}", clock::entropy()));
            let next = self.guarded(why.into(), again, &cancel).await;
            result = joined(result, next);
        }
        self.wind_up(&mut result, &prompt, &cancel).await;
        self.sink.enter(self.id.clone(), turn);
        let unheard = self.inbox.take_steer();
        let goes_on = self.pursue(&result, &cancel).await;
        self.inbox.end_turn();
        self.hear(unheard, result.completed);
        // What the person said comes before what the goal asks for.
        if let Some(text) = goes_on.filter(|_| !self.inbox.goes_on()) {
            self.inbox.ask_next(text);
        }
        let wanted = self.want_review(&result);
        let answer = external_memory::answer_of(&result);
        self.sink.tell(Event::TurnFinished {
            result: Box::new(result),
        });
        if let Some(answer) = answer {
            self.remember_turn(&prompt, answer);
        }
        self.review(&wanted);
    }

    /// Guidance that no tool result carried to the model: the next prompt after a turn
    /// that ran to its end; said to be dropped after one that did not.
    fn hear(&self, unheard: Option<String>, completed: bool) {
        let Some(text) = unheard else { return };
        if completed {
            self.inbox.ask_next(text);
        } else {
            self.sink.warn(format!(
                "the model has not seen what you said meanwhile, ask again if it still holds: {text}"
            ));
        }
    }

    /// The turn, with everything that keeps it from running turned into a result.
    async fn guarded(&mut self, content: Content, turn: TurnId, cancel: &CancellationToken) -> TurnResult {
        let shared = self.shared.clone();
        let sink = self.sink.clone();
        let waiting = |holder: &str| {
            sink.status(format!("waiting for the turn that {holder} runs in this session"));
        };
        let lease = match Lease::take(&*shared.store, &self.root, cancel, waiting).await {
            Ok(lease) => lease,
            Err(reason) => return self.failed_result(no_lease(reason)),
        };
        let result = match self.attempt(content, turn, cancel).await {
            Ok(result) => result,
            Err(error) => {
                tracing::error!(%error, "the turn could not be run");
                self.failed_result(store_error(&error))
            }
        };
        drop(lease);
        result
    }

    async fn attempt(
        &mut self,
        content: Content,
        turn: TurnId,
        cancel: &CancellationToken,
    ) -> Result<TurnResult, talaria_store::StoreError> {
        self.catch_up()?;
        self.ask_about_hooks(cancel).await;
        let mut prepared = self.prepare(content).await?;
        self.describe_pictures(&mut prepared, cancel).await;
        self.recall(&mut prepared.prompt, cancel).await;
        if let Err(why) = self.heard(&mut prepared.prompt, cancel).await {
            return Ok(self.refused(&why));
        }
        self.sink.enter(self.id.clone(), turn.clone());
        if let Some(text) = self.does_not_fit(&prepared.setup) {
            let mut result = self.failed_result(TurnError {
                kind: ErrorKind::ContextOverflow,
                message: text,
                status: None,
                hint: Some(
                    "set model.context_length to what the server really has, or take a larger model"
                        .to_owned(),
                ),
            });
            result.exit_reason = ExitReason::ContextOverflow;
            return Ok(result);
        }
        self.digester = Digester::default();
        self.executor.begin_turn();
        let begin = Record::Begin {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            setup: record::slim(&prepared.setup),
            history: record::ranges(self.history.iter().map(|(id, _)| *id)),
            prompt: prepared.prompt.clone(),
        };
        let step = talaria_turn::begin(prepared.setup, self.talk(), prepared.prompt);
        let mut drive = Drive::new(self, turn, cancel.clone());
        drive.record(begin);
        let ending = drive.run(step).await?;
        self.finish(&ending)
    }

    /// The result of a turn that a hook has refused.
    fn refused(&mut self, why: &str) -> TurnResult {
        let mut result = self.failed_result(TurnError {
            kind: ErrorKind::Refused,
            message: format!("a hook refused this prompt: {why}"),
            status: None,
            hint: None,
        });
        result.exit_reason = ExitReason::Refused;
        result
    }

    /// Why no request of this session could fit the model's window: prompt and tools
    /// alone, and a little room to speak in, are more.
    fn does_not_fit(&mut self, setup: &Setup) -> Option<String> {
        const ROOM: u64 = 512;
        let request = self.whole_request(&[]);
        let fixed = self.gauge.overhead(&request);
        let window = setup.model.plan.window;
        (fixed + ROOM > window).then(|| {
            format!(
                "the model's window of {window} tokens is too small: the system prompt and the tools take {fixed}, \
                 and {ROOM} are needed to talk"
            )
        })
    }

    /// Another process may have gone on with the session since it was read.
    pub(crate) fn catch_up(&mut self) -> Result<(), talaria_store::StoreError> {
        if !self.stored || self.exact {
            return Ok(());
        }
        let tip = self.store().tip(&self.id)?;
        let row = self.store().session(&tip)?;
        let count = row.as_ref().map_or(0, |row| row.message_count);
        if tip == self.id && count == self.known_rows {
            return Ok(());
        }
        self.id = tip;
        self.history = prepare::live(self)?;
        self.known_rows = count;
        self.executor.session().hydrate(&self.messages());
        self.nudges.hydrate(&self.messages());
        if let Some(prompt) = row.and_then(|row| row.system_prompt) {
            self.system = Some(prompt.into());
        }
        Ok(())
    }
}

/// One result of a turn and of what it was sent back to do.
fn joined(before: TurnResult, mut after: TurnResult) -> TurnResult {
    after.api_calls += before.api_calls;
    after.compressions += before.compressions;
    after.usage += before.usage;
    after.estimated_cost_usd = match (before.estimated_cost_usd, after.estimated_cost_usd) {
        (Some(one), Some(two)) => Some(one + two),
        (one, two) => one.or(two),
    };
    after.warnings.splice(0..0, before.warnings);
    after.recoveries.splice(0..0, before.recoveries);
    after
}

fn no_lease(reason: NoLease) -> TurnError {
    match reason {
        NoLease::Busy(holder) => TurnError {
            kind: ErrorKind::SessionBusy,
            message: format!("another process ({holder}) runs a turn of this session"),
            status: None,
            hint: Some("wait for it to end, stop it, or start a new session".to_owned()),
        },
        NoLease::Interrupted => TurnError {
            kind: ErrorKind::Interrupted,
            message: "interrupted while waiting for another process's turn".to_owned(),
            status: None,
            hint: None,
        },
        NoLease::Store(error) => store_error(&error),
    }
}

fn store_error(error: &talaria_store::StoreError) -> TurnError {
    use std::error::Error;
    let cause = error
        .source()
        .map(|source| format!(": {source}"))
        .unwrap_or_default();
    if let talaria_store::StoreError::UnknownSession { name } = error {
        return TurnError {
            kind: ErrorKind::Internal,
            message: format!("session {name} was deleted while its turn ran"),
            status: None,
            hint: Some("this turn is not stored; start a new session to go on".to_owned()),
        };
    }
    TurnError {
        kind: ErrorKind::Internal,
        message: format!("{error}{cause}"),
        status: None,
        hint: Some(
            "nothing that was stored before is lost; `talaria db check` says whether the store is sound"
                .to_owned(),
        ),
    }
}
