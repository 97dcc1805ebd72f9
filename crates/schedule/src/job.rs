//! One job of `jobs.json`, in Hermes' shape. What this program does not know of it is kept.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Schedule, moment};

/// A job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Twelve hex digits.
    pub id: String,
    /// What people call it.
    #[serde(default)]
    pub name: String,
    /// What the agent is asked; empty for a script alone.
    #[serde(default)]
    pub prompt: String,
    /// Skills that stand in the prompt.
    #[serde(default)]
    pub skills: Vec<String>,
    /// The model, when it is not the configured one.
    #[serde(default)]
    pub model: Option<String>,
    /// Its provider.
    #[serde(default)]
    pub provider: Option<String>,
    /// A script under `scripts/` of the home that runs first; what it says is added to the prompt.
    #[serde(default)]
    pub script: Option<String>,
    /// What the script says is the report; no model is asked.
    #[serde(default)]
    pub no_agent: bool,
    /// When it runs, as Hermes writes it; see [`Job::when`].
    #[serde(default)]
    pub schedule: Value,
    /// The same in words.
    #[serde(default)]
    pub schedule_display: String,
    /// How often it runs.
    #[serde(default)]
    pub repeat: Repeat,
    /// It runs when it is due.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// `scheduled`, `paused` or `completed`.
    #[serde(default)]
    pub state: String,
    /// When it was made.
    #[serde(default)]
    pub created_at: Option<String>,
    /// When it is due next.
    #[serde(default)]
    pub next_run_at: Option<String>,
    /// When its last run began.
    #[serde(default)]
    pub last_run_at: Option<String>,
    /// `ok`, `error` or `missed`.
    #[serde(default)]
    pub last_status: Option<String>,
    /// Why the last run failed.
    #[serde(default)]
    pub last_error: Option<String>,
    /// Why the last report did not arrive.
    #[serde(default)]
    pub last_delivery_error: Option<String>,
    /// Where reports go.
    #[serde(default = "local")]
    pub deliver: String,
    /// The sets of tools it has, when not all.
    #[serde(default)]
    pub enabled_toolsets: Option<Vec<String>>,
    /// The folder it works in.
    #[serde(default)]
    pub workdir: Option<String>,
    /// The run that goes on now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<Status>,
    /// What this program does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// How often a job runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Repeat {
    /// So often; without end when absent.
    #[serde(default)]
    pub times: Option<u64>,
    /// How often it has run.
    #[serde(default)]
    pub completed: u64,
    /// What this program does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// A run that goes on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// When it began.
    pub started_at: String,
    /// The process it runs in.
    pub pid: u32,
}

/// What came of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Why it failed; nothing when it did not.
    pub error: Option<String>,
    /// Why its report did not arrive.
    pub delivery_error: Option<String>,
}

fn yes() -> bool {
    true
}

fn local() -> String {
    "local".to_owned()
}

/// The longest id: it becomes a part of a file's name.
const LONGEST: usize = 64;

/// Whether this can be a job's id. It comes from a file and names another one, so that it must be no path.
pub(crate) fn is_id(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    !id.is_empty() && id.len() <= LONGEST && id.bytes().all(plain)
}

/// How late a one-shot may begin, in seconds.
const GRACE: i64 = 120;

/// Whether a job begins now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// It is not its time.
    No,
    /// It is.
    Yes,
    /// Its one time went by while nobody looked.
    Missed,
}

impl Job {
    /// When it runs.
    pub fn when(&self, zone: &TimeZone) -> Schedule {
        Schedule::from_json(&self.schedule, zone)
    }

    /// Why it can never run as it stands, and what to do; nothing when it can.
    pub fn trouble(&self, zone: &TimeZone) -> Option<String> {
        if !is_id(&self.id) {
            return Some(format!(
                "its id {:?} is none (letters, digits, - and _, at most {LONGEST}); correct it in jobs.json",
                self.id
            ));
        }
        if matches!(self.when(zone), Schedule::Unknown(_)) {
            return Some(format!(
                "its schedule {} is not understood; `talaria cron edit {} --schedule SCHEDULE` gives it another",
                self.schedule, self.id
            ));
        }
        let next = self.next_run_at.as_deref()?;
        moment::read(next, zone).is_none().then(|| {
            format!(
                "its next_run_at {next:?} is no time; `talaria cron resume {}` reckons it anew",
                self.id
            )
        })
    }

    /// Gives it a schedule, from now on.
    pub fn reschedule(&mut self, schedule: &Schedule, now: Timestamp, zone: &TimeZone) {
        self.schedule = schedule.to_json(zone);
        self.schedule_display = schedule.display();
        let next = schedule.next(now, None, zone);
        self.next_run_at = next.map(|at| moment::stamp(at, zone));
        if !schedule.recurs() && self.repeat.times.is_none() {
            self.repeat.times = Some(1);
        }
        if schedule.recurs() && self.repeat.times == Some(1) && self.repeat.completed == 0 {
            self.repeat.times = None;
        }
    }

    /// Stops it until it is resumed.
    pub fn pause(&mut self) {
        self.enabled = false;
        "paused".clone_into(&mut self.state);
    }

    /// Lets it run again; what was missed meanwhile is not made up for.
    ///
    /// # Errors
    /// When it never happens again.
    pub fn resume(&mut self, now: Timestamp, zone: &TimeZone) -> Result<(), String> {
        let schedule = self.when(zone);
        let next = schedule.next(now, None, zone).filter(|next| *next > now);
        let next = next.ok_or_else(|| {
            format!(
                "job {} is over and never happens again; give it a new schedule",
                self.id
            )
        })?;
        self.next_run_at = Some(moment::stamp(next, zone));
        self.enabled = true;
        "scheduled".clone_into(&mut self.state);
        for word in ["paused_at", "paused_reason"] {
            if let Some(value) = self.rest.get_mut(word) {
                *value = Value::Null;
            }
        }
        Ok(())
    }

    /// Whether it begins now.
    pub(crate) fn due(&self, now: Timestamp, zone: &TimeZone) -> Due {
        let next = self
            .next_run_at
            .as_deref()
            .and_then(|text| moment::read(text, zone));
        let Some(next) = next.filter(|next| self.enabled && *next <= now) else {
            return Due::No;
        };
        match self.when(zone) {
            Schedule::Unknown(_) => Due::No,
            Schedule::Once { .. } if now.as_second() - next.as_second() > GRACE => Due::Missed,
            _ => Due::Yes,
        }
    }

    /// A run begins: the next one is reckoned from now, so that a killed run is not repeated.
    pub(crate) fn begin(&mut self, now: Timestamp, zone: &TimeZone, pid: u32) {
        let started_at = moment::stamp(now, zone);
        self.last_run_at = Some(started_at.clone());
        self.running = Some(Status { started_at, pid });
        self.advance(now, zone);
    }

    /// The run is over.
    pub(crate) fn end(&mut self, outcome: Outcome) {
        self.running = None;
        self.repeat.completed += 1;
        let failed = outcome.error.is_some();
        self.last_status = Some(if failed { "error" } else { "ok" }.to_owned());
        self.last_error = outcome.error;
        self.last_delivery_error = outcome.delivery_error;
        let spent = self
            .repeat
            .times
            .is_some_and(|times| self.repeat.completed >= times);
        if spent || self.next_run_at.is_none() {
            self.complete();
        }
    }

    /// Its run began in a process that is gone.
    pub(crate) fn died(&mut self) {
        let began = self.running.take().map(|run| run.started_at).unwrap_or_default();
        self.end(Outcome {
            error: Some(format!(
                "the run that began at {began} did not end: its process was killed or the machine went down. \
                 What it did is in its session; it is not repeated"
            )),
            delivery_error: None,
        });
    }

    /// Its one time went by.
    pub(crate) fn missed(&mut self) {
        self.last_status = Some("missed".to_owned());
        let at = self.next_run_at.take().unwrap_or_default();
        self.last_error = Some(format!(
            "it was due at {at}, when no scheduler ran; `talaria cron run {}` runs it now",
            self.id
        ));
        self.complete();
    }

    fn complete(&mut self) {
        self.enabled = false;
        self.next_run_at = None;
        "completed".clone_into(&mut self.state);
    }

    fn advance(&mut self, now: Timestamp, zone: &TimeZone) {
        let schedule = self.when(zone);
        let next = schedule.next(now, Some(now), zone);
        self.next_run_at = next.map(|at| moment::stamp(at, zone));
    }
}
