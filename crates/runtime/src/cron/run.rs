//! One run, from the script to the report.

use std::path::PathBuf;
use std::time::Duration;

use talaria_config::{Loaded, env};
use talaria_schedule::{Book, Gate, Job, gate, keep, now, stamp};
use talaria_types::{Content, Event, Op, TurnResult};

use super::script::{self, Said};
use super::{Ran, deliver, name_of, prompt};
use crate::{Engine, EngineOptions, Open, clock};

/// A run without a sign of life for so long is stopped, in seconds.
const SILENCE: u64 = 600;
/// What a run has not.
const WITHOUT: [&str; 3] = ["cronjob", "messaging", "clarify"];
/// The answer that is not delivered.
const SILENT: &str = "[SILENT]";

/// What a run has to say.
struct Report {
    text: String,
    error: Option<String>,
    session: Option<String>,
    /// Nobody wants to hear it.
    silent: bool,
}

impl Report {
    fn of(text: String) -> Self {
        Self {
            silent: text.trim().is_empty() || text.trim().starts_with(SILENT),
            text,
            error: None,
            session: None,
        }
    }

    fn failed(error: impl Into<String>) -> Self {
        Self {
            text: String::new(),
            error: Some(error.into()),
            session: None,
            silent: false,
        }
    }
}

/// Runs a job, keeps its report and delivers it.
pub(crate) async fn run(loaded: &Loaded, book: &Book, job: &Job) -> Ran {
    let report = report(loaded, job).await;
    let told = match (&report.error, report.text.trim()) {
        (Some(error), "") => format!("{} failed: {error}", name_of(job)),
        (Some(error), text) => format!("{text}\n\n{} failed: {error}", name_of(job)),
        (None, text) => text.to_owned(),
    };
    let kept = kept(loaded, book, job, &report, &told);
    let mut ran = Ran {
        id: job.id.clone(),
        name: name_of(job),
        error: report.error,
        interrupted: false,
        delivery_error: None,
        report: None,
        text: told.clone(),
        session: report.session,
    };
    match kept {
        Ok(path) => ran.report = Some(path),
        Err(error) => {
            ran.error
                .get_or_insert(format!("the report could not be kept: {error}"));
        }
    }
    if !report.silent {
        ran.delivery_error = deliver::deliver(loaded, job, &told).await;
    }
    ran
}

fn kept(loaded: &Loaded, book: &Book, job: &Job, report: &Report, told: &str) -> std::io::Result<PathBuf> {
    let at = now();
    let document = format!(
        "# Cron Job: {}\n\n**Job ID:** {}\n**Run Time:** {}\n**Schedule:** {}\n**Session:** {}\n\n## Prompt\n\n{}\n\n\
         ## Response\n\n{}\n",
        name_of(job),
        job.id,
        stamp(at, book.zone()),
        job.schedule_display,
        report.session.as_deref().unwrap_or("none"),
        job.prompt,
        if told.is_empty() { "(nothing)" } else { told },
    );
    let most = loaded.config.cron.output_retention;
    keep(loaded.home.root(), job, &document, most, (at, book.zone()))
}

async fn report(loaded: &Loaded, job: &Job) -> Report {
    let said = match &job.script {
        Some(name) => Some(script::run(loaded, name).await),
        None => None,
    };
    if let Some(said) = &said {
        if said.error.is_none() && gate(&said.output) == Gate::Sleep {
            return Report {
                silent: true,
                ..Report::of("(the script found nothing to do)".to_owned())
            };
        }
        if job.no_agent {
            return Report {
                error: said.error.clone(),
                silent: said.error.is_none() && said.output.trim().is_empty(),
                ..Report::of(said.output.clone())
            };
        }
    }
    if job.prompt.trim().is_empty() && said.is_none() {
        return Report::failed("the job has neither a prompt nor a script");
    }
    agent(loaded, job, said.as_ref()).await
}

async fn agent(loaded: &Loaded, job: &Job, said: Option<&Said>) -> Report {
    let cwd = match workdir(loaded, job) {
        Ok(cwd) => cwd,
        Err(why) => return Report::failed(why),
    };
    let options = EngineOptions {
        cwd,
        source: "cron".to_owned(),
        yolo: loaded.config.approvals.cron_mode == "approve",
        ignore_rules: false,
        skills: job.skills.clone(),
        interactive: false,
    };
    let prompt = prompt::of(loaded, job, said);
    let engine = match Engine::open(settings(loaded, job), options) {
        Ok(engine) => engine,
        Err(error) => return Report::failed(error.to_string()),
    };
    match turn(&engine, prompt, silence(loaded)).await {
        Ok(result) => of_turn(&engine, result),
        Err(why) => Report::failed(why),
    }
}

/// The configuration of a run.
fn settings(loaded: &Loaded, job: &Job) -> Loaded {
    let mut loaded = loaded.clone();
    let config = &mut loaded.config;
    config.memory.memory_enabled = false;
    config.memory.user_profile_enabled = false;
    config.memory.provider.clear();
    config.memory.nudge_interval = 0;
    config.skills.creation_nudge_interval = 0;
    config.agent.disabled_toolsets.extend(WITHOUT.map(str::to_owned));
    if let Some(toolsets) = job
        .enabled_toolsets
        .as_ref()
        .filter(|toolsets| !toolsets.is_empty())
    {
        config.toolsets.clone_from(toolsets);
    }
    if let Some(provider) = job.provider.as_ref().filter(|provider| !provider.is_empty()) {
        config.model.provider.clone_from(provider);
        (config.model.base_url, config.model.api_key, config.model.key_env) = (None, None, None);
        config.model.api_mode = None;
    }
    if let Some(model) = job.model.as_ref().filter(|model| !model.is_empty()) {
        config.model.default.clone_from(model);
        config.model.context_length = None;
    }
    loaded
}

/// The folder a run works in: the job's own, else the home, which is nobody's project.
fn workdir(loaded: &Loaded, job: &Job) -> Result<PathBuf, String> {
    let Some(wanted) = job.workdir.as_ref().filter(|folder| !folder.is_empty()) else {
        let written = loaded.config.terminal.cwd.as_str();
        let folder = PathBuf::from(written);
        return Ok(if folder.is_absolute() && folder.is_dir() {
            folder
        } else {
            loaded.home.root().to_owned()
        });
    };
    let folder = PathBuf::from(wanted);
    if folder.is_absolute() && folder.is_dir() {
        Ok(folder)
    } else {
        Err(format!(
            "the job's workdir {wanted} is no folder, or not absolute"
        ))
    }
}

fn silence(loaded: &Loaded) -> Option<Duration> {
    let written = loaded.variable(env::HERMES_CRON_TIMEOUT);
    let seconds = written.and_then(|text| text.parse().ok()).unwrap_or(SILENCE);
    (seconds > 0).then(|| Duration::from_secs(seconds))
}

/// Runs one turn; every event is a sign of life.
async fn turn(engine: &Engine, prompt: String, silence: Option<Duration>) -> Result<Box<TurnResult>, String> {
    let mut session = engine
        .session(Open::New)
        .await
        .map_err(|error| error.to_string())?;
    let mut events = session.events().ok_or("the session gives no events")?;
    session.send(Op::Prompt {
        content: Content::Text(prompt),
    });
    let mut stopped = false;
    let result = loop {
        let next = match silence {
            Some(silence) => tokio::time::timeout(silence, events.recv()).await,
            None => Ok(events.recv().await),
        };
        match next {
            Ok(Some(envelope)) => {
                if let Event::TurnFinished { result } = envelope.event {
                    break Ok(result);
                }
            }
            Ok(None) => break Err("the session ended without a result".to_owned()),
            Err(_) if stopped => break Err("the run could not be stopped".to_owned()),
            Err(_) => {
                stopped = true;
                session.send(Op::Interrupt);
            }
        }
    };
    session.send(Op::Shutdown);
    match result {
        Ok(result) if stopped => Err(format!(
            "the run gave no sign of life for {} s and was stopped; it is session {}",
            silence.unwrap_or_default().as_secs(),
            result.session_id
        )),
        other => other,
    }
}

fn of_turn(engine: &Engine, result: Box<TurnResult>) -> Report {
    if let Err(error) = engine
        .store()
        .end_session(&result.session_id, "cron_complete", clock::now())
    {
        tracing::warn!(%error, "the session of a scheduled run was not ended");
    }
    let error = result.failed.then(|| {
        let why = result.error.as_ref().map(|error| error.message.clone());
        why.unwrap_or_else(|| "the run failed".to_owned())
    });
    let silent = error.is_none();
    let report = Report::of(result.final_response.unwrap_or_default());
    Report {
        silent: silent && report.silent,
        error,
        session: Some(result.session_id.to_string()),
        ..report
    }
}
