//! What a process shares between its sessions.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use talaria_config::Loaded;
use talaria_context::compose::Composer;
use talaria_context::meter::Meter;
use talaria_skills::Library;
use talaria_store::sqlite::SqliteStore;
use talaria_store::{SessionStore, StoreError};
use talaria_tools::{Executor, ToolSession};
use talaria_types::{SessionId, Task};
use tokio::sync::{OnceCell, mpsc};

use crate::bill::Bill;
use crate::boundary::Boundary;
use crate::curated::Curated;
use crate::delegate::{Desk, Nest};
use crate::events::Sink;
use crate::extensions::Extensions;
use crate::gauge::Gauge;
use crate::inbox::Inbox;
use crate::models::{Model, Models};
use crate::record::Digester;
use crate::reset::{self, ResetReason};
use crate::review::Reviews;
use crate::session::Session;
use crate::side_calls::SideCosts;
use crate::skill_turns;
use crate::{SessionHandle, actor, approval_judge, clock, commands, housekeeping, plugged, setup, toolbox};

/// How an engine is run by its face.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// The folder the agent works in.
    pub cwd: PathBuf,
    /// `source` of new sessions.
    pub source: String,
    /// `--yolo`.
    pub yolo: bool,
    /// Leave project context files and memory out (`--ignore-rules`).
    pub ignore_rules: bool,
    /// Skills that stand in the prompt of every session (`-s`).
    pub skills: Vec<String>,
    /// There is a person who can be asked.
    pub interactive: bool,
}

/// What a process shares between its sessions: store, models, tools.
pub struct Engine {
    shared: Arc<Shared>,
}

/// The engine's insides, held by every session; a copy of them with other settings makes a subagent's.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) loaded: Loaded,
    pub(crate) options: EngineOptions,
    pub(crate) store: Arc<dyn SessionStore>,
    pub(crate) chain: Vec<Arc<Model>>,
    /// The zone of the dates that the model reads.
    pub(crate) zone: jiff::tz::TimeZone,
    /// The curated memory, unless it is switched off.
    pub(crate) curated: Option<Arc<Curated>>,
    /// The skills.
    pub(crate) library: Arc<Library>,
    /// What others bring, once it was asked for.
    pub(crate) extensions: Arc<OnceCell<Extensions>>,
    /// Reviews of this process are left to the next start.
    pub(crate) reviews_later: Arc<AtomicBool>,
    /// How many sessions are open: what others bring is let go of with the last.
    pub(crate) open_sessions: Arc<AtomicUsize>,
    /// The model of subagents, where the configuration names one.
    pub(crate) delegation: Option<Arc<Model>>,
    /// What makes the sessions of these rooms subagents; nothing for a person's.
    pub(crate) nest: Option<Arc<Nest>>,
    /// What the person should know from the start.
    pub(crate) warnings: Vec<String>,
    /// Models of side tasks, where the configuration names one.
    auxiliary: BTreeMap<Task, Arc<Model>>,
    /// What tools have asked of models and no session has counted yet.
    pub(crate) side_costs: SideCosts,
}

impl Shared {
    /// What others bring; asked for once.
    pub(crate) async fn extensions(&self) -> &Extensions {
        self.extensions.get_or_init(|| Extensions::start(self)).await
    }

    /// What others bring, once it was asked for.
    pub(crate) fn known_extensions(&self) -> Option<&Extensions> {
        self.extensions.get()
    }

    /// The model of a side task, when it is not the session's own.
    pub(crate) fn auxiliary(&self, task: Task) -> Option<Arc<Model>> {
        self.auxiliary.get(&task).cloned()
    }

    /// How long a side task may take.
    pub(crate) fn auxiliary_timeout(&self, task: Task) -> Duration {
        let config = self.loaded.config.auxiliary.get(task.as_str());
        let usual = match task {
            Task::GoalJudge => 60,
            // A person waits for it.
            Task::Approval => 20,
            Task::WebExtract => 360,
            _ => 120,
        };
        Duration::from_secs(config.and_then(|config| config.timeout).unwrap_or(usual))
    }
}

/// Which session is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Open {
    /// A new one.
    New,
    /// One by id, unique prefix or title; its live tip unless `exact`.
    Resume {
        /// Id, prefix or title.
        name: String,
        /// The segment as it was; the first turn starts a branch.
        exact: bool,
    },
    /// The one used last.
    Newest,
}

/// Why an engine or a session cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// No provider, or no credential for it (exit code 3).
    #[error("{0}")]
    NoProvider(String),
    /// The command line or the configuration asks for what is not there (exit code 2).
    #[error("{0}")]
    Usage(String),
    /// What would be sent does not fit the model's window (exit code 6).
    #[error("{0}")]
    TooLarge(String),
    /// Another process is at work on the session (exit code 1).
    #[error("{0}")]
    Busy(String),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Engine {
    /// Opens the store and resolves the models; sends nothing yet.
    ///
    /// # Errors
    /// When there is no provider or credential, or the store cannot be used.
    pub fn open(mut loaded: Loaded, options: EngineOptions) -> Result<Self, EngineError> {
        plugged::resolve_memory_plugin(&mut loaded, &options.cwd);
        let (base, mut warnings) = setup::base(&loaded);
        let (chain, left_out) = setup::chain(&loaded, &base)?;
        warnings.extend(left_out);
        let auxiliary = setup::auxiliary(&loaded, &base, &mut warnings);
        let delegation = setup::delegation(&loaded, &base, &mut warnings);
        talaria_redact::learn(setup::secrets(&loaded));
        private_file(&loaded.home.database());
        let store: Arc<dyn SessionStore> =
            Arc::new(SqliteStore::open(&loaded.home.database(), &loaded.home.images())?);
        match housekeeping::prune(&*store, &loaded.config.sessions, clock::now()) {
            Ok(0) => {}
            Ok(erased) => tracing::info!(erased, "sessions that were not used for long were erased"),
            // A turn does not wait for order.
            Err(error) => tracing::warn!(%error, "old sessions were not erased"),
        }
        let curated = Curated::new(loaded.home.root(), &loaded.config.memory).map(Arc::new);
        let library = Arc::new(Library::new(setup::skill_roots(&loaded, &options)));
        skill_turns::preloaded(&library, &options.skills, "")
            .map_err(|error| EngineError::Usage(format!("--skills: {error}")))?;
        let shared = Shared {
            zone: clock::zone(&loaded.config.timezone),
            loaded,
            options,
            curated,
            library,
            reviews_later: Arc::default(),
            open_sessions: Arc::default(),
            store,
            extensions: Arc::default(),
            delegation,
            nest: None,
            chain,
            warnings,
            auxiliary,
            side_costs: SideCosts::default(),
        };
        Ok(Self::over(Arc::new(shared)))
    }

    /// An engine over these rooms.
    pub(crate) fn over(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Leaves the reviews of this process's turns to the next start: nobody waits for them here.
    pub fn review_later(&self) {
        self.shared.reviews_later.store(true, Ordering::Relaxed);
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn SessionStore> {
        &self.shared.store
    }

    /// Starts the actor of a session.
    ///
    /// # Errors
    /// When the session is unknown, or the store cannot be used.
    pub async fn session(&self, open: Open) -> Result<SessionHandle, EngineError> {
        let mut found = self.find(&open)?;
        let expired = match (&open, &found) {
            (Open::Newest, Some(newest)) => self.expired(newest)?,
            (Open::Newest | Open::New | Open::Resume { .. }, _) => None,
        };
        let left = expired.and_then(|reason| Some((found.take()?, reason)));
        let id = found.clone().unwrap_or_else(clock::fresh_session_id);
        let (sink, events) = Sink::new(id.clone());
        let inbox = Arc::new(Inbox::default());
        let mut session = self.blank(id, sink, inbox.clone()).await?;
        if let Some(found) = found {
            session.open(&found)?;
            session.exact = matches!(open, Open::Resume { exact: true, .. });
        }
        if let Some((old, reason)) = left {
            let boundary = Boundary::Reset(reason);
            let ended = boundary.end_reason().unwrap_or_default();
            session.open_memory();
            session.other_session_ends(&old);
            self.shared.store.end_session(&old, ended, clock::now())?;
            session.arrived(&old, boundary);
            session.sink.status(format!(
                "{old} has ended (session_reset: {ended}); this is a new session, -r {old} goes on with the old one"
            ));
        }
        session.open_memory();
        let store = self.shared.store.warnings();
        for warning in self
            .shared
            .loaded
            .warnings
            .iter()
            .chain(&self.shared.warnings)
            .chain(&self.shared.extensions().await.warnings)
            .chain(&store)
        {
            session.sink.warn(warning.clone());
        }
        let (ops, received) = mpsc::unbounded_channel();
        let (work, queue) = mpsc::unbounded_channel();
        let handle = SessionHandle::new(
            ops,
            events,
            session.id.clone(),
            inbox.clone(),
            (
                session.reviews.watch(),
                session.hooks.clone(),
                session.external.is_some(),
            ),
        );
        inbox.work_into(work.clone());
        inbox.set_aside(commands::aside(&session));
        tokio::spawn(inbox.sort(received, work));
        self.curate();
        self.shared.open_sessions.fetch_add(1, Ordering::Relaxed);
        tokio::spawn(actor::run(session, queue));
        Ok(handle)
    }

    /// Puts away skills that nobody uses, when it is time to; beside everything else.
    fn curate(&self) {
        let shared = self.shared.clone();
        let settings = setup::curator_settings(&shared.loaded.config.curator);
        tokio::task::spawn_blocking(
            move || match shared.library.curate_if_due(clock::now(), &settings) {
                Ok(Some(curated)) => tracing::info!(moved = curated.transitions.len(), "skills were curated"),
                Ok(None) => {}
                Err(error) => tracing::warn!(%error, "the skills could not be curated"),
            },
        );
    }

    /// The session that is meant; nothing for a new one.
    fn find(&self, open: &Open) -> Result<Option<SessionId>, EngineError> {
        let store = &self.shared.store;
        match open {
            Open::New => Ok(None),
            Open::Resume { name, exact } => {
                let found = store.resolve(name)?;
                Ok(Some(if *exact { found } else { store.tip(&found)? }))
            }
            Open::Newest => match store.newest(None)? {
                Some(found) => Ok(Some(store.tip(&found)?)),
                None => Err(EngineError::Usage(
                    "there is no session to continue yet".to_owned(),
                )),
            },
        }
    }

    /// Why a conversation is too old to be gone on with, by the reset policy.
    fn expired(&self, id: &SessionId) -> Result<Option<ResetReason>, EngineError> {
        let config = &self.shared.loaded.config;
        if config.session_reset.mode == "none" {
            return Ok(None);
        }
        let store = &self.shared.store;
        let newest = store.live(id)?.last().map(|row| row.timestamp);
        let started = store.session(id)?.map(|row| row.started_at);
        let zone = clock::zone(&config.timezone);
        let last = newest.or(started);
        Ok(last.and_then(|last| reset::due(&config.session_reset, last, clock::now(), &zone)))
    }

    /// A session without a past.
    pub(crate) async fn blank(
        &self,
        id: SessionId,
        sink: Sink,
        inbox: Arc<Inbox>,
    ) -> Result<Session, EngineError> {
        let shared = self.shared.clone();
        let config = &shared.loaded.config;
        let models = Models::new(
            shared.chain.clone(),
            config.compression.threshold,
            config.compression.min_tokens,
        );
        let window = models.current().provider.context_window().await.tokens;
        let desk = Desk::new(shared.clone(), sink.clone(), inbox.clone());
        let extensions = shared.extensions().await;
        let (registry, hooks) = (extensions.registry.clone(), extensions.hooks.clone());
        let engine = extensions.engine.clone();
        let selection = toolbox::selected(&shared, &registry, window)
            .map_err(|error| EngineError::Usage(error.to_string()))?;
        desk.has_tools(&selection.names);
        let tools = registry.specs(&selection);
        let nudges = setup::nudges(config, &tools);
        let model = models.current().provider.identity().model.clone();
        let settings = setup::tool_settings(&shared, id.as_str(), window);
        let tool_session = ToolSession::new(settings);
        tool_session.furnish(desk.clone());
        tool_session.hide_secrets(setup::secrets(&shared.loaded));
        let judged = approval_judge::Judged::default();
        tool_session.grants().set_judge(approval_judge::judge(
            shared
                .auxiliary(Task::Approval)
                .unwrap_or_else(|| models.current().clone()),
            shared.auxiliary_timeout(Task::Approval),
            judged.clone(),
        ));
        let executor = Executor::new(registry, selection, tool_session);
        Ok(Session {
            root: id.clone(),
            id,
            started_at: clock::now(),
            stored: false,
            exact: false,
            system: None,
            known_rows: 0,
            history: Vec::new(),
            tools,
            executor,
            models,
            rewrites: Vec::new(),
            kept_repairs: Vec::new(),
            gauge: Gauge::new(&model, Meter::default()),
            kept_meter: None,
            warned: HashSet::new(),
            side_usage: BTreeMap::new(),
            judged,
            unwritten: Vec::new(),
            spent: Bill::default(),
            composer: Composer::default(),
            digester: Digester::default(),
            sink,
            inbox,
            nudges,
            reviews: Reviews::new(),
            desk,
            external: None,
            hooks,
            engine,
            told_start: None,
            title: None,
            shared,
        })
    }
}

impl Session {
    /// Goes on with a stored session.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn open(&mut self, id: &SessionId) -> Result<(), StoreError> {
        let lineage = self.store().lineage(id)?;
        let row = self.store().session(id)?;
        let root = lineage.first().cloned().unwrap_or_else(|| id.clone());
        let root_row = if root == *id {
            row.clone()
        } else {
            self.store().session(&root)?
        };
        self.id = id.clone();
        self.root = root;
        self.stored = true;
        self.started_at = root_row.map_or(self.started_at, |row| row.started_at);
        self.known_rows = row.as_ref().map_or(0, |row| row.message_count);
        let prompt = row
            .and_then(|row| row.system_prompt)
            .filter(|prompt| !prompt.is_empty());
        self.system = prompt.map(Arc::from);
        self.history = crate::prepare::live(self)?;
        self.gauge.meter = self.stored_meter();
        self.rewrites = self.stored_repairs();
        self.kept_repairs.clone_from(&self.rewrites);
        self.executor.session().hydrate(&self.messages());
        self.nudges.hydrate(&self.messages());
        self.executor.session().rename(id.as_str());
        Ok(())
    }
}

/// A new database is its owner's alone: it holds everything that is said. What
/// keeps it from being made is told by the store.
fn private_file(path: &std::path::Path) {
    use std::os::unix::fs::OpenOptionsExt;
    let _ = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
}
