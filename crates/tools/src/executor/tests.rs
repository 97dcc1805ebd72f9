use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use talaria_types::{ApprovalAnswer, ApprovalRequest, Question};

use super::*;
use crate::tool::{Parallel, Tool, erase};
use crate::{JournalError, ToolSettings};

/// A tool that does what its arguments say.
struct Probe {
    runs: AtomicU32,
}

#[derive(Deserialize, JsonSchema)]
struct ProbeArgs {
    act: String,
    #[serde(default)]
    n: u32,
}

impl Tool for Probe {
    const NAME: &'static str = "probe";
    const DESCRIPTION: &'static str = "Probes.";
    const EFFECT: Effect = Effect::Execute;
    type Args = ProbeArgs;

    fn run<'a>(
        &'a self,
        args: ProbeArgs,
        cx: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        let run = self.runs.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            match args.act.as_str() {
                "panic" => panic!("a fault on purpose"),
                "hang" => std::future::pending().await,
                "stop" => {
                    cx.cancel.cancel();
                    Ok(ToolOutput::json(
                        &json!({"stopped": args.n}),
                        "[probe] stopped".to_owned(),
                    ))
                }
                "fail" => Err(ToolError::Failed("it cannot be done".to_owned())),
                "poll" => Err(ToolError::Failed(format!("step {run}"))),
                _ => Ok(ToolOutput::json(
                    &json!({"said": args.act}),
                    "[probe] said".to_owned(),
                )),
            }
        })
    }
}

/// A reader that waits for a second one to be there.
struct Pair(tokio::sync::Barrier);

#[derive(Deserialize, JsonSchema)]
struct PairArgs {
    path: String,
}

impl Tool for Pair {
    const NAME: &'static str = "pair";
    const DESCRIPTION: &'static str = "Waits for another.";
    const EFFECT: Effect = Effect::Write;
    type Args = PairArgs;

    fn run<'a>(
        &'a self,
        args: PairArgs,
        _: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            self.0.wait().await;
            Ok(ToolOutput::json(&json!({"path": args.path}), String::new()))
        })
    }

    fn parallel(&self, args: &Value) -> Parallel {
        args["path"]
            .as_str()
            .map_or(Parallel::Never, |path| Parallel::Path(path.into()))
    }
}

/// Writes down what the executor tells it.
#[derive(Default)]
struct Log {
    lines: Mutex<Vec<String>>,
    full: bool,
}

impl Log {
    fn say(&self, line: String) {
        self.lines.lock().unwrap().push(line);
    }
}

impl Host for Log {
    fn intend(&self, call: &ToolCall, tool: &str, effect: Effect) -> Result<(), JournalError> {
        self.say(format!("intend {} {tool} {}", call.id, effect.as_str()));
        if self.full {
            Err(JournalError("the disk is full".to_owned()))
        } else {
            Ok(())
        }
    }
    fn started(&self, call: &ToolCall, _: &str, _: &Value, _: Effect) -> Result<(), JournalError> {
        self.say(format!("started {}", call.id));
        Ok(())
    }
    fn spawned(&self, _: &ToolCall, _: u32) {}
    fn finished(&self, call: &ToolCall, result: &ToolResult) {
        self.say(format!("finished {} {}", call.id, result.ok));
    }
    fn approve(&self, _: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        Box::pin(std::future::ready(ApprovalAnswer::Deny))
    }
    fn can_ask(&self) -> bool {
        false
    }
    fn ask(&self, _: Question) -> BoxFuture<'_, Option<String>> {
        Box::pin(std::future::ready(None))
    }
    fn status(&self, _: &str) {}
}

struct Stage {
    folder: tempfile::TempDir,
    executor: Executor,
    log: Log,
    cancel: CancellationToken,
}

fn stage(change: impl FnOnce(&mut ToolSettings)) -> Stage {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = ToolSettings::for_folder(folder.path().join("home"), folder.path());
    change(&mut settings);
    let mut registry = Registry::builtin();
    registry.add(
        "probe",
        erase(Probe {
            runs: AtomicU32::new(0),
        }),
    );
    registry.add("probe", erase(Pair(tokio::sync::Barrier::new(2))));
    let selection = registry.select(&[], &[], 0).unwrap();
    let executor = Executor::new(Arc::new(registry), selection, ToolSession::new(settings));
    Stage {
        folder,
        executor,
        log: Log::default(),
        cancel: CancellationToken::new(),
    }
}

fn call(id: &str, name: &str, arguments: impl std::fmt::Display) -> ToolCall {
    ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_string(),
        extra: serde_json::Map::new(),
    }
}

impl Stage {
    async fn run(&self, calls: &[ToolCall]) -> Batch {
        let batch = self.executor.run_all(calls, &self.log, &self.cancel).await;
        let ids: Vec<&str> = batch
            .results
            .iter()
            .map(|result| result.call_id.as_str())
            .collect();
        let asked: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(ids, asked, "one result a call, in call order");
        for id in asked {
            let finished = self
                .log
                .lines
                .lock()
                .unwrap()
                .iter()
                .filter(|line| line.starts_with(&format!("finished {id} ")))
                .count();
            assert!(finished >= 1, "{id} was finished");
        }
        batch
    }

    async fn one(&self, act: &str) -> (ToolResult, Option<String>) {
        let batch = self.run(&[call("c", "probe", json!({"act": act}))]).await;
        (batch.results[0].clone(), batch.halt)
    }
}

fn text(result: &ToolResult) -> String {
    result.content.text().into_owned()
}

#[tokio::test]
async fn one_bad_call_in_a_batch_gets_its_own_error_and_the_good_ones_run() {
    let stage = stage(|_| ());
    let batch = stage
        .run(&[
            call("c1", "write_file", json!({"path": "good.txt", "content": "good"})),
            call("c2", "write_file", r#"{"path": bad.txt, "content": "x"}"#),
            call("c3", "no_such_tool", json!({"a": 1})),
            call("c4", "write_file", json!({"content": "no path"})),
        ])
        .await;
    assert!(batch.results[0].ok);
    assert_eq!(
        std::fs::read_to_string(stage.folder.path().join("good.txt")).unwrap(),
        "good"
    );
    assert!(text(&batch.results[1]).contains("malformed"));
    let unknown = text(&batch.results[2]);
    assert!(
        unknown.contains("no_such_tool") && unknown.contains("write_file"),
        "{unknown}"
    );
    let misfit = text(&batch.results[3]);
    assert!(
        misfit.contains("missing field `path`") && misfit.contains("path (string, required)"),
        "{misfit}"
    );
    assert_eq!((batch.invalid_calls, batch.halt), (3, None));
}

#[tokio::test]
async fn equal_calls_run_once_and_each_id_gets_the_result() {
    let stage = stage(|_| ());
    let batch = stage
        .run(&[
            call("a", "probe", r#"{"act": "x", "n": 1}"#),
            call("b", "Probe", r#"{"n":1,"act":"x"}"#),
            call("c", "probe", r#"{"act": "x", "n": 2}"#),
        ])
        .await;
    assert_eq!(text(&batch.results[0]), text(&batch.results[1]));
    assert_eq!(
        *stage.log.lines.lock().unwrap(),
        [
            "intend a probe execute",
            "intend b probe read",
            "intend c probe execute",
            "started a",
            "finished a true",
            "finished b true",
            "started c",
            "finished c true",
        ]
    );
}

#[tokio::test]
async fn calls_on_different_paths_run_side_by_side() {
    let stage = stage(|_| ());
    // Each waits for the other: one after the other they would never end.
    let calls = [
        call("a", "pair", json!({"path": "x/1"})),
        call("b", "pair", json!({"path": "x/2"})),
    ];
    assert!(stage.run(&calls).await.results.iter().all(|result| result.ok));
}

#[test]
fn calls_on_one_path_or_with_unknown_effects_are_kept_in_order() {
    let stage = stage(|_| ());
    let segments = |calls: &[ToolCall]| {
        let executor = &stage.executor;
        Plan::new(calls, &executor.registry, &executor.selection, &executor.session).segments
    };
    let read = |path: &str| call("r", "read_file", json!({"path": path}));
    let write = |path: &str| call("w", "write_file", json!({"path": path, "content": ""}));
    let run = || call("p", "probe", json!({"act": "x"}));
    assert_eq!(segments(&[read("a"), read("b"), read("./a")]), vec![0..3]);
    assert_eq!(
        segments(&[read("a"), write("b"), write("./a"), read("b/../a")]),
        [0..2, 2..3, 3..4]
    );
    assert_eq!(segments(&[write("d/e"), write("d")]), [0..1, 1..2]);
    assert_eq!(
        segments(&[read("a"), run(), read("b"), read("c")]),
        [0..1, 1..2, 2..4]
    );
}

#[tokio::test]
async fn a_tool_that_panics_gives_an_error_result() {
    let stage = stage(|_| ());
    let (result, _) = stage.one("panic").await;
    assert!(!result.ok && text(&result).contains("internal fault"));
}

#[tokio::test]
async fn an_interrupt_keeps_finished_results_and_skips_what_was_not_begun() {
    let stage = stage(|_| ());
    let batch = stage
        .run(&[
            call("a", "probe", json!({"act": "x"})),
            call("b", "probe", json!({"act": "stop"})),
            call("c", "probe", json!({"act": "hang"})),
        ])
        .await;
    assert_eq!(text(&batch.results[0]), r#"{"said":"x"}"#);
    assert_eq!(text(&batch.results[1]), r#"{"stopped":0}"#);
    assert_eq!(
        text(&batch.results[2]),
        "[Tool execution cancelled — probe was skipped due to user interrupt]"
    );
    assert!(!stage.log.lines.lock().unwrap().contains(&"started c".to_owned()));
}

#[tokio::test]
async fn a_tool_that_ignores_the_interrupt_is_given_up() {
    let stage = stage(|_| ());
    let calls = [call("a", "probe", json!({"act": "hang"}))];
    let run = stage.run(&calls);
    let stop = async { stage.cancel.cancel() };
    let (batch, ()) = tokio::join!(run, stop);
    assert!(text(&batch.results[0]).contains("interrupted"));
}

#[tokio::test]
async fn what_cannot_be_written_down_does_not_run() {
    let mut stage = stage(|_| ());
    stage.log.full = true;
    let (result, _) = stage.one("x").await;
    assert!(!result.ok && text(&result).contains("the disk is full"));
    assert!(!stage.log.lines.lock().unwrap().contains(&"started c".to_owned()));
}

#[tokio::test]
async fn the_same_failing_call_for_ever_is_warned_of_then_ends_the_turn_by_name() {
    let stage = stage(|settings| settings.hard_stop = true);
    let mut told = Vec::new();
    for _ in 0..5 {
        let (result, halt) = stage.one("fail").await;
        assert_eq!(halt, None);
        told.push(text(&result));
    }
    assert!(
        !told[0].contains("loop") && told[1].contains("Tool loop warning"),
        "{told:?}"
    );
    let (result, halt) = stage.one("fail").await;
    assert!(text(&result).contains("hard stop"));
    assert!(halt.unwrap().contains("probe"));
    stage.executor.begin_turn();
    assert_eq!(stage.one("fail").await.1, None);
}

#[tokio::test]
async fn without_the_hard_stop_a_loop_is_only_warned_of() {
    let stage = stage(|_| ());
    for _ in 0..12 {
        assert_eq!(stage.one("fail").await.1, None);
    }
}

#[tokio::test]
async fn polling_with_changing_output_is_no_loop() {
    let stage = stage(|settings| settings.hard_stop = true);
    for _ in 0..12 {
        let (result, halt) = stage.one("poll").await;
        assert!(!text(&result).contains("loop"), "{}", text(&result));
        assert_eq!(halt, None);
    }
}

#[tokio::test]
async fn a_tool_that_fails_whatever_is_tried_is_warned_of_and_stopped() {
    let stage = stage(|settings| settings.hard_stop = true);
    let mut halts = Vec::new();
    for n in 0..8 {
        let batch = stage
            .run(&[call("c", "probe", json!({"act": "fail", "n": n}))])
            .await;
        assert_eq!(
            text(&batch.results[0]).contains("same_tool_failure_warning"),
            n >= 2
        );
        halts.push(batch.halt.is_some());
    }
    assert_eq!(halts, [false, false, false, false, false, false, false, true]);
}

#[tokio::test]
async fn calls_that_are_never_understood_end_the_turn() {
    let stage = stage(|_| ());
    let cut = [call("c", "write_file", r#"{"path": "cut.sh", "content":"echo"#)];
    for _ in 0..4 {
        assert_eq!(stage.run(&cut).await.halt, None);
    }
    let halt = stage.run(&cut).await.halt.unwrap();
    assert!(halt.contains("write_file") && halt.contains("cut off"), "{halt}");
    assert!(!stage.folder.path().join("cut.sh").exists());
}

#[tokio::test]
async fn a_call_id_with_path_characters_cannot_choose_where_a_file_is_written() {
    let stage = stage(|settings| settings.window = 4_096);
    let long = "y".repeat(9_000);
    let batch = stage
        .run(&[call("../../../escape/evil", "probe", json!({"act": long}))])
        .await;
    let text = text(&batch.results[0]);
    let folder = stage.folder.path().join("home/cache/tool-results");
    assert!(text.contains(&*folder.to_string_lossy()), "{text}");
    let names: Vec<_> = folder
        .read_dir()
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    assert!(
        names.len() == 1 && names[0].to_string_lossy().starts_with("probe-"),
        "{names:?}"
    );
}

#[tokio::test]
async fn briefs_are_one_short_line() {
    let stage = stage(|_| ());
    let path = "long\nname".repeat(60);
    let batch = stage.run(&[call("c", "read_file", json!({"path": path}))]).await;
    let brief = &batch.results[0].brief;
    assert!(brief.chars().count() <= 200 && !brief.contains('\n'), "{brief}");
}
