//! A standing goal: after each turn a judge says whether it is reached; while it is
//! not, the session asks itself to go on, within a budget of turns.
//!
//! It is kept as Hermes keeps it, in `state_meta` under the session's id, and a
//! compression moves it to the session that goes on. What the person says comes
//! first: a prompt that waits is run before the goal's own.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use talaria_store::StoreError;
use talaria_types::{Message, ModelRequest, SessionId, Task, ToolChoice, TurnResult};
use tokio_util::sync::CancellationToken;

use crate::bill::Bill;
use crate::clock;
use crate::session::Session;

/// Answers in a row that were no verdict, after which a goal is paused.
const MOST_UNREADABLE: u32 = 3;
/// Characters of the answer that are judged: its end says how it stands.
const JUDGED: usize = 6_000;
/// Output of the judge.
const VERDICT_TOKENS: u64 = 1_000;

/// How a goal stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum GoalStatus {
    /// Turns are run for it.
    Active,
    /// It waits for the person.
    Paused,
    /// It is reached.
    Done,
    /// The person took it back.
    Cleared,
}

/// A standing goal, in Hermes' shape; members that are not known here are kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Goal {
    pub(crate) goal: String,
    #[serde(default = "active")]
    pub(crate) status: GoalStatus,
    #[serde(default)]
    pub(crate) turns_used: u32,
    #[serde(default = "usual_turns")]
    pub(crate) max_turns: u32,
    #[serde(default)]
    pub(crate) created_at: f64,
    #[serde(default)]
    pub(crate) last_turn_at: f64,
    #[serde(default)]
    pub(crate) last_verdict: Option<String>,
    #[serde(default)]
    pub(crate) last_reason: Option<String>,
    #[serde(default)]
    pub(crate) paused_reason: Option<String>,
    #[serde(default)]
    pub(crate) consecutive_parse_failures: u32,
    #[serde(default)]
    pub(crate) subgoals: Vec<String>,
    #[serde(flatten)]
    other: Map<String, Value>,
}

fn active() -> GoalStatus {
    GoalStatus::Active
}

fn usual_turns() -> u32 {
    20
}

/// What a judge said.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Verdict {
    Done(String),
    NotYet(String),
    Unreadable,
    /// The judge could not be asked.
    Unknown(String),
}

impl Goal {
    pub(crate) fn new(text: &str, max_turns: u32) -> Self {
        Self {
            goal: text.to_owned(),
            status: GoalStatus::Active,
            turns_used: 0,
            max_turns,
            created_at: clock::now().0,
            last_turn_at: 0.0,
            last_verdict: None,
            last_reason: None,
            paused_reason: None,
            consecutive_parse_failures: 0,
            subgoals: Vec::new(),
            other: Map::new(),
        }
    }

    /// Takes a verdict on one more turn; what the person is told.
    fn judged(&mut self, verdict: Verdict) -> String {
        self.turns_used += 1;
        let used = format!("turn {} of {}", self.turns_used, self.max_turns);
        let (word, reason) = match verdict {
            Verdict::Done(reason) => {
                self.status = GoalStatus::Done;
                self.last_verdict = Some("done".to_owned());
                self.last_reason = Some(reason.clone());
                return format!("🎯 the goal is reached: {reason}");
            }
            Verdict::NotYet(reason) => {
                self.consecutive_parse_failures = 0;
                ("continue", reason)
            }
            Verdict::Unreadable => {
                self.consecutive_parse_failures += 1;
                ("continue", "the judge's answer was no verdict".to_owned())
            }
            Verdict::Unknown(why) => ("continue", format!("the judge could not be asked: {why}")),
        };
        self.last_verdict = Some(word.to_owned());
        self.last_reason = Some(reason.clone());
        if self.consecutive_parse_failures >= MOST_UNREADABLE {
            return self.pause(&format!(
                "{MOST_UNREADABLE} answers of the judge in a row were no verdict"
            ));
        }
        if self.turns_used >= self.max_turns {
            return self.pause(&format!("its {} turns are spent", self.max_turns));
        }
        format!("🎯 going on towards the goal ({used}): {reason}")
    }

    /// Pauses; what the person is told.
    pub(crate) fn pause(&mut self, why: &str) -> String {
        self.status = GoalStatus::Paused;
        self.paused_reason = Some(why.to_owned());
        format!("🎯 the goal is paused: {why}; /goal resume goes on, /goal clear takes it back")
    }

    /// The prompt that goes on.
    pub(crate) fn continuation(&self) -> String {
        let reason = self.last_reason.as_deref().map_or_else(String::new, |reason| {
            format!("What is still missing, as a judge sees it: {reason}\n")
        });
        let parts: String = self.subgoals.iter().map(|part| format!("- {part}\n")).collect();
        format!(
            "[Continuing toward your standing goal]\nGoal: {}\n{parts}{reason}\
             Take the next concrete step towards it. If it is reached, say so and stop. If you are blocked and \
             need the user, say what you need and stop.",
            self.goal
        )
    }

    pub(crate) fn told(&self) -> String {
        let status = match self.status {
            GoalStatus::Active => "active",
            GoalStatus::Paused => "paused",
            GoalStatus::Done => "reached",
            GoalStatus::Cleared => "taken back",
        };
        let why = match self.status {
            GoalStatus::Paused => self.paused_reason.as_deref(),
            GoalStatus::Active | GoalStatus::Done | GoalStatus::Cleared => self.last_reason.as_deref(),
        };
        let why = why.map(|why| format!("\n  {why}")).unwrap_or_default();
        format!(
            "🎯 {} ({status}, {} of {} turns used){why}",
            self.goal, self.turns_used, self.max_turns
        )
    }
}

impl Session {
    fn goal_key(id: &SessionId) -> String {
        format!("goal:{id}")
    }

    /// The session's standing goal.
    pub(crate) fn goal(&self) -> Option<Goal> {
        let stored = self.store().meta(&Self::goal_key(&self.id)).ok().flatten()?;
        match serde_json::from_str(&stored) {
            Ok(goal) => Some(goal),
            Err(error) => {
                tracing::warn!(%error, "the stored goal cannot be read");
                None
            }
        }
    }

    /// Writes the goal down.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn keep_goal(&self, goal: &Goal) -> Result<(), StoreError> {
        let text = serde_json::to_string(goal).unwrap_or_default();
        self.store().set_meta(&Self::goal_key(&self.id), Some(&text))
    }

    /// The goal is the conversation's: it goes where the conversation goes on.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn move_goal(&self, from: &SessionId, to: &SessionId) -> Result<(), StoreError> {
        let Some(stored) = self.store().meta(&Self::goal_key(from))? else {
            return Ok(());
        };
        self.store().set_meta(&Self::goal_key(to), Some(&stored))?;
        self.store().set_meta(&Self::goal_key(from), None)
    }

    /// After a turn: what to go on with, when a goal stands and is not reached.
    pub(crate) async fn pursue(&mut self, result: &TurnResult, cancel: &CancellationToken) -> Option<String> {
        if !self.interactive() {
            return None;
        }
        let mut goal = self.goal().filter(|goal| goal.status == GoalStatus::Active)?;
        goal.last_turn_at = clock::now().0;
        let told = if result.completed {
            let answer = result.final_response.clone().unwrap_or_default();
            let verdict = self.judge(&goal, &answer, cancel).await;
            goal.judged(verdict)
        } else if result.interrupted {
            goal.pause("the turn was stopped")
        } else {
            goal.pause("the turn failed")
        };
        self.sink.status(told);
        if let Err(error) = self.keep_goal(&goal) {
            self.sink
                .warn(format!("the goal could not be written down: {error}"));
            return None;
        }
        (goal.status == GoalStatus::Active).then(|| goal.continuation())
    }

    async fn judge(&mut self, goal: &Goal, answer: &str, cancel: &CancellationToken) -> Verdict {
        let model = self
            .shared
            .auxiliary(Task::GoalJudge)
            .unwrap_or_else(|| self.models.current().clone());
        let request = question(goal, answer);
        let quiet = |_| {};
        let call = model.provider.complete(&request, &quiet, cancel);
        let timeout = self.shared.auxiliary_timeout(Task::GoalJudge);
        let answered = tokio::time::timeout(timeout, call).await;
        let mut bill = Bill::default();
        let usage = match &answered {
            Ok(Ok(completion)) => completion.usage,
            Ok(Err(_)) | Err(_) => None,
        };
        bill.add(&model, usage);
        if let Err(error) = self.account_side(Task::GoalJudge, &bill, &model) {
            tracing::warn!(%error, "the judge's tokens could not be written");
        }
        match answered {
            Ok(Ok(completion)) => read(&completion.text),
            Ok(Err(failure)) => Verdict::Unknown(failure.message),
            Err(_) => Verdict::Unknown(format!("no answer within {} s", timeout.as_secs())),
        }
    }
}

fn question(goal: &Goal, answer: &str) -> ModelRequest {
    let masked = talaria_redact::redact(answer);
    let start = masked.char_indices().rev().nth(JUDGED).map_or(0, |(at, _)| at);
    let parts: String = goal.subgoals.iter().map(|part| format!("\n- {part}")).collect();
    let text = format!(
        "You judge whether a standing goal is reached. Go by what the answer shows to be done, not by what it \
         promises. A goal whose remaining part only the user can do counts as done.\n\n\
         <goal>\n{}{parts}\n</goal>\n\n<answer>\n{}\n</answer>\n\n\
         Reply with one JSON object and nothing else: {{\"done\": true or false, \"reason\": \"one sentence\"}}",
        talaria_redact::redact(&goal.goal),
        &masked[start..]
    );
    ModelRequest {
        task: Task::GoalJudge,
        system: std::sync::Arc::from(""),
        note: None,
        messages: vec![std::sync::Arc::new(Message::user(text))],
        tools: std::sync::Arc::from([]),
        tool_choice: ToolChoice::None,
        max_output_tokens: Some(VERDICT_TOKENS),
        rewrites: Vec::new(),
    }
}

/// Reads a verdict, whatever stands around it.
fn read(text: &str) -> Verdict {
    let object = text.find('{').and_then(|start| {
        let end = text.rfind('}')?;
        serde_json::from_str::<Value>(text.get(start..=end)?).ok()
    });
    let Some(object) = object else {
        return Verdict::Unreadable;
    };
    let done = match object.get("done") {
        Some(Value::Bool(done)) => *done,
        Some(Value::String(word)) => match word.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "done" => true,
            "false" | "no" => false,
            _ => return Verdict::Unreadable,
        },
        _ => return Verdict::Unreadable,
    };
    let reason = object.get("reason").and_then(Value::as_str).unwrap_or_default();
    let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
    if done {
        Verdict::Done(reason)
    } else {
        Verdict::NotYet(reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_read_whatever_stands_around_it() {
        let done = |text| matches!(read(text), Verdict::Done(_));
        assert!(done(r#"{"done": true, "reason": "all green"}"#));
        assert!(done(
            "Sure!\n```json\n{\"done\": \"yes\", \"reason\": \"x\"}\n```"
        ));
        assert_eq!(
            read(r#"{"done": false, "reason": "two  tests\nfail"}"#),
            Verdict::NotYet("two tests fail".to_owned())
        );
        for unreadable in ["", "I think so", "{\"done\": 1}", "{\"reason\": \"x\"}", "} {"] {
            assert_eq!(read(unreadable), Verdict::Unreadable, "{unreadable}");
        }
    }

    #[test]
    fn three_unreadable_verdicts_or_twenty_turns_pause_a_goal() {
        let mut goal = Goal::new("ship it", 20);
        goal.judged(Verdict::Unreadable);
        goal.judged(Verdict::Unreadable);
        goal.judged(Verdict::NotYet("tests fail".to_owned()));
        assert_eq!(goal.status, GoalStatus::Active);
        for _ in 0..3 {
            goal.judged(Verdict::Unreadable);
        }
        assert_eq!(goal.status, GoalStatus::Paused);
        let mut goal = Goal::new("ship it", 20);
        for turn in 1..=20 {
            assert_eq!(goal.status, GoalStatus::Active, "turn {turn}");
            goal.judged(Verdict::Unknown("offline".to_owned()));
        }
        assert_eq!(goal.status, GoalStatus::Paused);
        assert!(goal.told().contains("20 of 20 turns used"));
    }

    #[test]
    fn a_goal_of_another_version_is_read_and_what_is_not_known_is_kept() {
        let stored = r#"{"goal": "ship", "status": "paused", "contract": {"a": 1}, "waiting_on_pid": null}"#;
        let goal: Goal = serde_json::from_str(stored).unwrap();
        assert_eq!((goal.status, goal.max_turns), (GoalStatus::Paused, 20));
        let written = serde_json::to_value(&goal).unwrap();
        assert_eq!(written["contract"]["a"], 1);
    }
}
