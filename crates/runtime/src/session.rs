//! One session: what it knows between turns.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use talaria_config::Config;
use talaria_context::compose::Composer;
use talaria_store::SessionStore;
use talaria_tools::Executor;
use talaria_turn::Talk;
use talaria_types::{
    Message, MessageId, ModelIdentity, ModelRequest, Rewrite, SessionId, Timestamp, ToolSpec, Usage,
};

use crate::bill::Bill;
use crate::delegate::Desk;
use crate::engine::Shared;
use crate::events::Sink;
use crate::gauge::Gauge;
use crate::inbox::Inbox;
use crate::models::Models;
use crate::nudge::Nudges;
use crate::record::{Digester, RequestDigest};
use crate::review::Reviews;

/// One session and everything its turns share.
pub(crate) struct Session {
    pub(crate) shared: Arc<Shared>,
    pub(crate) id: SessionId,
    pub(crate) root: SessionId,
    /// When the lineage started.
    pub(crate) started_at: Timestamp,
    /// Whether it has a row yet; a session nobody spoke in leaves none.
    pub(crate) stored: bool,
    /// Its row was opened as it was; the first turn starts a branch.
    pub(crate) exact: bool,
    /// The system prompt, once built or read.
    pub(crate) system: Option<Arc<str>>,
    /// How many rows the session had when it was last read or written.
    pub(crate) known_rows: u64,
    /// The live messages, oldest first.
    pub(crate) history: Vec<(MessageId, Arc<Message>)>,
    pub(crate) tools: Arc<[ToolSpec]>,
    pub(crate) executor: Executor,
    pub(crate) models: Models,
    /// Repairs of requests that were found to be needed.
    pub(crate) rewrites: Vec<Rewrite>,
    /// Those that are written down.
    pub(crate) kept_repairs: Vec<Rewrite>,
    /// How large the conversation is.
    pub(crate) gauge: Gauge,
    /// What was last written down of it.
    pub(crate) kept_meter: Option<String>,
    /// Warnings that are given once.
    pub(crate) warned: HashSet<String>,
    /// Tokens of the running turn's side tasks, by task.
    pub(crate) side_usage: BTreeMap<String, Usage>,
    /// What judging dangerous commands has cost and is not counted yet.
    pub(crate) judged: crate::approval_judge::Judged,
    /// What the running turn has cost, side tasks included.
    pub(crate) spent: Bill,
    /// The running turn's main calls, not yet written to the row, by the model that was asked.
    pub(crate) unwritten: Vec<(ModelIdentity, Bill)>,
    /// Messages that were made sendable before.
    pub(crate) composer: Composer,
    pub(crate) digester: Digester,
    pub(crate) sink: Sink,
    pub(crate) inbox: Arc<Inbox>,
    /// When a turn is worth looking back at.
    pub(crate) nudges: Nudges,
    /// What looks back at turns.
    pub(crate) reviews: Reviews,
    /// Its subagents.
    pub(crate) desk: Arc<Desk>,
    /// The memory provider, once this session was introduced to it.
    pub(crate) external: Option<talaria_memory::providers::Introduced>,
    /// Who is told what happens.
    pub(crate) hooks: Arc<talaria_plugins::Hooks>,
    /// The session whose beginning they were told last.
    pub(crate) told_start: Option<SessionId>,
    /// The plugin that compresses conversations, when one was chosen.
    pub(crate) engine: Option<Arc<talaria_plugins::Plugin>>,
    /// Title to give once there is a row.
    pub(crate) title: Option<String>,
}

impl Session {
    pub(crate) fn store(&self) -> &dyn SessionStore {
        &*self.shared.store
    }

    pub(crate) fn config(&self) -> &Config {
        &self.shared.loaded.config
    }

    pub(crate) fn id(&self) -> &SessionId {
        &self.id
    }

    pub(crate) fn sink(&self) -> &Sink {
        &self.sink
    }

    pub(crate) fn inbox(&self) -> &Arc<Inbox> {
        &self.inbox
    }

    pub(crate) fn executor(&self) -> &Executor {
        &self.executor
    }

    pub(crate) fn models(&self) -> &Models {
        &self.models
    }

    pub(crate) fn models_mut(&mut self) -> &mut Models {
        &mut self.models
    }

    pub(crate) fn interactive(&self) -> bool {
        self.shared.options.interactive
    }

    /// Whether a turn may compress by itself.
    pub(crate) fn may_compact(&self) -> bool {
        self.config().compression.enabled
    }

    /// The digests of a request.
    pub(crate) fn digest(&mut self, request: &ModelRequest) -> RequestDigest {
        self.digester.digest(request)
    }

    /// Counts one main call; it reaches the row with the turn's end.
    pub(crate) fn account(&mut self, usage: Option<Usage>) {
        let model = self.models.current().clone();
        let identity = model.provider.identity();
        match self.unwritten.iter_mut().find(|(known, _)| known == identity) {
            Some((_, bill)) => bill.add(&model, usage),
            None => {
                let mut bill = Bill::default();
                bill.add(&model, usage);
                self.unwritten.push((identity.clone(), bill));
            }
        }
        self.spent.add(&model, usage);
        if let Some(nest) = &self.shared.nest {
            nest.charge(self.id.as_str(), &model, usage);
        }
    }

    /// The live messages without their ids.
    pub(crate) fn messages(&self) -> Vec<Arc<Message>> {
        self.history.iter().map(|(_, message)| message.clone()).collect()
    }

    /// The stored conversation, as a turn starts from it.
    pub(crate) fn talk(&self) -> Talk {
        Talk::stored(self.history.iter().cloned())
    }
}
