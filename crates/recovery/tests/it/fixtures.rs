//! Every fixture is classified as it says, and claimed by exactly its row.
//!
//! `fixtures/<row>/claims` holds failures that are the row's own, and
//! `fixtures/<row>/passes` some that look alike and belong to another. A new
//! case is a new file.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use talaria_recovery::{
    ErrorKind, Failure, Ledger, Limits, RawFailure, Remedy, Situation, Symptom, classify, decide, table,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fixture {
    /// Who says so.
    about: String,
    /// What was seen; its `json`, if any, is the body.
    failure: Value,
    #[serde(default)]
    situation: Situation,
    /// Failures like this one that were decided before.
    #[serde(default)]
    before: u32,
    expect: Expected,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    kind: ErrorKind,
    /// The whole remedy, or only its name.
    remedy: Option<Value>,
    symptom: Option<Symptom>,
    limits: Option<Limits>,
    retry_after_ms: Option<u64>,
    parameter: Option<String>,
    /// What the person reads.
    message: Option<String>,
}

struct Case {
    path: PathBuf,
    row: String,
    claims: bool,
    fixture: Fixture,
}

impl Case {
    fn failure(&self) -> Failure {
        let mut value = self.fixture.failure.clone();
        if let Some(json) = value.as_object_mut().unwrap().remove("json") {
            value["body"] = Value::String(json.to_string());
        }
        let raw: RawFailure =
            serde_json::from_value(value).unwrap_or_else(|error| panic!("{}: {error}", self.path.display()));
        classify(&raw)
    }
}

fn cases() -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut cases = Vec::new();
    for row in entries(&root) {
        for side in entries(&row) {
            for path in entries(&side) {
                let text = read(&path);
                let fixture =
                    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                let claims = match name(&side).as_str() {
                    "claims" => true,
                    "passes" => false,
                    other => panic!("{other}: a row's fixtures are claims or passes"),
                };
                cases.push(Case {
                    row: name(&row),
                    claims,
                    path,
                    fixture,
                });
            }
        }
    }
    cases
}

#[allow(
    clippy::disallowed_methods,
    reason = "tests read their fixtures; the crate itself does no I/O"
)]
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths
}

#[allow(
    clippy::disallowed_methods,
    reason = "tests read their fixtures; the crate itself does no I/O"
)]
fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

/// What differs between a fixture's expectation and a failure.
fn differences(expect: &Expected, failure: &Failure) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut check = |what: &str, same: bool, got: String| {
        if !same {
            wrong.push(format!("{what} is {got}"));
        }
    };
    check("kind", failure.kind == expect.kind, format!("{:?}", failure.kind));
    check(
        "symptom",
        failure.symptom == expect.symptom,
        format!("{:?}", failure.symptom),
    );
    check(
        "limits",
        expect.limits.is_none_or(|limits| limits == failure.limits),
        format!("{:?}", failure.limits),
    );
    let wait = expect.retry_after_ms;
    check(
        "wait",
        wait.is_none() || wait == failure.retry_after_ms,
        format!("{:?}", failure.retry_after_ms),
    );
    let parameter = &expect.parameter;
    check(
        "parameter",
        parameter.is_none() || *parameter == failure.parameter,
        format!("{:?}", failure.parameter),
    );
    let message = expect.message.as_ref();
    check(
        "message",
        message.is_none_or(|text| failure.message.contains(text)),
        failure.message.clone(),
    );
    wrong
}

fn is_remedy(expected: &Value, remedy: &Remedy) -> bool {
    let got = serde_json::to_value(remedy).unwrap();
    let only_name = got.as_object().and_then(|object| object.keys().next());
    *expected == got || only_name.is_some_and(|name| expected == name)
}

#[test]
fn every_fixture_is_claimed_by_exactly_its_row() {
    let mut wrong = Vec::new();
    for case in cases() {
        let failure = case.failure();
        let expect = &case.fixture.expect;
        let mut problems = differences(expect, &failure);
        let mut ledger = Ledger::default();
        for _ in 0..case.fixture.before {
            decide(&failure, &case.fixture.situation, &mut ledger);
        }
        let decision = decide(&failure, &case.fixture.situation, &mut ledger);
        if (decision.row == case.row) != case.claims {
            problems.push(format!("row is {}", decision.row));
        }
        if let Some(remedy) = &expect.remedy
            && !is_remedy(remedy, &decision.remedy)
        {
            problems.push(format!("remedy is {:?}, not {remedy}", decision.remedy));
        }
        if !problems.is_empty() {
            wrong.push(format!(
                "{} ({}): {}",
                case.path.display(),
                case.fixture.about,
                problems.join("; ")
            ));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_row_has_fixtures_of_both_sides() {
    let cases = cases();
    let has = |row: &str, claims: bool| cases.iter().any(|case| case.row == row && case.claims == claims);
    let rows = table().into_iter().filter(|row| !row.name.starts_with("empty_"));
    // The last row takes what is left, so nothing can pass it by.
    let bare: Vec<&str> = rows
        .map(|row| row.name)
        .filter(|row| !has(row, true) || (*row != "give_up" && !has(row, false)))
        .collect();
    assert!(bare.is_empty(), "without fixtures: {bare:?}");
}
