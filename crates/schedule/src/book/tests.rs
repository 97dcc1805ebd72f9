use super::*;
use crate::Schedule;

struct Rig {
    home: tempfile::TempDir,
    book: Book,
}

fn rig() -> Rig {
    let home = tempfile::tempdir().unwrap();
    let book = Book::of_home(home.path(), TimeZone::UTC);
    Rig { home, book }
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

const NOON: &str = "2026-01-15T12:00:00Z";

impl Rig {
    fn job(&self, schedule: &str) -> Job {
        let mut job = Job {
            prompt: "look".to_owned(),
            deliver: "local".to_owned(),
            ..Job::default()
        };
        let schedule = Schedule::parse(schedule, at(NOON), &TimeZone::UTC).unwrap();
        job.reschedule(&schedule, at(NOON), &TimeZone::UTC);
        self.book.add(job, at(NOON)).unwrap()
    }

    fn due(&self, now: &str) -> Vec<Taken> {
        self.book.due(at(now)).unwrap()
    }

    fn now_is(&self, id: &str) -> Job {
        self.book.find(id).unwrap()
    }
}

#[test]
fn what_hermes_wrote_is_read_and_what_is_unknown_stays() {
    let rig = rig();
    std::fs::create_dir_all(rig.home.path().join("cron")).unwrap();
    let text = r#"{"jobs": [{"id": "a1b2c3d4e5f6", "name": "digest", "prompt": "Summarise", "skills": [], "skill": null,
        "model": null, "provider": null, "base_url": null, "script": null, "no_agent": false, "context_from": null,
        "schedule": {"kind": "interval", "minutes": 30, "display": "every 30m"}, "schedule_display": "every 30m",
        "repeat": {"times": null, "completed": 4}, "enabled": true, "state": "scheduled", "paused_at": null,
        "paused_reason": null, "created_at": "2026-01-01T08:00:00.123456+01:00",
        "next_run_at": "2026-01-15T11:59:00+00:00", "last_run_at": null, "last_status": null, "last_error": null,
        "deliver": "origin", "origin": {"platform": "telegram", "chat_id": 7}, "enabled_toolsets": null, "workdir": null,
        "from_the_future": [1, 2]}, {"id": 5}], "updated_at": "2026-01-01T08:00:00+01:00", "version": 9}"#;
    std::fs::write(rig.book.file(), text).unwrap();
    assert_eq!(rig.book.jobs().unwrap().len(), 1);
    let taken = rig.due(NOON).remove(0);
    rig.book
        .finish(taken, Outcome::default(), at("2026-01-15T12:01:00Z"))
        .unwrap();
    let after: Value = serde_json::from_str(&std::fs::read_to_string(rig.book.file()).unwrap()).unwrap();
    let job = &after["jobs"][0];
    assert_eq!(job["from_the_future"], serde_json::json!([1, 2]));
    assert_eq!(job["origin"]["chat_id"], 7);
    assert_eq!(job["repeat"]["completed"], 5);
    assert_eq!(job["last_status"], "ok");
    assert_eq!(job["next_run_at"], "2026-01-15T12:30:00+00:00");
    assert_eq!(after["jobs"][1], serde_json::json!({"id": 5}));
    assert_eq!(after["version"], 9);
}

#[test]
fn a_damaged_file_is_left_as_it_is() {
    let rig = rig();
    std::fs::create_dir_all(rig.home.path().join("cron")).unwrap();
    std::fs::write(rig.book.file(), "{\"jobs\": [").unwrap();
    assert!(matches!(
        rig.book.due(at(NOON)),
        Err(ScheduleError::Damaged { .. })
    ));
    assert!(rig.book.add(Job::default(), at(NOON)).is_err());
    assert_eq!(std::fs::read_to_string(rig.book.file()).unwrap(), "{\"jobs\": [");
}

#[test]
fn a_one_shot_runs_once_and_is_complete() {
    let rig = rig();
    let job = rig.job("30m");
    assert_eq!(job.id.len(), 12);
    assert!(rig.due("2026-01-15T12:29:59Z").is_empty());
    let taken = rig.due("2026-01-15T12:30:20Z").remove(0);
    rig.book
        .finish(taken, Outcome::default(), at("2026-01-15T12:31:00Z"))
        .unwrap();
    assert!(rig.due("2026-01-15T12:32:00Z").is_empty());
    let after = rig.now_is(&job.id);
    assert_eq!(
        (after.state.as_str(), after.enabled, after.repeat.completed),
        ("completed", false, 1)
    );
}

#[test]
fn a_one_shot_that_was_slept_through_is_missed_and_says_so() {
    let rig = rig();
    let job = rig.job("30m");
    assert!(rig.due("2026-01-15T14:00:00Z").is_empty());
    let after = rig.now_is(&job.id);
    assert_eq!(after.last_status.as_deref(), Some("missed"));
    assert!(after.last_error.unwrap().contains("2026-01-15T12:30:00+00:00"));
}

#[test]
fn a_recurring_job_that_was_slept_through_runs_once() {
    let rig = rig();
    let job = rig.job("*/10 * * * *");
    let taken = rig.due("2026-01-17T09:03:00Z");
    assert_eq!(taken.len(), 1);
    for one in taken {
        rig.book
            .finish(one, Outcome::default(), at("2026-01-17T09:04:00Z"))
            .unwrap();
    }
    assert!(rig.due("2026-01-17T09:09:59Z").is_empty());
    assert_eq!(
        rig.now_is(&job.id).next_run_at.as_deref(),
        Some("2026-01-17T09:10:00+00:00")
    );
}

#[test]
fn a_job_that_runs_is_not_begun_again() {
    let rig = rig();
    let job = rig.job("every 1m");
    let taken = rig.due("2026-01-15T12:01:00Z").remove(0);
    assert!(rig.due("2026-01-15T12:05:00Z").is_empty());
    assert!(matches!(
        rig.book.take(&job.id, at("2026-01-15T12:05:00Z")),
        Err(ScheduleError::Running(_))
    ));
    rig.book
        .finish(taken, Outcome::default(), at("2026-01-15T12:06:00Z"))
        .unwrap();
    assert_eq!(rig.due("2026-01-15T12:07:00Z").len(), 1);
}

#[test]
fn a_run_whose_process_died_is_told_of_and_not_repeated() {
    let rig = rig();
    let (once, daily) = (rig.job("30m"), rig.job("0 12 * * *"));
    let taken = rig.due("2026-01-15T12:30:00Z");
    assert_eq!(taken.len(), 1);
    // What the system does with the locks of a killed process.
    drop(taken);
    assert!(rig.due("2026-01-15T12:31:00Z").is_empty());
    let after = rig.now_is(&once.id);
    assert_eq!(after.last_status.as_deref(), Some("error"));
    assert!(after.last_error.unwrap().contains("did not end"), "told");
    assert_eq!(after.state, "completed");
    assert_eq!(rig.due("2026-01-16T12:00:10Z").len(), 1, "{} goes on", daily.id);
}

#[test]
fn a_job_of_three_runs_ends_after_the_third_whatever_came_of_them() {
    let rig = rig();
    let job = rig.job("every 10m");
    rig.book
        .update(&job.id, at(NOON), |job| {
            job.repeat.times = Some(3);
            Ok(())
        })
        .unwrap();
    for hour in 13..16 {
        let now = at(&format!("2026-01-15T{hour}:00:00Z"));
        let outcome = Outcome {
            error: Some("no model".to_owned()),
            delivery_error: None,
        };
        rig.book
            .finish(rig.book.due(now).unwrap().remove(0), outcome, now)
            .unwrap();
    }
    assert!(rig.due("2026-01-15T17:00:00Z").is_empty());
    assert_eq!(rig.now_is(&job.id).state, "completed");
}

#[test]
fn a_paused_job_rests_and_a_resumed_one_makes_up_for_nothing() {
    let rig = rig();
    let job = rig.job("every 10m");
    let now = at("2026-01-15T15:00:00Z");
    rig.book
        .update(&job.id, now, |job| {
            job.pause();
            Ok(())
        })
        .unwrap();
    assert!(rig.due("2026-01-15T15:00:00Z").is_empty());
    let job = rig
        .book
        .update(&job.id, now, |job| job.resume(now, &TimeZone::UTC))
        .unwrap();
    assert_eq!(job.next_run_at.as_deref(), Some("2026-01-15T15:10:00+00:00"));
    let over = rig.job("1m");
    let later = at("2026-01-16T00:00:00Z");
    let error = rig
        .book
        .update(&over.id, later, |job| job.resume(later, &TimeZone::UTC))
        .unwrap_err();
    assert!(error.to_string().contains("never happens again"), "{error}");
}

#[test]
fn there_is_one_scheduler() {
    let rig = rig();
    assert!(!rig.book.has_scheduler());
    let held = rig.book.scheduler().unwrap();
    assert!(rig.book.has_scheduler());
    assert!(matches!(rig.book.scheduler(), Err(ScheduleError::Busy)));
    drop(held);
    assert!(rig.book.scheduler().is_ok());
}

#[test]
fn jobs_are_found_by_id_beginning_and_name_and_an_id_is_no_path() {
    let rig = rig();
    let job = rig.job("30m");
    assert_eq!(rig.book.find(&job.id[..6]).unwrap().id, job.id);
    assert!(matches!(rig.book.find("nothing"), Err(ScheduleError::Unknown(_))));
    assert!(matches!(rig.book.find(""), Err(ScheduleError::Unknown(_))));
    assert!(rig.book.take("../../x", at(NOON)).is_err());
}

#[test]
fn writers_in_many_threads_lose_no_job() {
    let rig = rig();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..5 {
                    rig.job("30m");
                }
            });
        }
    });
    assert_eq!(rig.book.jobs().unwrap().len(), 40);
}

#[test]
fn one_bad_entry_does_not_stop_the_other_jobs() {
    let rig = rig();
    let good = rig.job("every 1m");
    let mut file: Value = serde_json::from_str(&std::fs::read_to_string(rig.book.file()).unwrap()).unwrap();
    let over = "2026-01-15T11:00:00+00:00";
    let every = serde_json::json!({"kind": "interval", "minutes": 1});
    let bad = [
        serde_json::json!({"id": "../../x"}),
        serde_json::json!({"id": "../x", "schedule": every, "next_run_at": over}),
        serde_json::json!({"id": "a".repeat(300), "schedule": every, "next_run_at": over}),
        serde_json::json!({"id": "five", "schedule": 5, "next_run_at": over}),
        serde_json::json!({"id": "expr", "schedule": {"kind": "cron", "expr": "garbage"}, "next_run_at": over}),
        serde_json::json!({"id": "time", "schedule": every, "next_run_at": "soon"}),
        serde_json::json!({"id": 5}),
        serde_json::json!("text"),
        serde_json::json!({"id": "rests", "schedule": 5, "enabled": false}),
    ];
    let jobs = file["jobs"].as_array_mut().unwrap();
    jobs.splice(0..0, bad.clone());
    std::fs::write(rig.book.file(), file.to_string()).unwrap();
    let due = rig.due("2026-01-15T12:02:00Z");
    assert_eq!(
        due.iter().map(|taken| &taken.job.id).collect::<Vec<_>>(),
        [&good.id]
    );
    let broken = rig.book.broken().unwrap();
    assert_eq!(broken.len(), bad.len(), "{broken:?}");
    for (told, part) in broken.iter().zip([
        "entry 1 \"../../x\"",
        "../x",
        "is none",
        "its schedule 5 is",
        "garbage",
        "\"soon\" is no time",
        "entry 7",
        "entry 8",
        "rests",
    ]) {
        assert!(told.to_string().contains(part), "{told}");
        assert_eq!(told.enabled, !told.entry.contains("rests"), "{told}");
    }
    let after: Value = serde_json::from_str(&std::fs::read_to_string(rig.book.file()).unwrap()).unwrap();
    assert_eq!(
        after["jobs"].as_array().unwrap()[..bad.len()],
        bad,
        "the file keeps them"
    );
}

#[test]
fn an_empty_file_is_not_taken_for_no_jobs() {
    let rig = rig();
    std::fs::create_dir_all(rig.home.path().join("cron")).unwrap();
    for text in ["", " \n"] {
        std::fs::write(rig.book.file(), text).unwrap();
        let error = rig.book.add(Job::default(), at(NOON)).unwrap_err().to_string();
        for part in ["cron/jobs.json", "it is empty", "move it away"] {
            assert!(error.contains(part), "{error}");
        }
        assert!(rig.book.due(at(NOON)).is_err());
        assert_eq!(std::fs::read_to_string(rig.book.file()).unwrap(), text);
    }
}
