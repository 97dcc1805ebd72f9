//! The last guard: no call without its result, no result without its call.
//!
//! Boundaries never part a pair, but a store may hold parted ones already. This
//! works by position: ids repeat in the field, and a result only ever belongs to
//! the round it stands in.

use std::sync::Arc;

use talaria_types::{Message, MessageId, Role};

use super::Kept;
use super::strings::RESULT_EARLIER;

/// Puts the rows of each round in order: orphan results out, stub results in.
pub(super) fn guard(rows: Vec<Kept>) -> Vec<Kept> {
    let mut sound: Vec<Kept> = Vec::with_capacity(rows.len());
    let mut rows = rows.into_iter().peekable();
    while let Some(row) = rows.next() {
        match row.message.role {
            // Reached only where no round is open.
            Role::Tool => {}
            Role::System | Role::User => sound.push(row),
            Role::Assistant => {
                let mut results = Vec::new();
                while let Some(result) = rows.next_if(|next| next.message.role == Role::Tool) {
                    results.push(result);
                }
                let answered = answer(&row.message, results);
                sound.push(row);
                sound.extend(answered);
            }
        }
    }
    sound
}

/// One result a call, in call order.
fn answer(asking: &Message, results: Vec<Kept>) -> Vec<Kept> {
    let mut results: Vec<Option<Kept>> = results.into_iter().map(Some).collect();
    let mut take = |fits: &dyn Fn(Option<&str>) -> bool| {
        let found = results.iter_mut().find(|slot| {
            slot.as_ref()
                .is_some_and(|result| fits(result.message.tool_call_id.as_deref()))
        });
        found.and_then(Option::take)
    };
    let mut answered = Vec::new();
    for call in &asking.tool_calls {
        let other = call.extra.get("call_id").and_then(|id| id.as_str());
        let own = take(&|id| id == Some(call.id.as_str()) || (other.is_some() && id == other));
        let result = own.or_else(|| {
            if call.id.trim().is_empty() {
                take(&|id| id.is_none_or(|id| id.trim().is_empty()))
            } else {
                None
            }
        });
        answered.push(result.unwrap_or_else(|| stub(call.id.as_str(), call.name.as_str())));
    }
    answered
}

fn stub(id: &str, name: &str) -> Kept {
    Kept {
        message: Arc::new(Message::tool(id, name, RESULT_EARLIER)),
        from: None::<(usize, MessageId)>,
        changed: true,
    }
}
