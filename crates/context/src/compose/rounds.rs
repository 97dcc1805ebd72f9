//! The rows of a request as they grow: rounds of calls and their results.

use std::sync::Arc;

use talaria_types::{Message, Role, ToolCall};

use super::arguments::repair_arguments;
use super::names::{IdBook, wire_name};
use super::roles::{join_assistants, join_users};
use super::{EMPTY_USER, OPENING};
use crate::compress::{RESULT_SUMMARISED, is_summary};

/// What is sent for a call whose result was never stored.
pub const RESULT_LOST: &str =
    "[Result lost: the outcome of this call is unknown. Check its effects before repeating it.]";

/// Rows ready to be sent, and the round of calls that may still get results.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    sent: Vec<Arc<Message>>,
    round: Vec<OpenCall>,
    ids: IdBook,
}

/// One call of the newest assistant row.
#[derive(Clone, Debug)]
struct OpenCall {
    /// Ids under which its result may be stored.
    stored_ids: [Option<String>; 2],
    /// The tool's name as stored.
    stored_name: String,
    /// The id it is sent with.
    id: String,
    /// The name it is sent with.
    name: String,
    result: Option<Arc<Message>>,
}

impl Rows {
    /// Takes the next row of the conversation.
    pub(super) fn push(&mut self, message: &Arc<Message>) {
        match message.role {
            // The system prompt travels beside the rows; old stores hold copies of it.
            Role::System => {}
            Role::User => {
                self.close_round();
                self.push_user(message);
            }
            Role::Assistant => {
                self.close_round();
                self.push_assistant(message);
            }
            Role::Tool => self.take_result(message),
        }
    }

    /// All rows, as if nothing were to come.
    pub(super) fn closed(&self) -> Vec<Arc<Message>> {
        let mut sent = self.sent.clone();
        let lost = self.note_for_lost();
        sent.extend(self.round.iter().map(|call| call.closed(lost)));
        sent
    }

    fn close_round(&mut self) {
        let lost = self.note_for_lost();
        for call in std::mem::take(&mut self.round) {
            self.sent.push(call.closed(lost));
        }
    }

    /// Right behind a summary a missing result is one that the summary covers;
    /// anywhere else nobody knows what came of the call.
    fn note_for_lost(&self) -> &'static str {
        let before = self
            .sent
            .len()
            .checked_sub(2)
            .and_then(|index| self.sent.get(index));
        if before.is_some_and(|message| is_summary(message)) {
            RESULT_SUMMARISED
        } else {
            RESULT_LOST
        }
    }

    fn push_user(&mut self, message: &Arc<Message>) {
        let blank =
            message.sent_as.as_ref().is_none_or(|text| text.trim().is_empty()) && message.content.is_blank();
        match self.sent.last().filter(|last| last.role == Role::User) {
            Some(_) if blank => {}
            Some(last) => {
                let joined = join_users(last, message);
                self.replace_last(joined);
            }
            None if blank => self.sent.push(Arc::new(Message::user(EMPTY_USER))),
            None => self.sent.push(Arc::clone(message)),
        }
    }

    fn push_assistant(&mut self, message: &Arc<Message>) {
        if message.content.is_blank() && message.tool_calls.is_empty() {
            return;
        }
        if self.sent.is_empty() {
            self.sent.push(Arc::new(Message::user(OPENING)));
        }
        let message = self.open_round(message);
        match self.sent.last().filter(|last| last.role == Role::Assistant) {
            // A row with calls is followed by their results, so that `last` has none.
            Some(last) => {
                let joined = join_assistants(last, &message);
                self.replace_last(joined);
            }
            None => self.sent.push(message),
        }
    }

    /// Repairs an assistant row's calls and waits for their results.
    fn open_round(&mut self, message: &Arc<Message>) -> Arc<Message> {
        let mut repaired: Vec<ToolCall> = Vec::new();
        for (index, call) in message.tool_calls.iter().enumerate() {
            let id = self.ids.assign(&call.id);
            let name = wire_name(&call.name);
            let arguments = repair_arguments(&call.arguments).into_text();
            let intact = id == call.id && name == call.name && arguments == call.arguments;
            let open = OpenCall::new(call, id.clone().into_owned(), name.clone().into_owned());
            self.round.push(open);
            if !intact && repaired.is_empty() {
                repaired = message.tool_calls[..index].to_vec();
            }
            if !intact || !repaired.is_empty() {
                repaired.push(ToolCall {
                    id: id.into_owned(),
                    name: name.into_owned(),
                    arguments: arguments.into_owned(),
                    extra: call.extra.clone(),
                });
            }
        }
        if repaired.is_empty() {
            return Arc::clone(message);
        }
        Arc::new(Message {
            tool_calls: repaired,
            ..Message::clone(message)
        })
    }

    /// Gives a result to its call. One that answers no open call, or answers a
    /// second time, is not sent.
    fn take_result(&mut self, message: &Arc<Message>) {
        let Some(call) = self.call_of(message) else { return };
        let fits = message.tool_call_id.as_deref() == Some(call.id.as_str())
            && message.tool_name.as_deref() == Some(call.name.as_str());
        call.result = Some(if fits {
            Arc::clone(message)
        } else {
            Arc::new(Message {
                tool_call_id: Some(call.id.clone()),
                tool_name: Some(call.name.clone()),
                ..Message::clone(message)
            })
        });
    }

    /// By id; a result without one belongs to the first call that could be meant:
    /// one without an id, one of the same tool, any.
    fn call_of(&mut self, message: &Message) -> Option<&mut OpenCall> {
        let waiting: Vec<usize> = self
            .round
            .iter()
            .enumerate()
            .filter(|(_, call)| call.result.is_none())
            .map(|(index, _)| index)
            .collect();
        let first = |fits: &dyn Fn(&OpenCall) -> bool| {
            waiting
                .iter()
                .copied()
                .find(|index| self.round.get(*index).is_some_and(fits))
        };
        let id = message.tool_call_id.as_deref().filter(|id| !id.trim().is_empty());
        let index = match id {
            Some(id) => first(&|call| call.is_stored_as(id)),
            None => first(&OpenCall::is_stored_without_id)
                .or_else(|| first(&|call| message.tool_name.as_deref() == Some(call.stored_name.as_str())))
                .or_else(|| first(&|_| true)),
        };
        index.and_then(|index| self.round.get_mut(index))
    }

    fn replace_last(&mut self, message: Message) {
        self.sent.pop();
        self.sent.push(Arc::new(message));
    }
}

impl OpenCall {
    fn new(call: &ToolCall, id: String, name: String) -> Self {
        // Rows of the Responses protocol carry two ids, and a result may name either.
        let other = call
            .extra
            .get("call_id")
            .and_then(|id| id.as_str())
            .map(str::to_owned);
        Self {
            stored_ids: [Some(call.id.clone()), other],
            stored_name: call.name.clone(),
            id,
            name,
            result: None,
        }
    }

    fn is_stored_as(&self, id: &str) -> bool {
        self.stored_ids.iter().flatten().any(|stored| stored == id)
    }

    fn is_stored_without_id(&self) -> bool {
        self.stored_ids
            .iter()
            .flatten()
            .all(|stored| stored.trim().is_empty())
    }

    fn closed(&self, lost: &str) -> Arc<Message> {
        match &self.result {
            Some(result) => Arc::clone(result),
            None => Arc::new(Message::tool(self.id.as_str(), self.name.as_str(), lost)),
        }
    }
}
