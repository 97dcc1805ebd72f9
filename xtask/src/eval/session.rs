//! One session under one policy: messages go into a store, a call follows each, a compression when it is due.

use super::corpus::{Corpus, Fact, Kind};
use super::policy::{self, Made, Policy};
use super::score::{Found, Place};
use super::writer::Writer;
use anyhow::Result;
use std::sync::Arc;
use talaria_context::compress::{AnchorRecord, Budget, is_summary};
use talaria_context::meter::WindowPlan;
use talaria_context::tokens::Counter;
use talaria_store::sqlite::SqliteStore;
use talaria_store::{Compacted, CompactionFacts, NewSession, Origin, Rotation, SessionStore};
use talaria_types::{Anchors, Message, MessageId, Role, SessionId, StoredMessage, Timestamp, Trigger, Usage};

/// Tokens of system prompt and tools.
const OVERHEAD: u64 = 6_000;
/// What a token costs that is written to the cache, read from it, and answered, over one that is sent.
const PRICES: (f64, f64, f64) = (1.25, 0.1, 5.0);
/// A session that was never compressed ends at this many times its trigger for each compression asked for.
const CYCLES: u64 = 1;

/// What is run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    pub(crate) kind: Kind,
    pub(crate) seed: u64,
    pub(crate) policy: Policy,
    pub(crate) window: u64,
}

/// How it stood after some compressions.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) policy: Policy,
    pub(crate) compressions: usize,
    pub(crate) found: Found,
    /// Tokens of the context over those of all that was said.
    pub(crate) kept_share: f64,
    /// Tokens a compression freed, on average.
    pub(crate) freed: f64,
    /// Cached tokens over sent ones, in all calls that do not follow a compression.
    pub(crate) cached_between: f64,
    /// Calls that did not extend the one before.
    pub(crate) breaks: usize,
    /// All calls, in tokens at the price of one that is sent.
    pub(crate) bill: f64,
}

/// Runs a session until the last of `stops` and looks for its facts at each.
pub(crate) fn run(setting: &Setting, stops: &[usize], writer: &mut Writer) -> Result<Vec<Outcome>> {
    let folder = tempfile::tempdir()?;
    let store = SqliteStore::open(&folder.path().join("state.db"), folder.path())?;
    let mut session = Session::new(&store, setting)?;
    let mut outcomes = Vec::new();
    let last = stops.iter().copied().max().unwrap_or(1);
    while session.compressions < last {
        session.step()?;
        if session.is_due() {
            session.compress(writer)?;
            if stops.contains(&session.compressions) {
                outcomes.push(session.outcome()?);
            }
        }
    }
    Ok(outcomes)
}

struct Session<'a> {
    store: &'a SqliteStore,
    setting: Setting,
    budget: Budget,
    corpus: Corpus,
    facts: Vec<Fact>,
    known: Vec<AnchorRecord>,
    id: SessionId,
    lineage: Vec<SessionId>,
    live: Vec<StoredMessage>,
    /// Tokens of the live messages, and of all that was said.
    tokens: u64,
    said: u64,
    /// Rows of the request before.
    sent: Vec<Arc<Message>>,
    sent_tokens: u64,
    after_break: bool,
    compressions: usize,
    freed: u64,
    breaks: usize,
    /// Of calls between compressions: tokens sent, tokens cached.
    between: (u64, u64),
    bill: f64,
}

impl<'a> Session<'a> {
    fn new(store: &'a SqliteStore, setting: &Setting) -> Result<Self> {
        let sizes = WindowPlan {
            window: setting.window,
            max_output: 0,
            threshold: 0.5,
            min_tokens: 0,
        };
        let overhead = OVERHEAD.min(setting.window / 10);
        let id = SessionId::new("20260520_143022_000000");
        store.create_session(&row(&id))?;
        Ok(Self {
            store,
            setting: *setting,
            budget: Budget::new(setting.window, sizes.trigger(), overhead),
            corpus: Corpus::new(setting.kind, setting.seed),
            facts: Vec::new(),
            known: Vec::new(),
            lineage: vec![id.clone()],
            id,
            live: Vec::new(),
            tokens: 0,
            said: 0,
            sent: Vec::new(),
            sent_tokens: 0,
            after_break: true,
            compressions: 0,
            freed: 0,
            breaks: 0,
            between: (0, 0),
            bill: 0.0,
        })
    }

    /// The next messages up to an answer, and the call that gave it.
    fn step(&mut self) -> Result<()> {
        let (messages, facts) = self.corpus.next();
        self.facts.extend(facts);
        let messages: Vec<Arc<Message>> = messages.into_iter().map(Arc::new).collect();
        let ids = self
            .store
            .append(&self.id, &messages, Timestamp(self.said as f64))?;
        for (message, id) in messages.into_iter().zip(ids) {
            if message.role == Role::Assistant {
                self.call();
            }
            let size = Counter::quick_message(&message);
            self.tokens += size;
            self.said += size;
            self.live.push(StoredMessage {
                id,
                session_id: self.id.clone(),
                origin: id,
                message,
                timestamp: Timestamp(self.said as f64),
                active: true,
                compacted: false,
            });
        }
        Ok(())
    }

    /// One call of the model: what it shares with the one before is in the cache.
    fn call(&mut self) {
        let prompt = self.budget.overhead + self.tokens;
        let same = self
            .sent
            .iter()
            .zip(&self.live)
            .take_while(|(before, now)| Arc::ptr_eq(before, &now.message))
            .count();
        let extends = same == self.sent.len();
        let first = self.sent_tokens == 0;
        let cached = if first {
            0
        } else if extends {
            self.sent_tokens
        } else {
            let shared = &self.sent[..same];
            self.budget.overhead
                + shared
                    .iter()
                    .map(|message| Counter::quick_message(message))
                    .sum::<u64>()
        };
        self.breaks += usize::from(!extends);
        if extends && !first {
            self.between.0 += prompt;
            self.between.1 += cached;
        }
        let (write, read, _) = PRICES;
        self.bill += (prompt - cached) as f64 * write + cached as f64 * read;
        self.sent.truncate(same);
        self.sent
            .extend(self.live[same..].iter().map(|row| row.message.clone()));
        self.sent_tokens = prompt;
        self.after_break = !extends;
    }

    fn is_due(&self) -> bool {
        let due = self.budget.trigger
            * if self.setting.policy == Policy::None {
                self.compressions as u64 + CYCLES
            } else {
                1
            };
        self.budget.overhead + self.tokens >= due
    }

    fn compress(&mut self, writer: &mut Writer) -> Result<()> {
        let with = (self.known.as_slice(), writer);
        let made = policy::compress(self.setting.policy, &self.live, &self.budget, with)?;
        self.compressions += 1;
        let Some(mut made) = made else { return Ok(()) };
        self.known = std::mem::take(&mut made.known);
        self.pay(&made);
        let before = self.tokens;
        self.rotate(&made)?;
        self.tokens = self
            .live
            .iter()
            .map(|row| Counter::quick_message(&row.message))
            .sum();
        self.freed += before.saturating_sub(self.tokens);
        Ok(())
    }

    fn pay(&mut self, made: &Made) {
        let (_, read, answer) = PRICES;
        self.bill +=
            (made.asked - made.cached) as f64 + made.cached as f64 * read + made.answered as f64 * answer;
    }

    fn rotate(&mut self, made: &Made) -> Result<()> {
        let child = SessionId::new(format!("20260520_143022_{:06x}", self.compressions));
        let messages: Vec<Compacted> = made
            .rows
            .iter()
            .map(|row| Compacted {
                message: row.message.clone(),
                origin: row.from.map_or(Origin::New, Origin::Row),
            })
            .collect();
        let rotation = Rotation {
            session: self.id.clone(),
            pending: Vec::new(),
            child: Some(child.clone()),
            system_prompt: String::new(),
            summary_at: made.rows.iter().position(|row| is_summary(&row.message)),
            messages,
            facts: facts(),
            at: Timestamp(self.said as f64),
        };
        let ids = self.store.rotate(&rotation)?;
        let known: Vec<(MessageId, Arc<Message>)> = ids
            .messages
            .into_iter()
            .zip(made.rows.iter().map(|row| row.message.clone()))
            .collect();
        // Kept rows stay the same object, so that the next call sees what it shares.
        let mut live = self.store.live(&child)?;
        for row in &mut live {
            if let Some((_, message)) = known.iter().find(|(id, _)| *id == row.id) {
                row.message = message.clone();
            }
        }
        self.live = live;
        self.lineage.push(child.clone());
        self.id = child;
        Ok(())
    }

    fn outcome(&self) -> Result<Outcome> {
        let place = Place {
            store: self.store,
            lineage: self.lineage.clone(),
            live: &self.live,
            keeps: self.setting.policy != Policy::Cut,
        };
        let facts: Vec<&Fact> = self.facts.iter().collect();
        Ok(Outcome {
            policy: self.setting.policy,
            compressions: self.compressions,
            found: place.look(&facts)?,
            kept_share: self.tokens as f64 / self.said as f64,
            freed: self.freed as f64 / self.compressions as f64,
            cached_between: self.between.1 as f64 / self.between.0.max(1) as f64,
            breaks: self.breaks,
            bill: self.bill,
        })
    }
}

fn facts() -> CompactionFacts {
    CompactionFacts {
        trigger: Trigger::AfterTools,
        summary: String::new(),
        anchor_index: serde_json::Value::Null,
        anchors: Anchors::default(),
        tokens_before: 0,
        tokens_after: 0,
        usage: Usage::default(),
        cost_usd: None,
        model: None,
        duration_ms: 0,
    }
}

fn row(id: &SessionId) -> NewSession {
    NewSession {
        id: id.clone(),
        source: "cli".to_owned(),
        parent: None,
        model: "extractor".to_owned(),
        model_config: serde_json::json!({}),
        system_prompt: "-".to_owned(),
        cwd: None,
        title: None,
        started_at: Timestamp(0.0),
        billing: Default::default(),
    }
}
