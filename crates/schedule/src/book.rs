//! `cron/jobs.json` and its locks.
//!
//! Every change is made on what the file holds at that moment, under a lock, and replaces the file whole.

use std::fs::{File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::job::{Due, Job, Outcome, is_id};
use crate::moment;

/// The jobs of a home.
#[derive(Clone, Debug)]
pub struct Book {
    folder: PathBuf,
    zone: TimeZone,
}

/// Why the jobs cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum ScheduleError {
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// `jobs.json` is damaged; it is left as it is.
    #[error("{path} cannot be read: {why}; repair it or move it away")]
    Damaged {
        /// Which.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// There is no such job.
    #[error("there is no job {0:?}; `talaria cron list` shows what there is")]
    Unknown(String),
    /// Several jobs are meant.
    #[error("{name:?} means several jobs: {ids}")]
    Several {
        /// What was asked for.
        name: String,
        /// What it could be.
        ids: String,
    },
    /// It runs already.
    #[error("job {0} runs already")]
    Running(String),
    /// Another scheduler is at work.
    #[error("another scheduler is at work in this home")]
    Busy,
    /// What was asked for cannot be.
    #[error("{0}")]
    Invalid(String),
}

/// A lock that is held until this is dropped, or the process ends.
#[derive(Debug)]
pub struct Running {
    _file: File,
}

/// A job that begins now, and the lock that keeps others from running it.
#[derive(Debug)]
pub struct Taken {
    /// The job as it was written down.
    pub job: Job,
    /// To be kept until [`Book::finish`].
    pub lock: Running,
}

/// An entry of the file that is kept and cannot run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Broken {
    /// Its id, or its place in the file when it has none that can be used.
    pub entry: String,
    /// What people call it.
    pub name: String,
    /// What is wrong, and what to do.
    pub why: String,
    /// It would run if it could.
    pub enabled: bool,
}

impl Broken {
    fn of(place: usize, entry: &Value, zone: &TimeZone) -> Option<Self> {
        let read = from_value(entry);
        let why = match &read {
            Ok(job) => job.trouble(zone)?,
            Err(why) => format!("it is no job: {why}; correct it in jobs.json"),
        };
        let place = place + 1;
        Some(Self {
            entry: match entry["id"].as_str() {
                Some(id) if is_id(id) => id.to_owned(),
                Some(id) => format!("entry {place} {id:?}"),
                None => format!("entry {place}"),
            },
            name: entry["name"].as_str().unwrap_or_default().to_owned(),
            why,
            enabled: entry["enabled"] != false,
        })
    }
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}  ", self.entry)?;
        if !self.name.is_empty() {
            write!(f, "{}  ", self.name)?;
        }
        write!(f, "cannot run: {}", self.why)
    }
}

impl Book {
    /// The jobs of a home, in this zone.
    pub fn of_home(home: &Path, zone: TimeZone) -> Self {
        Self {
            folder: home.join("cron"),
            zone,
        }
    }

    /// The zone of its schedules.
    pub fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// Where `jobs.json` is.
    pub fn file(&self) -> PathBuf {
        self.folder.join("jobs.json")
    }

    /// Every job; none when there is no file. What is no job at all is passed over here and told of by
    /// [`Book::broken`].
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn jobs(&self) -> Result<Vec<Job>, ScheduleError> {
        Ok(self.read()?.jobs().into_iter().filter_map(Result::ok).collect())
    }

    /// The entries that cannot run, so that each face can say so: whoever wrote them expects them to run.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn broken(&self) -> Result<Vec<Broken>, ScheduleError> {
        let kept = self.read()?;
        let entries = kept.jobs.iter().enumerate();
        Ok(entries
            .filter_map(|(place, entry)| Broken::of(place, entry, &self.zone))
            .collect())
    }

    /// The job of that id, unique beginning of an id, or name.
    ///
    /// # Errors
    /// When there is none, or there are several.
    pub fn find(&self, name: &str) -> Result<Job, ScheduleError> {
        let jobs = self.jobs()?;
        if let Some(exact) = jobs.iter().find(|job| job.id == name) {
            return Ok(exact.clone());
        }
        let matches: Vec<&Job> = jobs
            .iter()
            .filter(|job| !name.is_empty() && (job.id.starts_with(name) || job.name == name))
            .collect();
        match matches.as_slice() {
            [] => Err(ScheduleError::Unknown(name.to_owned())),
            [one] => Ok((*one).clone()),
            several => Err(ScheduleError::Several {
                name: name.to_owned(),
                ids: several
                    .iter()
                    .map(|job| job.id.as_str())
                    .collect::<Vec<_>>()
                    .join(", "),
            }),
        }
    }

    /// Adds a job under a fresh id.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add(&self, mut job: Job, now: Timestamp) -> Result<Job, ScheduleError> {
        job.id = fresh_id();
        job.enabled = true;
        "scheduled".clone_into(&mut job.state);
        job.created_at = Some(moment::stamp(now, &self.zone));
        self.change(now, |kept| {
            kept.push(to_value(&job));
            Ok(job.clone())
        })
    }

    /// Changes one job.
    ///
    /// # Errors
    /// When there is no such job, `change` refuses, or it cannot be written.
    pub fn update(
        &self,
        id: &str,
        now: Timestamp,
        change: impl FnOnce(&mut Job) -> Result<(), String>,
    ) -> Result<Job, ScheduleError> {
        self.change(now, |kept| {
            let place = place_of(kept, id)?;
            let mut job: Job = from_value(&kept[place]).map_err(ScheduleError::Invalid)?;
            change(&mut job).map_err(ScheduleError::Invalid)?;
            kept[place] = to_value(&job);
            Ok(job)
        })
    }

    /// Removes one job; its reports stay.
    ///
    /// # Errors
    /// When there is no such job, or it cannot be written.
    pub fn remove(&self, id: &str, now: Timestamp) -> Result<Job, ScheduleError> {
        self.change(now, |kept| {
            let place = place_of(kept, id)?;
            from_value(&kept.remove(place)).map_err(ScheduleError::Invalid)
        })
    }

    /// Takes every job that is due: each is locked and its next time written down before this returns, so that a
    /// process that dies repeats nothing. Runs that died are told of, one-shots whose time went by are missed.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn due(&self, now: Timestamp) -> Result<Vec<Taken>, ScheduleError> {
        let nothing_to_do = |job: &Job| job.running.is_none() && job.due(now, &self.zone) == Due::No;
        if self.jobs()?.iter().all(nothing_to_do) {
            return Ok(Vec::new());
        }
        self.change(now, |kept| {
            let mut taken = Vec::new();
            for place in kept.iter_mut() {
                let Ok(mut job) = from_value(place) else { continue };
                // One bad entry must not keep the others from running.
                if !is_id(&job.id) || nothing_to_do(&job) {
                    continue;
                }
                let Some(lock) = self.lock_job(&job.id)? else {
                    continue;
                };
                if job.running.is_some() {
                    job.died();
                }
                match job.due(now, &self.zone) {
                    Due::No => {}
                    Due::Missed => job.missed(),
                    Due::Yes => {
                        job.begin(now, &self.zone, std::process::id());
                        taken.push(Taken {
                            job: job.clone(),
                            lock,
                        });
                    }
                }
                *place = to_value(&job);
            }
            Ok(taken)
        })
    }

    /// Takes one job by hand, whenever it is due.
    ///
    /// # Errors
    /// When it runs already, is unknown, or cannot be written.
    pub fn take(&self, id: &str, now: Timestamp) -> Result<Taken, ScheduleError> {
        let lock = self
            .lock_job(id)?
            .ok_or_else(|| ScheduleError::Running(id.to_owned()))?;
        let job = self.update(id, now, |job| {
            if job.running.is_some() {
                job.died();
            }
            let (next, enabled) = (job.next_run_at.clone(), job.enabled);
            job.begin(now, &self.zone, std::process::id());
            if !job.when(&self.zone).recurs() {
                // A run by hand is not the one it waits for.
                (job.next_run_at, job.enabled) = (next, enabled);
            }
            Ok(())
        })?;
        Ok(Taken { job, lock })
    }

    /// Writes down what came of a run, and lets go of the job.
    ///
    /// # Errors
    /// When it cannot be written. A job that was removed meanwhile is no error.
    pub fn finish(&self, taken: Taken, outcome: Outcome, now: Timestamp) -> Result<(), ScheduleError> {
        let ended = self.update(&taken.job.id, now, |job| {
            job.end(outcome);
            Ok(())
        });
        drop(taken.lock);
        match ended {
            Ok(_) | Err(ScheduleError::Unknown(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The lock of the scheduler.
    ///
    /// # Errors
    /// When another one holds it.
    pub fn scheduler(&self) -> Result<Running, ScheduleError> {
        self.try_lock(".tick.lock")?.ok_or(ScheduleError::Busy)
    }

    /// Whether a scheduler runs.
    pub fn has_scheduler(&self) -> bool {
        self.folder.join(".tick.lock").exists() && matches!(self.scheduler(), Err(ScheduleError::Busy))
    }

    fn lock_job(&self, id: &str) -> Result<Option<Running>, ScheduleError> {
        // The id comes from a file; it must not become a path.
        if !is_id(id) {
            return Err(ScheduleError::Invalid(format!("{id:?} is no job's id")));
        }
        self.try_lock(&format!(".run-{id}.lock"))
    }

    fn try_lock(&self, name: &str) -> Result<Option<Running>, ScheduleError> {
        let path = self.folder.join(name);
        let file = self.open_lock(&path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Running { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(ScheduleError::File { path, source }),
        }
    }

    fn open_lock(&self, path: &Path) -> Result<File, ScheduleError> {
        let file = |source| ScheduleError::File {
            path: path.to_owned(),
            source,
        };
        private_folder(&self.folder).map_err(file)?;
        let mut options = File::options();
        options.create(true).truncate(false).write(true);
        options.open(path).map_err(file)
    }

    /// Reads, changes and replaces the file under its lock.
    fn change<T>(
        &self,
        now: Timestamp,
        change: impl FnOnce(&mut Vec<Value>) -> Result<T, ScheduleError>,
    ) -> Result<T, ScheduleError> {
        let path = self.folder.join(".jobs.lock");
        let lock = self.open_lock(&path)?;
        lock.lock()
            .map_err(|source| ScheduleError::File { path, source })?;
        let mut kept = self.read()?;
        let before = kept.jobs.clone();
        let result = change(&mut kept.jobs)?;
        if kept.jobs != before {
            self.write(&kept, now)?;
        }
        Ok(result)
    }

    fn read(&self) -> Result<Kept, ScheduleError> {
        let path = self.file();
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Kept::default()),
            Err(source) => return Err(ScheduleError::File { path, source }),
        };
        Kept::parse(&text).map_err(|why| ScheduleError::Damaged { path, why })
    }

    fn write(&self, kept: &Kept, now: Timestamp) -> Result<(), ScheduleError> {
        let path = self.file();
        let mut whole = kept.rest.clone();
        whole.insert("jobs".to_owned(), kept.jobs.clone().into());
        whole.insert("updated_at".to_owned(), moment::stamp(now, &self.zone).into());
        let text = serde_json::to_string_pretty(&whole).unwrap_or_default();
        let replace = || {
            let mut beside = tempfile::NamedTempFile::new_in(&self.folder)?;
            beside.write_all(text.as_bytes())?;
            beside.as_file().sync_all()?;
            beside.persist(&path).map_err(|error| error.error)?;
            Ok(())
        };
        replace().map_err(|source| ScheduleError::File {
            path: path.clone(),
            source,
        })
    }
}

/// The file's contents.
#[derive(Default)]
struct Kept {
    jobs: Vec<Value>,
    rest: Map<String, Value>,
}

impl Kept {
    fn parse(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            // Whoever takes it for "no jobs" writes over what a crash may have cut off.
            return Err("it is empty, as a crash may leave it".to_owned());
        }
        match serde_json::from_str(text).map_err(|error| error.to_string())? {
            // An older form: the list alone.
            Value::Array(jobs) => Ok(Self {
                jobs,
                rest: Map::new(),
            }),
            Value::Object(mut rest) => match rest.remove("jobs") {
                Some(Value::Array(jobs)) => Ok(Self { jobs, rest }),
                None => Ok(Self {
                    jobs: Vec::new(),
                    rest,
                }),
                Some(_) => Err("\"jobs\" is no list".to_owned()),
            },
            _ => Err("it holds no jobs".to_owned()),
        }
    }

    fn jobs(&self) -> Vec<Result<Job, String>> {
        self.jobs.iter().map(from_value).collect()
    }
}

/// Reads a job; a null where a text or a list is expected is none.
fn from_value(value: &Value) -> Result<Job, String> {
    let mut value = value.clone();
    if let Some(fields) = value.as_object_mut() {
        for name in [
            "name",
            "prompt",
            "skills",
            "schedule_display",
            "repeat",
            "state",
            "deliver",
            "no_agent",
        ] {
            if fields.get(name).is_some_and(Value::is_null) {
                fields.remove(name);
            }
        }
    }
    serde_json::from_value(value).map_err(|error| error.to_string())
}

fn to_value(job: &Job) -> Value {
    serde_json::to_value(job).unwrap_or_default()
}

fn place_of(kept: &[Value], id: &str) -> Result<usize, ScheduleError> {
    kept.iter()
        .position(|job| job["id"] == id)
        .ok_or_else(|| ScheduleError::Unknown(id.to_owned()))
}

/// Twelve random hex digits.
fn fresh_id() -> String {
    let word = getrandom::u64().unwrap_or_else(|_| moment::now().as_nanosecond() as u64);
    format!("{:012x}", word & 0xffff_ffff_ffff)
}

/// A folder that is its owner's alone.
pub(crate) fn private_folder(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
}

#[cfg(test)]
mod tests;
