use proptest::prelude::*;

use super::*;

fn berlin() -> TimeZone {
    TimeZone::get("Europe/Berlin").unwrap()
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn next(schedule: &str, from: &str) -> String {
    let from = at(from);
    let schedule = Schedule::parse(schedule, from, &berlin()).unwrap();
    moment::stamp(schedule.next(from, None, &berlin()).unwrap(), &berlin())
}

#[test]
fn every_way_to_write_a_schedule_is_read() {
    let from = "2026-01-15T08:00:00Z";
    assert_eq!(next("30m", from), "2026-01-15T09:30:00+01:00");
    assert_eq!(next("in 2 hours", from), "2026-01-15T11:00:00+01:00");
    assert_eq!(next("1d", from), "2026-01-16T09:00:00+01:00");
    assert_eq!(next("every 90m", from), "2026-01-15T10:30:00+01:00");
    assert_eq!(next("0 9 * * 1-5", from), "2026-01-16T09:00:00+01:00");
    assert_eq!(next("*/15 * * * *", from), "2026-01-15T09:15:00+01:00");
    assert_eq!(next("2026-02-03T14:00", from), "2026-02-03T14:00:00+01:00");
    assert_eq!(next("2026-02-03T14:00:00Z", from), "2026-02-03T15:00:00+01:00");
}

#[test]
fn what_is_no_schedule_says_what_one_is() {
    let now = at("2026-01-15T08:00:00Z");
    for (text, part) in [
        ("soon", "is no schedule"),
        ("", "is no schedule"),
        ("every soon", "is no schedule"),
        ("0m", "is no schedule"),
        ("61 * * * *", "is no cron expression"),
        ("0 0 31 2 *", "never happens"),
        ("2025-01-01T00:00", "is over"),
        ("99999999999999999d", "is no schedule"),
        ("every 99999999999d", "never happens"),
    ] {
        let error = Schedule::parse(text, now, &berlin()).unwrap_err();
        assert!(error.contains(part), "{text}: {error}");
    }
}

#[test]
fn a_daily_job_keeps_its_hour_over_a_change_of_the_clock() {
    // The clock goes forward on 29 March 2026 and back on 25 October.
    assert_eq!(
        next("0 9 * * *", "2026-03-28T09:00:00Z"),
        "2026-03-29T09:00:00+02:00"
    );
    assert_eq!(
        next("0 9 * * *", "2026-10-24T08:00:00Z"),
        "2026-10-25T09:00:00+01:00"
    );
    // 02:30 does not exist that night: it runs as soon as the hour is over.
    assert_eq!(
        next("30 2 * * *", "2026-03-28T12:00:00Z"),
        "2026-03-29T03:00:00+02:00"
    );
    // 02:30 is there twice: it runs once.
    assert_eq!(
        next("30 2 * * *", "2026-10-24T12:00:00Z"),
        "2026-10-25T02:30:00+02:00"
    );
    assert_eq!(
        next("30 2 * * *", "2026-10-25T00:30:00Z"),
        "2026-10-26T02:30:00+01:00"
    );
}

#[test]
fn a_one_shot_happens_once_and_an_interval_counts_from_the_run_before() {
    let zone = berlin();
    let now = at("2026-01-15T08:00:00Z");
    let once = Schedule::parse("30m", now, &zone).unwrap();
    assert_eq!(once.next(now, Some(now), &zone), None);
    let every = Schedule::parse("every 2h", now, &zone).unwrap();
    assert_eq!(
        every.next(now, Some(at("2026-01-15T07:30:00Z")), &zone),
        Some(at("2026-01-15T09:30:00Z"))
    );
    let missed = every.next(now, Some(at("2026-01-10T07:30:00Z")), &zone);
    assert_eq!(missed, Some(now), "what was missed is due now, once");
}

proptest! {
    #[test]
    fn any_schedule_comes_back_from_json_and_its_next_time_is_never_before_now(
        kind in 0..3_u8, number in 1..5_000_u64, hour in 0..24_u8, second in 1_700_000_000..1_900_000_000_i64,
    ) {
        let zone = berlin();
        let now = Timestamp::from_second(second).unwrap();
        let text = match kind {
            0 => format!("{number}m"),
            1 => format!("every {number}m"),
            _ => format!("{} {hour} * * *", number % 60),
        };
        let schedule = Schedule::parse(&text, now, &zone).unwrap();
        let next = schedule.next(now, None, &zone).unwrap();
        prop_assert!(next > now);
        prop_assert_eq!(Schedule::from_json(&schedule.to_json(&zone), &zone), schedule);
    }

    #[test]
    fn no_text_panics(text in ".{0,60}") {
        let _ = Schedule::parse(&text, Timestamp::UNIX_EPOCH, &TimeZone::UTC);
    }
}
