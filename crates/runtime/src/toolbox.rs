//! Every tool there is: those of the tools crate, and those that need the engine's own rooms.

use std::sync::Arc;

use talaria_config::Loaded;
use talaria_memory::Origin;
use talaria_memory::providers::External;
use talaria_schedule::Book;
use talaria_skills::Library;
use talaria_store::sqlite::SqliteStore;
use talaria_store::{Result as StoreResult, SessionStore};
use talaria_tools::{Registry, Selection, UnknownToolset, erase};

use crate::clock;
use crate::cron_tool::CronJob;
use crate::curated::Curated;
use crate::delegate::DelegateTask;
use crate::engine::Shared;
use crate::memory_tool::MemoryTool;
use crate::recall::Recall;
use crate::session_search::SessionSearch;
use crate::setup;
use crate::skill_tools::{Bench, SkillManage, SkillView, SkillsList};
use crate::web_tools::Web;

/// What the engine's own tools work on.
pub(crate) struct Rooms {
    pub(crate) store: Arc<dyn SessionStore>,
    /// The curated memory, unless it is switched off.
    pub(crate) curated: Option<Arc<Curated>>,
    /// The memory provider, which hears of writes.
    pub(crate) external: Option<Arc<External>>,
    pub(crate) library: Arc<Library>,
    /// What the model writes as a skill waits for the person.
    pub(crate) skills_wait: bool,
    /// Work may be handed to subagents.
    pub(crate) delegates: bool,
}

/// Every tool, over these rooms.
pub(crate) fn registry(rooms: &Rooms) -> Registry {
    let store = || rooms.store.clone();
    let mut registry = Registry::builtin();
    registry.add("recall", erase(Recall { store: store() }));
    registry.add("session_search", erase(SessionSearch { store: store() }));
    if let Some(curated) = &rooms.curated {
        let tool = MemoryTool {
            curated: curated.clone(),
            store: store(),
            origin: Origin::Foreground,
            external: rooms.external.clone(),
        };
        registry.add("memory", erase(tool));
    }
    if rooms.delegates {
        registry.add("delegation", erase(DelegateTask));
    }
    let bench = Bench::of_turns(rooms.library.clone(), rooms.skills_wait);
    registry.add("skills", erase(SkillsList(bench.clone())));
    registry.add("skills", erase(SkillView(bench.clone())));
    registry.add("skills", erase(SkillManage(bench)));
    registry
}

/// The tools of a session over these rooms: those of the configuration, and for a subagent those it may have.
///
/// # Errors
/// When the configuration names a set of tools that is not there.
pub(crate) fn selected(
    shared: &Shared,
    registry: &Registry,
    window: u64,
) -> Result<Selection, UnknownToolset> {
    let config = &shared.loaded.config;
    let mut selection = registry.select(&config.toolsets, &config.agent.disabled_toolsets, window)?;
    if let Some(nest) = &shared.nest {
        // What its parent could look up is not among what a subagent was given.
        selection.beyond = None;
        selection.names.retain(|name| nest.allows(name));
    }
    Ok(selection)
}

/// The sets of tools that sessions of this configuration have, with the tools of each.
///
/// # Errors
/// When a store cannot even be made in memory.
pub fn toolsets(loaded: &Loaded) -> StoreResult<Vec<(String, Vec<String>)>> {
    let rooms = Rooms {
        store: Arc::new(SqliteStore::open_in_memory(&loaded.home.images())?),
        curated: Curated::new(loaded.home.root(), &loaded.config.memory).map(Arc::new),
        external: None,
        library: Arc::new(Library::new(setup::roots_of_skills(loaded, None))),
        skills_wait: loaded.config.skills.write_approval,
        delegates: loaded.config.delegation.max_spawn_depth > 0,
    };
    let mut registry = registry(&rooms);
    Web::for_listing(loaded).offer(&mut registry);
    let book = Book::of_home(loaded.home.root(), clock::zone(&loaded.config.timezone));
    registry.add("cronjob", erase(CronJob { book }));
    Ok(registry.toolsets())
}
