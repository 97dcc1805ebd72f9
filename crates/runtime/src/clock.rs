//! The time of day, the one place that asks for it.

use jiff::{ZonedDateTime, tz::TimeZone};
use talaria_types::{SessionId, Timestamp};

/// Now.
pub(crate) fn now() -> Timestamp {
    let now = jiff::Timestamp::now();
    Timestamp(now.as_microsecond() as f64 / 1e6)
}

/// A fresh session id from the local time and the system's randomness.
pub(crate) fn fresh_session_id() -> SessionId {
    let stamp = ZonedDateTime::now().strftime("%Y%m%d_%H%M%S").to_string();
    let word = entropy();
    let [a, b, c, ..] = word.to_le_bytes();
    SessionId::fresh(&stamp, [a, b, c])
}

/// The zone of that name; the system's own when there is none.
pub(crate) fn zone(name: &str) -> TimeZone {
    if name.is_empty() {
        return TimeZone::system();
    }
    TimeZone::get(name).unwrap_or_else(|_| TimeZone::system())
}

/// A date in words, such as `Tuesday, December 01, 2026`.
pub(crate) fn date_in_words(at: Timestamp, zone: &TimeZone) -> String {
    zoned(at, zone).strftime("%A, %B %d, %Y").to_string()
}

/// A time of day for people, such as `2026-12-01 12:30:05`.
pub(crate) fn time_in_words(at: Timestamp, zone: &TimeZone) -> String {
    zoned(at, zone).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

fn zoned(at: Timestamp, zone: &TimeZone) -> ZonedDateTime {
    let moment = jiff::Timestamp::from_microsecond((at.0 * 1e6) as i64).unwrap_or_default();
    moment.to_zoned_datetime(zone.clone())
}

/// Eight random bytes. A system without randomness gets the clock's low bits:
/// ids stay unlike each other, and nothing secret depends on it.
pub(crate) fn entropy() -> u64 {
    getrandom::u64().unwrap_or_else(|_| jiff::Timestamp::now().as_nanosecond() as u64)
}
