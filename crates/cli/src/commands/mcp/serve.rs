//! `mcp serve`: this program as a server for other agents, reading only.

use std::sync::Arc;

use talaria_store::SessionStore;
use talaria_store::sqlite::SqliteStore;

use super::{load, runtime};
use crate::exit::{DONE, Outcome};
use crate::place::Place;

pub(super) fn serve(place: &Place) -> Outcome {
    let store: Arc<dyn SessionStore> = match place.store()? {
        Some(store) => Arc::new(store),
        None => Arc::new(SqliteStore::open_in_memory(&place.home.images())?),
    };
    let (executor, specs) = talaria_runtime::served(&load(place)?, store);
    let runtime = runtime()?;
    let done = runtime.block_on(talaria_mcp::serve_stdio(executor, specs));
    // A read of stdin cannot be called back.
    runtime.shutdown_background();
    done?;
    Ok(DONE)
}
