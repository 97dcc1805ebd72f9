//! Joins the pieces of a streamed answer into one completion.
//!
//! Adapters translate their protocol's events into the few methods here; what
//! servers get wrong about streamed calls (indexes that repeat or are missing,
//! ids that are missing or always the same, arguments whole and twice) is put
//! right in this one place. No I/O, no clock; ids that must be made up are the
//! same for the same answer, so that a recorded turn replays byte for byte.

use std::collections::HashSet;

use serde_json::{Map, Value};
use talaria_recovery::Partial;
use talaria_types::{Completion, Delta, FinishReason, Reasoning, ToolCall, Usage};

use crate::json;
use crate::think::Scrubber;

/// One answer in the making.
#[derive(Debug, Default)]
pub struct Assembler {
    scrubber: Scrubber,
    text: String,
    thought: String,
    slots: Vec<Slot>,
    usage: Option<Usage>,
    response_id: Option<String>,
    model: Option<String>,
    salt: u64,
    scratch: Vec<Delta>,
}

/// A call in the making.
#[derive(Debug, Default)]
struct Slot {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    extra: Map<String, Value>,
    announced: bool,
}

/// A piece of a call, as far as the event told.
#[derive(Clone, Debug, Default)]
pub struct CallPiece<'a> {
    /// Which call of the answer.
    pub index: Option<u64>,
    /// The provider's id.
    pub id: Option<&'a str>,
    /// The tool.
    pub name: Option<&'a str>,
    /// More of the arguments' text, or all of it.
    pub arguments: Option<&'a str>,
    /// Members this program does not know.
    pub extra: Map<String, Value>,
}

impl Assembler {
    /// An empty answer. `salt` tells made-up call ids of one turn apart; the
    /// number of messages of the request does.
    pub fn new(salt: u64) -> Self {
        Self {
            salt,
            ..Self::default()
        }
    }

    /// Takes text of the answer; thinking between tags becomes reasoning.
    pub fn text(&mut self, text: &str, out: &mut Vec<Delta>) {
        if text.is_empty() {
            return;
        }
        let mut parted = std::mem::take(&mut self.scratch);
        self.scrubber.push(text, &mut parted);
        self.keep(&mut parted, out);
        self.scratch = parted;
    }

    /// Takes text of the thinking.
    pub fn reasoning(&mut self, text: &str, out: &mut Vec<Delta>) {
        if !text.is_empty() {
            self.thought.push_str(text);
            out.push(Delta::Reasoning(text.to_owned()));
        }
    }

    /// Takes a piece of a call.
    pub fn call(&mut self, piece: CallPiece<'_>, out: &mut Vec<Delta>) {
        let at = match self.slot_of(&piece) {
            Some(at) => at,
            None => {
                self.slots.push(Slot {
                    index: piece.index,
                    ..Slot::default()
                });
                self.slots.len() - 1
            }
        };
        let slot = &mut self.slots[at];
        if let Some(id) = piece.id
            && slot.id.is_empty()
        {
            id.clone_into(&mut slot.id);
        }
        if let Some(name) = piece.name
            && slot.name.is_empty()
        {
            name.clone_into(&mut slot.name);
        }
        if let Some(arguments) = piece.arguments {
            slot.arguments.push_str(arguments);
        }
        slot.extra.extend(piece.extra);
        if !slot.announced && !slot.name.is_empty() {
            slot.announced = true;
            out.push(Delta::ToolCallStarted {
                name: slot.name.clone(),
            });
        }
    }

    /// Replaces the arguments of a call by their final form, which some
    /// protocols repeat at its end.
    pub fn whole_arguments(&mut self, index: u64, arguments: &str) {
        if let Some(slot) = self.slots.iter_mut().rev().find(|slot| slot.index == Some(index)) {
            arguments.clone_into(&mut slot.arguments);
        }
    }

    /// Keeps the usage; a later word replaces an earlier one.
    pub fn usage(&mut self, usage: Usage) {
        self.usage = Some(usage);
    }

    /// The usage kept so far.
    pub fn known_usage(&self) -> Option<Usage> {
        self.usage
    }

    /// Keeps the answer's id and model, the first ones told.
    pub fn identify(&mut self, response_id: Option<&str>, model: Option<&str>) {
        keep_first(&mut self.response_id, response_id);
        keep_first(&mut self.model, model);
    }

    /// Nothing of an answer has arrived: no text, no thought, no call.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
            && self.thought.is_empty()
            && self.slots.is_empty()
            && self.scrubber.pending().is_empty()
    }

    /// A call has begun.
    pub fn has_calls(&self) -> bool {
        !self.slots.is_empty()
    }

    /// Every call that has begun has whole arguments.
    pub fn calls_are_whole(&self) -> bool {
        self.slots.iter().all(Slot::is_whole)
    }

    /// What had arrived, for an answer that broke off.
    pub fn partial(&self) -> Partial {
        let tools = self
            .slots
            .iter()
            .filter(|slot| !slot.name.is_empty())
            .map(|slot| slot.name.clone());
        Partial {
            text: self.text.clone(),
            reasoning: self.thought.clone(),
            tools: tools.collect(),
            usage: self.usage,
        }
    }

    /// Ends the answer. `reasoning` brings the provider's own forms of the
    /// thinking; its readable text is filled in here.
    pub fn finish(mut self, finish: FinishReason, reasoning: Reasoning, out: &mut Vec<Delta>) -> Completion {
        let mut parted = std::mem::take(&mut self.scratch);
        self.scrubber.finish(&mut parted);
        self.keep(&mut parted, out);
        let thought = (!self.thought.trim().is_empty()).then_some(self.thought);
        let tool_calls = name_calls(self.slots, self.salt, self.response_id.as_deref());
        let finish = match finish {
            FinishReason::Stop if !tool_calls.is_empty() => FinishReason::ToolCalls,
            other => other,
        };
        Completion {
            text: self.text,
            reasoning: Reasoning {
                text: reasoning.text.or(thought),
                ..reasoning
            },
            tool_calls,
            finish,
            usage: self.usage,
            response_id: self.response_id,
            model: self.model,
        }
    }

    fn keep(&mut self, parted: &mut Vec<Delta>, out: &mut Vec<Delta>) {
        for delta in parted.drain(..) {
            match &delta {
                Delta::Text(text) => self.text.push_str(text),
                Delta::Reasoning(text) => self.thought.push_str(text),
                Delta::ToolCallStarted { .. } => {}
            }
            out.push(delta);
        }
    }

    /// Which begun call a piece belongs to; none when it begins one.
    fn slot_of(&self, piece: &CallPiece<'_>) -> Option<usize> {
        let id = piece.id.filter(|id| !id.is_empty());
        let same_place = match (piece.index, id) {
            (Some(index), _) => self.slots.iter().rposition(|slot| slot.index == Some(index)),
            (None, Some(id)) => self.slots.iter().rposition(|slot| slot.id == id),
            (None, None) => self.slots.len().checked_sub(1),
        }?;
        let slot = &self.slots[same_place];
        // Ollama counts every call as index 0, so a new id is a new call.
        if id.is_some_and(|id| !slot.id.is_empty() && slot.id != id) {
            return None;
        }
        // Servers that send calls whole repeat the index, and may have one id for all.
        let named = piece.name.is_some_and(|name| !name.is_empty());
        let begins_anew = named
            && !slot.name.is_empty()
            && (piece.name != Some(slot.name.as_str())
                || (slot.is_whole()
                    && piece
                        .arguments
                        .is_some_and(|more| !more.is_empty() && more != slot.arguments)));
        (!begins_anew).then_some(same_place)
    }
}

impl Slot {
    fn is_whole(&self) -> bool {
        json::is_object(&json::mend_surrogates(&self.arguments))
    }
}

fn keep_first(place: &mut Option<String>, word: Option<&str>) {
    if place.is_none()
        && let Some(word) = word.filter(|word| !word.is_empty())
    {
        *place = Some(word.to_owned());
    }
}

/// Gives every call an id of its own and tidies its arguments.
fn name_calls(slots: Vec<Slot>, salt: u64, response_id: Option<&str>) -> Vec<ToolCall> {
    let mut taken = HashSet::new();
    let begun = slots
        .into_iter()
        .filter(|slot| !(slot.name.is_empty() && slot.arguments.trim().is_empty()));
    begun
        .enumerate()
        .map(|(place, slot)| {
            let mut id = slot.id.trim().to_owned();
            if id.is_empty() {
                id = format!(
                    "call_{:016x}",
                    digest(&[response_id.unwrap_or(""), &slot.name, &slot.arguments], salt)
                );
            }
            if !taken.insert(id.clone()) {
                id = format!("{id}_{place}");
                taken.insert(id.clone());
            }
            let mended = json::mend_surrogates(&slot.arguments);
            let arguments = json::undouble(mended.trim()).map_or_else(|| mended.to_string(), str::to_owned);
            ToolCall {
                id,
                name: slot.name,
                arguments,
                extra: slot.extra,
            }
        })
        .collect()
}

/// FNV-1a: small, and the same on every machine and in every release.
fn digest(texts: &[&str], salt: u64) -> u64 {
    let bytes = texts
        .iter()
        .flat_map(|text| text.bytes().chain([0xff]))
        .chain(salt.to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests;
