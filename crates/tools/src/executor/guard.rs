//! Notices that a turn goes in circles.
//!
//! The same call that fails the same way, a tool that fails whatever is tried,
//! and the same look-up that brings nothing new are first told to the model. With
//! the hard stop they end the turn. Output that changes is progress, however
//! often the call repeats, and is no loop.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::plan::Ready;
use crate::ToolOutput;

const EXACT_WARN: u32 = 2;
const EXACT_STOP: u32 = 5;
const TOOL_WARN: u32 = 3;
const TOOL_STOP: u32 = 8;
const SAME_WARN: u32 = 2;
const SAME_STOP: u32 = 5;

/// Batches in a row of which no call could be understood, before the turn ends.
const INVALID_STOP: u32 = 5;

/// What one turn's calls came to.
#[derive(Debug, Default)]
pub(super) struct Guard {
    hard_stop: bool,
    warns: bool,
    /// By call: how often it failed the same way, and how.
    exact: HashMap<String, (u32, u64)>,
    /// By tool: failures since its last success.
    tools: HashMap<String, u32>,
    /// By call: how often it gave the same result, and which.
    same: HashMap<String, (u32, u64)>,
    invalid_calls: u32,
    invalid_batches: u32,
    last_invalid: String,
    halt: Option<String>,
}

impl Guard {
    pub(super) fn new(hard_stop: bool, warns: bool) -> Self {
        Self {
            hard_stop,
            warns,
            ..Self::default()
        }
    }

    pub(super) fn begin_turn(&mut self) {
        *self = Self::new(self.hard_stop, self.warns);
    }

    /// Why this call must not run again.
    pub(super) fn before(&mut self, call: &Ready) -> Option<String> {
        if !self.hard_stop {
            return None;
        }
        let count = |map: &HashMap<String, (u32, u64)>| map.get(&call.key).map_or(0, |(count, _)| *count);
        let (code, times, what) = match (count(&self.exact), count(&self.same)) {
            (failed, _) if failed >= EXACT_STOP => {
                ("repeated_exact_failure_block", failed, "failed the same way")
            }
            (_, same) if same >= SAME_STOP => ("idempotent_no_progress_block", same, "gave the same result"),
            _ => return None,
        };
        let name = &call.name;
        self.halt = Some(format!(
            "{name} was called {times} times with the same arguments and {what} each time"
        ));
        Some(format!(
            "[Tool loop hard stop: {code}; count={times}] {name} with these arguments {what} {times} times and \
             was not run again"
        ))
    }

    /// Takes note of a result; the warning is for the model.
    pub(super) fn after(&mut self, call: &Ready, output: &ToolOutput) -> Option<String> {
        self.count(call, output).filter(|_| self.warns)
    }

    fn count(&mut self, call: &Ready, output: &ToolOutput) -> Option<String> {
        let hash = hash_of(output);
        if output.ok {
            self.exact.remove(&call.key);
            self.tools.remove(&call.name);
            return call
                .tool
                .idempotent()
                .then(|| self.no_progress(call, hash))
                .flatten();
        }
        let polled = self.exact.get(&call.key).is_some_and(|(_, last)| *last != hash);
        let exact = repeat(&mut self.exact, &call.key, hash);
        let tool = self.tools.entry(call.name.clone()).or_default();
        // The same call with another failure than before follows something that moves.
        *tool += u32::from(!polled);
        let tool = *tool;
        let name = &call.name;
        if self.hard_stop && tool >= TOOL_STOP {
            self.halt = Some(format!("{name} failed {tool} times in a row"));
        }
        if exact >= EXACT_WARN {
            return Some(format!(
                "[Tool loop warning: repeated_exact_failure_warning; count={exact}; {name} failed the same way \
                 with the same arguments; change the arguments or the approach]"
            ));
        }
        (tool >= TOOL_WARN).then(|| {
            format!(
                "[Tool loop warning: same_tool_failure_warning; count={tool}; {name} keeps failing; look at the \
                 errors and try another way]"
            )
        })
    }

    fn no_progress(&mut self, call: &Ready, hash: u64) -> Option<String> {
        let same = repeat(&mut self.same, &call.key, hash);
        (same >= SAME_WARN).then(|| {
            format!(
                "[Tool loop warning: idempotent_no_progress_warning; count={same}; {} gave the same result again; \
                 use what you have or ask for something else]",
                call.name
            )
        })
    }

    /// A call could not be understood.
    pub(super) fn invalid(&mut self, name: &str, error: &str) {
        self.invalid_calls += 1;
        self.last_invalid = format!("{name}: {error}");
    }

    /// The batch of `calls` calls is over; how many of them could not be understood.
    pub(super) fn end_batch(&mut self, calls: usize) -> u32 {
        let invalid = std::mem::take(&mut self.invalid_calls);
        if invalid > 0 && invalid as usize >= calls {
            self.invalid_batches += 1;
        } else {
            self.invalid_batches = 0;
        }
        if self.invalid_batches >= INVALID_STOP {
            self.halt = Some(format!(
                "the model's tool calls could not be understood {} times in a row; the last one was {}",
                self.invalid_batches, self.last_invalid
            ));
        }
        invalid
    }

    /// Why the turn should end.
    pub(super) fn halt(&self) -> Option<String> {
        self.halt.clone()
    }
}

/// Counts equal results of the same call in a row.
fn repeat(counts: &mut HashMap<String, (u32, u64)>, key: &str, hash: u64) -> u32 {
    let entry = counts.entry(key.to_owned()).or_insert((0, hash));
    if entry.1 == hash {
        entry.0 += 1;
    } else {
        *entry = (1, hash);
    }
    entry.0
}

fn hash_of(output: &ToolOutput) -> u64 {
    let mut hasher = DefaultHasher::new();
    output.content.text().hash(&mut hasher);
    hasher.finish()
}
