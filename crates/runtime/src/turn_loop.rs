//! The driver: does what the step says and answers it. It decides nothing.

use std::time::{Duration, Instant};

use talaria_plugins::{Event as Hooked, Payload};
use talaria_recovery::{ErrorKind, Failure, Phase, Situation, Symptom};
use talaria_store::StoreError;
use talaria_turn::{CallModel, Compact, Ending, Notice, Refresh, RefreshKind, RunTools, Step, ToolRound};
use talaria_types::{
    Completion, Delta, Event, FinishReason, ModelRequest, Question, Role, Task, Trigger, TurnId,
};
use tokio_util::sync::CancellationToken;

use crate::clock;
use crate::compaction::Order;
use crate::external_memory::Scrubbed;
use crate::host::{HostParts, TurnHost};
use crate::record::Record;
use crate::session::Session;

/// The longest a turn waits in all, before it gives up on a provider.
const PATIENCE_MS: u64 = 15 * 60 * 1000;

/// How long the answer that makes calls may wait for the first result, to be written with it.
const ANSWER_WAITS: Duration = Duration::from_millis(20);

/// The answer that lets a turn go beyond its budget.
const GO_ON: &str = "go on";

/// One running turn's surroundings.
pub(crate) struct Drive<'a> {
    pub(crate) session: &'a mut Session,
    pub(crate) turn: TurnId,
    pub(crate) cancel: CancellationToken,
    patience_ms: u64,
    /// The person has allowed this turn to go beyond its budget.
    overspending: bool,
    records: Vec<Record>,
}

impl<'a> Drive<'a> {
    /// A turn that begins now.
    pub(crate) fn new(session: &'a mut Session, turn: TurnId, cancel: CancellationToken) -> Self {
        Self {
            session,
            turn,
            cancel,
            patience_ms: PATIENCE_MS,
            overspending: false,
            records: Vec::new(),
        }
    }

    /// Runs the turn to its end.
    ///
    /// # Errors
    /// When a row that the next step depends on cannot be written.
    pub(crate) async fn run(&mut self, mut step: Step) -> Result<Box<Ending>, StoreError> {
        loop {
            self.write(&mut step)?;
            self.tell(&mut step);
            step = match step {
                Step::CallModel(call) => self.call_model(call).await,
                Step::RunTools(run) => self.run_tools(run).await?,
                Step::Compact(compact) => self.compact(compact).await?,
                Step::SwitchProvider(switch) => {
                    let model = self.switch(switch.failure()).await;
                    self.record(Record::Switched { model: model.clone() });
                    switch.answer(model)
                }
                Step::Refresh(refresh) => self.refresh(refresh).await,
                Step::Wait(wait) => {
                    let interrupted = self.wait(wait.wait_ms()).await;
                    self.record(Record::Waited { interrupted });
                    if interrupted {
                        wait.interrupt()
                    } else {
                        wait.over()
                    }
                }
                Step::Done(ending) => {
                    self.record(Record::End {
                        outcome: Box::new(ending.outcome.clone()),
                    });
                    self.flush();
                    return Ok(ending);
                }
            };
        }
    }

    /// Makes rows of what the step depends on.
    fn write(&mut self, step: &mut Step) -> Result<(), StoreError> {
        let unsaved = step.unsaved();
        if unsaved.is_empty() {
            return Ok(());
        }
        let is_answer = unsaved.iter().all(|message| message.role == Role::Assistant);
        if is_answer && matches!(step, Step::RunTools(_)) {
            // The host writes it: with the first result, or before a call that does more than read.
            return Ok(());
        }
        let ids = self
            .session
            .store()
            .append(self.session.id(), &unsaved, clock::now())?;
        step.saved(&ids);
        Ok(())
    }

    /// Tells what led to the step.
    fn tell(&mut self, step: &mut Step) {
        for notice in step.take_notices() {
            match notice {
                Notice::Recovery {
                    row,
                    attempt,
                    limit,
                    remedy,
                    wait_ms,
                } => {
                    tracing::warn!(row, attempt, limit, wait_ms, "{remedy}");
                    self.session.sink().tell(Event::Recovery {
                        row,
                        attempt,
                        limit,
                        remedy,
                        wait_ms,
                    });
                }
                Notice::Warning(text) => self.session.sink().warn(text),
                Notice::Scaffold(text) => self.record(Record::Scaffold { text }),
            }
        }
    }

    async fn call_model(&mut self, call: CallModel) -> Step {
        if self.cancel.is_cancelled() {
            return call.interrupt();
        }
        let request = call.request(&mut self.session.composer);
        if call.may_shrink()
            && let Some(trigger) = self.pressure(&call, &request).await
        {
            return call.too_large(trigger);
        }
        if let Some(text) = self.session.over_budget(self.session.gauge.in_flight())
            && !self.may_spend(&text).await
        {
            return call.over_budget(text);
        }
        let model = self.session.models().current().clone();
        let sink = self.session.sink().clone();
        // What somebody may put another text in the place of is not shown before they have.
        let veiled = self.session.hooks.hear(Hooked::TransformLlmOutput);
        let scrubbed = Scrubbed::new(sink.clone());
        let forward = |delta| match delta {
            Delta::Text(_) if veiled => {}
            Delta::Text(text) => scrubbed.push(&text),
            Delta::Reasoning(text) => sink.tell(Event::ReasoningDelta { text }),
            Delta::ToolCallStarted { .. } => {}
        };
        self.tell_of_request(&call, &request);
        let began = Instant::now();
        let mut reply = model.provider.complete(&request, &forward, &self.cancel).await;
        scrubbed.end(&mut reply);
        self.tell_of_reply(&call, &reply, began.elapsed());
        if let Some(text) = reply
            .as_ref()
            .ok()
            .and_then(|reply| said_between(reply).filter(|_| veiled))
        {
            self.session.sink().tell(Event::MessageDelta { text });
        }
        self.account(&reply);
        let situation = self.situation(&call);
        let reply = match reply {
            Ok(completion) => self.doubt(&completion).map_or(Ok(completion), Err),
            Err(failure) => Err(failure),
        };
        let request = self.session.digest(&request);
        self.record(Record::Call {
            request,
            situation: situation.clone(),
            completion: reply.as_ref().ok().map(|completion| Box::new(completion.clone())),
            failure: reply.as_ref().err().map(|failure| Box::new(failure.clone())),
        });
        call.answer(reply, &situation)
    }

    /// Tells that a request is about to be sent.
    fn tell_of_request(&self, call: &CallModel, request: &ModelRequest) {
        self.session.tell_hooks(Hooked::PreApiRequest, |payload| {
            self.about_model(payload, call)
                .with("request_messages", crate::hooked::history(&request.messages))
                .with("message_count", request.messages.len())
                .with("tool_count", request.tools.len())
                .with("approx_input_tokens", self.session.gauge.sent())
                .with("max_tokens", request.max_output_tokens)
        });
    }

    /// Tells what came of it.
    fn tell_of_reply(&self, call: &CallModel, reply: &Result<Completion, Failure>, took: Duration) {
        let seconds = took.as_secs_f64();
        match reply {
            Ok(completion) => self.session.tell_hooks(Hooked::PostApiRequest, |payload| {
                self.about_model(payload, call)
                    .with("api_duration", seconds)
                    .with("finish_reason", serde_json::json!(completion.finish))
                    .with("usage", serde_json::json!(completion.usage))
                    .with("assistant_content_chars", completion.text.chars().count())
                    .with("assistant_tool_call_count", completion.tool_calls.len())
            }),
            Err(failure) => self.session.tell_hooks(Hooked::ApiRequestError, |payload| {
                self.about_model(payload, call)
                    .with("api_duration", seconds)
                    .with("error", failure.message.as_str())
                    .with("error_kind", format!("{:?}", failure.kind))
                    .with("status", failure.status)
            }),
        }
    }

    fn about_model(&self, payload: Payload, call: &CallModel) -> Payload {
        let identity = self.session.models().current().provider.identity();
        payload
            .with("task_id", self.turn.as_str())
            .with("model", identity.model.as_str())
            .with("provider", identity.provider.as_str())
            .with(
                "base_url",
                talaria_redact::redact_url(&identity.base_url).as_ref(),
            )
            .with("api_call_count", call.state().tally().api_calls + 1)
    }

    /// Asks the person whether a call is made although it goes beyond a budget. A yes holds for the turn.
    async fn may_spend(&mut self, why: &str) -> bool {
        if self.overspending || !self.session.interactive() {
            return self.overspending;
        }
        let question = Question {
            id: "budget".to_owned(),
            text: format!("{why}. Go on with this turn?"),
            choices: vec![GO_ON.to_owned(), "stop".to_owned()],
        };
        let answer = self.session.inbox().expect_reply(&question.id);
        self.session.sink().tell(Event::QuestionAsked(question));
        let patience = Duration::from_secs(self.session.config().agent.clarify_timeout);
        let answer = tokio::select! {
            answer = tokio::time::timeout(patience, answer) => answer.ok().and_then(Result::ok).flatten(),
            () = self.cancel.cancelled() => None,
        };
        self.overspending = answer.is_some_and(|answer| answer == GO_ON);
        self.overspending
    }

    /// An answer cut at its length to a prompt of which the server counted less than
    /// half was made from half of the conversation: the server has cut it.
    fn doubt(&self, completion: &Completion) -> Option<Failure> {
        let counted = completion.usage.map_or(0, |usage| usage.prompt_tokens);
        let sent = self.session.gauge.sent();
        let cut =
            completion.finish == FinishReason::Length && counted > 0 && sent > 2_000 && sent > 2 * counted;
        if !cut {
            return None;
        }
        let text = format!(
            "the server took only {counted} of about {sent} prompt tokens: its context is smaller than configured \
             (num_ctx, or model.context_length)"
        );
        let mut failure = Failure::new(ErrorKind::ContextOverflow, Phase::Answer, text);
        failure.limits.window = Some(counted);
        Some(failure)
    }

    /// Why the request is compressed before it is sent, if it is.
    async fn pressure(&mut self, call: &CallModel, request: &ModelRequest) -> Option<Trigger> {
        let (setup, _) = self.session.models().setup().await;
        let first = call.state().tally().api_calls == 0;
        let trigger = self.session.gauge.pressure(request, &setup.plan, first);
        if let Some(text) = self.session.gauge.meter.pause_notice() {
            self.session.sink().warn(text);
        }
        let trigger = if self.session.engine.is_some() {
            let sizes = (self.session.gauge.sent(), setup.plan.trigger(), setup.plan.window);
            self.session.engine_trigger(trigger, request, sizes).await
        } else {
            trigger
        };
        trigger.filter(|_| self.session.may_compact())
    }

    /// Counts a call's tokens where they are kept.
    fn account(&mut self, reply: &Result<Completion, Failure>) {
        let usage = match reply {
            Ok(completion) => completion.usage,
            Err(failure) => failure.partial.as_ref().and_then(|partial| partial.usage),
        };
        self.session.account(usage);
        self.session.engine_spent(usage);
        self.session.sink().tell(Event::Usage {
            task: Task::Main,
            usage: usage.unwrap_or_default(),
        });
        match reply {
            Ok(completion) => {
                self.session.gauge.answered(completion.usage);
                self.session.models_mut().answered(false);
            }
            Err(failure) => {
                self.session
                    .models_mut()
                    .answered(failure.symptom == Some(Symptom::Stalled));
                if let Some(window) = failure.limits.window {
                    self.session.models().current().provider.learn_window(window);
                }
            }
        }
    }

    fn situation(&self, call: &CallModel) -> Situation {
        let credentials = self.session.models().current().provider.credentials();
        Situation {
            fallbacks_left: self.session.models().left(),
            can_rotate: credentials.can_rotate,
            can_refresh: credentials.can_refresh,
            max_retries: self.session.config().agent.api_max_retries,
            may_compact: self.session.may_compact(),
            entropy: clock::entropy(),
            patience_ms: self.patience_ms,
            applied: call.state().rewrites().to_vec(),
            stalls: self.session.models().stalls(),
        }
    }

    async fn run_tools(&mut self, mut run: RunTools) -> Result<Step, StoreError> {
        let config = self.session.config();
        let parts = HostParts {
            store: self.session.store(),
            session: self.session.id().clone(),
            turn: self.turn.clone(),
            sink: self.session.sink().clone(),
            inbox: self.session.inbox().clone(),
            cancel: self.cancel.clone(),
            interactive: self.session.interactive(),
            approval_timeout: Duration::from_secs(config.approvals.timeout),
            question_timeout: Duration::from_secs(config.agent.clarify_timeout),
            audience: self.session.audience(),
        };
        let host = TurnHost::new(parts, run.unsaved(), run.calls());
        self.session.tell_desk();
        let batch = {
            let work = self.session.executor().run_all(run.calls(), &host, &self.cancel);
            tokio::pin!(work);
            tokio::select! {
                biased;
                batch = &mut work => batch,
                () = tokio::time::sleep(ANSWER_WAITS) => {
                    host.write_answer()?;
                    work.await
                }
            }
        };
        let (answer, rows) = host.into_rows(&batch.results)?;
        run.saved(&answer);
        self.session.count_side_calls()?;
        self.session.account_delegated()?;
        let round = ToolRound {
            ran: batch.results.iter().map(|result| result.name.clone()).collect(),
            rows,
            invalid: batch.invalid_calls,
            halt: batch.halt,
            interrupted: self.cancel.is_cancelled(),
        };
        self.record(Record::Tools {
            rows: round.rows.iter().map(|(id, _)| *id).collect(),
            ran: round.ran.clone(),
            invalid: round.invalid,
            halt: round.halt.clone(),
            interrupted: round.interrupted,
        });
        Ok(run.answer(round))
    }

    async fn compact(&mut self, compact: Compact) -> Result<Step, StoreError> {
        let order = Order::automatic(compact.trigger());
        let (compacted, _) = self.session.compact(&order, &self.cancel).await?;
        self.record(Record::Compacted);
        Ok(compact.answer(compacted))
    }

    async fn switch(&mut self, failure: &Failure) -> Option<talaria_turn::ModelSetup> {
        let next = self.session.models_mut().next(failure.kind)?;
        let identity = next.provider.identity();
        let text = format!("going on with {} of {}", identity.model, identity.provider);
        self.session.sink().status(text);
        Some(self.session.models().setup().await.0)
    }

    async fn refresh(&mut self, refresh: Refresh) -> Step {
        let provider = self.session.models().current().provider.clone();
        let renewed = match refresh.kind() {
            RefreshKind::Transport { .. } => {
                provider.rebuild_transport();
                true
            }
            RefreshKind::NextCredential => provider.next_credential(refresh.failure()),
            RefreshKind::Credential => tokio::select! {
                renewed = provider.refresh_credential() => renewed,
                () = self.cancel.cancelled() => return refresh.interrupt(),
            },
        };
        self.record(Record::Refreshed { renewed });
        refresh.answer(renewed)
    }

    /// Waits, and says whether the person stopped it.
    async fn wait(&mut self, wait_ms: u64) -> bool {
        self.patience_ms = self.patience_ms.saturating_sub(wait_ms);
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(wait_ms)) => false,
            () = self.cancel.cancelled() => true,
        }
    }

    pub(crate) fn record(&mut self, record: Record) {
        self.records.push(record);
    }

    /// Writes the records. A turn that cannot be replayed is still a turn.
    fn flush(&mut self) {
        let records = std::mem::take(&mut self.records);
        let rows: Vec<_> = records
            .into_iter()
            .map(|record| record.into_row(self.session.id(), &self.turn))
            .collect();
        if let Err(error) = self.session.store().record(&rows, clock::now()) {
            tracing::warn!(%error, "the turn's records could not be written");
        }
    }
}

/// What the model says beside its calls.
fn said_between(reply: &Completion) -> Option<String> {
    (!reply.tool_calls.is_empty() && !reply.text.is_empty()).then(|| reply.text.clone())
}
