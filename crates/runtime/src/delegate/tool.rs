//! `delegate_task`: hands tasks to subagents.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use schemars::JsonSchema;
use serde::Deserialize;
use talaria_tools::{Parallel, Tool, ToolContext, ToolError, ToolOutput};
use talaria_types::{Effect, SessionId};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::child::{Child, Ended};
use super::desk::{self, Desk};
use super::nest::{Ledger, Nest};
use super::report::{Report, Status};
use crate::clock;
use crate::engine::Shared;

/// How deep subagents may go whatever is configured.
const DEEPEST: u32 = 3;

/// See the module.
pub(crate) struct DelegateTask;

/// What is handed out.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct DelegateArgs {
    /// What to do. The subagent sees nothing of this conversation
    #[serde(default)]
    goal: Option<String>,
    /// All it needs to know: paths, facts, limits
    #[serde(default)]
    context: Option<String>,
    /// Instead of goal: tasks that run side by side
    #[serde(default)]
    tasks: Vec<TaskArgs>,
    /// Its sets of tools; yours when left out
    #[serde(default)]
    toolsets: Option<Vec<String>>,
    /// orchestrator: it may delegate too, where that is allowed
    #[serde(default)]
    role: Role,
    /// Return at once; the results come as a later message
    #[serde(default)]
    background: bool,
}

/// One of several tasks.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct TaskArgs {
    goal: String,
    #[serde(default)]
    context: Option<String>,
    #[serde(default)]
    #[schemars(skip)]
    toolsets: Option<Vec<String>>,
    #[serde(default)]
    #[schemars(skip)]
    role: Option<Role>,
}

/// What a subagent may do with its task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    /// Do it.
    #[default]
    Leaf,
    /// Hand it on, too.
    Orchestrator,
}

impl Tool for DelegateTask {
    const NAME: &'static str = "delegate_task";
    const DESCRIPTION: &'static str = "Hand a self-contained task, or several at once, to subagents with a fresh \
        context, and get their summaries. For work that would fill yours with detail; do small things yourself";
    const EFFECT: Effect = Effect::Execute;
    type Args = DelegateArgs;

    fn run<'a>(
        &'a self,
        args: DelegateArgs,
        cx: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(delegate(args, cx))
    }

    fn parallel(&self, _: &serde_json::Value) -> Parallel {
        // The places bound how many work at the same time.
        Parallel::Always
    }
}

async fn delegate(args: DelegateArgs, cx: &ToolContext<'_>) -> Result<ToolOutput, ToolError> {
    let desk = cx
        .session
        .room::<Desk>()
        .ok_or_else(|| ToolError::Failed("this session has no subagents".to_owned()))?;
    let background = args.background;
    let tasks = tasks(args, desk.shared.loaded.config.delegation.max_concurrent_children)?;
    let beside = background && desk.shared.options.interactive;
    let children = children(&desk, tasks, cx, beside)?;
    if beside {
        return desk.send_away(children, cx);
    }
    let began = Instant::now();
    let stop = cx.cancel.child_token();
    // When the call is given up, nobody is left to wait for them.
    let _stop = stop.clone().drop_guard();
    let goals: Vec<String> = children.iter().map(|child| child.goal.clone()).collect();
    let (tell, mut told) = mpsc::unbounded_channel();
    let places = desk.places.clone();
    let charged = desk.clone();
    let charge: Charge = Arc::new(move |ledger| charged.charge(ledger));
    let mut running = start(children, &stop, &tell, (&places, &charge));
    drop(tell);
    let mut reports = Vec::with_capacity(goals.len());
    loop {
        tokio::select! {
            biased;
            Some(line) = told.recv() => cx.host.status(&line),
            Some(ended) = running.next() => reports.push(ended),
            else => break,
        }
    }
    reports.sort_by_key(|report: &Report| report.task_index);
    Ok(output(
        &reports,
        began.elapsed().as_secs_f64(),
        note(cx, background && !beside),
    ))
}

/// What the tasks are done by.
fn children(
    desk: &Arc<Desk>,
    tasks: Vec<TaskArgs>,
    cx: &ToolContext<'_>,
    beside: bool,
) -> Result<Vec<Child>, ToolError> {
    let of = tasks.len();
    let parent = SessionId::new(cx.session.id());
    let purse = desk.purse(&parent, beside);
    let mut children = Vec::with_capacity(of);
    for (index, task) in tasks.into_iter().enumerate() {
        let goal = task.goal.trim().to_owned();
        if goal.is_empty() {
            return Err(ToolError::BadArguments(format!(
                "task {} has no goal; say what the subagent should do",
                index + 1
            )));
        }
        let nest = Nest {
            depth: desk.depth() + 1,
            parent: parent.clone(),
            call: (cx.call.id.clone(), index),
            may_delegate: task.role == Some(Role::Orchestrator) && desk.may_go_deeper(),
            tools: desk.tools().to_vec(),
            purse: purse.clone(),
            ledger: Mutex::default(),
        };
        let shared = desk
            .shared
            .for_subagent(nest, task.toolsets.as_deref(), cx.session)?;
        let cwd = shared.options.cwd.display().to_string();
        children.push(Child {
            index,
            of,
            id: clock::fresh_session_id(),
            prompt: desk::prompt(&goal, task.context.as_deref(), &cwd),
            goal,
            shared,
            parent: cx.session.clone(),
        });
    }
    Ok(children)
}

/// Who is charged for what a subagent has used, whether anybody still waits for it or not.
pub(super) type Charge = Arc<dyn Fn(Ledger) + Send + Sync>;

/// Starts them; as many work at once as there are places.
pub(super) fn start(
    children: Vec<Child>,
    stop: &CancellationToken,
    tell: &mpsc::UnboundedSender<String>,
    (places, charge): (&Arc<Semaphore>, &Charge),
) -> FuturesUnordered<BoxFuture<'static, Report>> {
    let running = FuturesUnordered::new();
    for child in children {
        let (index, id) = (child.index, child.id.to_string());
        let (stop, tell, places, charge) = (stop.clone(), tell.clone(), places.clone(), charge.clone());
        let task: JoinHandle<Report> = tokio::spawn(async move {
            let place = tokio::select! {
                place = places.acquire_owned() => place.ok(),
                () = stop.cancelled() => None,
            };
            if place.is_none() {
                return Report::bare(child.index, child.id.as_str(), Status::Interrupted, None);
            }
            let Ended { report, ledger } = child.run(stop, tell).await;
            charge(ledger);
            report
        });
        running.push(Box::pin(async move {
            task.await.unwrap_or_else(|_| {
                let error = "it failed by an internal fault".to_owned();
                Report::bare(index, &id, Status::Error, Some(error))
            })
        }) as BoxFuture<'static, Report>);
    }
    running
}

/// What is asked for, as tasks.
fn tasks(args: DelegateArgs, most: usize) -> Result<Vec<TaskArgs>, ToolError> {
    let wrong = |text: String| Err(ToolError::BadArguments(text));
    let goal = args.goal.filter(|goal| !goal.trim().is_empty());
    let mut tasks = match (goal, args.tasks) {
        (None, tasks) if tasks.is_empty() => {
            return wrong("neither goal nor tasks is given; say what is to be done".to_owned());
        }
        (Some(_), tasks) if !tasks.is_empty() => {
            return wrong("goal and tasks are both given; give one of them".to_owned());
        }
        (Some(goal), _) => vec![TaskArgs {
            goal,
            context: args.context.clone(),
            ..TaskArgs::default()
        }],
        (None, tasks) => tasks,
    };
    if tasks.len() > most {
        return wrong(format!(
            "{} tasks are more than the {most} that may run at once (delegation.max_concurrent_children); nothing was \
             started, hand them out in several calls",
            tasks.len()
        ));
    }
    let several = tasks.len() > 1;
    for task in &mut tasks {
        task.toolsets = task.toolsets.take().or_else(|| args.toolsets.clone());
        task.role = task.role.or(Some(args.role));
        if let (None, Some(context), true) = (&task.context, &args.context, several) {
            task.context = Some(context.clone());
        }
    }
    Ok(tasks)
}

/// What the model is told beside the reports.
fn note(cx: &ToolContext<'_>, stayed: bool) -> Option<String> {
    let mut notes = Vec::new();
    if stayed {
        notes.push(
            "background was left out: this session ends with its answer, so the subagents were waited for"
                .to_owned(),
        );
    }
    let changed = cx.session.changed_reads();
    if !changed.is_empty() {
        notes.push(format!(
            "files you have read were changed meanwhile, read them again before you edit them: {}",
            changed.join(", ")
        ));
    }
    (!notes.is_empty()).then(|| notes.join("; "))
}

fn output(reports: &[Report], seconds: f64, note: Option<String>) -> ToolOutput {
    let done = reports
        .iter()
        .filter(|report| report.status == Status::Completed)
        .count();
    let brief = format!("[delegate_task] {done} of {} subagents completed", reports.len());
    let output = ToolOutput::json(&desk::result(reports, seconds, note), brief);
    if done > 0 { output } else { output.failed() }
}

impl Desk {
    pub(super) fn depth(&self) -> u32 {
        self.shared.nest.as_ref().map_or(0, |nest| nest.depth)
    }

    /// Whether subagents of this session's subagents are allowed.
    fn may_go_deeper(&self) -> bool {
        let delegation = &self.shared.loaded.config.delegation;
        delegation.orchestrator_enabled && self.depth() + 1 < delegation.max_spawn_depth.min(DEEPEST)
    }
}

impl Shared {
    /// The rooms of a subagent: the same store, models and tools, and nothing that is the person's own.
    fn for_subagent(
        &self,
        nest: Nest,
        toolsets: Option<&[String]>,
        parent: &talaria_tools::ToolSession,
    ) -> Result<Arc<Self>, ToolError> {
        let mut shared = self.clone();
        let yolo = self.options.yolo || self.loaded.config.delegation.subagent_auto_approve;
        shared.options.yolo = yolo;
        shared.options.cwd = parent.cwd();
        "subagent".clone_into(&mut shared.options.source);
        shared.options.interactive = false;
        shared.options.ignore_rules = true;
        shared.options.skills = Vec::new();
        shared.curated = None;
        shared.warnings = Vec::new();
        // Its turns are looked back at with those of its parent.
        shared.reviews_later = Arc::new(true.into());
        if let Some(model) = &self.delegation {
            shared.chain = std::iter::once(model.clone())
                .chain(self.chain.iter().skip(1).cloned())
                .collect();
        }
        let config = &mut shared.loaded.config;
        config.agent.max_turns = config.delegation.max_iterations;
        config.agent.system_prompt = None;
        config.memory.nudge_interval = 0;
        config.skills.creation_nudge_interval = 0;
        if let Some(toolsets) = toolsets.filter(|toolsets| !toolsets.is_empty()) {
            let extensions = self
                .extensions
                .get()
                .ok_or_else(|| ToolError::Failed("the session has no tools".to_owned()))?;
            let registry = &extensions.registry;
            let mut toolsets = toolsets.to_vec();
            if config.delegation.inherit_mcp_toolsets {
                let others = registry.toolsets().into_iter().map(|(name, _)| name);
                toolsets.extend(others.filter(|name| name.starts_with("mcp-")));
            }
            registry
                .select(&toolsets, &[], 0)
                .map_err(|error| ToolError::BadArguments(error.to_string()))?;
            config.toolsets = toolsets;
        }
        shared.nest = Some(Arc::new(nest));
        Ok(Arc::new(shared))
    }
}
