//! What is added to an engine from outside of the program, and is known only once somebody has been asked:
//! the first session that opens asks, the others take what came of it.

use std::sync::{Arc, Mutex, PoisonError};

use talaria_config::Loaded;
use talaria_mcp::{ServerSettings, ServerState, Servers, Surroundings};
use talaria_memory::providers::External;
use talaria_plugins::{Hooks, Plugin};
use talaria_schedule::Book;
use talaria_tools::{Deferral, Registry, erase};
use talaria_types::Task;

use crate::approval_judge::Judged;
use crate::bill::Bill;
use crate::cron_tool::CronJob;
use crate::engine::Shared;
use crate::external_memory;
use crate::mcp;
use crate::toolbox::{self, Rooms};
use crate::web_tools::Web;
use crate::{plugged, plugin_tools};

/// The engine's tools, with those that others bring.
pub(crate) struct Extensions {
    /// Every tool there is.
    pub(crate) registry: Arc<Registry>,
    /// The memory provider, if there is one and it is ready.
    pub(crate) external: Option<Arc<External>>,
    /// Its tools.
    pub(crate) external_tools: Vec<String>,
    /// Who is told what happens, and has a say.
    pub(crate) hooks: Arc<Hooks>,
    /// The plugins that run.
    pub(crate) plugins: Vec<Arc<Plugin>>,
    /// The one that compresses conversations, when one was chosen.
    pub(crate) engine: Option<Arc<Plugin>>,
    /// What the person should know about those that could not be had.
    pub(crate) warnings: Vec<String>,
    /// The MCP servers.
    mcp: Mutex<Arc<Servers>>,
    /// What servers' samples have cost since it was last counted.
    sampled: Judged,
}

impl Extensions {
    /// Asks everybody who is configured.
    pub(crate) async fn start(shared: &Shared) -> Self {
        let (external, mut warnings) = external_memory::connect(shared).await;
        let mut registry = toolbox::registry(&Rooms {
            store: shared.store.clone(),
            curated: shared.curated.clone(),
            external: external.clone(),
            library: shared.library.clone(),
            skills_wait: shared.loaded.config.skills.write_approval,
            delegates: shared.loaded.config.delegation.max_spawn_depth > 0,
        });
        let (web, told) = Web::of(shared);
        warnings.extend(told);
        web.offer(&mut registry);
        if shared.options.interactive {
            let book = Book::of_home(shared.loaded.home.root(), shared.zone.clone());
            registry.add("cronjob", erase(CronJob { book }));
        }
        let external_tools = external.as_ref().map_or_else(Vec::new, |external| {
            external_memory::add_tools(&mut registry, external, &mut warnings)
        });
        // What came with a repository is one of its rules.
        let project = (!shared.options.ignore_rules).then_some(shared.options.cwd.as_path());
        let found = plugged::found_hooks(&shared.loaded, project);
        warnings.extend(found.warnings);
        let plugins = plugged::started(
            &shared.loaded,
            &shared.options.cwd,
            project.is_some(),
            &mut warnings,
        )
        .await;
        plugin_tools::add(&mut registry, &plugins, &mut warnings);
        let engine = plugged::engine(&shared.loaded, &plugins, &mut warnings);
        let (settings, told) = mcp::mcp_servers(&shared.loaded, &shared.options.cwd);
        warnings.extend(told);
        talaria_redact::learn(settings.iter().flat_map(ServerSettings::secrets));
        let sampled = Judged::default();
        let servers = Arc::new(servers(shared, settings, &sampled));
        registry.defer(deferral(&shared.loaded));
        if !servers.is_empty() {
            warnings.extend(servers.discover(shared.options.interactive).await);
            servers.add_to(&mut registry);
        }
        let registry = Arc::new(registry);
        servers.follow(&registry);
        Self {
            registry,
            external,
            external_tools,
            hooks: Arc::new(Hooks::new(found.hooks, &plugins)),
            plugins,
            engine,
            warnings,
            mcp: Mutex::new(servers),
            sampled,
        }
    }

    fn mcp(&self) -> Arc<Servers> {
        self.mcp.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How the MCP servers are.
    pub(crate) fn mcp_states(&self) -> Vec<ServerState> {
        self.mcp().states()
    }

    /// Ends the MCP servers and takes those of `loaded`, as it says now; what the person should know is given.
    pub(crate) async fn reload_mcp(&self, shared: &Shared, loaded: &Loaded) -> Vec<String> {
        let old = self.mcp();
        old.close().await;
        old.leave(&self.registry);
        let (settings, mut warnings) = mcp::mcp_servers(loaded, &shared.options.cwd);
        let servers = Arc::new(servers(shared, settings, &self.sampled));
        warnings.extend(servers.discover(false).await);
        servers.enter(&self.registry);
        servers.follow(&self.registry);
        *self.mcp.lock().unwrap_or_else(PoisonError::into_inner) = servers;
        warnings
    }

    /// What servers' samples have cost since this was last called.
    pub(crate) fn sampled(&self) -> Bill {
        std::mem::take(&mut *self.sampled.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Ends what runs beside the program.
    pub(crate) async fn close(&self) {
        self.mcp().close().await;
    }
}

fn servers(shared: &Shared, settings: Vec<ServerSettings>, sampled: &Judged) -> Servers {
    let model = shared
        .auxiliary(Task::Mcp)
        .or_else(|| shared.chain.first().cloned());
    let around = Surroundings {
        home: shared.loaded.home.root().to_owned(),
        cwd: shared.options.cwd.clone(),
        sampler: model.map(|model| mcp::sampler(model, sampled.clone())),
    };
    Servers::new(settings, &around)
}

fn deferral(loaded: &Loaded) -> Deferral {
    let config = &loaded.config.tool_search;
    Deferral {
        when: config.enabled.parse().ok(),
        share: config.threshold_pct / 100.0,
    }
}
