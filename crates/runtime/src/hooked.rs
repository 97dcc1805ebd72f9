//! What hooks and plugins have a say in at the edges of a turn: whether it begins, what is sent with
//! the person's words, whether it is really over, and what is shown of its end.

use std::time::Duration;

use serde_json::{Value, json};
use talaria_plugins::{Event, Origin, Payload, ShellHook};
use talaria_types::{Message, Question, Role, TurnResult};
use tokio_util::sync::CancellationToken;

use crate::sent_as;
use crate::session::Session;

/// How often in a row hooks may send the agent back to work.
const MOST_REFUSALS: u32 = 3;
/// What is told of a conversation at most, in characters of its newest messages.
const HISTORY_CHARS: usize = 100_000;

const ALLOW: &str = "allow";
const NOT_NOW: &str = "not now";
const NEVER: &str = "never";

impl Session {
    /// Asks about hooks the person was never asked about, once a place they come from.
    pub(crate) async fn ask_about_hooks(&mut self, cancel: &CancellationToken) {
        if self.hooks.is_empty() || !self.interactive() {
            return;
        }
        let mut open = self.hooks.open();
        while let Some(first) = open.first() {
            let origin = first.spec().origin.clone();
            let (these, others): (Vec<_>, Vec<_>) = open
                .iter()
                .cloned()
                .partition(|hook| hook.spec().origin == origin);
            let answer = self.answered(&question(&origin, &these), cancel).await;
            for hook in &these {
                let kept = match answer.as_deref() {
                    Some(ALLOW) => hook.decide(true),
                    Some(NEVER) => hook.decide(false),
                    _ => {
                        hook.put_off();
                        Ok(())
                    }
                };
                if let Err(error) = kept {
                    self.sink
                        .warn(format!("what you said about hooks could not be kept: {error}"));
                }
            }
            open = others;
        }
    }

    async fn answered(&self, question: &Question, cancel: &CancellationToken) -> Option<String> {
        let answer = self.inbox.expect_reply(&question.id);
        self.sink
            .tell(talaria_types::Event::QuestionAsked(question.clone()));
        let patience = Duration::from_secs(self.config().agent.clarify_timeout);
        tokio::select! {
            answer = tokio::time::timeout(patience, answer) => answer.ok().and_then(Result::ok).flatten(),
            () = cancel.cancelled() => None,
        }
    }

    /// Tells of a session that begins here and of the turn; adds what is said to the prompt.
    ///
    /// # Errors
    /// When somebody refuses the turn, with the reason.
    pub(crate) async fn heard(
        &mut self,
        prompt: &mut Message,
        cancel: &CancellationToken,
    ) -> Result<(), String> {
        let begins = self.told_start.as_ref() != Some(&self.id);
        if begins {
            self.engine_begins(None);
        }
        let audience = self.audience();
        if audience.is_empty() {
            self.told_start = Some(self.id.clone());
            return Ok(());
        }
        let model = self.models.current().provider.identity().model.clone();
        let mut said = Vec::new();
        if begins {
            let source = match (&self.told_start, self.history.is_empty()) {
                (_, false) => "resume",
                (None, true) => "startup",
                (Some(_), true) => "clear",
            };
            self.told_start = Some(self.id.clone());
            let payload = audience
                .payload(Event::OnSessionStart)
                .with("source", source)
                .with("model", model.as_str());
            said.extend(self.within(cancel, &payload).await.contexts());
        }
        if audience.hears(Event::PreLlmCall) {
            let payload = audience
                .payload(Event::PreLlmCall)
                .with("user_message", prompt.content.text().as_ref())
                .with("conversation_history", history(&self.messages()))
                .with("is_first_turn", self.history.is_empty())
                .with("model", model);
            let fired = self.within(cancel, &payload).await;
            if let Some(why) = fired.blocked() {
                return Err(why.to_owned());
            }
            said.extend(fired.contexts());
        }
        sent_as::add(prompt, &said);
        Ok(())
    }

    /// Asks, unless the person stops the turn meanwhile.
    async fn within(&self, cancel: &CancellationToken, payload: &Payload) -> talaria_plugins::Fired {
        let audience = self.audience();
        tokio::select! {
            fired = audience.ask(payload) => fired,
            () = cancel.cancelled() => talaria_plugins::Fired::default(),
        }
    }

    /// Why the agent has to go on although it has said its last word; at most a few times in a row.
    pub(crate) async fn sent_back(
        &mut self,
        result: &TurnResult,
        times: u32,
        cancel: &CancellationToken,
    ) -> Option<String> {
        // A subagent's last word is its parent's to judge.
        let is_subagent = self.shared.nest.is_some();
        if !result.completed || is_subagent || !self.hooks.hear(Event::PreVerify) || cancel.is_cancelled() {
            return None;
        }
        let payload = self
            .audience()
            .payload(Event::PreVerify)
            .with("response_text", result.final_response.as_deref())
            .with("stop_hook_active", times > 0)
            .with("model", result.model.as_str());
        let fired = self.within(cancel, &payload).await;
        let why = fired.blocked()?;
        if times >= MOST_REFUSALS {
            self.sink.warn(format!(
                "a hook wanted the agent to go on for the {}th time in a row; the turn ends: {why}",
                times + 1
            ));
            return None;
        }
        Some(format!(
            "[A hook has looked at your work and does not accept it as done]\n{why}"
        ))
    }

    /// What is shown of a turn's end, and who hears of it.
    pub(crate) async fn wind_up(
        &mut self,
        result: &mut TurnResult,
        prompt: &str,
        cancel: &CancellationToken,
    ) {
        if self.hooks.is_empty() {
            return;
        }
        let audience = self.audience();
        let answer = result.final_response.clone().filter(|_| result.completed);
        if let Some(answer) = &answer {
            if audience.hears(Event::TransformLlmOutput) {
                let payload = audience
                    .payload(Event::TransformLlmOutput)
                    .with("response_text", answer.as_str())
                    .with("model", result.model.as_str());
                let fired = self.within(cancel, &payload).await;
                if let Some(text) = fired.replacement().filter(|text| !text.trim().is_empty()) {
                    result.final_response = Some(text.to_owned());
                }
            }
            self.tell_hooks(Event::PostLlmCall, |payload| {
                payload
                    .with("user_message", prompt)
                    .with("assistant_response", answer.as_str())
                    .with("conversation_history", history(&self.messages()))
                    .with("model", result.model.as_str())
            });
        }
        self.tell_hooks(Event::OnSessionEnd, |payload| {
            payload
                .with("completed", result.completed)
                .with("interrupted", result.interrupted)
                .with("model", result.model.as_str())
        });
        self.pass_on_notes();
        result.warnings.extend(self.sink.take_warnings());
    }
}

/// The question about hooks of one place.
fn question(origin: &Origin, hooks: &[std::sync::Arc<ShellHook>]) -> Question {
    let lines: String = hooks
        .iter()
        .map(|hook| format!("\n    {}", hook.told()))
        .collect();
    Question {
        id: "hooks".to_owned(),
        text: format!(
            "{} has commands that run at certain moments, and you have not allowed them as they are now:{lines}\n  \
             Let them run?",
            origin.told()
        ),
        choices: vec![ALLOW.to_owned(), NOT_NOW.to_owned(), NEVER.to_owned()],
    }
}

/// The newest messages as hooks read them, secrets masked.
pub(crate) fn history(messages: &[std::sync::Arc<Message>]) -> Value {
    let mut left = HISTORY_CHARS;
    let mut told = Vec::new();
    for message in messages.iter().rev() {
        let text = message.content.text();
        let Some(rest) = left.checked_sub(text.len()) else {
            break;
        };
        left = rest;
        let mut one = json!({"role": message.role.as_str(), "content": talaria_redact::redact(&text)});
        if !message.tool_calls.is_empty() {
            one["tool_calls"] = message.tool_calls.iter().map(|call| call.name.clone()).collect();
        }
        if message.role == Role::Tool {
            one["tool_name"] = json!(message.tool_name);
        }
        told.push(one);
    }
    told.reverse();
    Value::Array(told)
}
