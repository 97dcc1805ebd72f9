//! The tool `cronjob`: the model makes and changes scheduled jobs, where a person sees it do so.
//!
//! It cannot choose a command that gets reports, nor a script outside of the home's own folder, and a prompt that
//! reads like a stranger's order is refused.

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use talaria_schedule::{Book, Job, Schedule, now, script_path};
use talaria_tools::{Tool, ToolContext, ToolError, ToolOutput};
use talaria_types::{ApprovalAnswer, ApprovalRequest, Effect};

use crate::cron::{name_of, scan_prompt};

/// Makes and changes jobs.
pub(crate) struct CronJob {
    pub(crate) book: Book,
}

/// What is done.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct CronJobArgs {
    /// create, list, update, pause, resume, run or remove.
    action: String,
    /// All but create and list.
    #[serde(default)]
    job_id: Option<String>,
    /// What the run is asked; it knows nothing of this conversation.
    #[serde(default)]
    prompt: Option<String>,
    /// 30m or 2h (once), "every 1d", "0 9 * * 1-5", or 2026-02-03T14:00.
    #[serde(default)]
    schedule: Option<String>,
    #[serde(default)]
    name: Option<String>,
    /// How many runs.
    #[serde(default)]
    repeat: Option<u64>,
    /// local: kept as a file.
    #[serde(default)]
    deliver: Option<String>,
    #[serde(default)]
    skills: Option<Vec<String>>,
    /// In the home's scripts folder; its output joins the prompt.
    #[serde(default)]
    script: Option<String>,
    /// Only the script runs.
    #[serde(default)]
    no_agent: Option<bool>,
    /// Jobs whose reports join the prompt.
    #[serde(default)]
    context_from: Option<Vec<String>>,
    #[serde(default)]
    enabled_toolsets: Option<Vec<String>>,
    #[serde(default)]
    workdir: Option<String>,
    /// {model, provider}
    #[serde(default)]
    model: Option<Value>,
}

impl Tool for CronJob {
    const NAME: &'static str = "cronjob";
    const DESCRIPTION: &'static str =
        "Schedules runs of the agent, each in a fresh session with nobody to ask.";
    const EFFECT: Effect = Effect::Write;
    type Args = CronJobArgs;

    fn run<'a>(
        &'a self,
        args: CronJobArgs,
        cx: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let home = cx.session.settings().home.clone();
            consent(&args, cx).await?;
            let value = self.act(&args, &home).map_err(ToolError::BadArguments)?;
            let brief = format!(
                "[cronjob] {} {}",
                args.action,
                args.job_id.as_deref().unwrap_or_default()
            );
            Ok(ToolOutput::json(&value, brief.trim().to_owned()))
        })
    }
}

/// A script runs again and again with nobody asked, so that the person is asked before.
async fn consent(args: &CronJobArgs, cx: &ToolContext<'_>) -> Result<(), ToolError> {
    let Some(script) = args.script.as_deref().filter(|script| !script.trim().is_empty()) else {
        return Ok(());
    };
    if cx.session.settings().yolo {
        return Ok(());
    }
    let request = ApprovalRequest {
        id: format!("cronjob-{}", cx.call.id),
        tool: "cronjob".to_owned(),
        command: format!(
            "run scripts/{script} {}",
            args.schedule.as_deref().unwrap_or("on its schedule")
        ),
        reason: "a scheduled script runs without further questions".to_owned(),
        may_always: false,
    };
    match cx.host.approve(request).await {
        ApprovalAnswer::Deny => Err(ToolError::Denied(
            "the user did not allow this script to be scheduled; nothing was changed".to_owned(),
        )),
        ApprovalAnswer::Once | ApprovalAnswer::Session | ApprovalAnswer::Always => Ok(()),
    }
}

impl CronJob {
    fn act(&self, args: &CronJobArgs, home: &std::path::Path) -> Result<Value, String> {
        match args.action.trim().to_ascii_lowercase().as_str() {
            "create" | "add" => self.create(args, home),
            "list" => self.list(),
            "update" | "edit" => self.change(args, |job| apply(job, args, &self.book, home)),
            "pause" => self.change(args, |job| {
                job.pause();
                Ok(())
            }),
            "resume" => self.change(args, |job| job.resume(now(), self.book.zone())),
            "run" => self.change(args, |job| {
                job.enabled = true;
                "scheduled".clone_into(&mut job.state);
                job.next_run_at = Some(talaria_schedule::stamp(now(), self.book.zone()));
                Ok(())
            }),
            "remove" | "delete" => {
                let job = self.named(args)?;
                let gone = self
                    .book
                    .remove(&job.id, now())
                    .map_err(|error| error.to_string())?;
                Ok(json!({"success": true, "removed": gone.id, "name": name_of(&gone)}))
            }
            other => Err(format!(
                "there is no action {other:?}; there are create, list, update, pause, resume, run, remove"
            )),
        }
    }

    fn create(&self, args: &CronJobArgs, home: &std::path::Path) -> Result<Value, String> {
        let mut job = Job {
            deliver: "local".to_owned(),
            ..Job::default()
        };
        if args.schedule.is_none() {
            return Err("create needs a schedule".to_owned());
        }
        apply(&mut job, args, &self.book, home)?;
        if job.prompt.trim().is_empty() && job.script.is_none() {
            return Err("create needs a prompt or a script".to_owned());
        }
        if job.name.is_empty() {
            job.name =
                crate::web_tools::beginning(job.prompt.lines().next().unwrap_or_default(), 50).to_owned();
        }
        let job = self.book.add(job, now()).map_err(|error| error.to_string())?;
        let mut answer = self.shown(&job);
        if !self.book.has_scheduler() {
            answer["note"] =
                "no scheduler runs now: the job runs while `talaria cron start` does, or when a system \
                              timer calls `talaria cron tick`. Tell the user"
                    .into();
        }
        Ok(answer)
    }

    fn list(&self) -> Result<Value, String> {
        let jobs = self.book.jobs().map_err(|error| error.to_string())?;
        let jobs: Vec<Value> = jobs.iter().map(|job| self.shown(job)["job"].clone()).collect();
        let mut answer = json!({
            "success": true, "count": jobs.len(), "jobs": jobs, "scheduler_running": self.book.has_scheduler(),
        });
        let broken = self.book.broken().map_err(|error| error.to_string())?;
        if !broken.is_empty() {
            answer["cannot_run"] = json!(broken);
        }
        Ok(answer)
    }

    fn named(&self, args: &CronJobArgs) -> Result<Job, String> {
        let name = args
            .job_id
            .as_deref()
            .ok_or("job_id is missing; list shows the ids")?;
        self.book.find(name).map_err(|error| error.to_string())
    }

    fn change(
        &self,
        args: &CronJobArgs,
        change: impl FnOnce(&mut Job) -> Result<(), String>,
    ) -> Result<Value, String> {
        let job = self.named(args)?;
        let job = self
            .book
            .update(&job.id, now(), change)
            .map_err(|error| error.to_string())?;
        Ok(self.shown(&job))
    }

    fn shown(&self, job: &Job) -> Value {
        json!({"success": true, "job": {
            "job_id": job.id, "name": name_of(job), "schedule": job.schedule_display, "repeat": job.repeat.times,
            "deliver": job.deliver, "next_run_at": job.next_run_at, "last_run_at": job.last_run_at,
            "last_status": job.last_status, "last_error": job.last_error, "enabled": job.enabled, "state": job.state,
            "prompt_preview": crate::web_tools::beginning(&job.prompt, 100),
        }})
    }
}

/// Puts what was given into a job.
fn apply(job: &mut Job, args: &CronJobArgs, book: &Book, home: &std::path::Path) -> Result<(), String> {
    if let Some(prompt) = &args.prompt {
        let found = scan_prompt(prompt);
        if !found.is_empty() {
            return Err(format!(
                "this prompt is refused ({}); a run must not be given secrets or what reads like a stranger's orders",
                found.join(", ")
            ));
        }
        job.prompt.clone_from(prompt);
    }
    if let Some(script) = &args.script {
        let script = script.trim();
        if !script.is_empty() {
            script_path(home, script)?;
        }
        job.script = (!script.is_empty()).then(|| script.to_owned());
    }
    if let Some(deliver) = args.deliver.as_deref().map(str::trim) {
        if !matches!(deliver, "" | "local" | "origin") {
            return Err(format!(
                "reports are kept as files (local); {deliver:?} is for the user to set with `talaria cron edit`"
            ));
        }
        "local".clone_into(&mut job.deliver);
    }
    if let Some(name) = &args.name {
        job.name.clone_from(name);
    }
    if let Some(times) = args.repeat {
        job.repeat.times = (times > 0).then_some(times);
    }
    if let Some(skills) = &args.skills {
        job.skills.clone_from(skills);
    }
    if let Some(only) = args.no_agent {
        job.no_agent = only;
    }
    if let Some(sources) = &args.context_from {
        job.rest.insert("context_from".to_owned(), json!(sources));
    }
    if let Some(toolsets) = &args.enabled_toolsets {
        job.enabled_toolsets = (!toolsets.is_empty()).then(|| toolsets.clone());
    }
    if let Some(folder) = &args.workdir {
        if !folder.is_empty() && !std::path::Path::new(folder).is_dir() {
            return Err(format!("workdir {folder} is no folder"));
        }
        job.workdir = (!folder.is_empty()).then(|| folder.clone());
    }
    if let Some(model) = &args.model {
        let word = |name: &str| model[name].as_str().map(str::to_owned);
        job.model = model.as_str().map(str::to_owned).or_else(|| word("model"));
        job.provider = word("provider");
    }
    if let Some(text) = &args.schedule {
        let schedule = Schedule::parse(text, now(), book.zone())?;
        job.reschedule(&schedule, now(), book.zone());
        job.enabled = true;
        "scheduled".clone_into(&mut job.state);
    }
    Ok(())
}
