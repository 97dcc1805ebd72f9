//! Moments as text, and the calendar's view of them.

use std::cmp::Ordering;

use croner::errors::CronError;
use croner::{CivilDate, CivilDateTime, CivilTime, CronDateTime, Resolution, Weekday};
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Timestamp, ZonedDateTime};

/// Now.
pub fn now() -> Timestamp {
    Timestamp::now()
}

/// A moment as `jobs.json` writes it: local time with its distance from UTC.
pub fn stamp(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned_datetime(zone.clone())
        .strftime("%Y-%m-%dT%H:%M:%S%:z")
        .to_string()
}

/// Reads a moment; one without a distance from UTC is local.
pub(crate) fn read(text: &str, zone: &TimeZone) -> Option<Timestamp> {
    let text = text.trim();
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(at);
    }
    let local: DateTime = text.parse().ok()?;
    local
        .to_zoned_datetime(zone.clone())
        .ok()
        .map(|zoned| zoned.timestamp())
}

/// A moment in a zone, as cron expressions see it.
#[derive(Clone)]
pub(crate) struct Local(pub(crate) ZonedDateTime);

fn civil(moment: DateTime) -> CivilDateTime {
    CivilDateTime::new(
        CivilDate::from_parts_unchecked(
            i32::from(moment.year()),
            moment.month().unsigned_abs().into(),
            moment.day().unsigned_abs().into(),
        ),
        CivilTime::from_parts_unchecked(
            moment.hour().unsigned_abs().into(),
            moment.minute().unsigned_abs().into(),
            moment.second().unsigned_abs().into(),
        ),
    )
}

fn date_time(civil: CivilDateTime) -> Option<DateTime> {
    let small = |part: u32| i8::try_from(part).ok();
    DateTime::new(
        i16::try_from(civil.year()).ok()?,
        small(civil.month())?,
        small(civil.day())?,
        small(civil.hour())?,
        small(civil.minute())?,
        small(civil.second())?,
        0,
    )
    .ok()
}

impl CronDateTime for Local {
    fn to_civil(&self) -> CivilDateTime {
        civil(self.0.datetime())
    }

    fn civil_weekday(&self) -> Weekday {
        Weekday::from_days_from_sunday(self.0.weekday().to_sunday_zero_offset().unsigned_abs().into())
    }

    fn resolve_civil(&self, civil: CivilDateTime) -> Result<Resolution<Self>, CronError> {
        let moment = date_time(civil).ok_or(CronError::InvalidDate)?;
        let resolved = self.0.time_zone().to_ambiguous_zoned_datetime(moment);
        let taken =
            |zoned: Result<ZonedDateTime, jiff::Error>| zoned.map(Local).map_err(|_| CronError::InvalidTime);
        Ok(match resolved.offset() {
            AmbiguousOffset::Unambiguous { .. } => Resolution::Single(taken(resolved.unambiguous())?),
            AmbiguousOffset::Fold { .. } => {
                Resolution::Ambiguous(taken(resolved.clone().earlier())?, taken(resolved.later())?)
            }
            AmbiguousOffset::Gap { .. } => Resolution::Gap,
        })
    }

    fn checked_add_seconds(&self, seconds: i64) -> Option<Self> {
        self.0
            .checked_add(SignedDuration::from_secs(seconds))
            .ok()
            .map(Local)
    }

    fn cmp_instant(&self, other: &Self) -> Ordering {
        self.0.timestamp().cmp(&other.0.timestamp())
    }
}
