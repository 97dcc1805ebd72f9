//! When a job runs: read from what a person writes, and computed from a moment. Pure.

use std::str::FromStr;

use croner::Cron;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::moment::{self, Local};

/// When a job runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Schedule {
    /// Once.
    Once {
        /// When.
        at: Timestamp,
        /// In the person's words.
        display: String,
    },
    /// Again and again, this many minutes after the run before.
    Interval {
        /// The minutes.
        minutes: u64,
    },
    /// At the times of a cron expression of five fields.
    Cron {
        /// The expression.
        expr: String,
    },
    /// A schedule of another program; such a job is kept and never runs.
    Unknown(Value),
}

const WAYS: &str = "write 30m, 2h or 1d (once, from now), \"every 30m\", a cron expression of five fields such as \
                    \"0 9 * * 1-5\", or a time such as 2026-02-03T14:00";

impl Schedule {
    /// Reads what a person or a model wrote.
    ///
    /// # Errors
    /// When it is no schedule, or a moment that is over; the message says what there is.
    pub fn parse(text: &str, now: Timestamp, zone: &TimeZone) -> Result<Self, String> {
        let text = text.trim();
        let unknown = || format!("{text:?} is no schedule; {WAYS}");
        if let Some(span) = text
            .strip_prefix("every ")
            .or_else(|| text.strip_prefix("Every "))
        {
            let minutes = minutes(span).ok_or_else(unknown)?;
            // Beyond the calendar's end.
            after(now, minutes).ok_or_else(|| format!("{text:?} never happens"))?;
            return Ok(Self::Interval { minutes });
        }
        if let Some(minutes) = minutes(text.strip_prefix("in ").unwrap_or(text)) {
            let at = after(now, minutes).ok_or_else(unknown)?;
            return Ok(Self::Once {
                at,
                display: format!("once in {text}"),
            });
        }
        if text.split_whitespace().count() == 5 {
            let expr = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let cron =
                Cron::from_str(&expr).map_err(|error| format!("{text:?} is no cron expression: {error}"))?;
            let next = Local(now.to_zoned_datetime(zone.clone()));
            if cron.find_next_occurrence(&next, false).is_err() {
                return Err(format!("{text:?} never happens"));
            }
            return Ok(Self::Cron { expr });
        }
        let at = moment::read(text, zone).ok_or_else(unknown)?;
        if at <= now {
            return Err(format!("{text} is over; it is {}", moment::stamp(now, zone)));
        }
        Ok(Self::Once {
            at,
            display: format!("once at {text}"),
        })
    }

    /// When it happens next after `after`; `last` is the run before, if there was one. Nothing when it never
    /// happens again.
    pub fn next(&self, after_this: Timestamp, last: Option<Timestamp>, zone: &TimeZone) -> Option<Timestamp> {
        match self {
            Self::Once { at, .. } => last.is_none().then_some(*at),
            Self::Interval { minutes } => {
                after(last.unwrap_or(after_this), *minutes).map(|at| at.max(after_this))
            }
            Self::Cron { expr } => {
                let cron = Cron::from_str(expr).ok()?;
                let start = Local(after_this.to_zoned_datetime(zone.clone()));
                let next = cron.find_next_occurrence(&start, false).ok()?;
                Some(next.0.timestamp())
            }
            Self::Unknown(_) => None,
        }
    }

    /// It happens more than once.
    pub fn recurs(&self) -> bool {
        matches!(self, Self::Interval { .. } | Self::Cron { .. })
    }

    /// In words.
    pub fn display(&self) -> String {
        match self {
            Self::Once { display, .. } => display.clone(),
            Self::Interval { minutes } => format!("every {}", span(*minutes)),
            Self::Cron { expr } => expr.clone(),
            Self::Unknown(value) => value["display"].as_str().unwrap_or("unknown").to_owned(),
        }
    }

    /// As `jobs.json` holds it.
    pub(crate) fn to_json(&self, zone: &TimeZone) -> Value {
        match self {
            Self::Once { at, display } => {
                json!({"kind": "once", "run_at": moment::stamp(*at, zone), "display": display})
            }
            Self::Interval { minutes } => {
                json!({"kind": "interval", "minutes": minutes, "display": self.display()})
            }
            Self::Cron { expr } => json!({"kind": "cron", "expr": expr, "display": expr}),
            Self::Unknown(value) => value.clone(),
        }
    }

    /// Reads what `jobs.json` holds.
    pub(crate) fn from_json(value: &Value, zone: &TimeZone) -> Self {
        let display = || value["display"].as_str().unwrap_or_default().to_owned();
        let known = match value["kind"].as_str().unwrap_or_default() {
            "once" => value["run_at"]
                .as_str()
                .and_then(|text| moment::read(text, zone))
                .map(|at| Self::Once {
                    at,
                    display: display(),
                }),
            "interval" => value["minutes"]
                .as_u64()
                .filter(|minutes| *minutes > 0)
                .map(|minutes| Self::Interval { minutes }),
            "cron" => value["expr"]
                .as_str()
                .filter(|expr| Cron::from_str(expr).is_ok())
                .map(|expr| Self::Cron {
                    expr: expr.to_owned(),
                }),
            _ => None,
        };
        known.unwrap_or_else(|| Self::Unknown(value.clone()))
    }
}

fn after(at: Timestamp, minutes: u64) -> Option<Timestamp> {
    let seconds = i64::try_from(minutes).ok()?.checked_mul(60)?;
    at.checked_add(SignedDuration::from_secs(seconds)).ok()
}

/// `30m`, `2 hours`, `1d` in minutes.
fn minutes(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.chars().take_while(char::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok().filter(|number| *number > 0)?;
    let each = match unit.trim() {
        "m" | "min" | "mins" | "minute" | "minutes" => 1,
        "h" | "hr" | "hrs" | "hour" | "hours" => 60,
        "d" | "day" | "days" => 24 * 60,
        _ => return None,
    };
    number.checked_mul(each)
}

fn span(minutes: u64) -> String {
    match minutes {
        m if m % (24 * 60) == 0 => format!("{}d", m / (24 * 60)),
        m if m % 60 == 0 => format!("{}h", m / 60),
        m => format!("{m}m"),
    }
}

#[cfg(test)]
mod tests;
