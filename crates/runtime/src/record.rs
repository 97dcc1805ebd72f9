//! What is kept of a turn so that it can be run again without a network.
//!
//! Every answer the driver gives to a step is one record, in order, and every
//! request leaves the digests of what it was made of. [`crate::replay`] feeds
//! the answers to the same machine and compares the digests.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use talaria_recovery::{Failure, Situation};
use talaria_store::TurnRecord;
use talaria_turn::{ModelSetup, Outcome, Setup};
use talaria_types::{Completion, Message, MessageId, ModelRequest, SessionId, TurnId};

/// One record of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[allow(
    clippy::large_enum_variant,
    reason = "records are few, short-lived and written at once"
)]
pub(crate) enum Record {
    /// What the turn started from.
    Begin {
        /// The version of the program that ran it.
        version: String,
        /// What the machine was given, without the system prompt and the tools: they are long,
        /// the same for every turn, and no decision depends on them.
        setup: Box<Setup>,
        /// The rows that were there before, as ranges of ids.
        history: Vec<(MessageId, MessageId)>,
        /// What the person said.
        prompt: Message,
    },
    /// A request and the reply to it.
    Call {
        /// What it was made of.
        request: RequestDigest,
        /// What the machine was told besides.
        situation: Situation,
        /// The answer.
        #[serde(skip_serializing_if = "Option::is_none")]
        completion: Option<Box<Completion>>,
        /// Or the failure.
        #[serde(skip_serializing_if = "Option::is_none")]
        failure: Option<Box<Failure>>,
    },
    /// A round of tools.
    Tools {
        /// The result rows.
        rows: Vec<MessageId>,
        /// What ran.
        ran: Vec<String>,
        /// How many calls could not be understood.
        invalid: u32,
        /// The guard-rails' word.
        halt: Option<String>,
        /// The person stopped it.
        interrupted: bool,
    },
    /// The conversation was compressed, or could not be; the rest of the turn stands elsewhere.
    Compacted,
    /// The next provider.
    Switched {
        /// What it is like, if there was one.
        model: Option<ModelSetup>,
    },
    /// A credential or the connections.
    Refreshed {
        /// Whether it worked.
        renewed: bool,
    },
    /// A pause.
    Waited {
        /// The person stopped it.
        interrupted: bool,
    },
    /// A message that was sent and is no row.
    Scaffold {
        /// Its text.
        text: String,
    },
    /// How it ended.
    End {
        /// The outcome.
        outcome: Box<Outcome>,
    },
}

impl Record {
    /// The record as a row.
    pub(crate) fn into_row(self, session: &SessionId, turn: &TurnId) -> TurnRecord {
        let payload = serde_json::to_value(&self).unwrap_or_default();
        let kind = payload
            .get("kind")
            .and_then(|kind| kind.as_str())
            .unwrap_or("unknown")
            .to_owned();
        TurnRecord {
            session_id: session.clone(),
            turn_id: turn.clone(),
            kind,
            payload,
        }
    }
}

/// The setup as it is kept.
pub(crate) fn slim(setup: &Setup) -> Box<Setup> {
    let mut slim = setup.clone();
    slim.system = Arc::from("");
    slim.tools = Arc::from([]);
    Box::new(slim)
}

/// Ids as ranges of neighbours.
pub(crate) fn ranges(ids: impl Iterator<Item = MessageId>) -> Vec<(MessageId, MessageId)> {
    let mut ranges: Vec<(MessageId, MessageId)> = Vec::new();
    for id in ids {
        match ranges.last_mut() {
            Some((_, last)) if last.0 + 1 == id.0 => *last = id,
            _ => ranges.push((id, id)),
        }
    }
    ranges
}

/// What a request was made of, by digests; the words themselves stand in the rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RequestDigest {
    pub(crate) system: String,
    pub(crate) tools: String,
    /// Everything that is neither prompt, tools nor message.
    pub(crate) parameters: String,
    /// How many messages are those of the request before it.
    pub(crate) kept: usize,
    /// One digest for each message after them.
    pub(crate) messages: Vec<String>,
}

/// Digests requests, each message once.
#[derive(Default)]
pub(crate) struct Digester {
    seen: Vec<(Arc<Message>, String)>,
    constant: Option<(Arc<str>, String, String)>,
}

impl Digester {
    /// The digests of a request.
    pub(crate) fn digest(&mut self, request: &ModelRequest) -> RequestDigest {
        let known = self.seen.len();
        let mut kept = 0;
        for (place, message) in request.messages.iter().enumerate() {
            let same = self.is_same(place, message);
            kept += usize::from(same && kept == place && place < known);
        }
        self.seen.truncate(request.messages.len());
        let new = self.seen[kept..].iter();
        let messages = new.map(|(_, digest)| digest.clone()).collect();
        let (system, tools) = self.constants(request);
        let parameters = short(&serde_json::json!([
            request.tool_choice,
            request.max_output_tokens,
            request.rewrites,
            request.note,
        ]));
        RequestDigest {
            system,
            tools,
            parameters,
            kept,
            messages,
        }
    }

    /// Whether this place holds the message it held in the last request; it does from now on.
    fn is_same(&mut self, place: usize, message: &Arc<Message>) -> bool {
        if let Some((known, _)) = self.seen.get(place)
            && Arc::ptr_eq(known, message)
        {
            return true;
        }
        let digest = short(message);
        let same = self.seen.get(place).is_some_and(|(_, known)| *known == digest);
        let entry = (message.clone(), digest);
        match self.seen.get_mut(place) {
            Some(seen) => *seen = entry,
            None => self.seen.push(entry),
        }
        same
    }

    fn constants(&mut self, request: &ModelRequest) -> (String, String) {
        if let Some((system, digest, tools)) = &self.constant
            && Arc::ptr_eq(system, &request.system)
        {
            return (digest.clone(), tools.clone());
        }
        let (digest, tools) = (short(&request.system), short(&request.tools));
        self.constant = Some((request.system.clone(), digest.clone(), tools.clone()));
        (digest, tools)
    }
}

/// Twelve hexadecimal digits of the SHA-256 of a value's JSON.
fn short(value: &impl Serialize) -> String {
    use std::fmt::Write;
    let json = serde_json::to_vec(value).unwrap_or_default();
    let mut text = String::with_capacity(12);
    for byte in Sha256::digest(&json).iter().take(6) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
