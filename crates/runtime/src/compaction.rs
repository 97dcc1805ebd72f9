//! A compression and its side effects, in ten steps; the only place that rotates
//! a session for one. What is hidden and how is decided in `talaria_context`.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use talaria_context::compress::{self, Budget, COMPACTION_NOTE, Compressed, Guidance, Plan};
use talaria_context::meter::WindowPlan;
use talaria_recovery::ErrorKind;
use talaria_store::{
    Compacted as Row, CompactionFacts, LeaseOutcome, Origin, Rotation, RotationIds, SessionStore, StoreError,
};
use talaria_turn::{Compacted, Talk};
use talaria_types::{
    CompactionReport, Event, ModelRequest, SessionId, StoredMessage, Task, Timestamp, ToolChoice, Trigger,
    Usage,
};
use tokio_util::sync::CancellationToken;

use crate::bill::Bill;
use crate::boundary::Boundary;
use crate::clock;
use crate::session::Session;
use crate::summarise::{Summarised, Summariser};

/// How long the lock on compressing a session holds without being renewed.
const LOCK_SECONDS: f64 = 300.0;
/// How often it is renewed while a model writes.
const RENEWAL: Duration = Duration::from_secs(100);

/// One wish to compress.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    pub(crate) trigger: Trigger,
    /// What the summary should care for most.
    pub(crate) focus: Option<String>,
    /// Keep this many exchanges and hide all before them.
    pub(crate) keep_exchanges: Option<usize>,
}

impl Order {
    /// By itself, for this reason.
    pub(crate) fn automatic(trigger: Trigger) -> Self {
        Self {
            trigger,
            focus: None,
            keep_exchanges: None,
        }
    }

    /// The person's own wish stands above thresholds, pauses and cool-downs.
    fn is_forced(&self) -> bool {
        self.trigger == Trigger::Command
    }
}

/// A compression that may be carried out.
pub(crate) struct Planned {
    pub(crate) history: Vec<StoredMessage>,
    pub(crate) plan: Plan,
    sizes: WindowPlan,
    tokens_before: u64,
}

impl Session {
    /// Compresses the conversation; gives what a turn goes on with, and a report.
    ///
    /// # Errors
    /// When the store cannot be read or written; then nothing has changed.
    pub(crate) async fn compact(
        &mut self,
        order: &Order,
        cancel: &CancellationToken,
    ) -> Result<(Compacted, CompactionReport), StoreError> {
        let began = Instant::now();
        let holder = format!("pid={}:nonce={:08x}", std::process::id(), clock::entropy() as u32);
        let now = clock::now();
        let until = Timestamp(now.0 + LOCK_SECONDS);
        if let LeaseOutcome::Busy { holder } = self
            .store()
            .acquire_compression_lock(&self.id, &holder, now, until)?
        {
            let why = format!("another process ({holder}) compresses this session");
            self.sink.warn(why.clone());
            return Ok(self.nothing(order, 0, why));
        }
        let before = self.id.clone();
        let store = self.shared.store.clone();
        let result = tokio::select! {
            result = self.compact_locked(order, cancel, began) => result,
            never = renew(&*store, &before, &holder, RENEWAL) => match never {},
        };
        store.release_compression_lock(&before, &holder)?;
        result
    }

    async fn compact_locked(
        &mut self,
        order: &Order,
        cancel: &CancellationToken,
        began: Instant,
    ) -> Result<(Compacted, CompactionReport), StoreError> {
        let mut planned = match self.plan(order, None).await? {
            Ok(planned) => planned,
            Err((why, tokens)) => return Ok(self.nothing(order, tokens, why)),
        };
        let tokens = planned.tokens_before;
        self.sink.tell(Event::CompactionStarted {
            trigger: order.trigger,
            session_before: self.id.clone(),
            tokens_before: tokens,
        });
        self.tell_hooks(talaria_plugins::Event::PreCompress, |payload| {
            payload
                .with("trigger", if order.is_forced() { "manual" } else { "auto" })
                .with("tokens", tokens)
                .with("focus", order.focus.as_deref())
        });
        self.sink.status("⟳ compacting context…");
        self.take_advice(order, &mut planned, cancel).await?;
        let elsewhere = self
            .compressed_elsewhere(&planned.history, tokens, order, cancel)
            .await;
        if let Some(compressed) = elsewhere {
            let model = self
                .engine
                .as_ref()
                .map(|engine| format!("plugin {}", engine.name()));
            let facts = self.facts(
                order,
                &planned,
                &compressed,
                (Bill::default(), model, began.elapsed()),
            );
            self.memory_ends().await;
            return self.apply(order, &planned, &compressed, &facts);
        }
        let (mut summariser, written) = self.summary(order, &mut planned, cancel).await;
        let bill = summariser.bill;
        let author = summariser.author.take();
        let payer = author.as_ref().unwrap_or(self.models.current()).clone();
        self.account_side(Task::Compression, &bill, &payer)?;
        let compressed = match written {
            Ok(Some(compressed)) => compressed,
            Ok(None) => {
                return Ok((
                    Compacted::Interrupted,
                    self.nothing(order, tokens, "interrupted".to_owned()).1,
                ));
            }
            Err(why) => return Ok(self.nothing(order, tokens, why)),
        };
        let model = author.map(|model| model.provider.identity().model.clone());
        let facts = self.facts(order, &planned, &compressed, (bill, model, began.elapsed()));
        // Under the old id, and before its row ends.
        self.memory_ends().await;
        self.apply(order, &planned, &compressed, &facts)
    }

    /// ② What would be hidden.
    async fn plan(
        &mut self,
        order: &Order,
        memory: Option<String>,
    ) -> Result<Result<Planned, (String, u64)>, StoreError> {
        let (setup, _) = self.models.setup().await;
        let sizes = self.gauge.meter.bounded(setup.plan);
        let history = self.store().live(&self.id)?;
        let request = self.whole_request(&history);
        let tokens_before = self.gauge.size(&request, &sizes);
        let overhead = self.gauge.overhead(&request);
        let trigger = if order.is_forced() {
            // By hand the tail is a share of what is there, not of what could be.
            tokens_before.max(3 * overhead).min(sizes.trigger())
        } else {
            sizes.trigger()
        };
        let compression = &self.shared.loaded.config.compression;
        let budget = Budget {
            summariser_window: self.summariser_window(sizes.window).await,
            target_ratio: compression.target_ratio,
            protect_first_n: compression.protect_first_n,
            protect_last_n: compression.protect_last_n,
            keep_exchanges: order.keep_exchanges,
            calibration: self.gauge.calibration(),
            ..Budget::new(sizes.window, trigger, overhead)
        };
        let guidance = Guidance {
            focus: order.focus.clone(),
            memory,
            todo: self.executor.session().todo_snapshot(),
            known: self.known_anchors()?,
            today: Some(clock::date_in_words(clock::now(), &self.shared.zone)),
        };
        match compress::plan(&history, &budget, guidance) {
            Ok(plan) => Ok(Ok(Planned {
                history,
                plan,
                sizes,
                tokens_before,
            })),
            Err(nothing) => {
                self.gauge.meter.compressed(tokens_before, tokens_before);
                Ok(Err((nothing.to_string(), tokens_before)))
            }
        }
    }

    /// ① The memory provider is told what will be hidden; what it says may enter the summary.
    async fn take_advice(
        &mut self,
        order: &Order,
        planned: &mut Planned,
        cancel: &CancellationToken,
    ) -> Result<(), StoreError> {
        let Some(text) = self.memory_before_compression(planned, cancel).await else {
            return Ok(());
        };
        // The same plan, with a word more to the summariser.
        if let Ok(again) = self.plan(order, Some(text)).await? {
            *planned = again;
        }
        Ok(())
    }

    async fn summariser_window(&self, own: u64) -> u64 {
        match self.shared.auxiliary(Task::Compression) {
            Some(model) => model.provider.context_window().await.tokens.min(own.max(1)),
            None => own,
        }
    }

    /// The whole conversation as it would be sent.
    pub(crate) fn whole_request(&self, history: &[StoredMessage]) -> ModelRequest {
        let messages: Vec<_> = history.iter().map(|row| row.message.clone()).collect();
        ModelRequest {
            task: Task::Main,
            system: self.system.clone().unwrap_or_default(),
            note: None,
            messages: talaria_context::compose::compose(&messages),
            tools: self.tools.clone(),
            tool_choice: ToolChoice::Auto,
            max_output_tokens: None,
            rewrites: Vec::new(),
        }
    }

    /// ② and ③ The summary, or what is done without one.
    async fn summary<'a>(
        &mut self,
        order: &Order,
        planned: &mut Planned,
        cancel: &'a CancellationToken,
    ) -> (Summariser<'a>, Result<Option<Compressed>, String>) {
        let auxiliary = self.shared.auxiliary(Task::Compression);
        let timeout = self.shared.auxiliary_timeout(Task::Compression);
        let mut summariser = Summariser {
            models: auxiliary
                .into_iter()
                .chain([self.models.current().clone()])
                .collect(),
            prefix: None,
            prefix_usage: None,
            timeout,
            cancel,
            bill: Bill::default(),
            author: None,
        };
        let must_fit = order.trigger == Trigger::Overflow || planned.tokens_before > planned.sizes.room();
        if let Some(shortened) = planned.plan.without_summary() {
            return (summariser, Ok(Some(shortened)));
        }
        if let Some(left) = self.cooling_down().filter(|_| !order.is_forced()) {
            let why = format!("summaries failed lately; they are tried again in {left} s");
            return (summariser, self.without_model(planned, &why, must_fit));
        }
        // What cannot be sent as it is cannot be sent with a question behind it either.
        let prefix = if must_fit {
            None
        } else {
            self.prefix_request(planned)
        };
        summariser.prefix = prefix.map(|request| (self.models.current().clone(), request));
        let answered = summariser.write(&mut planned.plan).await;
        if let Some(usage) = summariser.prefix_usage {
            self.learn_of_prefix(usage);
        }
        let written = match answered {
            Summarised::Done(compressed, rescued) => {
                rescued.into_iter().for_each(|text| self.warn_once(&text));
                self.cool_down(None);
                Ok(Some(*compressed))
            }
            Summarised::Interrupted => Ok(None),
            Summarised::Failed(reasons, kind) => {
                self.cool_down(Some(kind));
                let why = format!("no summary could be had ({})", reasons.join("; "));
                self.warn_once(&why);
                self.without_model(planned, &why, must_fit)
            }
        };
        (summariser, written)
    }

    /// No model wrote a summary: the history stays, or this program writes one
    /// itself when it cannot be sent as it is.
    fn without_model(
        &self,
        planned: &Planned,
        why: &str,
        must_fit: bool,
    ) -> Result<Option<Compressed>, String> {
        match planned.plan.give_up(why, must_fit) {
            Some(compressed) => {
                self.sink.warn("the context is full and no model could summarise it; a digest made without a model stands in");
                Ok(Some(compressed))
            }
            None => Err(why.to_owned()),
        }
    }

    fn facts(
        &self,
        order: &Order,
        planned: &Planned,
        compressed: &Compressed,
        (bill, model, took): (Bill, Option<String>, Duration),
    ) -> CompactionFacts {
        let freed = compressed.tokens_before.saturating_sub(compressed.tokens_after);
        let share = freed as f64 / compressed.tokens_before.max(1) as f64;
        let overhead = planned.tokens_before.saturating_sub(compressed.tokens_before);
        let after = overhead + ((planned.tokens_before - overhead) as f64 * (1.0 - share)) as u64;
        CompactionFacts {
            trigger: order.trigger,
            summary: compressed.summary.clone().unwrap_or_default(),
            anchor_index: serde_json::to_value(&compressed.anchor_records).unwrap_or_default(),
            anchors: compressed.anchors,
            tokens_before: planned.tokens_before,
            tokens_after: after,
            usage: bill.usage,
            cost_usd: bill.usd(),
            model,
            duration_ms: took.as_millis() as u64,
        }
    }

    /// ④ to ⑩ What follows from a compressed conversation.
    fn apply(
        &mut self,
        order: &Order,
        planned: &Planned,
        compressed: &Compressed,
        facts: &CompactionFacts,
    ) -> Result<(Compacted, CompactionReport), StoreError> {
        self.rebuild_prompt(planned.sizes.window);
        let before = self.id.clone();
        let in_place = self.config().compression.in_place;
        let ids = self.rotate(planned, compressed, facts.clone(), in_place)?;
        self.id = ids.session.clone();
        self.history = ids
            .messages
            .iter()
            .copied()
            .zip(compressed.rows.iter().map(|row| row.message.clone()))
            .collect();
        self.known_rows = self.store().session(&self.id)?.map_or(0, |row| row.message_count);
        self.executor.session().rename(self.id.as_str());
        self.executor.session().forget_reads();
        self.gauge
            .meter
            .compressed(facts.tokens_before, facts.tokens_after);
        if order.is_forced() {
            self.gauge.meter.resume();
        }
        self.keep_meter()?;
        self.tell_compressed(&before, order, &ids, facts)
    }

    /// ⑥ One transaction.
    fn rotate(
        &self,
        planned: &Planned,
        compressed: &Compressed,
        facts: CompactionFacts,
        in_place: bool,
    ) -> Result<RotationIds, StoreError> {
        let messages = compressed.rows.iter().map(|row| Row {
            message: row.message.clone(),
            origin: match row.from {
                Some((place, origin)) => planned
                    .history
                    .get(place)
                    .map_or(Origin::Row(origin), |row| Origin::Row(row.origin)),
                None => Origin::New,
            },
        });
        self.store().rotate(&Rotation {
            session: self.id.clone(),
            pending: Vec::new(),
            child: (!in_place).then(clock::fresh_session_id),
            system_prompt: self.system.as_deref().unwrap_or_default().to_owned(),
            messages: messages.collect(),
            summary_at: compressed
                .rows
                .iter()
                .position(|row| row.from.is_none() && compress::is_summary(&row.message)),
            facts,
            at: clock::now(),
        })
    }

    /// ⑦ to ⑨ Everyone is told.
    fn tell_compressed(
        &mut self,
        before: &SessionId,
        order: &Order,
        ids: &RotationIds,
        facts: &CompactionFacts,
    ) -> Result<(Compacted, CompactionReport), StoreError> {
        let report = CompactionReport {
            compressed: true,
            reason: Some(format!(
                "kept {} of {} anchors",
                facts.anchors.kept, facts.anchors.total
            )),
            session_before: before.clone(),
            session_after: self.id.clone(),
            trigger: order.trigger,
            tokens_before: facts.tokens_before,
            tokens_after: facts.tokens_after,
            messages_hidden: ids.hidden,
            anchors: facts.anchors,
            usage: facts.usage,
            cost_usd: facts.cost_usd,
        };
        if *before != self.id {
            self.engine_begins(Some((before, "compression")));
            self.arrived(before, Boundary::Compressed);
            self.sink.move_to(self.id.clone());
        }
        self.tell_hooks(talaria_plugins::Event::PostCompress, |payload| {
            payload
                .with("trigger", if order.is_forced() { "manual" } else { "auto" })
                .with("old_session_id", before.as_str())
                .with("tokens_before", facts.tokens_before)
                .with("tokens_after", facts.tokens_after)
        });
        self.sink
            .tell(Event::CompactionFinished(Box::new(report.clone())));
        let times = self.store().compactions(&self.id)?.len();
        if times >= 2 {
            self.sink.status(format!(
                "⚠️ Session compressed {times} times — accuracy may degrade."
            ));
        }
        let compacted = Compacted::Done {
            talk: Talk::stored(self.history.iter().cloned()),
            system: self.system.clone().unwrap_or_default(),
            note: self.note(),
        };
        Ok((compacted, report))
    }

    /// The note that follows the system prompt once the lineage was compressed.
    pub(crate) fn note(&self) -> Option<Arc<str>> {
        let compressed = self
            .history
            .iter()
            .any(|(_, message)| compress::is_summary(message));
        compressed.then(|| Arc::from(COMPACTION_NOTE))
    }

    fn nothing(&self, order: &Order, tokens: u64, why: String) -> (Compacted, CompactionReport) {
        let report = CompactionReport {
            compressed: false,
            reason: Some(why.clone()),
            session_before: self.id.clone(),
            session_after: self.id.clone(),
            trigger: order.trigger,
            tokens_before: tokens,
            tokens_after: tokens,
            messages_hidden: 0,
            anchors: talaria_types::Anchors::default(),
            usage: Usage::default(),
            cost_usd: None,
        };
        (Compacted::Nothing(why), report)
    }

    /// What would be hidden, without asking a model or writing anything.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) async fn preview(&mut self, order: &Order) -> Result<CompactionReport, StoreError> {
        match self.plan(order, None).await? {
            Ok(planned) => {
                let hidden = planned.plan.hidden().len() as u64;
                let (_, mut report) = self.nothing(order, planned.tokens_before, String::new());
                report.reason = None;
                report.messages_hidden = hidden;
                let rows = planned.plan.tokens_before();
                let around = planned.tokens_before.saturating_sub(rows);
                report.tokens_after = (around + planned.plan.expected_after()).min(planned.tokens_before);
                Ok(report)
            }
            Err((why, tokens)) => Ok(self.nothing(order, tokens, why).1),
        }
    }
}

/// Holds the lock on compressing a session for as long as it is polled: a slow model
/// must not let another process begin the same work.
async fn renew(store: &dyn SessionStore, session: &SessionId, holder: &str, every: Duration) -> Infallible {
    loop {
        tokio::time::sleep(every).await;
        let until = Timestamp(clock::now().0 + LOCK_SECONDS);
        match store.renew_compression_lock(session, holder, until) {
            Ok(true) => {}
            Ok(false) => tracing::warn!("the lock on compressing {session} was taken over"),
            Err(error) => tracing::warn!(%error, "the lock on compressing {session} could not be renewed"),
        }
    }
}

/// How long summaries are not tried after they failed, in seconds: a moment for
/// broken answers, longer for limits, long for what does not mend by itself.
pub(crate) fn cool_down_seconds(kind: Option<ErrorKind>) -> f64 {
    match kind {
        None => 30.0,
        Some(
            ErrorKind::Billing
            | ErrorKind::Auth
            | ErrorKind::AuthPermanent
            | ErrorKind::ModelNotFound
            | ErrorKind::ProviderPolicyBlocked
            | ErrorKind::Config,
        ) => 600.0,
        Some(_) => 60.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use talaria_store::sqlite::SqliteStore;

    #[tokio::test]
    async fn a_summary_that_takes_long_keeps_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("state.db"), folder.path()).unwrap();
        let session = SessionId::new("20260520_143022_a3f5b2");
        let now = clock::now();
        let later = |seconds: f64| Timestamp(now.0 + seconds);
        store
            .acquire_compression_lock(&session, "one", now, later(1.0))
            .unwrap();
        let patience = Duration::from_millis(100);
        let held = renew(&store, &session, "one", Duration::from_millis(1));
        assert!(tokio::time::timeout(patience, held).await.is_err());
        let other = store.acquire_compression_lock(&session, "two", later(2.0), later(9.0));
        assert!(matches!(other.unwrap(), LeaseOutcome::Busy { .. }));
    }
}
