//! Runs a recorded turn again: the same machine, the recorded answers, no network.
//!
//! Stops at the first place where what would be sent now differs from what was
//! sent then, or where the machine asks for another step than it took then.

use std::collections::HashMap;
use std::sync::Arc;

use talaria_context::compose::Composer;
use talaria_store::{RecordRow, SessionStore, StoreError};
use talaria_turn::{Setup, Step, Talk, ToolRound};
use talaria_types::{Message, MessageId, SessionId, TurnId};

use crate::record::{Digester, Record, RequestDigest};

/// What a replay found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// The turn.
    pub turn: TurnId,
    /// Model calls that were run again.
    pub calls: u32,
    /// The first place where it went another way; nothing when it did not.
    pub divergence: Option<String>,
}

/// Why a turn cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The session has no recorded turn of that number.
    #[error("session {session} has {turns} recorded turns; there is no turn {wanted}")]
    NoSuchTurn {
        /// The session.
        session: SessionId,
        /// How many there are.
        turns: usize,
        /// Which was asked for, from 1.
        wanted: usize,
    },
    /// The record is not whole: the program ended in the middle of the turn, or another version wrote it.
    #[error("the record of turn {turn} cannot be used: {why}")]
    BadRecord {
        /// The turn.
        turn: TurnId,
        /// Why.
        why: String,
    },
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Replays turn `number` (from 1; the last one when absent) of a session.
///
/// # Errors
/// When there is no such turn, or its record is not whole.
pub fn replay(
    store: &dyn SessionStore,
    session: &SessionId,
    number: Option<usize>,
) -> Result<Replayed, ReplayError> {
    let turns = store.turns(session)?;
    let wanted = number.unwrap_or(turns.len());
    let turn = wanted.checked_sub(1).and_then(|index| turns.get(index)).cloned();
    let Some(turn) = turn else {
        return Err(ReplayError::NoSuchTurn {
            session: session.clone(),
            turns: turns.len(),
            wanted,
        });
    };
    let records = parse(&turn, store.records(session, &turn)?)?;
    let rows = Rows::load(store, session)?;
    Player {
        turn,
        records: records.into_iter(),
        rows,
        digester: Digester::default(),
        composer: Composer::default(),
        calls: 0,
    }
    .play()
}

fn parse(turn: &TurnId, rows: Vec<RecordRow>) -> Result<Vec<Record>, ReplayError> {
    let parsed: Result<Vec<Record>, _> = rows
        .into_iter()
        .map(|row| serde_json::from_value(row.record.payload))
        .collect();
    let mut records = parsed.map_err(|error| ReplayError::BadRecord {
        turn: turn.clone(),
        why: error.to_string(),
    })?;
    records.retain(|record| !matches!(record, Record::Scaffold { .. }));
    Ok(records)
}

/// Every row the turn may have seen.
struct Rows(HashMap<MessageId, Arc<Message>>);

impl Rows {
    fn load(store: &dyn SessionStore, session: &SessionId) -> Result<Self, StoreError> {
        let rows = store.all(session)?;
        Ok(Self(rows.into_iter().map(|row| (row.id, row.message)).collect()))
    }

    /// The rows of these ranges, oldest first.
    fn within(&self, ranges: &[(MessageId, MessageId)]) -> Vec<(MessageId, Arc<Message>)> {
        let inside = |id: &MessageId| ranges.iter().any(|(first, last)| first <= id && id <= last);
        let mut rows: Vec<_> = self
            .0
            .iter()
            .filter(|(id, _)| inside(id))
            .map(|(id, row)| (*id, row.clone()))
            .collect();
        rows.sort_by_key(|(id, _)| *id);
        rows
    }

    fn take(&self, turn: &TurnId, ids: &[MessageId]) -> Result<Vec<(MessageId, Arc<Message>)>, ReplayError> {
        ids.iter()
            .map(|id| match self.0.get(id) {
                Some(message) => Ok((*id, message.clone())),
                None => Err(ReplayError::BadRecord {
                    turn: turn.clone(),
                    why: format!("message {id} is not there"),
                }),
            })
            .collect()
    }
}

struct Player {
    turn: TurnId,
    records: std::vec::IntoIter<Record>,
    rows: Rows,
    digester: Digester,
    composer: Composer,
    calls: u32,
}

impl Player {
    fn play(mut self) -> Result<Replayed, ReplayError> {
        let Some(Record::Begin {
            setup,
            history,
            prompt,
            ..
        }) = self.records.next()
        else {
            return Err(self.bad("it does not begin with its beginning"));
        };
        let history = self.rows.within(&history);
        let setup: Setup = *setup;
        let mut step = talaria_turn::begin(setup, Talk::stored(history), prompt);
        loop {
            // Rows get numbers of their own here; what is sent does not depend on them.
            let unsaved = step.unsaved().len() as i64;
            step.saved(&(1..=unsaved).map(MessageId).collect::<Vec<_>>());
            step.take_notices();
            step = match self.answer(step)? {
                Next::Step(step) => *step,
                Next::Over(divergence) => {
                    return Ok(Replayed {
                        turn: self.turn,
                        calls: self.calls,
                        divergence,
                    });
                }
            };
        }
    }

    fn answer(&mut self, step: Step) -> Result<Next, ReplayError> {
        let Some(record) = self.records.next() else {
            return Err(self.bad("it ends before the turn does"));
        };
        let next = match (step, record) {
            (
                Step::CallModel(call),
                Record::Call {
                    request,
                    situation,
                    completion,
                    failure,
                },
            ) => {
                self.calls += 1;
                let asked = call.request(&mut self.composer);
                let now = self.digester.digest(&asked);
                if let Some(difference) = difference(&request, &now, self.calls, &asked.messages) {
                    return Ok(Next::Over(Some(difference)));
                }
                let reply = match (completion, failure) {
                    (Some(completion), _) => Ok(*completion),
                    (None, Some(failure)) => Err(*failure),
                    (None, None) => return Err(self.bad("a call without a reply")),
                };
                call.answer(reply, &situation)
            }
            (
                Step::RunTools(run),
                Record::Tools {
                    rows,
                    ran,
                    invalid,
                    halt,
                    interrupted,
                },
            ) => {
                let rows = self.rows.take(&self.turn, &rows)?;
                run.answer(ToolRound {
                    rows,
                    ran,
                    invalid,
                    halt,
                    interrupted,
                })
            }
            (Step::SwitchProvider(switch), Record::Switched { model }) => switch.answer(model),
            (Step::Refresh(refresh), Record::Refreshed { renewed }) => refresh.answer(renewed),
            (Step::Wait(wait), Record::Waited { interrupted: true }) => wait.interrupt(),
            (Step::Wait(wait), Record::Waited { interrupted: false }) => wait.over(),
            (Step::Done(ending), Record::End { outcome }) => {
                let same = ending.outcome == *outcome;
                let difference = format!(
                    "the turn ended otherwise\n  then: {outcome:?}\n  now:  {:?}",
                    ending.outcome
                );
                return Ok(Next::Over((!same).then_some(difference)));
            }
            // What followed was run on another conversation; its requests are not this session's.
            (Step::Compact(_), Record::Compacted) => return Ok(Next::Over(None)),
            (step, record) => {
                let difference = format!(
                    "another step is taken\n  then: {}\n  now:  {}",
                    kind(&record),
                    kind(&step)
                );
                return Ok(Next::Over(Some(difference)));
            }
        };
        Ok(Next::Step(Box::new(next)))
    }

    fn bad(&self, why: &str) -> ReplayError {
        ReplayError::BadRecord {
            turn: self.turn.clone(),
            why: why.to_owned(),
        }
    }
}

enum Next {
    Step(Box<Step>),
    Over(Option<String>),
}

/// The first difference between what was sent and what would be sent, for people.
fn difference(
    then: &RequestDigest,
    now: &RequestDigest,
    call: u32,
    messages: &[Arc<Message>],
) -> Option<String> {
    let at = |what: &str, then: &str, now: &str| {
        format!("call {call}: {what} differs\n  then: {then}\n  now:  {now}")
    };
    if then.kept != now.kept {
        let (then, now) = (then.kept, now.kept);
        return Some(at(
            "how much of the request before is kept",
            &then.to_string(),
            &now.to_string(),
        ));
    }
    for (place, (old, new)) in then.messages.iter().zip(&now.messages).enumerate() {
        let place = place + then.kept;
        if old != new {
            let words = messages
                .get(place)
                .map(|message| message.content.text().chars().take(200).collect::<String>());
            let now = format!("{new} {}", words.unwrap_or_default());
            return Some(at(&format!("message {place}"), old, &now));
        }
    }
    if then.messages.len() != now.messages.len() {
        let (then, now) = (then.messages.len(), now.messages.len());
        return Some(at("the number of messages", &then.to_string(), &now.to_string()));
    }
    (then.parameters != now.parameters).then(|| at("a parameter", &then.parameters, &now.parameters))
}

/// The tag of a step or record.
fn kind(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    let tag = value.get("step").or_else(|| value.get("kind"));
    tag.and_then(|tag| tag.as_str()).unwrap_or("unknown").to_owned()
}
