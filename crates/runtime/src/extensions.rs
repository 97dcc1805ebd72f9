//! What is added to an engine from outside of the program, and is known only once somebody has been asked:
//! the first session that opens asks, the others take what came of it.

use std::sync::Arc;

use talaria_schedule::Book;
use talaria_tools::{Registry, erase};

use crate::cron_tool::CronJob;
use crate::engine::Shared;
use crate::toolbox::{self, Rooms};
use crate::web_tools::Web;

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
        let mut registry = toolbox::registry(&Rooms {
            store: shared.store.clone(),
            curated: shared.curated.clone(),
            library: shared.library.clone(),
            skills_wait: shared.loaded.config.skills.write_approval,
        });
        let (web, warnings) = Web::of(shared);
        web.offer(&mut registry);
        if shared.options.interactive {
            let book = Book::of_home(shared.loaded.home.root(), shared.zone.clone());
            registry.add("cronjob", erase(CronJob { book }));
        }
        Self {
            registry: Arc::new(registry),
            warnings,
        }
    }
}
