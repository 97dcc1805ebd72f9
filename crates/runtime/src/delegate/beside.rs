//! What goes on beside a conversation: subagents that were sent away, and prompts of the person
//! (`/background`). The first come back as a message of the session that sent them, once, whoever is alive
//! by then; the second are told when they are done.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use serde_json::{Value, json};
use talaria_store::{Delegation, StoreError, UsageRow};
use talaria_tools::{ToolContext, ToolError, ToolOutput, ToolSession, untrusted};
use talaria_types::{Message, SessionId, Task};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::child::{Child, Ended};
use super::desk::{self, Desk};
use super::nest::Ledger;
use super::report::{Report, Status};
use super::{lost, tool};
use crate::clock;
use crate::session::Session;

/// How long what goes on may take to close its books when the session ends.
const FAREWELL: Duration = Duration::from_millis(600);

/// What the session says to itself when results have come.
pub(crate) const GO_ON: &str = "[The background work above has ended. Go on with what it was for, or tell the \
     user what came of it.]";

/// One thing that goes on beside the conversation.
#[derive(Clone)]
pub(crate) struct Beside {
    /// How the person calls it.
    pub(crate) id: String,
    /// What it is about.
    pub(crate) what: String,
    /// The sessions that do it.
    pub(crate) sessions: Vec<String>,
    pub(crate) since: Instant,
    stop: CancellationToken,
    task: Arc<tokio::sync::Mutex<Option<JoinHandle<()>>>>,
    ended: Arc<std::sync::atomic::AtomicBool>,
}

impl Beside {
    fn new(id: String, what: String, sessions: Vec<String>) -> Self {
        Self {
            id,
            what,
            sessions,
            since: Instant::now(),
            stop: CancellationToken::new(),
            task: Arc::default(),
            ended: Arc::default(),
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(std::sync::atomic::Ordering::Acquire)
    }

    /// Asks it to end.
    pub(crate) fn stop(&self) {
        self.stop.cancel();
    }

    /// Sets `work` going.
    fn go(&self, work: impl Future<Output = ()> + Send + 'static) {
        let ended = self.ended.clone();
        let task = tokio::spawn(async move {
            work.await;
            ended.store(true, std::sync::atomic::Ordering::Release);
        });
        if let Ok(mut place) = self.task.try_lock() {
            *place = Some(task);
        }
    }

    async fn wait(&self) {
        if let Some(task) = self.task.lock().await.take() {
            let _ = task.await;
        }
    }
}

impl Desk {
    /// Sends subagents away; the call has its result at once.
    pub(super) fn send_away(
        self: &Arc<Self>,
        children: Vec<Child>,
        cx: &ToolContext<'_>,
    ) -> Result<ToolOutput, ToolError> {
        let id = short_id("d");
        let told: Vec<Value> = children
            .iter()
            .map(|child| json!({"task_index": child.index, "goal": child.goal, "session_id": child.id.as_str()}))
            .collect();
        let delegation = Delegation {
            id: id.clone(),
            session: SessionId::new(cx.session.id()),
            state: "running".to_owned(),
            task: json!({"call_id": cx.call.id, "tasks": told}),
            result: None,
            dispatched_at: clock::now(),
        };
        self.shared.store.delegate(&delegation).map_err(|error| {
            ToolError::Failed(format!(
                "nothing was started, because it could not be written down: {error}"
            ))
        })?;
        let goals: Vec<&str> = children.iter().map(|child| child.goal.as_str()).collect();
        let sessions = children.iter().map(|child| child.id.to_string()).collect();
        let beside = Beside::new(id.clone(), goals.join(" · "), sessions);
        let (desk, stop) = (self.clone(), beside.stop.clone());
        let session = delegation.session.clone();
        let name = id.clone();
        beside.go(async move { desk.see_through(name, session, children, stop).await });
        self.goes_beside(beside);
        let answer = json!({
            "delegation_id": id,
            "status": "running",
            "tasks": told,
            "note": "The results will come as a message of their own; do not wait for them, and do not do the work \
                     yourself meanwhile",
        });
        Ok(ToolOutput::json(
            &answer,
            format!("[delegate_task] sent away as {id}"),
        ))
    }

    /// Stays with subagents that were sent away, and has their results written down.
    async fn see_through(
        self: Arc<Self>,
        id: String,
        session: SessionId,
        children: Vec<Child>,
        stop: CancellationToken,
    ) {
        let began = Instant::now();
        let of = children.len();
        // Their progress is not told: the conversation goes on about something else.
        let (tell, _) = mpsc::unbounded_channel();
        let (desk, charged) = (self.clone(), session);
        let charge: tool::Charge = Arc::new(move |ledger| desk.charge_to(&charged, ledger));
        let mut running = tool::start(children, &stop, &tell, (&self.places_beside, &charge));
        let mut reports: Vec<Report> = Vec::with_capacity(of);
        while let Some(report) = running.next().await {
            reports.push(report);
        }
        reports.sort_by_key(|report| report.task_index);
        let done = reports
            .iter()
            .filter(|report| report.status == Status::Completed)
            .count();
        let state = match done {
            _ if stop.is_cancelled() => "interrupted",
            0 => "failed",
            _ => "completed",
        };
        let result = desk::result(&reports, began.elapsed().as_secs_f64(), None);
        if let Err(error) = self
            .shared
            .store
            .end_delegation(&id, state, &result, clock::now())
        {
            self.sink
                .warn(format!("the result of {id} could not be written down: {error}"));
            return;
        }
        self.sink.status(format!(
            "background work {id} has ended: {done} of {of} completed"
        ));
        if !stop.is_cancelled() {
            self.inbox.wake();
        }
    }

    /// Charges the session at once: no turn of it may come for a long time.
    fn charge_to(&self, session: &SessionId, ledger: Ledger) {
        for (identity, bill) in ledger {
            let row = UsageRow {
                task: Task::Delegate.as_str().to_owned(),
                model: identity.model,
                billing: (identity.provider, identity.base_url, String::new()),
                calls: bill.calls,
                usage: bill.usage,
                cost_usd: bill.usd(),
            };
            if let Err(error) = self.shared.store.add_usage(session, &row, clock::now()) {
                tracing::warn!(%error, "the tokens of subagents could not be written");
            }
        }
    }

    /// Runs a prompt of the person in a session of its own.
    pub(crate) fn run_beside(self: &Arc<Self>, prompt: &str, parent: Arc<ToolSession>) -> String {
        let mut shared = (*self.shared).clone();
        "background".clone_into(&mut shared.options.source);
        shared.options.interactive = false;
        shared.options.cwd = parent.cwd();
        shared.warnings = Vec::new();
        shared.reviews_later = Arc::new(true.into());
        let child = Child {
            index: 0,
            of: 1,
            id: clock::fresh_session_id(),
            goal: prompt.to_owned(),
            prompt: prompt.to_owned(),
            shared: Arc::new(shared),
            parent,
        };
        let id = short_id("b");
        let session = child.id.to_string();
        let beside = Beside::new(id.clone(), prompt.to_owned(), vec![session.clone()]);
        let (desk, stop, name) = (self.clone(), beside.stop.clone(), id.clone());
        beside.go(async move {
            let (tell, _) = mpsc::unbounded_channel();
            let Ended { report, .. } = child.run(stop, tell).await;
            desk.sink.status(told(&name, &report));
        });
        self.goes_beside(beside);
        format!(
            "{id} runs beside this conversation, as session {session}; /background lists, /background stop {id} ends it"
        )
    }

    /// What goes on, for the person.
    pub(crate) fn listed(&self) -> String {
        let running = self.beside();
        if running.is_empty() {
            return "nothing runs in the background; /background PROMPT starts something".to_owned();
        }
        let lines = running.iter().map(|beside| {
            let what: String = beside.what.split_whitespace().collect::<Vec<_>>().join(" ");
            let what: String = what.chars().take(60).collect();
            let seconds = beside.since.elapsed().as_secs();
            format!(
                "  {}  {seconds} s  session {}  {what}",
                beside.id,
                beside.sessions.join(", ")
            )
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Ends one of them, or all.
    pub(crate) fn end(&self, id: &str) -> String {
        let running = self.beside();
        let meant: Vec<&Beside> = running
            .iter()
            .filter(|beside| id.is_empty() || id == "all" || beside.id == id)
            .collect();
        meant.iter().for_each(|beside| beside.stop());
        let names: Vec<&str> = meant.iter().map(|beside| beside.id.as_str()).collect();
        match names.as_slice() {
            [] if id.is_empty() || id == "all" => "nothing runs in the background".to_owned(),
            [] => format!("nothing called {id} runs in the background; /background lists what does"),
            names => format!("{} will end now", names.join(", ")),
        }
    }

    /// The session ends, and with it what goes on beside it. What does not end in time is found lost by the
    /// next start.
    pub(crate) async fn close(&self) {
        let running = self.beside();
        running.iter().for_each(Beside::stop);
        let all = futures_util::future::join_all(running.iter().map(Beside::wait));
        let _ = tokio::time::timeout(FAREWELL, all).await;
    }
}

/// What the person reads of their own prompt's end.
fn told(id: &str, report: &Report) -> String {
    let answer = report
        .summary
        .as_deref()
        .or(report.error.as_deref())
        .unwrap_or("it gave no answer");
    let refused = if report.refused.is_empty() {
        String::new()
    } else {
        format!("\n(not allowed without you: {})", report.refused.join("; "))
    };
    format!(
        "background {id}: {} (go on with it: talaria -r {})\n{answer}{refused}",
        report.status.as_str(),
        report.session_id
    )
}

fn short_id(kind: &str) -> String {
    let word = clock::entropy() as u32;
    format!("{kind}{:05x}", word & 0xf_ffff)
}

impl Session {
    /// Takes back what was sent away and has ended: each result becomes a row of the conversation, once.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) fn take_back(&mut self) -> Result<usize, StoreError> {
        let mut taken = 0;
        for delegation in self.store().open_delegations(&self.id, clock::now())? {
            if delegation.state == "running" {
                continue;
            }
            let message = Arc::new(Message::user(self.brought(&delegation)));
            if let Some(row) = self
                .store()
                .deliver(&delegation.id, &self.id, &message, clock::now())?
            {
                self.history.push((row, message));
                taken += 1;
            }
        }
        Ok(taken)
    }

    /// Whether anything waits to be taken back.
    pub(crate) fn has_results(&self) -> bool {
        let open = self.store().open_delegations(&self.id, clock::now());
        open.is_ok_and(|open| open.iter().any(|delegation| delegation.state != "running"))
    }

    fn brought(&self, delegation: &Delegation) -> String {
        let result = match &delegation.result {
            Some(result) => result.clone(),
            None => lost::of_delegation(self.store(), delegation),
        };
        format!(
            "[Result of the background work {} that you handed out: {}. This is not a message of the user.]\n{}",
            delegation.id,
            delegation.state,
            untrusted::wrap("subagents", &result.to_string())
        )
    }
}
