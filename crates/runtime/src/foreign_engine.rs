//! The context engine that a plugin brings: it may say when a conversation is compressed and what
//! becomes of it. What it says is checked; without an answer that can be used the built-in one does
//! the work.

use serde_json::{Value, json};
use talaria_context::compress::{self, Compressed, Piece};
use talaria_types::{ModelRequest, Role, SessionId, StoredMessage, Trigger, Usage};
use tokio_util::sync::CancellationToken;

use crate::compaction::Order;
use crate::session::Session;

impl Session {
    /// What an engine says to the trigger that the built-in one would give. What the provider could not
    /// take is compressed whatever it says.
    pub(crate) async fn engine_trigger(
        &self,
        trigger: Option<Trigger>,
        request: &ModelRequest,
        (size, threshold, window): (u64, u64, u64),
    ) -> Option<Trigger> {
        let Some(engine) = &self.engine else {
            return trigger;
        };
        let facts = json!({
            "session_id": self.id.as_str(), "prompt_tokens": size, "threshold_tokens": threshold,
            "context_length": window, "message_count": request.messages.len(),
        });
        match engine.engine("should_compress", facts).await {
            Ok(Value::Bool(true)) => trigger.or(Some(Trigger::AfterTools)),
            Ok(Value::Bool(false)) => trigger.filter(|trigger| *trigger == Trigger::BeforeCall),
            Ok(_) => trigger,
            Err(why) => {
                self.engine_failed(&why);
                trigger
            }
        }
    }

    /// What an engine makes of the conversation; nothing when the built-in one has to do it.
    pub(crate) async fn compressed_elsewhere(
        &self,
        history: &[StoredMessage],
        tokens: u64,
        order: &Order,
        cancel: &CancellationToken,
    ) -> Option<Compressed> {
        let engine = self.engine.as_ref().filter(|_| order.keep_exchanges.is_none())?;
        let messages: Vec<Value> = history
            .iter()
            .enumerate()
            .map(|(place, row)| told(place, row))
            .collect();
        let params = json!({
            "session_id": self.id.as_str(), "messages": messages, "current_tokens": tokens,
            "focus_topic": order.focus,
        });
        let answer = tokio::select! {
            answer = engine.engine("compress", params) => answer,
            () = cancel.cancelled() => return None,
        };
        let accepted = answer.and_then(|answer| match &answer["messages"] {
            Value::Array(pieces) => {
                let pieces: Result<Vec<Piece>, String> = pieces.iter().map(piece).collect();
                compress::accept_foreign(history, &pieces?).map(Some)
            }
            _ if answer.is_null() => Ok(None),
            _ => Err("its answer has no messages".to_owned()),
        });
        accepted.unwrap_or_else(|why| {
            self.engine_failed(&why);
            None
        })
    }

    fn engine_failed(&self, why: &str) {
        let name = self.engine.as_ref().map_or("", |engine| engine.name());
        self.sink
            .warn(format!("context engine {name}: {why}; the built-in one is used"));
    }

    /// Tells the engine what an answer weighed.
    pub(crate) fn engine_spent(&self, usage: Option<Usage>) {
        if let (Some(engine), Some(usage)) = (&self.engine, usage) {
            engine.tell_engine(
                "update_from_response",
                &json!({"session_id": self.id.as_str(), "usage": usage}),
            );
        }
    }

    /// Tells the engine that a session begins, and why when another one ended for it.
    pub(crate) fn engine_begins(&self, from: Option<(&SessionId, &str)>) {
        if let Some(engine) = &self.engine {
            let params = json!({
                "session_id": self.id.as_str(),
                "old_session_id": from.map(|(old, _)| old.as_str()),
                "boundary_reason": from.map(|(_, reason)| reason),
                "model": self.models.current().provider.identity().model,
            });
            engine.tell_engine("on_session_start", &params);
        }
    }

    /// Tells the engine that the session is left.
    pub(crate) fn engine_ends(&self) {
        if let Some(engine) = &self.engine {
            engine.tell_engine("on_session_end", &json!({"session_id": self.id.as_str()}));
        }
    }
}

/// A row as an engine reads it, secrets masked.
fn told(place: usize, row: &StoredMessage) -> Value {
    let message = &*row.message;
    let calls: Vec<Value> = message
        .tool_calls
        .iter()
        .map(|call| json!({"id": call.id, "name": call.name, "arguments": talaria_redact::redact(&call.arguments)}))
        .collect();
    json!({
        "id": place, "role": message.role.as_str(),
        "content": talaria_redact::redact(&message.content.text()),
        "tool_calls": calls, "tool_call_id": message.tool_call_id, "tool_name": message.tool_name,
    })
}

/// `{"keep": id}`, `{"summary": text}` or `{"role": …, "content": text}`.
fn piece(given: &Value) -> Result<Piece, String> {
    if let Some(place) = given["keep"].as_u64() {
        return Ok(Piece::Keep(usize::try_from(place).unwrap_or(usize::MAX)));
    }
    if let Some(text) = given["summary"].as_str() {
        return Ok(Piece::Summary(talaria_redact::redact(text).into_owned()));
    }
    let role = match given["role"].as_str() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        _ => {
            return Err(
                "one of its messages is neither kept, a summary, nor said by user or assistant".to_owned(),
            );
        }
    };
    let text = given["content"]
        .as_str()
        .ok_or("one of its messages has no text")?;
    Ok(Piece::Said(role, talaria_redact::redact(text).into_owned()))
}
