//! What is cleared away without being asked for each time, because the person asked for it once.

use talaria_config::SessionsConfig;
use talaria_store::{Result, SessionStore};
use talaria_types::Timestamp;

/// Hermes' name for the time of the last clearing, so that either program knows of the other's.
const LAST: &str = "last_auto_prune";
const DAY: f64 = 86_400.0;

/// Erases ended sessions that nobody used for `sessions.retention_days`, at most once a day and only with
/// `sessions.auto_prune`; gives how many.
pub(crate) fn prune(store: &dyn SessionStore, config: &SessionsConfig, now: Timestamp) -> Result<u64> {
    if !config.auto_prune {
        return Ok(0);
    }
    let last = store.meta(LAST)?.and_then(|text| text.parse::<f64>().ok());
    if last.is_some_and(|last| now.0 - last < DAY) {
        return Ok(0);
    }
    let before = Timestamp(now.0 - config.retention_days as f64 * DAY);
    let erased = store.prune(before, None)?;
    store.set_meta(LAST, Some(&now.0.to_string()))?;
    Ok(erased)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use talaria_store::{NewSession, SqliteStore};
    use talaria_types::SessionId;

    use super::*;

    fn ended(store: &dyn SessionStore, id: &str, at: f64) {
        let new = NewSession {
            id: SessionId::new(id),
            source: "cli".to_owned(),
            parent: None,
            model: "m".to_owned(),
            model_config: json!({}),
            system_prompt: String::new(),
            cwd: None,
            title: None,
            started_at: Timestamp(at),
            billing: Default::default(),
        };
        store.create_session(&new).unwrap();
        store
            .end_session(&new.id, "session_reset", Timestamp(at))
            .unwrap();
    }

    #[test]
    fn old_ended_sessions_go_once_a_day_and_only_where_that_was_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open_in_memory(folder.path()).unwrap();
        ended(&store, "old", 10.0 * DAY);
        ended(&store, "new", 99.0 * DAY);
        let now = Timestamp(100.0 * DAY);
        let mut config = SessionsConfig {
            auto_prune: false,
            retention_days: 30,
        };
        assert_eq!(prune(&store, &config, now).unwrap(), 0);
        config.auto_prune = true;
        assert_eq!(prune(&store, &config, now).unwrap(), 1);
        assert!(store.session(&SessionId::new("new")).unwrap().is_some());
        config.retention_days = 0;
        let later = Timestamp(now.0 + DAY / 2.0);
        assert_eq!(prune(&store, &config, later).unwrap(), 0);
        assert_eq!(prune(&store, &config, Timestamp(now.0 + DAY)).unwrap(), 1);
    }
}
