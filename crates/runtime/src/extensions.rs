//! What is added to an engine from outside of the program, and is known only once somebody has been asked:
//! the first session that opens asks, the others take what came of it.

use std::sync::Arc;

use talaria_memory::providers::External;
use talaria_tools::Registry;

use crate::engine::Shared;
use crate::external_memory;
use crate::toolbox::{self, Rooms};

/// The engine's tools, with those that others bring.
pub(crate) struct Extensions {
    /// Every tool there is.
    pub(crate) registry: Arc<Registry>,
    /// The memory provider, if there is one and it is ready.
    pub(crate) external: Option<Arc<External>>,
    /// What the person should know about those that could not be had.
    pub(crate) warnings: Vec<String>,
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
        });
        if let Some(external) = &external {
            warnings.extend(external_memory::add_tools(&mut registry, external));
        }
        Self {
            registry: Arc::new(registry),
            external,
            warnings,
        }
    }
}
