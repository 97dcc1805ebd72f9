//! Phase 2: decides which rows stay and which go into the summary.
//!
//! ```text
//! head            hidden                     tail
//! first rows      everything else            newest rows, by a token budget
//!                        └─ the newest request, when it is older than the tail,
//!                           and the reply before it stay too
//! ```
//!
//! Rules that always hold: a call and its results are on one side; the newest
//! request is in the tail; the rows around the summary leave it a role.

use talaria_types::Role;

use super::Budget;
use super::rows::Row;

/// A tail has at least this many rows, whatever they weigh.
const FEWEST_ROWS: usize = 3;
/// And up to this many, while it stays within [`FLOOR_SHARE`].
const FLOOR_ROWS: usize = 8;
/// Times the budget that one large row may take the tail.
const SOFT_CEILING: f64 = 1.5;
/// Times the budget within which the floor of rows is kept.
const FLOOR_SHARE: f64 = 3.0;

/// What becomes of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Stays before the summary.
    Head,
    /// Goes into the summary.
    Hidden,
    /// Stays behind the summary.
    Tail,
}

/// Where the cuts fall.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) fates: Vec<Fate>,
}

impl Bounds {
    pub(super) fn is(&self, index: usize, fate: Fate) -> bool {
        self.fates.get(index) == Some(&fate)
    }

    pub(super) fn tokens(&self, rows: &[Row], fate: Fate) -> u64 {
        self.fates
            .iter()
            .zip(rows)
            .filter(|(own, _)| **own == fate)
            .map(|(_, row)| row.tokens)
            .sum()
    }

    pub(super) fn count(&self, fate: Fate) -> usize {
        self.fates.iter().filter(|own| **own == fate).count()
    }

    /// The role a summary takes between head and tail: whatever stands next to
    /// neither of its own kind.
    pub(super) fn summary_role(&self, rows: &[Row]) -> Role {
        let first = self.fates.iter().zip(rows).find(|(fate, _)| **fate == Fate::Tail);
        match first.map(|(_, row)| row.role()) {
            Some(Role::User) => Role::Assistant,
            Some(Role::Assistant | Role::System | Role::Tool) | None => Role::User,
        }
    }

    /// Gives the head's last rows to the summary until it has a role: next to a
    /// user row in the tail it is the assistant's, else the user's.
    pub(super) fn make_room_for_summary(&mut self, rows: &[Row]) {
        let summary = self.summary_role(rows);
        while let Some(last) = self.fates.iter().rposition(|fate| *fate == Fate::Head) {
            if rows.get(last).map(Row::role) != Some(summary) {
                return;
            }
            self.fates[last] = Fate::Hidden;
        }
    }

    /// Gives up the head.
    pub(super) fn drop_head(&mut self) {
        for fate in &mut self.fates {
            if *fate == Fate::Head {
                *fate = Fate::Hidden;
            }
        }
    }
}

/// How strictly the tail is held to its budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tail {
    /// One large row may exceed it, and a floor of rows is kept.
    Generous,
    /// The budget and three rows.
    Strict,
}

/// The cuts of a conversation. `from` is where the newest summary stood.
pub(super) fn cuts(rows: &[Row], summary_at: Option<usize>, budget: &Budget, tail: Tail) -> Bounds {
    let request = newest_request(rows);
    let head_end = head_end(
        rows,
        summary_at,
        budget,
        request.as_ref().map(|request| request.start),
    );
    let cut = tail_start(rows, head_end, budget, tail);
    let mut fates: Vec<Fate> = (0..rows.len())
        .map(|index| {
            if index < head_end {
                Fate::Head
            } else if index < cut {
                Fate::Hidden
            } else {
                Fate::Tail
            }
        })
        .collect();
    if let Some(request) = request.filter(|request| request.start < cut) {
        for fate in &mut fates[request.clone()] {
            *fate = Fate::Tail;
        }
        if let Some(reply) = reply_before(rows, request.start, head_end)
            && rows[reply].tokens <= budget.tail() / 2
        {
            fates[reply] = Fate::Tail;
        }
    }
    let mut bounds = Bounds { fates };
    bounds.make_room_for_summary(rows);
    bounds
}

/// The newest words of the person: the last user row and the user rows right before it.
pub(super) fn newest_request(rows: &[Row]) -> Option<std::ops::Range<usize>> {
    let last = rows.iter().rposition(is_request)?;
    let start = rows[..last]
        .iter()
        .rposition(|row| !is_request(row))
        .map_or(0, |before| before + 1);
    Some(start..last + 1)
}

fn is_request(row: &Row) -> bool {
    let snapshot = || super::rows::text_of(&row.message.content).starts_with(super::strings::TODO_HEADER);
    row.is_plain_user() && !row.message.content.is_blank() && !snapshot()
}

/// The answer a person was reading when they wrote the request.
fn reply_before(rows: &[Row], request: usize, head_end: usize) -> Option<usize> {
    let reply = request.checked_sub(1).filter(|reply| *reply >= head_end)?;
    let row = rows.get(reply)?;
    (row.role() == Role::Assistant && !row.has_calls() && !row.message.content.is_blank()).then_some(reply)
}

/// Rows that are protected at the first compression; later the summary has them.
fn head_end(rows: &[Row], summary_at: Option<usize>, budget: &Budget, request: Option<usize>) -> usize {
    if summary_at.is_some() {
        return 0;
    }
    let mut end = budget.protect_first_n.min(rows.len());
    while end > 0 && rows.get(end).is_some_and(|row| row.role() == Role::Tool) {
        end += 1;
    }
    end.min(request.unwrap_or(end))
}

fn tail_start(rows: &[Row], head_end: usize, budget: &Budget, tail: Tail) -> usize {
    if let Some(exchanges) = budget.keep_exchanges {
        return exchanges_start(rows, exchanges).max(head_end);
    }
    let tokens = budget.tail();
    let ceiling = if tail == Tail::Generous {
        (tokens as f64 * SOFT_CEILING) as u64
    } else {
        tokens
    };
    let floor = floor_rows(rows.len() - head_end, budget, tail);
    let mut cut = walk(rows, head_end, ceiling, floor, tokens);
    if cut == head_end && tail == Tail::Strict {
        // Something must go, although all of it is within the budget.
        cut = rows.len().saturating_sub(floor).max(head_end);
    }
    close_round(rows, cut, head_end)
}

fn floor_rows(region: usize, budget: &Budget, tail: Tail) -> usize {
    match tail {
        Tail::Strict => FEWEST_ROWS,
        // Two rows must be left to hide.
        Tail::Generous => FEWEST_ROWS
            .max(budget.protect_last_n.min(FLOOR_ROWS))
            .min(FEWEST_ROWS.max(region.saturating_sub(2))),
    }
}

/// The index of the oldest row that the tail takes.
fn walk(rows: &[Row], head_end: usize, ceiling: u64, floor: usize, tokens: u64) -> usize {
    let wide = (tokens as f64 * FLOOR_SHARE) as u64;
    let mut sum = 0;
    let mut cut = rows.len();
    for index in (head_end..rows.len()).rev() {
        let taken = rows.len() - index - 1;
        let larger = sum + rows[index].tokens;
        let fits = larger <= ceiling || taken < FEWEST_ROWS || (taken < floor && larger <= wide);
        if !fits {
            break;
        }
        sum = larger;
        cut = index;
    }
    cut
}

/// Moves a cut that falls among results to their calls.
fn close_round(rows: &[Row], mut cut: usize, head_end: usize) -> usize {
    while cut > head_end && rows.get(cut).is_some_and(|row| row.role() == Role::Tool) {
        cut -= 1;
    }
    cut
}

/// Where the newest `exchanges` requests begin.
fn exchanges_start(rows: &[Row], exchanges: usize) -> usize {
    let mut end = rows.len();
    for _ in 0..exchanges {
        match newest_request(&rows[..end]) {
            Some(request) => end = request.start,
            None => return end,
        }
    }
    end
}
