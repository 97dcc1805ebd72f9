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
use talaria_schedule::{Book, Job, Running, ScheduleError, Taken, now};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::clock;

/// What came of one run.
#[derive(Clone, Debug)]
pub struct Ran {
    /// The job.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// Why it failed; nothing when it did not.
    pub error: Option<String>,
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
            self.runs.spawn(async move {
                let _permit = room.acquire_owned().await;
                run_taken(&loaded, &book, taken).await
            });
        }
        Ok(begun)
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

/// Runs one job and writes down what came of it.
pub async fn run_taken(loaded: &Loaded, book: &Book, taken: Taken) -> Ran {
    tracing::info!(job = %taken.job.id, name = %taken.job.name, "a scheduled run begins");
    let job = taken.job.clone();
    let mut ran = run::run(loaded, book, &job).await;
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

/// What a job is called.
pub(crate) fn name_of(job: &Job) -> String {
    if job.name.is_empty() {
        job.id.clone()
    } else {
        job.name.clone()
    }
}
