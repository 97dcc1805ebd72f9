//! When a conversation is so old that `-c` starts another one: a pure function of the
//! policy, the last activity, the time and the time zone.

use jiff::ToSpan;
use jiff::tz::TimeZone;
use talaria_config::SessionResetConfig;
use talaria_types::Timestamp;

/// Why a conversation is not gone on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResetReason {
    /// Nobody spoke for long.
    Idle,
    /// The hour of the day passed at which every conversation ends.
    Daily,
}

impl ResetReason {
    /// The word in `end_reason`.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Daily => "daily",
        }
    }
}

/// Whether a conversation that was last used at `last` ends by this policy.
pub(crate) fn due(
    policy: &SessionResetConfig,
    last: Timestamp,
    now: Timestamp,
    zone: &TimeZone,
) -> Option<ResetReason> {
    let (idle, daily) = match policy.mode.as_str() {
        "idle" => (true, false),
        "daily" => (false, true),
        "both" => (true, true),
        _ => (false, false),
    };
    if daily && newest_hour(policy.at_hour, now, zone).is_some_and(|hour| last.0 < hour.0) {
        return Some(ResetReason::Daily);
    }
    let silent = now.0 - last.0;
    (idle && silent >= policy.idle_minutes as f64 * 60.0).then_some(ResetReason::Idle)
}

/// The newest moment at which a clock of this zone showed the hour.
fn newest_hour(hour: u32, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    let moment = jiff::Timestamp::from_microsecond((now.0 * 1e6) as i64).ok()?;
    let today = moment.to_zoned_datetime(zone.clone());
    let at = |day: jiff::civil::Date| {
        let shown = day.at(hour.min(23) as i8, 0, 0, 0);
        zone.to_timestamp(shown).ok()
    };
    let hour = match at(today.date()).filter(|hour| *hour <= moment) {
        Some(hour) => hour,
        None => at(today.date().checked_sub(1.day()).ok()?)?,
    };
    Some(Timestamp(hour.as_microsecond() as f64 / 1e6))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(mode: &str) -> SessionResetConfig {
        SessionResetConfig {
            mode: mode.to_owned(),
            at_hour: 4,
            idle_minutes: 1_440,
        }
    }

    fn at(text: &str) -> Timestamp {
        let zoned: jiff::ZonedDateTime = text.parse().unwrap();
        Timestamp(zoned.timestamp().as_second() as f64)
    }

    #[track_caller]
    fn decides(mode: &str, last: &str, now: &str, reason: Option<ResetReason>) {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        assert_eq!(due(&policy(mode), at(last), at(now), &zone), reason);
    }

    #[test]
    fn a_day_of_silence_ends_a_conversation_and_a_minute_less_does_not() {
        let last = "2026-05-20T14:30[Europe/Berlin]";
        decides("idle", last, "2026-05-21T14:29[Europe/Berlin]", None);
        decides(
            "idle",
            last,
            "2026-05-21T14:30[Europe/Berlin]",
            Some(ResetReason::Idle),
        );
        decides("none", last, "2027-05-21T14:30[Europe/Berlin]", None);
        decides("", last, "2027-05-21T14:30[Europe/Berlin]", None);
    }

    #[test]
    fn the_hour_of_the_day_is_that_of_the_time_zone_also_where_clocks_change() {
        let evening = "2026-05-20T23:00[Europe/Berlin]";
        decides("daily", evening, "2026-05-21T03:59[Europe/Berlin]", None);
        decides(
            "daily",
            evening,
            "2026-05-21T04:00[Europe/Berlin]",
            Some(ResetReason::Daily),
        );
        decides(
            "daily",
            "2026-05-21T04:00[Europe/Berlin]",
            "2026-05-21T23:59[Europe/Berlin]",
            None,
        );
        // Four in Berlin is two or three in Greenwich; both nights of the year are right.
        decides(
            "daily",
            "2026-03-28T12:00[Europe/Berlin]",
            "2026-03-29T04:00[Europe/Berlin]",
            Some(ResetReason::Daily),
        );
        decides(
            "daily",
            "2026-10-25T04:01[Europe/Berlin]",
            "2026-10-25T22:00[Europe/Berlin]",
            None,
        );
        decides(
            "both",
            "2026-05-21T04:30[Europe/Berlin]",
            "2026-05-21T23:00[Europe/Berlin]",
            None,
        );
    }

    #[test]
    fn a_clock_that_was_set_back_ends_nothing() {
        decides(
            "both",
            "2026-05-21T04:30[Europe/Berlin]",
            "2026-05-21T04:10[Europe/Berlin]",
            None,
        );
    }
}
