//! Runs the calls of one answer.
//!
//! A batch is planned first ([`plan`]): names and arguments are understood,
//! equal calls are folded into one, and the calls are cut into segments whose
//! members may run side by side. Then every call is written to the journal, and
//! the segments run one after another. Whatever happens, each call gets exactly
//! one result. Loop guard-rails ([`guard`]) and size budgets ([`budget`]) are
//! applied to each result before it is handed over, because it is stored then
//! and a stored message never changes.

mod budget;
mod guard;
mod plan;

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::{FutureExt, StreamExt};
use serde_json::json;
use talaria_types::{Content, Effect, ToolCall, ToolResult};
use tokio_util::sync::CancellationToken;

pub(crate) use self::budget::result_chars;

use self::budget::Budget;
use self::guard::Guard;
use self::plan::{Plan, Planned, Ready};
use crate::consult::{self, Before, Done};
use crate::mask::Mode;
use crate::{Host, Registry, Selection, ToolContext, ToolError, ToolOutput, ToolSession};

/// Calls of one segment that run at the same time.
const SIDE_BY_SIDE: usize = 8;

/// How long a stopped tool may take to end its work; the process must be gone soon after.
const GRACE: Duration = Duration::from_millis(150);

/// How long one call may take that neither runs a command nor waits for the person.
const CALL_TIMEOUT: Duration = Duration::from_secs(420);

/// The longest brief, in characters.
const BRIEF_CHARS: usize = 200;

/// Runs batches of calls for one session.
pub struct Executor {
    registry: Arc<Registry>,
    selection: Selection,
    session: Arc<ToolSession>,
    guard: Mutex<Guard>,
}

/// What came of a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// One result a call, in call order.
    pub results: Vec<ToolResult>,
    /// Set when the same thing was tried too often and the turn should end; says what, for the person.
    pub halt: Option<String>,
    /// Calls that could not be understood (unknown name, bad arguments); they ran nothing.
    pub invalid_calls: u32,
}

/// What was said to a call before it runs.
#[derive(Default)]
struct Said {
    before: Before,
    /// The call as it was changed.
    ready: Option<Ready>,
}

/// What every call of a running batch shares.
struct Run<'a> {
    calls: &'a [ToolCall],
    host: &'a dyn Host,
    cancel: &'a CancellationToken,
    budget: Budget,
}

impl Executor {
    /// Runs the tools of `selection` for `session`.
    pub fn new(registry: Arc<Registry>, selection: Selection, session: Arc<ToolSession>) -> Self {
        let guard = Mutex::new(Guard::new(
            session.settings().hard_stop,
            session.settings().loop_warnings,
        ));
        Self {
            registry,
            selection,
            session,
            guard,
        }
    }

    /// Forgets what the loop guard-rails counted; a new turn begins.
    pub fn begin_turn(&self) {
        self.guard().begin_turn();
        self.session.reads().other_tool();
    }

    /// Runs every call and answers with one result for each, in call order.
    ///
    /// Never fails: what goes wrong is the result of the call it went wrong in.
    /// When `cancel` fires, running tools are stopped, finished ones keep their
    /// results, and calls that were not begun say so.
    pub async fn run_all(&self, calls: &[ToolCall], host: &dyn Host, cancel: &CancellationToken) -> Batch {
        let plan = Plan::new(calls, &self.registry, &self.selection, &self.session);
        let settings = self.session.settings();
        let run = Run {
            calls,
            host,
            cancel,
            budget: Budget::new(&settings.home, settings.window),
        };
        let mut unwritten: Vec<Option<String>> = Vec::with_capacity(calls.len());
        for (call, planned) in calls.iter().zip(&plan.calls) {
            let (name, effect) = planned.tool();
            unwritten.push(
                host.intend(call, name, effect)
                    .err()
                    .map(|error| error.to_string()),
            );
        }
        let mut results: Vec<Option<ToolResult>> = vec![None; calls.len()];
        for segment in &plan.segments {
            let said = self.consult(&run, &plan, segment.clone()).await;
            // Calls that may go side by side as the model gave them may not as somebody changed them.
            let changed = said.iter().any(|said| said.ready.is_some());
            let width = if changed { 1 } else { SIDE_BY_SIDE };
            let (run, plan, unwritten, said) = (&run, &plan, &unwritten, &said);
            let futures = segment.clone().map(|index| async move {
                let said = &said[index - segment.start];
                let result = self
                    .answer(
                        run,
                        &plan.calls[index],
                        (index, said),
                        unwritten[index].as_deref(),
                    )
                    .await;
                (index, result)
            });
            let mut finished = futures_util::stream::iter(futures).buffer_unordered(width);
            while let Some((index, result)) = finished.next().await {
                if let Some(result) = result {
                    copy_to_equals(run, plan, index, &result, &mut results);
                    results[index] = Some(result);
                }
            }
        }
        let results = results.into_iter().zip(calls);
        let results = results.map(|(result, call)| {
            result.unwrap_or_else(|| self.error_result(call, &call.name, "the call gave no result"))
        });
        let results = results.collect();
        let mut guard = self.guard();
        let invalid_calls = guard.end_batch(calls.len());
        Batch {
            results,
            halt: guard.halt(),
            invalid_calls,
        }
    }

    /// The result of one call; nothing for the copy of an equal one.
    async fn answer(
        &self,
        run: &Run<'_>,
        planned: &Planned,
        (index, said): (usize, &Said),
        unwritten: Option<&str>,
    ) -> Option<ToolResult> {
        let call = &run.calls[index];
        let result = match planned {
            Planned::SameAs { .. } => return None,
            Planned::Invalid { name, error } => {
                self.guard().invalid(name, error);
                self.error_result(call, name, error)
            }
            Planned::Ready(ready) => match unwritten {
                Some(error) => self.error_result(call, &ready.name, error),
                None => {
                    self.run(run, call, said.ready.as_ref().unwrap_or(ready), &said.before)
                        .await
                }
            },
        };
        run.host.finished(call, &result);
        Some(result)
    }

    /// Runs one call that is understood and written down.
    async fn run(&self, run: &Run<'_>, call: &ToolCall, ready: &Ready, said: &Before) -> ToolResult {
        if run.cancel.is_cancelled() {
            return cancelled(call, &ready.name);
        }
        if let Some(why) = self.objection(run, call, ready, said).await {
            return self.error_result(call, &ready.name, &why);
        }
        if let Some(block) = self.guard().before(ready) {
            return self.error_result(call, &ready.name, &block);
        }
        let effect = ready.tool.effect();
        if let Err(error) = run.host.started(
            call,
            &ready.name,
            &self.session.mask().arguments(&ready.args),
            effect,
        ) {
            return self.error_result(call, &ready.name, &error.to_string());
        }
        if !ready.tool.idempotent() {
            self.session.reads().other_tool();
        }
        let began = Instant::now();
        let outcome = self.outcome(run, call, ready).await;
        let misfit = matches!(outcome, Err(ToolError::Misfit(_)));
        let masked = outcome.is_ok() && ready.tool.masks_secrets();
        let output = outcome.unwrap_or_else(|error| failed(&ready.name, &error));
        let mut output = if masked {
            output
        } else {
            self.session.mask().output(output, &ready.args)
        };
        {
            let mut guard = self.guard();
            if misfit {
                guard.invalid(&ready.name, &output.content.text());
            }
            if let Some(warning) = guard.after(ready, &output) {
                append(&mut output.content, &warning);
            }
        }
        self.hear(run, (call, ready, said), &mut output, began.elapsed())
            .await;
        let content = run
            .budget
            .fit(output.content, &ready.name, ready.tool.keeps_whole_results());
        ToolResult {
            call_id: call.id.clone(),
            name: ready.name.clone(),
            content,
            brief: cut(
                &self.session.mask().text(&output.brief, Mode::Everything),
                BRIEF_CHARS,
            ),
            ok: output.ok,
            duration_ms: milliseconds(began.elapsed()),
        }
    }

    /// What others say to a result.
    async fn hear(
        &self,
        run: &Run<'_>,
        (call, ready, said): (&ToolCall, &Ready, &Before),
        output: &mut ToolOutput,
        took: Duration,
    ) {
        if !run.host.consults() || run.cancel.is_cancelled() {
            return;
        }
        let text = output.content.text().into_owned();
        let done = Done {
            call,
            tool: &ready.name,
            args: &ready.args,
            result: &text,
            ok: output.ok,
            duration_ms: milliseconds(took),
        };
        tokio::select! {
            () = consult::heard(done, &said.context, output, (&self.session, run.host)) => {}
            () = run.cancel.cancelled() => {}
        }
    }

    /// What others say to the calls of a segment, side by side.
    async fn consult(&self, run: &Run<'_>, plan: &Plan, segment: std::ops::Range<usize>) -> Vec<Said> {
        if !run.host.consults() || run.cancel.is_cancelled() {
            return segment.map(|_| Said::default()).collect();
        }
        let each = segment.map(|index| async move {
            let Planned::Ready(ready) = &plan.calls[index] else {
                return Said::default();
            };
            let call = &run.calls[index];
            let before = tokio::select! {
                before = run.host.before(call, &ready.name, &ready.args) => before,
                () = run.cancel.cancelled() => Before::default(),
            };
            let ready = before.args.clone().map(|args| ready.with(args, &self.session));
            Said { before, ready }
        });
        futures_util::future::join_all(each).await
    }

    /// Why a call does not run that others have a say in.
    async fn objection(
        &self,
        run: &Run<'_>,
        call: &ToolCall,
        ready: &Ready,
        said: &Before,
    ) -> Option<String> {
        if let Some(why) = &said.block {
            return Some(consult::blocked(why));
        }
        let why = said.ask.as_deref()?;
        let asked = consult::agreed(call, &ready.name, &ready.args, why, (&self.session, run.host));
        tokio::select! {
            agreed = asked => agreed.err(),
            () = run.cancel.cancelled() => Some("interrupted by the user before this call was approved".to_owned()),
        }
    }

    /// Runs the tool, through panics, the interrupt and the time limit.
    async fn outcome(&self, run: &Run<'_>, call: &ToolCall, ready: &Ready) -> Result<ToolOutput, ToolError> {
        let context = ToolContext {
            call,
            session: &self.session,
            host: run.host,
            inner: Some(self),
            cancel: run.cancel,
        };
        // The future is made inside the guarded block: a tool may also panic before its first await.
        let guarded = AssertUnwindSafe(async { ready.tool.run(ready.args.clone(), &context).await });
        let work = guarded.catch_unwind();
        tokio::pin!(work);
        let limited = matches!(ready.tool.effect(), Effect::Read | Effect::Write);
        let limit = async {
            if limited {
                tokio::time::sleep(CALL_TIMEOUT).await;
            } else {
                std::future::pending::<()>().await;
            }
        };
        let done = tokio::select! {
            biased;
            done = &mut work => Some(done),
            () = run.cancel.cancelled() => tokio::time::timeout(GRACE, work).await.ok(),
            () = limit => return Err(ToolError::Failed(format!(
                "{} took longer than {} s and was given up", ready.name, CALL_TIMEOUT.as_secs()
            ))),
        };
        match done {
            Some(Ok(outcome)) => outcome,
            Some(Err(_)) => {
                tracing::error!(tool = %ready.name, "a tool panicked");
                Err(ToolError::Failed(format!(
                    "{} failed by an internal fault",
                    ready.name
                )))
            }
            None => {
                // What it read may never have reached the model.
                self.session.forget_reads();
                Err(ToolError::Interrupted)
            }
        }
    }

    /// The result of a call that did not run.
    fn error_result(&self, call: &ToolCall, name: &str, error: &str) -> ToolResult {
        let mask = self.session.mask();
        let error = mask.text(error, Mode::Output);
        ToolResult {
            call_id: call.id.clone(),
            name: name.to_owned(),
            brief: cut(
                &mask.text(&format!("[{name}] failed: {error}"), Mode::Everything),
                BRIEF_CHARS,
            ),
            content: Content::Text(json!({ "error": error }).to_string()),
            ok: false,
            duration_ms: 0,
        }
    }

    /// Whether the session has this tool.
    pub(crate) fn offers(&self, tool: &str) -> bool {
        self.selection.names.iter().any(|name| name == tool)
    }

    /// Runs one call on behalf of another that is running; its result is not the model's, so neither the
    /// guard-rails nor the budgets of results know of it, and what it reads counts as unseen.
    pub(crate) async fn run_inner(
        &self,
        call: &ToolCall,
        host: &dyn Host,
        cancel: &CancellationToken,
    ) -> ToolResult {
        let calls = std::slice::from_ref(call);
        let plan = Plan::new(calls, &self.registry, &self.selection, &self.session);
        let Some(Planned::Ready(ready)) = plan.calls.first() else {
            let error = match plan.calls.first() {
                Some(Planned::Invalid { error, .. }) => error.as_str(),
                _ => "the call could not be understood",
            };
            return self.error_result(call, &call.name, error);
        };
        let settings = self.session.settings();
        let run = Run {
            calls,
            host,
            cancel,
            budget: Budget::new(&settings.home, settings.window),
        };
        let said = self.consult(&run, &plan, 0..1).await.pop().unwrap_or_default();
        let ready = said.ready.as_ref().unwrap_or(ready);
        if let Some(why) = self.objection(&run, call, ready, &said.before).await {
            return self.error_result(call, &ready.name, &why);
        }
        let arguments = self.session.mask().arguments(&ready.args);
        if let Err(error) = host.started(call, &ready.name, &arguments, ready.tool.effect()) {
            return self.error_result(call, &ready.name, &error.to_string());
        }
        let began = Instant::now();
        let seen = self.session.reads().set_aside();
        let outcome = self.outcome(&run, call, ready).await;
        self.session.reads().put_back(seen);
        let masked = outcome.is_ok() && ready.tool.masks_secrets();
        let output = outcome.unwrap_or_else(|error| failed(&ready.name, &error));
        let mut output = if masked {
            output
        } else {
            self.session.mask().output(output, &ready.args)
        };
        self.hear(&run, (call, ready, &said.before), &mut output, began.elapsed())
            .await;
        let result = ToolResult {
            call_id: call.id.clone(),
            name: ready.name.clone(),
            content: output.content,
            brief: output.brief,
            ok: output.ok,
            duration_ms: milliseconds(began.elapsed()),
        };
        host.finished(call, &result);
        result
    }

    /// The session.
    pub fn session(&self) -> &Arc<ToolSession> {
        &self.session
    }

    fn guard(&self) -> MutexGuard<'_, Guard> {
        self.guard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives the calls that are equal to the one at `index` its result.
fn copy_to_equals(
    run: &Run<'_>,
    plan: &Plan,
    index: usize,
    result: &ToolResult,
    results: &mut [Option<ToolResult>],
) {
    for (at, planned) in plan.calls.iter().enumerate() {
        if matches!(planned, Planned::SameAs { original, .. } if *original == index) {
            let call = &run.calls[at];
            let copy = ToolResult {
                call_id: call.id.clone(),
                duration_ms: 0,
                ..result.clone()
            };
            run.host.finished(call, &copy);
            results[at] = Some(copy);
        }
    }
}

/// The output of a call that failed with `error`.
fn failed(name: &str, error: &ToolError) -> ToolOutput {
    let text = match error {
        ToolError::Interrupted => format!(
            "interrupted: {name} was stopped by the user before it had finished; look at what it did before \
             calling it again"
        ),
        other => other.to_string(),
    };
    ToolOutput {
        content: Content::Text(json!({ "error": text }).to_string()),
        brief: format!("[{name}] failed: {text}"),
        ok: false,
    }
}

fn cancelled(call: &ToolCall, name: &str) -> ToolResult {
    let text = format!("[Tool execution cancelled — {name} was skipped due to user interrupt]");
    ToolResult {
        call_id: call.id.clone(),
        name: name.to_owned(),
        brief: text.clone(),
        content: Content::Text(text),
        ok: false,
        duration_ms: 0,
    }
}

/// Adds a line after what a tool said.
pub(crate) fn append(content: &mut Content, line: &str) {
    match content {
        Content::Text(text) => {
            text.push_str("\n\n");
            text.push_str(line);
        }
        Content::Parts(parts) => parts.push(talaria_types::Part::Text {
            text: line.to_owned(),
        }),
    }
}

/// At most `most` characters, on one line.
fn cut(text: &str, most: usize) -> String {
    let line = text.replace(['\n', '\r'], " ");
    if line.chars().count() <= most {
        return line;
    }
    let mut short: String = line.chars().take(most.saturating_sub(3)).collect();
    short.push_str("...");
    short
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
