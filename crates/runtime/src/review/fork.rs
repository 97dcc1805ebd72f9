//! One review: the conversation, a question more, and what the model does about it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use talaria_context::compose;
use talaria_recovery::{ErrorKind, Failure, Phase};
use talaria_store::UsageRow;
use talaria_tools::{Executor, NullHost};
use talaria_types::{
    Completion, Message, ModelRequest, Rewrite, Role, SessionId, Task, ToolCall, ToolChoice, ToolResult,
    ToolSpec,
};
use tokio_util::sync::CancellationToken;

use super::{prompt, tools};
use crate::bill::Bill;
use crate::clock;
use crate::engine::Shared;
use crate::models::Model;
use crate::nudge::Due;

/// The most model calls of one review.
const CALLS: u32 = 16;
/// Messages that another model than the conversation's own is shown whole.
const WHOLE: usize = 24;
/// Characters of the account of what came before.
const DIGEST: usize = 12_000;

/// A conversation as it stands when a review begins.
pub(crate) struct Conversation {
    pub(crate) session: SessionId,
    pub(crate) system: Arc<str>,
    pub(crate) note: Option<Arc<str>>,
    pub(crate) messages: Vec<Arc<Message>>,
    pub(crate) tools: Arc<[ToolSpec]>,
    pub(crate) rewrites: Vec<Rewrite>,
    /// The model that talked.
    pub(crate) model: Arc<Model>,
}

/// What a review did.
#[derive(Debug, Default)]
pub(super) struct Deeds {
    /// Labels, each once.
    what: Vec<String>,
    /// How each is taken back.
    undo: Vec<String>,
}

impl Deeds {
    /// The one line; nothing when nothing was done.
    pub(super) fn line(&self) -> Option<String> {
        if self.what.is_empty() {
            return None;
        }
        Some(format!(
            "💾 Self-improvement review: {} (undo: {})",
            self.what.join(" · "),
            self.undo.join(", ")
        ))
    }

    /// Takes down what a call has done.
    fn add(&mut self, call: &ToolCall, result: &ToolResult) {
        if !result.ok {
            return;
        }
        let args: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
        let told: Value = serde_json::from_str(&result.content.text()).unwrap_or_default();
        let (what, undo) = match result.name.as_str() {
            "memory" if told["staged"] == true => ("Memory waits for you", "/memory reject".to_owned()),
            "skill_manage" if told["staged"] == true => ("Skill waits for you", "/skills reject".to_owned()),
            "memory" if told["target"] == "user" => ("User profile updated", "/memory undo".to_owned()),
            "memory" => ("Memory updated", "/memory undo".to_owned()),
            "skill_manage" => {
                let name = args["name"].as_str().unwrap_or_default();
                let (what, undo) = match args["action"].as_str() {
                    Some("create") => ("created", "archive"),
                    Some("patch") => ("patched", "rollback"),
                    _ => ("updated", "rollback"),
                };
                push(&mut self.what, format!("Skill {name} {what}"));
                push(&mut self.undo, format!("talaria skills {undo} {name}"));
                return;
            }
            _ => return,
        };
        push(&mut self.what, what.to_owned());
        push(&mut self.undo, undo);
    }
}

fn push(list: &mut Vec<String>, text: String) {
    if !list.contains(&text) {
        list.push(text);
    }
}

/// Runs a review to its end.
///
/// # Errors
/// What kept it from ending: the provider, the time, the end of the session.
pub(super) async fn run(
    shared: &Shared,
    conversation: Conversation,
    due: Due,
    cancel: &CancellationToken,
) -> Result<Deeds, Failure> {
    let other = shared.auxiliary(Task::BackgroundReview);
    let mut request = request(&conversation, due, other.is_some());
    let model = other.unwrap_or_else(|| conversation.model.clone());
    let window = model.provider.context_window().await.tokens;
    let executor = tools::executor(shared, &request.tools, &conversation.session, window);
    let mut fork = Fork {
        model,
        timeout: shared.auxiliary_timeout(Task::BackgroundReview),
        executor,
        cancel,
        bill: Bill::default(),
        deeds: Deeds::default(),
    };
    let ended = fork.talk(&mut request).await;
    account(shared, &conversation.session, &fork);
    ended.map(|()| fork.deeds)
}

struct Fork<'a> {
    model: Arc<Model>,
    timeout: Duration,
    executor: Executor,
    cancel: &'a CancellationToken,
    bill: Bill,
    deeds: Deeds,
}

impl Fork<'_> {
    async fn talk(&mut self, request: &mut ModelRequest) -> Result<(), Failure> {
        self.executor.begin_turn();
        for _ in 0..CALLS {
            let answer = self.ask(request).await?;
            if answer.tool_calls.is_empty() {
                return Ok(());
            }
            let calls = answer.tool_calls.clone();
            request.messages.push(Arc::new(spoken(answer)));
            let batch = self.executor.run_all(&calls, &NullHost, self.cancel).await;
            if self.cancel.is_cancelled() {
                return Err(failure(ErrorKind::Interrupted, "the session ended"));
            }
            for (call, result) in calls.iter().zip(batch.results) {
                self.deeds.add(call, &result);
                let message = Message::tool(&call.id, result.name, result.content);
                request.messages.push(Arc::new(message));
            }
            if batch.halt.is_some() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// One call; a failure is tried once more, because nobody else will.
    async fn ask(&mut self, request: &ModelRequest) -> Result<Completion, Failure> {
        match self.send(request).await {
            Err(failure) if is_passing(failure.kind) && !self.cancel.is_cancelled() => {
                self.send(request).await
            }
            answer => answer,
        }
    }

    async fn send(&mut self, request: &ModelRequest) -> Result<Completion, Failure> {
        let quiet = |_| {};
        let call = self.model.provider.complete(request, &quiet, self.cancel);
        let answer = tokio::select! {
            answer = tokio::time::timeout(self.timeout, call) => match answer {
                Ok(answer) => answer,
                Err(_) => Err(failure(ErrorKind::Timeout, "no answer in time")),
            },
            () = self.cancel.cancelled() => Err(failure(ErrorKind::Interrupted, "the session ended")),
        };
        let usage = answer.as_ref().ok().and_then(|answer| answer.usage);
        self.bill.add(&self.model, usage);
        answer
    }
}

fn failure(kind: ErrorKind, text: &str) -> Failure {
    Failure::new(kind, Phase::Body, text.to_owned())
}

fn is_passing(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::ServerError | ErrorKind::Overloaded | ErrorKind::Timeout
    )
}

fn spoken(answer: Completion) -> Message {
    Message {
        tool_calls: answer.tool_calls,
        reasoning: answer.reasoning,
        finish_reason: Some("tool_calls".to_owned()),
        ..Message::assistant(answer.text)
    }
}

/// The request of a review: the conversation as its next turn would send it, and the question.
///
/// Another model has nothing of it in its cache, so it gets less: an account of the beginning, the end whole,
/// and the tools that work.
fn request(conversation: &Conversation, due: Due, elsewhere: bool) -> ModelRequest {
    let mut messages = conversation.messages.clone();
    let mut tools = conversation.tools.clone();
    if elsewhere {
        messages = digested(&messages);
        tools = tools
            .iter()
            .filter(|spec| tools::ALLOWED.contains(&spec.name.as_str()))
            .cloned()
            .collect();
    }
    messages.push(Arc::new(Message::user(prompt::text(due))));
    ModelRequest {
        task: Task::BackgroundReview,
        system: conversation.system.clone(),
        note: conversation.note.clone(),
        messages: compose::compose(&messages),
        tools,
        tool_choice: ToolChoice::Auto,
        max_output_tokens: conversation.model.max_output,
        rewrites: conversation.rewrites.clone(),
    }
}

/// The newest messages whole, from a prompt of the person on, and a short account of those before.
fn digested(messages: &[Arc<Message>]) -> Vec<Arc<Message>> {
    let from = messages.len().saturating_sub(WHOLE);
    let cut = (from..messages.len()).find(|place| messages[*place].role == Role::User);
    let Some(cut) = cut.filter(|cut| *cut > 0) else {
        return messages.to_vec();
    };
    let mut account = String::from("[An account of the beginning of the conversation]\n");
    for message in &messages[..cut] {
        let text = message.content.text();
        let calls: Vec<&str> = message.tool_calls.iter().map(|call| call.name.as_str()).collect();
        let said: String = text.chars().take(300).collect();
        account.push_str(&format!(
            "{}: {said} {}\n",
            message.role.as_str(),
            calls.join(" ")
        ));
    }
    // The beginning says what it was about, the end what came of it.
    let all: Vec<char> = account.chars().collect();
    if all.len() > DIGEST {
        let half = DIGEST / 2;
        let (head, tail) = (&all[..half], &all[all.len() - half..]);
        account = format!(
            "{}\n[…]\n{}",
            head.iter().collect::<String>(),
            tail.iter().collect::<String>()
        );
    }
    let mut short = vec![
        Arc::new(Message::user(account)),
        Arc::new(Message::assistant("Understood.")),
    ];
    short.extend(messages[cut..].iter().cloned());
    short
}

/// The tokens, under their own task.
fn account(shared: &Shared, session: &SessionId, fork: &Fork<'_>) {
    if fork.bill.calls == 0 {
        return;
    }
    let identity = fork.model.provider.identity();
    let row = UsageRow {
        task: Task::BackgroundReview.as_str().to_owned(),
        model: identity.model.clone(),
        billing: (
            identity.provider.clone(),
            identity.base_url.clone(),
            String::new(),
        ),
        calls: fork.bill.calls,
        usage: fork.bill.usage,
        cost_usd: fork.bill.usd(),
    };
    if let Err(error) = shared.store.add_usage(session, &row, clock::now()) {
        tracing::warn!(%error, "the tokens of a review could not be written");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_model_gets_the_end_whole_and_an_account_of_the_rest() {
        let one = |place: usize| match place % 2 {
            0 => Arc::new(Message::user(format!("question {place} {}", "x".repeat(2_000)))),
            _ => Arc::new(Message::assistant(format!("answer {place}"))),
        };
        let messages: Vec<_> = (0..100).map(one).collect();
        let short = digested(&messages);
        assert_eq!(short.len(), 2 + WHOLE);
        assert_eq!(short[2..], messages[76..]);
        let account = short[0].content.text();
        assert!(account.contains("question 0 ") && account.chars().count() < DIGEST + 100);
        assert_eq!(digested(&messages[..10]), messages[..10]);
    }

    #[test]
    fn what_was_done_is_one_line_and_what_failed_is_not_in_it() {
        let call = |name: &str, arguments: Value| ToolCall {
            id: "c".to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_string(),
            extra: serde_json::Map::default(),
        };
        let result = |name: &str, ok: bool, told: &str| ToolResult {
            call_id: "c".to_owned(),
            name: name.to_owned(),
            content: told.into(),
            brief: String::new(),
            ok,
            duration_ms: 0,
        };
        let mut deeds = Deeds::default();
        assert_eq!(deeds.line(), None);
        let patch = serde_json::json!({"action": "patch", "name": "notes"});
        deeds.add(
            &call("memory", Value::Null),
            &result("memory", true, r#"{"target":"memory"}"#),
        );
        deeds.add(
            &call("memory", Value::Null),
            &result("memory", true, r#"{"target":"memory"}"#),
        );
        deeds.add(&call("skill_manage", patch), &result("skill_manage", true, "{}"));
        deeds.add(&call("terminal", Value::Null), &result("terminal", false, "{}"));
        assert_eq!(
            deeds.line().unwrap(),
            "💾 Self-improvement review: Memory updated · Skill notes patched (undo: /memory undo, talaria skills rollback notes)"
        );
    }
}
