//! What is added to an engine from outside of the program, and is known only once somebody has been asked:
//! the first session that opens asks, the others take what came of it.

use std::sync::Arc;

use talaria_tools::Registry;

use crate::engine::Shared;
use crate::toolbox::{self, Rooms};

/// The engine's tools, with those that others bring.
pub(crate) struct Extensions {
    /// Every tool there is.
    pub(crate) registry: Arc<Registry>,
    /// What the person should know about those that could not be had.
    pub(crate) warnings: Vec<String>,
}

impl Extensions {
    /// Asks everybody who is configured.
    pub(crate) async fn start(shared: &Shared) -> Self {
        let registry = toolbox::registry(&Rooms {
            store: shared.store.clone(),
            curated: shared.curated.clone(),
            library: shared.library.clone(),
            skills_wait: shared.loaded.config.skills.write_approval,
            delegates: shared.loaded.config.delegation.max_spawn_depth > 0,
        });
        Self {
            registry: Arc::new(registry),
            warnings: Vec::new(),
        }
    }
}
