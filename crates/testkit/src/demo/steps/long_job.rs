//! A job longer than the model's window: the program makes room by itself, and loses nothing.

use super::Row;
use crate::{
    demo::{DemoError, stage::Stage},
    mock::{Scenario, Step, TaskKind},
};
use serde_json::json;
use std::fmt::Write as _;

pub(super) const ROW: Row = Row {
    title: "A job longer than the window: compression by itself, in a new session",
    run,
};

/// What only one of the logs says, early in the job.
pub(super) const RING: &str = "BT-4471";
const SIGHTING: &str = "At dusk a bittern called from the reeds; its ring reads BT-4471.";
const DAYS: usize = 14;
const REQUEST: &str = "Read the log of each of the 14 days, oldest first, and tell me when you are through.";
const ANSWER: &str = "I have read all 14 logs.";

/// The summary that the scripted model writes. It leaves the ring out, as a hurried model does.
const SUMMARY: &str = "## Active Task
Read the log of each of the 14 days, oldest first.

## Goal
Know what happened at the station.

## Constraints & Preferences
None

## Completed Actions
1. READ the oldest logs one by one [tool: read_file]

## Active State
The logs lie in the working folder.

## In Progress
Reading the later logs.

## Blocked
None

## Key Decisions
None

## Resolved Questions
None

## Pending User Asks
None

## Relevant Files
The logs, one for each day.

## Remaining Work
Read the remaining logs.

## Critical Context
The weather was much the same on all days.
";

fn run(stage: &mut Stage<'_>) -> Result<(), DemoError> {
    for day in 1..=DAYS {
        stage.put(&name(day), &log(day))?;
    }
    let read = |day| Step::call("read_file", json!({"path": name(day)}));
    let mut answers: Vec<Step> = (1..=DAYS).map(read).collect();
    answers.push(Step::say(ANSWER));
    let scenario = Scenario::of(answers).with_task(TaskKind::Summary.as_str(), [Step::say(SUMMARY)]);
    stage.server.play(scenario);
    let result = stage.json(&["-z", REQUEST, "--json"])?;
    let done = result["final_response"] == ANSWER && result["completed"] == true;
    stage.claim("the job is done to its end, in one turn", done, || {
        result.to_string()
    })?;
    stage.long.after = result["session_id"].as_str().unwrap_or_default().to_owned();
    let after = stage.long.after.clone();
    let compressed =
        "SELECT session_before FROM compactions WHERE session_after = ?1 AND trigger <> 'command'";
    let before: Option<String> = stage.column(compressed, &[&after]).pop();
    stage.claim(
        "when the window filled, the conversation was compressed, and nobody asked for it",
        before.is_some(),
        || format!("no record of it for {after}: {result}"),
    )?;
    stage.long.before = before.unwrap_or_default();
    numbers(stage)?;
    rotation(stage)?;
    hidden(stage)?;
    requests(stage)
}

fn name(day: usize) -> String {
    format!("day-{day:02}.txt")
}

/// A day at the station, some five thousand characters of it.
fn log(day: usize) -> String {
    const SKIES: [&str; 5] = [
        "low cloud",
        "thin haze",
        "a clear sky",
        "steady drizzle",
        "broken cloud",
    ];
    const WORKS: [&str; 7] = [
        "wiped the lenses of the long telescope",
        "walked the boardwalk down to the outer hide",
        "wrote the tide and the wind into the book",
        "mended the netting beside the landing stage",
        "counted the ducks that rested on the lagoon",
        "carried water and firewood up from the boat",
        "listened for the owls along the alder wood",
    ];
    let mut text = String::new();
    for line in 0..60 {
        let sky = SKIES[(day * 3 + line) % SKIES.len()];
        let work = WORKS[(day * 5 + line * 3) % WORKS.len()];
        // Writing to a string cannot fail.
        let _ = writeln!(text, "Under {sky} the warden {work} and came back.");
        if day == 2 && line == 30 {
            let _ = writeln!(text, "{SIGHTING}");
        }
    }
    text
}

/// The record of the compression says that it was worth it.
fn numbers(stage: &mut Stage<'_>) -> Result<(), DemoError> {
    let after = stage.long.after.clone();
    let number = |stage: &Stage<'_>, column: &str| {
        stage.count(
            &format!("SELECT {column} FROM compactions WHERE session_after = ?1"),
            &[&after],
        )
    };
    let hidden = number(stage, "json_array_length(source_ids)");
    let (was, is) = (number(stage, "tokens_before"), number(stage, "tokens_after"));
    let (kept, all) = (number(stage, "anchors_kept"), number(stage, "anchors_total"));
    stage.claim(
        &format!("{hidden} messages are hidden behind a summary: {was} tokens became {is}"),
        hidden > 0 && is < was,
        || "the record says otherwise".to_owned(),
    )?;
    stage.claim(
        &format!("{kept} of the {all} facts found in them still stand in the context, word for word"),
        kept > 0 && kept <= all,
        || "the record says otherwise".to_owned(),
    )
}

/// The old session has ended and a child of it goes on.
fn rotation(stage: &mut Stage<'_>) -> Result<(), DemoError> {
    let (before, after) = (stage.long.before.clone(), stage.long.after.clone());
    let rotated = "SELECT count(*) FROM sessions old JOIN sessions new ON new.parent_session_id = old.id
                   WHERE old.id = ?1 AND new.id = ?2 AND old.end_reason = 'compression' AND new.ended_at IS NULL";
    let rotated = stage.count(rotated, &[&before, &after]);
    stage.claim(
        &format!("the session rotated: {before} ended with `compression`, its child {after} goes on"),
        rotated == 1,
        || format!("{rotated} such pairs"),
    )
}

/// Every hidden message is a row of the old session, the ring among them.
fn hidden(stage: &mut Stage<'_>) -> Result<(), DemoError> {
    let (before, after) = (stage.long.before.clone(), stage.long.after.clone());
    let lost = "SELECT count(*) FROM compactions c JOIN json_each(c.source_ids) hidden
                LEFT JOIN messages m ON m.id = hidden.value AND m.session_id = ?1
                WHERE c.session_after = ?2 AND m.id IS NULL";
    let lost = stage.count(lost, &[&before, &after]);
    stage.claim("not one hidden message left the database", lost == 0, || {
        format!("{lost} are gone")
    })
}

/// What the model saw: the log at first, later only a line that cites it.
fn requests(stage: &mut Stage<'_>) -> Result<(), DemoError> {
    let last = stage.server.main_requests().pop();
    let sent = last
        .map(|request| String::from_utf8_lossy(&request.raw).into_owned())
        .unwrap_or_default();
    stage.claim(
        "the model's last request has the person's request as it was given, and the hidden log no more",
        sent.contains(REQUEST) && !sent.contains("a bittern called"),
        || format!("{} bytes were sent", sent.len()),
    )?;
    let after = stage.long.after.clone();
    let summary = "SELECT m.content FROM compactions c JOIN messages m ON m.id = c.summary_message_id
                   WHERE c.session_after = ?1";
    let summary: String = stage.column(summary, &[&after]).pop().unwrap_or_default();
    let line = summary
        .lines()
        .find(|line| line.contains(RING))
        .unwrap_or_default();
    let cited = line
        .rsplit_once("[m:")
        .and_then(|(_, rest)| rest.split(']').next())
        .unwrap_or_default();
    stage.long.cited = cited.to_owned();
    stage.claim(
        &format!("the model forgot the ring in its summary; the program added it, citing [m:{cited}]"),
        !SUMMARY.contains(RING) && cited.parse::<i64>().is_ok(),
        || summary.clone(),
    )
}
