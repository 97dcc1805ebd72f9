//! Remembers what each message was counted as.

use std::sync::Arc;

use talaria_types::Message;

use super::Counter;

/// How far the estimate may be off before an exact count could decide otherwise.
const DOUBT: f64 = 1.3;

/// Per-message counts of a conversation that grows, so that a check costs its new
/// messages and not its length.
#[derive(Clone, Debug, Default)]
pub struct CountedHistory {
    rows: Vec<Counted>,
}

#[derive(Clone, Debug)]
struct Counted {
    message: Arc<Message>,
    quick: u64,
    exact: Option<u64>,
}

impl CountedHistory {
    /// Tokens of `messages`, before calibration.
    ///
    /// `decides_from` is the number the answer will be held against. While the
    /// estimate is clearly below it the estimate is the answer; from there on the
    /// count is exact, where the model's family is known.
    pub fn tokens(&mut self, counter: &Counter, messages: &[Arc<Message>], decides_from: u64) -> u64 {
        self.follow(messages);
        let quick: u64 = self.rows.iter().map(|row| row.quick).sum();
        if !counter.is_exact() || (quick as f64) * DOUBT < decides_from as f64 {
            return quick;
        }
        self.rows
            .iter_mut()
            .map(|row| *row.exact.get_or_insert_with(|| counter.message(&row.message)))
            .sum()
    }

    /// Forgets exact counts: they were another family's.
    pub fn change_model(&mut self) {
        for row in &mut self.rows {
            row.exact = None;
        }
    }

    fn follow(&mut self, messages: &[Arc<Message>]) {
        let same = self
            .rows
            .iter()
            .zip(messages)
            .take_while(|(row, new)| Arc::ptr_eq(&row.message, new))
            .count();
        self.rows.truncate(same);
        self.rows.extend(messages[same..].iter().map(|message| Counted {
            message: Arc::clone(message),
            quick: Counter::quick_message(message),
            exact: None,
        }));
    }
}
