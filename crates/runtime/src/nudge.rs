//! When a turn is worth looking back at.
//!
//! Two counts, by one rule for the running process and for a history that is
//! read: turns of the person since the model last used `memory`, and calls of
//! the model since it last used `skill_manage`. A count that reaches its
//! interval starts anew and asks for a review.

use std::sync::Arc;

use talaria_context::compress::is_summary;
use talaria_types::{Message, Role};

/// What a review should look for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Due {
    /// Facts about the person and their work.
    pub(crate) memory: bool,
    /// Procedures.
    pub(crate) skills: bool,
}

impl Due {
    /// Whether there is anything to look for.
    pub(crate) fn any(self) -> bool {
        self.memory || self.skills
    }
}

/// The two counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Nudges {
    /// `memory.nudge_interval`; 0 is never.
    memory_every: u32,
    /// `skills.creation_nudge_interval`; 0 is never.
    skills_every: u32,
    turns: u32,
    calls: u32,
}

impl Nudges {
    /// Counts that begin now.
    pub(crate) fn new(memory_every: u32, skills_every: u32) -> Self {
        Self {
            memory_every,
            skills_every,
            turns: 0,
            calls: 0,
        }
    }

    /// A turn has ended; these messages came after its prompt.
    pub(crate) fn turn<'a>(&mut self, messages: impl Iterator<Item = &'a Arc<Message>>) -> Due {
        self.turns += 1;
        for message in messages.filter(|message| message.role == Role::Assistant) {
            self.calls += 1;
            let used = |tool: &str| message.tool_calls.iter().any(|call| call.name == tool);
            if used("memory") {
                self.turns = 0;
            }
            if used("skill_manage") {
                self.calls = 0;
            }
        }
        Due {
            memory: reached(&mut self.turns, self.memory_every),
            skills: reached(&mut self.calls, self.skills_every),
        }
    }

    /// Takes the counts from a conversation that is read.
    pub(crate) fn hydrate(&mut self, history: &[Arc<Message>]) {
        *self = Self::new(self.memory_every, self.skills_every);
        let mut rest = history;
        while let Some(prompt) = rest.iter().position(|message| is_prompt(message)) {
            rest = &rest[prompt + 1..];
            let end = rest
                .iter()
                .position(|message| is_prompt(message))
                .unwrap_or(rest.len());
            self.turn(rest[..end].iter());
        }
    }
}

/// Whether a count has reached its interval; then it starts anew.
fn reached(count: &mut u32, every: u32) -> bool {
    let reached = every > 0 && *count >= every;
    if reached {
        *count = 0;
    }
    reached
}

/// Whether the person said it, rather than the program in their place.
pub(crate) fn is_prompt(message: &Message) -> bool {
    message.role == Role::User
        && !is_summary(message)
        && !message
            .content
            .text()
            .starts_with("[IMPORTANT: Background process")
}

#[cfg(test)]
mod tests {
    use super::*;
    use talaria_types::ToolCall;

    fn said(role: &str, tool: Option<&str>) -> Arc<Message> {
        let mut message = match role {
            "user" => Message::user("go"),
            _ => Message::assistant("ok"),
        };
        message.tool_calls.extend(tool.map(|tool| ToolCall {
            id: "c".to_owned(),
            name: tool.to_owned(),
            arguments: "{}".to_owned(),
            extra: serde_json::Map::default(),
        }));
        Arc::new(message)
    }

    fn turns(number: usize) -> Vec<Arc<Message>> {
        let one = || [said("user", None), said("assistant", None)];
        (0..number).flat_map(|_| one()).collect()
    }

    fn next(nudges: &mut Nudges) -> Due {
        nudges.turn([said("assistant", None)].iter())
    }

    #[test]
    fn the_tenth_turn_without_memory_asks_for_a_review_and_the_eleventh_does_not() {
        let mut nudges = Nudges::new(10, 0);
        let due: Vec<bool> = (0..21).map(|_| next(&mut nudges).memory).collect();
        let places: Vec<usize> = (0..21).filter(|place| due[*place]).collect();
        assert_eq!(places, [9, 19]);
    }

    #[test]
    fn a_history_that_is_read_counts_like_the_turns_themselves() {
        for (read, expected) in [(8, false), (9, true), (10, false), (19, true)] {
            let mut nudges = Nudges::new(10, 0);
            nudges.hydrate(&turns(read));
            assert_eq!(next(&mut nudges).memory, expected, "after {read}");
        }
    }

    #[test]
    fn using_the_memory_starts_its_count_anew() {
        let mut history = turns(9);
        history.push(said("user", None));
        history.push(said("assistant", Some("memory")));
        let mut nudges = Nudges::new(10, 0);
        nudges.hydrate(&history);
        assert_eq!(nudges, Nudges::new(10, 0).counted(0, 10));
    }

    #[test]
    fn calls_of_the_model_are_counted_for_skills_and_all_of_a_turn_count() {
        let mut nudges = Nudges::new(0, 3);
        let five: Vec<_> = (0..5).map(|_| said("assistant", Some("terminal"))).collect();
        assert!(nudges.turn(five.iter()).skills);
        assert!(!next(&mut nudges).skills);
        let managed = [said("assistant", Some("skill_manage")), said("assistant", None)];
        assert!(!nudges.turn(managed.iter()).skills);
        assert_eq!(nudges, Nudges::new(0, 3).counted(3, 1));
    }

    #[test]
    fn a_summary_and_a_notice_are_no_turns() {
        let notice = Message::user("[IMPORTANT: Background process p1 completed (exit code 0).");
        assert!(!is_prompt(&notice));
        assert!(is_prompt(&Message::user("[note] go on")));
    }

    impl Nudges {
        fn counted(mut self, turns: u32, calls: u32) -> Self {
            (self.turns, self.calls) = (turns, calls);
            self
        }
    }
}
