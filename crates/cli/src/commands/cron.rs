//! `cron`: scheduled jobs, and the scheduler that runs them.

use std::time::Duration;

use clap::{ArgMatches, Args, Subcommand};
use serde_json::{Value, json};
use talaria_config::{Loaded, Overrides};
use talaria_runtime::cron::{self, Ran, Scheduler, Stop};
use talaria_schedule::{Book, Broken, Job, Schedule, ScheduleError, now, script_path};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::Row;
use crate::args;
use crate::exit::{DONE, FAILED, Failure, INTERRUPTED, Outcome};
use crate::output;
use crate::place::Place;

pub(super) const ROW: Row = Row {
    name: "cron",
    about: "Scheduled runs: list, add, change and run jobs; the scheduler",
    define: CronArgs::augment_args,
    run: |place, _, matches| run(place, matches),
};

/// How long the scheduler sleeps between two looks.
const TICK: Duration = Duration::from_secs(60);
/// How long runs that were given up may take to end what they had started.
const FAREWELL: Duration = Duration::from_secs(1);

#[derive(Args, Debug)]
struct CronArgs {
    #[command(subcommand)]
    action: Option<Action>,

    /// Print JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the jobs that will run.
    List {
        /// Those that are paused or complete too.
        #[arg(long)]
        all: bool,
    },
    /// Add a job.
    #[command(visible_alias = "create")]
    Add {
        /// 30m, 2h or 1d (once, from now), "every 30m", a cron expression, or a time.
        schedule: String,
        /// What the agent is asked.
        prompt: Option<String>,
        #[command(flatten)]
        fields: Fields,
    },
    /// Show one job.
    Show {
        /// Its id, a unique beginning of it, or its name.
        job: String,
    },
    /// Change a job.
    Edit {
        /// Its id, a unique beginning of it, or its name.
        job: String,
        /// When it runs.
        #[arg(long)]
        schedule: Option<String>,
        /// What the agent is asked.
        #[arg(long)]
        prompt: Option<String>,
        #[command(flatten)]
        fields: Fields,
    },
    /// Stop a job until it is resumed.
    Pause {
        /// Its id, a unique beginning of it, or its name.
        job: String,
    },
    /// Let a paused job run again.
    Resume {
        /// Its id, a unique beginning of it, or its name.
        job: String,
    },
    /// Run a job now, and wait for it.
    Run {
        /// Its id, a unique beginning of it, or its name.
        job: String,
    },
    /// Remove a job; its reports stay.
    #[command(visible_aliases = ["rm", "delete"])]
    Remove {
        /// Its id, a unique beginning of it, or its name.
        job: String,
    },
    /// Say whether a scheduler runs, and what is next.
    Status,
    /// Run the scheduler here until it is stopped.
    Start,
    /// Run what is due now, then exit; for a timer of the system.
    Tick,
}

#[derive(Args, Debug, Default)]
struct Fields {
    /// What people call it.
    #[arg(long)]
    name: Option<String>,
    /// Where reports go: local (a file), or command (also to cron.deliver_command).
    #[arg(long)]
    deliver: Option<String>,
    /// How often it runs; 0 is without end.
    #[arg(long, value_name = "N")]
    repeat: Option<u64>,
    /// A skill that stands in the prompt; may be given several times.
    #[arg(long, value_name = "NAME")]
    skill: Vec<String>,
    /// A script in the home's scripts folder that runs first; "" is none.
    #[arg(long, value_name = "FILE")]
    script: Option<String>,
    /// What the script says is the report; no model is asked.
    #[arg(long, conflicts_with = "agent")]
    no_agent: bool,
    /// Ask the model again.
    #[arg(long)]
    agent: bool,
    /// The folder it works in.
    #[arg(long, value_name = "FOLDER")]
    workdir: Option<String>,
    /// The model it asks.
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// The provider of that model.
    #[arg(long, value_name = "ID")]
    provider: Option<String>,
}

impl From<ScheduleError> for Failure {
    fn from(error: ScheduleError) -> Self {
        match &error {
            ScheduleError::Unknown(_) | ScheduleError::Several { .. } | ScheduleError::Invalid(_) => {
                Self::usage(error.to_string())
            }
            _ => Self::failed(error.to_string()),
        }
    }
}

fn run(place: &Place, matches: &ArgMatches) -> Outcome {
    let asked: CronArgs = args::read(matches)?;
    let cwd = place.cwd(None)?;
    let loaded = place.config(&cwd, &Overrides::default())?;
    let book = cron::book(&loaded);
    let json = asked.json;
    match asked.action.unwrap_or(Action::List { all: false }) {
        Action::List { all } => list(&book, all, json),
        Action::Add {
            schedule,
            prompt,
            fields,
        } => {
            place.home.ensure()?;
            let mut job = Job {
                prompt: prompt.unwrap_or_default(),
                deliver: "local".to_owned(),
                ..Job::default()
            };
            apply(&mut job, &fields, place, &loaded).map_err(Failure::usage)?;
            if job.prompt.trim().is_empty() && job.script.is_none() {
                return Err(
                    Failure::usage("the job has nothing to do").hint("give a prompt, or --script FILE")
                );
            }
            let schedule = Schedule::parse(&schedule, now(), book.zone()).map_err(Failure::usage)?;
            job.reschedule(&schedule, now(), book.zone());
            warn(&job.prompt);
            let job = book.add(job, now())?;
            said(&book, &job, "added", json)
        }
        Action::Show { job } => show(&book.find(&job)?, json),
        Action::Edit {
            job,
            schedule,
            prompt,
            fields,
        } => {
            let id = book.find(&job)?.id;
            let job = book.update(&id, now(), |job| {
                if let Some(prompt) = prompt {
                    warn(&prompt);
                    job.prompt = prompt;
                }
                apply(job, &fields, place, &loaded)?;
                if let Some(text) = schedule {
                    let schedule = Schedule::parse(&text, now(), book.zone())?;
                    job.reschedule(&schedule, now(), book.zone());
                    job.enabled = true;
                    "scheduled".clone_into(&mut job.state);
                }
                Ok(())
            })?;
            said(&book, &job, "changed", json)
        }
        Action::Pause { job } => {
            let id = book.find(&job)?.id;
            let job = book.update(&id, now(), |job| {
                job.pause();
                Ok(())
            })?;
            said(&book, &job, "paused", json)
        }
        Action::Resume { job } => {
            let id = book.find(&job)?.id;
            let job = book.update(&id, now(), |job| job.resume(now(), book.zone()))?;
            said(&book, &job, "resumed", json)
        }
        Action::Remove { job } => {
            let job = book.remove(&book.find(&job)?.id, now())?;
            said(&book, &job, "removed", json)
        }
        Action::Run { job } => by_hand(place, &loaded, &book, &job, json),
        Action::Status => status(&book, json),
        Action::Tick => tick(place, loaded, json),
        Action::Start => start(place, loaded, json),
    }
}

/// A person may write what they like; they should know how it reads.
fn warn(prompt: &str) {
    let found = cron::scan_prompt(prompt);
    if !found.is_empty() {
        output::note(&format!(
            "warning: the prompt holds what is refused from a model: {}",
            found.join(", ")
        ));
    }
}

fn apply(job: &mut Job, fields: &Fields, place: &Place, loaded: &Loaded) -> Result<(), String> {
    if let Some(name) = &fields.name {
        job.name.clone_from(name);
    }
    if let Some(deliver) = &fields.deliver {
        let known = |place: &str| matches!(place.trim(), "local" | "command");
        if !deliver.split(',').all(known) {
            return Err(format!(
                "there is no place {deliver:?} to deliver to; there are local and command"
            ));
        }
        if deliver.contains("command") && loaded.config.cron.deliver_command.is_empty() {
            return Err(
                "cron.deliver_command is not set; `talaria config set cron.deliver_command …` first"
                    .to_owned(),
            );
        }
        job.deliver.clone_from(deliver);
    }
    if let Some(times) = fields.repeat {
        job.repeat.times = (times > 0).then_some(times);
    }
    if !fields.skill.is_empty() {
        for name in cron::missing_skills(loaded, &fields.skill) {
            output::note(&format!(
                "warning: there is no skill {name:?}; `talaria skills list` shows what there is"
            ));
        }
        job.skills.clone_from(&fields.skill);
    }
    if let Some(script) = &fields.script {
        if !script.is_empty() {
            script_path(place.home.root(), script)?;
        }
        job.script = (!script.is_empty()).then(|| script.clone());
    }
    if fields.no_agent || fields.agent {
        job.no_agent = fields.no_agent;
    }
    if job.no_agent && job.script.is_none() {
        return Err("without an agent a job needs a script".to_owned());
    }
    if let Some(folder) = &fields.workdir {
        let full = std::path::absolute(folder).map_err(|error| error.to_string())?;
        if !full.is_dir() {
            return Err(format!("--workdir {folder} is no folder"));
        }
        job.workdir = Some(full.display().to_string());
    }
    if fields.model.is_some() {
        job.model.clone_from(&fields.model);
    }
    if fields.provider.is_some() {
        job.provider.clone_from(&fields.provider);
    }
    Ok(())
}

fn list(book: &Book, all: bool, json: bool) -> Outcome {
    let mut jobs = book.jobs()?;
    jobs.retain(|job| all || job.enabled);
    let mut broken = book.broken()?;
    broken.retain(|broken| all || broken.enabled);
    if json {
        output::json(&json!({"jobs": jobs, "cannot_run": broken, "scheduler_running": book.has_scheduler()}));
        return Ok(DONE);
    }
    for broken in &broken {
        output::line(&broken.to_string());
    }
    jobs.retain(|job| job.trouble(book.zone()).is_none());
    if jobs.is_empty() && broken.is_empty() {
        output::note("there are no jobs; `talaria cron add SCHEDULE PROMPT` makes one");
    }
    for job in &jobs {
        let next = job.next_run_at.as_deref().unwrap_or("never");
        let last = job.last_status.as_deref().unwrap_or("not run yet");
        output::line(&format!(
            "{}  {}  [{}]  {}  next {next}, last {last}",
            job.id,
            title(job),
            job.state,
            job.schedule_display
        ));
    }
    hint(book, &jobs);
    Ok(DONE)
}

fn hint(book: &Book, jobs: &[Job]) {
    if jobs.iter().any(|job| job.enabled) && !book.has_scheduler() {
        output::note(
            "no scheduler runs: `talaria cron start`, or a system timer that calls `talaria cron tick` every minute",
        );
    }
}

fn title(job: &Job) -> &str {
    if job.name.is_empty() {
        job.prompt.lines().next().unwrap_or_default()
    } else {
        &job.name
    }
}

fn said(book: &Book, job: &Job, what: &str, json: bool) -> Outcome {
    if json {
        output::json(&serde_json::to_value(job).unwrap_or_default());
        return Ok(DONE);
    }
    let next = job
        .next_run_at
        .as_ref()
        .filter(|_| job.enabled && what != "removed");
    let next = next.map_or_else(String::new, |next| format!(", next {next}"));
    output::line(&format!(
        "{what}: {} {} ({}{next})",
        job.id,
        title(job),
        job.schedule_display
    ));
    if what != "removed" {
        hint(book, std::slice::from_ref(job));
    }
    Ok(DONE)
}

fn show(job: &Job, json: bool) -> Outcome {
    let value = serde_json::to_value(job).unwrap_or_default();
    if json {
        output::json(&value);
        return Ok(DONE);
    }
    for (name, value) in value.as_object().into_iter().flatten() {
        let empty = value.is_null() || *value == json!([]) || *value == json!("");
        if !empty && name != "schedule" {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            output::line(&format!("{name}: {text}"));
        }
    }
    Ok(DONE)
}

fn status(book: &Book, json: bool) -> Outcome {
    let jobs = book.jobs()?;
    let running = book.has_scheduler();
    let enabled = jobs.iter().filter(|job| job.enabled).count();
    let next = jobs
        .iter()
        .filter(|job| job.enabled)
        .filter_map(|job| job.next_run_at.clone())
        .min();
    let busy: Vec<&str> = jobs
        .iter()
        .filter(|job| job.running.is_some())
        .map(|job| job.id.as_str())
        .collect();
    let broken: Vec<Broken> = book
        .broken()?
        .into_iter()
        .filter(|broken| broken.enabled)
        .collect();
    if json {
        output::json(&json!({
            "scheduler_running": running, "jobs": jobs.len(), "enabled": enabled, "next_run_at": next, "running": busy,
            "cannot_run": broken,
        }));
        return Ok(DONE);
    }
    output::line(if running {
        "a scheduler runs"
    } else {
        "no scheduler runs"
    });
    output::line(&format!(
        "{enabled} of {} jobs are enabled; next {}",
        jobs.len(),
        next.as_deref().unwrap_or("never")
    ));
    if !busy.is_empty() {
        output::line(&format!("running: {}", busy.join(", ")));
    }
    for broken in &broken {
        output::line(&broken.to_string());
    }
    hint(book, &jobs);
    Ok(DONE)
}

fn by_hand(place: &Place, loaded: &Loaded, book: &Book, name: &str, json: bool) -> Outcome {
    let id = book.find(name)?.id;
    begin(place, loaded)?;
    let runtime = runtime()?;
    let ran = runtime.block_on(async {
        // Heard before the job is taken, or a signal in between would leave it marked as running.
        let mut signals = Signals::listen()?;
        let taken = book.take(&id, now())?;
        let stop = Stop::new();
        let mut run = std::pin::pin!(cron::run_taken(loaded, book, taken, &stop));
        tokio::select! {
            ran = &mut run => return Ok::<Ran, Failure>(ran),
            () = signals.next() => stop.cancel(),
        }
        Ok(run.await)
    });
    runtime.shutdown_timeout(FAREWELL);
    let ran = ran?;
    let code = tell(&ran, json);
    if !json && ran.error.is_none() {
        output::line(&ran.text);
    }
    Ok(code)
}

fn begin(place: &Place, loaded: &Loaded) -> Result<(), Failure> {
    place.home.ensure()?;
    talaria_runtime::log::init(&loaded.home.logs(), &loaded.config.logging);
    Ok(())
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let built = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    built.map_err(|error| Failure::failed(format!("threads cannot be started: {error}")))
}

/// Says what came of a run.
fn tell(ran: &Ran, json: bool) -> u8 {
    if json {
        output::line(&record(ran).to_string());
    } else {
        let report = ran
            .report
            .as_ref()
            .map_or_else(String::new, |path| format!(", report {}", path.display()));
        match &ran.error {
            Some(error) => output::note(&format!("{} {} failed: {error}{report}", ran.id, ran.name)),
            None => output::note(&format!("{} {} is done{report}", ran.id, ran.name)),
        }
        if let Some(error) = &ran.delivery_error {
            output::note(&format!("{} was not delivered: {error}", ran.id));
        }
    }
    match &ran.error {
        Some(_) if ran.interrupted => INTERRUPTED,
        Some(_) => FAILED,
        None => DONE,
    }
}

fn record(ran: &Ran) -> Value {
    let status = match &ran.error {
        Some(_) if ran.interrupted => "interrupted",
        Some(_) => "error",
        None => "ok",
    };
    json!({
        "job_id": ran.id, "name": ran.name, "status": status,
        "error": ran.error, "delivery_error": ran.delivery_error, "report": ran.report, "session_id": ran.session,
        "response": ran.text,
    })
}

/// One look: what is due is run to its end.
fn tick(place: &Place, loaded: Loaded, json: bool) -> Outcome {
    begin(place, &loaded)?;
    let mut scheduler = match Scheduler::open(loaded) {
        // It does what this would do.
        Err(ScheduleError::Busy) => {
            output::note("a scheduler is at work already");
            return Ok(DONE);
        }
        opened => opened?,
    };
    let runtime = runtime()?;
    let code = runtime.block_on(async {
        let mut signals = Signals::listen()?;
        warn_of_broken(&mut scheduler)?;
        scheduler.tick()?;
        let mut code = DONE;
        loop {
            let ended = tokio::select! {
                ended = scheduler.next_end() => ended,
                () = signals.next() => {
                    scheduler.stop();
                    continue;
                }
            };
            let Some(ran) = ended else {
                return Ok::<u8, Failure>(code);
            };
            code = code.max(tell(&ran, json));
        }
    });
    runtime.shutdown_timeout(FAREWELL);
    code
}

/// The scheduler in the foreground.
fn start(place: &Place, loaded: Loaded, json: bool) -> Outcome {
    begin(place, &loaded)?;
    let mut scheduler = Scheduler::open(loaded)?;
    output::note("the scheduler runs; Ctrl-C ends it");
    let runtime = runtime()?;
    let ended = runtime.block_on(async {
        let mut signals = Signals::listen()?;
        loop {
            let looked = warn_of_broken(&mut scheduler).and_then(|()| scheduler.tick());
            if let Err(error) = looked {
                // A file that somebody is editing may be whole again in a minute.
                output::note(&format!("error: {error}"));
            }
            let next = tokio::time::sleep(TICK);
            tokio::pin!(next);
            loop {
                tokio::select! {
                    () = signals.next() => {
                        scheduler.stop();
                        while let Some(ran) = scheduler.next_end().await {
                            tell(&ran, json);
                        }
                        return Ok(DONE);
                    }
                    () = &mut next => break,
                    Some(ran) = scheduler.next_end() => {
                        tell(&ran, json);
                    }
                }
            }
        }
    });
    runtime.shutdown_timeout(FAREWELL);
    ended
}

fn warn_of_broken(scheduler: &mut Scheduler) -> Result<(), ScheduleError> {
    for broken in scheduler.broken()? {
        output::note(&format!("warning: {broken}"));
    }
    Ok(())
}

/// What tells the program to end. While this exists the signals do not end it by themselves. A hangup is left to
/// the system, or `nohup` would have no effect.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn listen() -> Result<Self, Failure> {
        let listen = |kind| signal(kind).map_err(|error| Failure::failed(format!("signals: {error}")));
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
