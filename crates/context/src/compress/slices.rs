//! A record that does not fit the summariser is told in slices.
//!
//! First less of each row is told, then more calls are made, and only when both
//! are used up rows between the oldest and the newest are left out, and it is said so.

use std::sync::OnceLock;

use super::summarize::{LEVELS, Record};

/// More calls than this for one compression are not made.
const MOST_SLICES: u64 = 4;
/// Fewer tokens of record a call are not worth one.
const SMALLEST_SLICE: u64 = 150;

/// The sizes a slice is cut by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) window: u64,
    /// Tokens of the prompt without its record, and of the answer.
    pub(super) fixed: u64,
}

/// How the record is told: at which level, and in how many slices.
#[derive(Debug)]
pub(super) struct Slices {
    needed: bool,
    /// The first row that was not told yet.
    from: usize,
    /// At most this many tokens of record a request, after refusals.
    most: Option<u64>,
    layout: OnceLock<Layout>,
}

#[derive(Clone, Debug)]
struct Layout {
    level: usize,
    /// Where the current slice ends.
    end: usize,
    /// Rows that are left out because even the last level is too much.
    left_out: std::ops::Range<usize>,
    capacity: u64,
    last: bool,
}

impl Slices {
    pub(super) fn new(needed: bool) -> Self {
        Self {
            needed,
            from: 0,
            most: None,
            layout: OnceLock::new(),
        }
    }

    pub(super) fn is_needed(&self) -> bool {
        self.needed
    }

    /// The text of the current slice; nothing when no summary is needed.
    pub(super) fn current(&self, record: &[Record], sizes: &Sizes) -> Option<String> {
        if !self.needed {
            return None;
        }
        let layout = self.layout.get_or_init(|| self.lay_out(record, sizes));
        let mut text = String::new();
        for (index, row) in record.iter().enumerate().take(layout.end).skip(self.from) {
            if index == layout.left_out.start && !layout.left_out.is_empty() {
                text.push_str(&format!(
                    "[{} messages are left out here]\n\n",
                    layout.left_out.len()
                ));
            }
            if !layout.left_out.contains(&index) {
                row.write(layout.level, &mut text);
            }
        }
        Some(text)
    }

    pub(super) fn is_last(&self) -> bool {
        self.layout.get().is_none_or(|layout| layout.last)
    }

    pub(super) fn advance(&mut self) {
        if let Some(layout) = self.layout.take() {
            self.from = layout.end;
        }
    }

    /// A smaller slice, or less of each row.
    pub(super) fn shrink(&mut self, limit: Option<u64>) -> bool {
        let Some(layout) = self.layout.take() else {
            return limit.is_some();
        };
        let half = layout.capacity / 2;
        // A limit that was named lowers the window; this lowers what remains of it
        // when the estimate was too low.
        self.most = match limit {
            Some(limit) if limit < layout.capacity => None,
            Some(_) | None => Some(half),
        };
        half >= SMALLEST_SLICE
    }

    fn lay_out(&self, record: &[Record], sizes: &Sizes) -> Layout {
        let room = (sizes.window * 9 / 10).saturating_sub(sizes.fixed);
        let capacity = room.min(self.most.unwrap_or(room)).max(SMALLEST_SLICE);
        let rest = &record[self.from.min(record.len())..];
        let total = |level: usize| rest.iter().map(|row| row.size(level)).sum::<u64>();
        let level = (0..LEVELS.len())
            .find(|level| total(*level) <= capacity * (MOST_SLICES - 1))
            .unwrap_or(LEVELS.len() - 1);
        let left_out = self.left_out(record, level, capacity * MOST_SLICES);
        let mut end = self.from;
        let mut sum = 0;
        while end < record.len() {
            let size = if left_out.contains(&end) {
                0
            } else {
                record[end].size(level)
            };
            if sum + size > capacity && end > self.from {
                break;
            }
            sum += size;
            end += 1;
        }
        Layout {
            level,
            end,
            left_out,
            capacity,
            last: end >= record.len(),
        }
    }

    /// Rows between the first third and the newest two thirds of what can be told.
    fn left_out(&self, record: &[Record], level: usize, most: u64) -> std::ops::Range<usize> {
        let sizes =
            |range: std::ops::Range<usize>| record[range].iter().map(|row| row.size(level)).sum::<u64>();
        if sizes(self.from..record.len()) <= most {
            return 0..0;
        }
        let mut start = self.from;
        let mut sum = 0;
        while start < record.len() && sum + record[start].size(level) <= most / 3 {
            sum += record[start].size(level);
            start += 1;
        }
        let mut end = record.len();
        while end > start && sum + record[end - 1].size(level) <= most {
            sum += record[end - 1].size(level);
            end -= 1;
        }
        start..end
    }
}
