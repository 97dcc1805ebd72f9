//! One subagent, from its start to its end, whatever happens to it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use talaria_store::UsageRow;
use talaria_tools::ToolSession;
use talaria_types::{Event, SessionId, Task, TurnResult};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::nest::Ledger;
use super::report::{Report, Status};
use super::{Delegated, begun, finished};
use crate::clock;
use crate::engine::{Engine, Shared};
use crate::events::Sink;
use crate::inbox::Inbox;
use crate::session::Session;

/// How long one that is stopped may take to close its books.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// A limit below this stops a subagent before its first answer.
const LEAST_TIME: u64 = 30;
/// How often the person is told what one does.
const QUIET: Duration = Duration::from_secs(2);

/// A session that is about to work for another.
pub(crate) struct Child {
    /// Its place among the tasks of its call.
    pub(crate) index: usize,
    /// How many there are.
    pub(crate) of: usize,
    pub(crate) id: SessionId,
    pub(crate) goal: String,
    /// All it is told.
    pub(crate) prompt: String,
    /// What it is made of.
    pub(crate) shared: Arc<Shared>,
    /// Whose grants hold for it too.
    pub(crate) parent: Arc<ToolSession>,
}

/// One that has ended, and what it has used.
pub(crate) struct Ended {
    pub(crate) report: Report,
    pub(crate) ledger: Ledger,
}

impl Child {
    /// Runs it. It ends by itself, when `stop` fires, or when its time is up; what it said and did is
    /// stored in any case.
    pub(crate) async fn run(self, stop: CancellationToken, tell: mpsc::UnboundedSender<String>) -> Ended {
        let began = Instant::now();
        let mut report = self.work(&stop, &tell).await;
        report.duration_seconds = (began.elapsed().as_secs_f64() * 100.0).round() / 100.0;
        let ledger = self.shared.nest.as_ref().map(|nest| nest.take_ledger());
        let label = self.label();
        let _ = tell.send(format!(
            "{label} {} after {:.0} s ({} calls of tools)",
            report.status.as_str(),
            report.duration_seconds,
            report.tool_calls
        ));
        if let Some(nest) = &self.shared.nest {
            let delegated = Delegated {
                parent: &nest.parent,
                goal: &self.goal,
                report: &report,
            };
            finished(&self.shared, &delegated);
        }
        Ended {
            report,
            ledger: ledger.unwrap_or_default(),
        }
    }

    /// What its lines begin with.
    fn label(&self) -> String {
        let mut goal: String = self.goal.split_whitespace().collect::<Vec<_>>().join(" ");
        if goal.chars().count() > 40 {
            goal = goal.chars().take(37).chain("...".chars()).collect();
        }
        format!("[subagent {}/{} {goal}]", self.index + 1, self.of)
    }

    async fn work(&self, stop: &CancellationToken, tell: &mpsc::UnboundedSender<String>) -> Report {
        let error = |text: String| Report::bare(self.index, self.id.as_str(), Status::Error, Some(text));
        let (sink, events) = Sink::new(self.id.clone());
        let inbox = Arc::new(Inbox::default());
        let engine = Engine::over(self.shared.clone());
        let mut session = match engine.blank(self.id.clone(), sink, inbox.clone()).await {
            Ok(session) => session,
            Err(cause) => return error(cause.to_string()),
        };
        session.executor.session().grants().join(self.parent.grants());
        let _ = tell.send(format!("{} started as session {}", self.label(), self.id));
        if let Some(nest) = &self.shared.nest {
            begun(&self.shared, &nest.parent, &self.id, &self.goal);
        }
        inbox.expect_turn();
        let mut watch = Watch {
            inbox: &inbox,
            events,
            result: None,
            stopped_for: None,
            label: self.label(),
            tell,
            told: None,
            patience: LAST_WORDS,
        };
        let limit = self.time();
        let done = watch
            .over(session.turn(self.prompt.clone().into()), stop, limit)
            .await;
        let (result, stopped_for) = (watch.result, watch.stopped_for);
        self.close(session, done, result, stopped_for).await
    }

    /// How long it may take.
    fn time(&self) -> Option<Duration> {
        let seconds = self.shared.loaded.config.delegation.child_timeout_seconds;
        let limited = self.shared.nest.is_some() && seconds > 0;
        limited.then(|| Duration::from_secs(seconds.max(LEAST_TIME)))
    }

    /// Ends its session, and says what came of it.
    async fn close(
        &self,
        mut session: Session,
        done: bool,
        result: Option<Box<TurnResult>>,
        stopped_for: Option<Status>,
    ) -> Report {
        let status = stopped_for.unwrap_or(Status::Failed);
        let mut report = Report::bare(self.index, self.id.as_str(), status, None);
        let most = self.shared.loaded.config.delegation.max_summary_chars;
        match result {
            Some(result) => report.ended(&result, stopped_for, most),
            None => report.error = Some("it was stopped before its books were closed".to_owned()),
        }
        if status == Status::Timeout {
            report.error = self.time().map(|limit| {
                format!(
                    "it took longer than {} s (delegation.child_timeout_seconds)",
                    limit.as_secs()
                )
            });
        }
        if done {
            session.executor.session().shutdown();
            session.reviews.stop().await;
        } else {
            self.write_spent();
        }
        report.session_id = session.id.to_string();
        match self.shared.store.live(&session.id) {
            Ok(rows) => {
                let messages: Vec<_> = rows.into_iter().map(|row| row.message).collect();
                report.saw(&messages);
            }
            Err(error) => tracing::warn!(%error, "a subagent's conversation could not be read"),
        }
        let reason = report.status.as_str();
        if let Err(error) = self.shared.store.end_session(&session.id, reason, clock::now()) {
            tracing::warn!(%error, "the end of a subagent's session could not be written");
        }
        report
    }

    /// A turn that was dropped has not written what it used.
    fn write_spent(&self) {
        let Some(nest) = &self.shared.nest else { return };
        let ledger = nest
            .ledger
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        for (identity, bill) in ledger.iter() {
            let row = UsageRow {
                task: Task::Main.as_str().to_owned(),
                model: identity.model.clone(),
                billing: (
                    identity.provider.clone(),
                    identity.base_url.clone(),
                    String::new(),
                ),
                calls: bill.calls,
                usage: bill.usage,
                cost_usd: bill.usd(),
            };
            if let Err(error) = self.shared.store.add_usage(&self.id, &row, clock::now()) {
                tracing::warn!(%error, "the tokens of a subagent could not be written");
            }
        }
    }
}

/// Stays with a subagent's turn.
struct Watch<'a> {
    inbox: &'a Inbox,
    events: crate::Events,
    result: Option<Box<TurnResult>>,
    stopped_for: Option<Status>,
    label: String,
    tell: &'a mpsc::UnboundedSender<String>,
    told: Option<Instant>,
    /// How long one that is stopped may take to close its books.
    patience: Duration,
}

impl Watch<'_> {
    /// Waits for the end of `turn`, and stops it where that is due; whether it closed its books.
    async fn over(
        &mut self,
        turn: impl Future<Output = ()>,
        stop: &CancellationToken,
        limit: Option<Duration>,
    ) -> bool {
        tokio::pin!(turn);
        let forever = Duration::from_secs(365 * 24 * 3600);
        let up = tokio::time::sleep(limit.unwrap_or(forever));
        tokio::pin!(up);
        let given_up = tokio::time::sleep(forever);
        tokio::pin!(given_up);
        let done = loop {
            tokio::select! {
                biased;
                () = &mut turn => break true,
                () = stop.cancelled(), if self.stopped_for.is_none() => {
                    self.end(Status::Interrupted);
                    given_up.as_mut().reset(tokio::time::Instant::now() + self.patience);
                }
                () = &mut up, if self.stopped_for.is_none() => {
                    self.end(Status::Timeout);
                    given_up.as_mut().reset(tokio::time::Instant::now() + self.patience);
                }
                () = &mut given_up => break false,
                Some(envelope) = self.events.recv() => self.hear(envelope.event),
            }
        };
        while let Ok(envelope) = self.events.try_recv() {
            self.hear(envelope.event);
        }
        done
    }

    fn end(&mut self, status: Status) {
        self.stopped_for = Some(status);
        self.inbox.interrupt();
    }

    fn hear(&mut self, event: Event) {
        match event {
            Event::TurnFinished { result } => self.result = Some(result),
            Event::ToolStarted { name, args, .. } if self.told.is_none_or(|told| told.elapsed() >= QUIET) => {
                self.told = Some(Instant::now());
                let what = ["command", "path", "pattern", "url", "query"]
                    .iter()
                    .find_map(|key| args[*key].as_str())
                    .unwrap_or_default();
                let what: String = what.split_whitespace().collect::<Vec<_>>().join(" ");
                let what: String = what.chars().take(60).collect();
                let _ = self
                    .tell
                    .send(format!("{} {name} {what}", self.label).trim_end().to_owned());
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch<'a>(inbox: &'a Inbox, tell: &'a mpsc::UnboundedSender<String>) -> Watch<'a> {
        Watch {
            inbox,
            events: Sink::new(SessionId::new("c")).1,
            result: None,
            stopped_for: None,
            label: "[c]".to_owned(),
            tell,
            told: None,
            patience: Duration::ZERO,
        }
    }

    #[tokio::test]
    async fn a_subagent_that_hangs_is_stopped_when_its_time_is_up() {
        let inbox = Inbox::default();
        let (tell, _told) = mpsc::unbounded_channel();
        inbox.expect_turn();
        let token = inbox.begin_turn();
        let mut watch = watch(&inbox, &tell);
        let turn = async { token.cancelled().await };
        let stop = CancellationToken::new();
        assert!(watch.over(turn, &stop, Some(Duration::ZERO)).await);
        assert_eq!(watch.stopped_for, Some(Status::Timeout));
    }

    #[tokio::test]
    async fn one_that_does_not_even_hear_is_left_behind() {
        let inbox = Inbox::default();
        let (tell, _told) = mpsc::unbounded_channel();
        let mut watch = watch(&inbox, &tell);
        let stop = CancellationToken::new();
        stop.cancel();
        assert!(!watch.over(std::future::pending(), &stop, None).await);
        assert_eq!(watch.stopped_for, Some(Status::Interrupted));
    }
}
