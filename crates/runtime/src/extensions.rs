//! What is added to an engine from outside of the program, and is known only once somebody has been asked:
//! the first session that opens asks, the others take what came of it.

use std::sync::Arc;

use talaria_plugins::{Hooks, Plugin};
use talaria_tools::Registry;

use crate::engine::Shared;
use crate::toolbox::{self, Rooms};
use crate::{plugged, plugin_tools};

/// The engine's tools, with those that others bring.
pub(crate) struct Extensions {
    /// Every tool there is.
    pub(crate) registry: Arc<Registry>,
    /// Who is told what happens, and has a say.
    pub(crate) hooks: Arc<Hooks>,
    /// The plugins that run.
    pub(crate) plugins: Vec<Arc<Plugin>>,
    /// The one that compresses conversations, when one was chosen.
    pub(crate) engine: Option<Arc<Plugin>>,
    /// What the person should know about those that could not be had.
    pub(crate) warnings: Vec<String>,
}

impl Extensions {
    /// Asks everybody who is configured.
    pub(crate) async fn start(shared: &Shared) -> Self {
        let mut registry = toolbox::registry(&Rooms {
            store: shared.store.clone(),
            curated: shared.curated.clone(),
            library: shared.library.clone(),
            skills_wait: shared.loaded.config.skills.write_approval,
            delegates: shared.loaded.config.delegation.max_spawn_depth > 0,
        });
        // What came with a repository is one of its rules.
        let project = (!shared.options.ignore_rules).then_some(shared.options.cwd.as_path());
        let found = plugged::found_hooks(&shared.loaded, project);
        let mut warnings = found.warnings;
        let plugins = plugged::started(
            &shared.loaded,
            &shared.options.cwd,
            project.is_some(),
            &mut warnings,
        )
        .await;
        plugin_tools::add(&mut registry, &plugins, &mut warnings);
        let engine = plugged::engine(&shared.loaded, &plugins, &mut warnings);
        Self {
            registry: Arc::new(registry),
            hooks: Arc::new(Hooks::new(found.hooks, &plugins)),
            plugins,
            engine,
            warnings,
        }
    }
}
