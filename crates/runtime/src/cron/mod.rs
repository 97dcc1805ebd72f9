//! Scheduled runs: what is due is run, each in an engine and a session of its own.
//!
//! A run has no memory and no past, may ask nobody, and cannot make further jobs. Its report is kept before
//! anything is done with it.

mod deliver;
mod prompt;
mod run;
mod script;

use std::path::PathBuf;
use std::sync::Arc;

use talaria_config::Loaded;
use talaria_schedule::{Book, Broken, Job, Running, ScheduleError, Taken, now};
use talaria_skills::Library;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
pub use tokio_util::sync::CancellationToken as Stop;

use crate::{clock, setup};

/// What came of one run.
#[derive(Clone, Debug)]
pub struct Ran {
    /// The job.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// Why it failed; nothing when it did not.
    pub error: Option<String>,
    /// It was given up because the program was told to end.
    pub interrupted: bool,
    /// Why its report did not arrive.
    pub delivery_error: Option<String>,
    /// Where its report is kept.
    pub report: Option<PathBuf>,
    /// What it said.
    pub text: String,
    /// The session it ran in.
    pub session: Option<String>,
}

/// The jobs of a configuration's home, in its zone.
pub fn book(loaded: &Loaded) -> Book {
    Book::of_home(loaded.home.root(), clock::zone(&loaded.config.timezone))
}

/// Why a prompt would not be taken from a model: what looks like orders of a stranger, a secret, or a way to one.
/// Empty when it is harmless.
pub fn scan_prompt(prompt: &str) -> Vec<&'static str> {
    talaria_memory::scan(prompt)
}

/// Runs what is due, until it is dropped. One in a home.
pub struct Scheduler {
    loaded: Arc<Loaded>,
    book: Book,
    room: Arc<Semaphore>,
    runs: JoinSet<Ran>,
    stop: Stop,
    told: Vec<Broken>,
    _lock: Running,
}

impl Scheduler {
    /// The scheduler of a home.
    ///
    /// # Errors
    /// When another one is at work.
    pub fn open(loaded: Loaded) -> Result<Self, ScheduleError> {
        let book = book(&loaded);
        let lock = book.scheduler()?;
        let most = loaded
            .config
            .cron
            .max_parallel_jobs
            .unwrap_or(Semaphore::MAX_PERMITS);
        Ok(Self {
            loaded: Arc::new(loaded),
            book,
            room: Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS))),
            runs: JoinSet::new(),
            stop: Stop::new(),
            told: Vec::new(),
            _lock: lock,
        })
    }

    /// Begins everything that is due now; says how much.
    ///
    /// # Errors
    /// When the jobs cannot be read or written.
    pub fn tick(&mut self) -> Result<usize, ScheduleError> {
        let due = self.book.due(now())?;
        let begun = due.len();
        for taken in due {
            let (loaded, book, room) = (self.loaded.clone(), self.book.clone(), self.room.clone());
            let stop = self.stop.clone();
            self.runs.spawn(async move {
                let _permit = tokio::select! {
                    permit = room.acquire_owned() => permit.ok(),
                    () = stop.cancelled() => None,
                };
                run_taken(&loaded, &book, taken, &stop).await
            });
        }
        Ok(begun)
    }

    /// What cannot run and was not told of yet, so that a scheduler does not say the same every minute.
    ///
    /// # Errors
    /// When the jobs cannot be read.
    pub fn broken(&mut self) -> Result<Vec<Broken>, ScheduleError> {
        let mut now = self.book.broken()?;
        now.retain(|broken| broken.enabled);
        let told = std::mem::replace(&mut self.told, now);
        let news: Vec<Broken> = self
            .told
            .iter()
            .filter(|broken| !told.contains(broken))
            .cloned()
            .collect();
        for broken in &news {
            tracing::warn!(entry = %broken.entry, why = %broken.why, "a job cannot run");
        }
        Ok(news)
    }

    /// Gives up the runs that go on; [`Scheduler::next_end`] tells of each.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// The next run that ends; nothing when none is left.
    pub async fn next_end(&mut self) -> Option<Ran> {
        loop {
            match self.runs.join_next().await? {
                Ok(ran) => return Some(ran),
                // Its lock is free and its job still says that it runs: the next tick tells of it.
                Err(error) => tracing::error!(%error, "a scheduled run broke off"),
            }
        }
    }
}

/// Runs one job until it ends or is stopped, and writes down what came of it.
pub async fn run_taken(loaded: &Loaded, book: &Book, taken: Taken, stop: &Stop) -> Ran {
    tracing::info!(job = %taken.job.id, name = %taken.job.name, "a scheduled run begins");
    let job = taken.job.clone();
    let mut ran = tokio::select! {
        biased;
        () = stop.cancelled() => interrupted(&job),
        ran = run::run(loaded, book, &job) => ran,
    };
    let outcome = talaria_schedule::Outcome {
        error: ran.error.clone(),
        delivery_error: ran.delivery_error.clone(),
    };
    if let Err(error) = book.finish(taken, outcome, now()) {
        tracing::error!(%error, job = %job.id, "what came of a run could not be written down");
        ran.error.get_or_insert(error.to_string());
    }
    tracing::info!(job = %job.id, error = ran.error.as_deref(), "a scheduled run has ended");
    ran
}

/// A run that was given up: what it had started ended when its future was dropped.
fn interrupted(job: &Job) -> Ran {
    Ran {
        id: job.id.clone(),
        name: name_of(job),
        error: Some("the run was interrupted; it is not repeated".to_owned()),
        interrupted: true,
        delivery_error: None,
        report: None,
        text: String::new(),
        session: None,
    }
}

/// The skills of these names that there are not.
pub fn missing_skills<'a>(loaded: &Loaded, names: &'a [String]) -> Vec<&'a str> {
    let library = Library::new(setup::roots_of_skills(loaded, None));
    let missing = names.iter().filter(|name| library.find(name).is_err());
    missing.map(String::as_str).collect()
}

/// What a job is called.
pub(crate) fn name_of(job: &Job) -> String {
    if job.name.is_empty() {
        job.id.clone()
    } else {
        job.name.clone()
    }
}
