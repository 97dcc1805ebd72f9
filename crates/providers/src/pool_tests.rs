use secrecy::ExposeSecret;
use talaria_recovery::Phase;

use super::*;

fn pool(folder: &Path, strategy: Strategy) -> CredentialPool {
    CredentialPool::new(folder.join("auth.json"), "deepseek", strategy)
}

fn filled(folder: &Path, strategy: Strategy) -> CredentialPool {
    let pool = pool(folder, strategy);
    pool.add("one", "sk-1").unwrap();
    pool.add("two", "sk-2").unwrap();
    pool
}

fn failure(kind: ErrorKind, status: u16) -> Failure {
    Failure {
        status: Some(status),
        ..Failure::new(kind, Phase::Status, "no")
    }
}

fn key(picked: Option<&Picked>) -> &str {
    picked.map_or("-", |picked| picked.key.expose_secret())
}

#[test]
fn a_spent_key_rests_in_the_next_process_too() {
    let folder = tempfile::tempdir().unwrap();
    let first = filled(folder.path(), Strategy::FillFirst);
    let used = first.pick();
    assert_eq!(key(used.as_ref()), "sk-1");
    assert!(first.has_other("key1"));
    let next = first.leave("key1", &failure(ErrorKind::Billing, 402));
    assert_eq!(key(next.as_ref()), "sk-2");
    let later = pool(folder.path(), Strategy::FillFirst);
    assert_eq!(key(later.pick().as_ref()), "sk-2");
    assert!(!later.has_other("key2"));
    assert_eq!(later.list().unwrap()[0].status, "exhausted");
    later.reset().unwrap();
    assert_eq!(key(later.pick().as_ref()), "sk-1");
}

#[test]
fn a_revoked_key_is_dead_and_a_refused_one_rests_for_minutes() {
    let folder = tempfile::tempdir().unwrap();
    let pool = filled(folder.path(), Strategy::FillFirst);
    pool.leave("key1", &failure(ErrorKind::AuthPermanent, 401));
    pool.leave("key2", &failure(ErrorKind::Auth, 401));
    let all = pool.list().unwrap();
    assert_eq!((all[0].status.as_str(), all[0].rests_until), ("dead", None));
    let rests = all[1].rests_until.unwrap() - now();
    assert!(rests > 200.0 && rests <= REFUSED_REST, "{rests}");
    assert!(pool.pick().is_none());
}

#[test]
fn the_provider_says_how_long_a_key_rests() {
    let entry = json!({"last_status": "exhausted", "last_status_at": 1000.0, "last_error_code": 429, "last_error_reset_at": 9000.0});
    assert_eq!(listed(&entry, 8999.0).status, "exhausted");
    assert_eq!(listed(&entry, 9001.0).status, "ok");
    let entry = json!({"last_status": "exhausted", "last_status_at": 1000.0, "last_error_code": 429});
    assert_eq!(
        (
            listed(&entry, 4599.0).status.as_str(),
            listed(&entry, 4601.0).status.as_str()
        ),
        ("exhausted", "ok")
    );
}

#[test]
fn keys_take_turns_where_the_strategy_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let pool = filled(folder.path(), Strategy::RoundRobin);
    let seen: Vec<String> = (0..4).map(|_| key(pool.pick().as_ref()).to_owned()).collect();
    assert_eq!(seen, ["sk-1", "sk-2", "sk-1", "sk-2"]);
    assert_eq!("least_used".parse(), Ok(Strategy::LeastUsed));
    assert!("sometimes".parse::<Strategy>().is_err());
}

#[test]
fn what_this_program_does_not_know_is_kept_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("auth.json");
    let before = json!({"version": 1, "active_provider": "nous", "credential_pool": {
        "nous": [{"id": "x", "strange": true}],
        "deepseek": [{"id": "a", "priority": 5, "access_token": "sk-a", "other": 1}],
    }});
    std::fs::write(&file, before.to_string()).unwrap();
    let pool = pool(folder.path(), Strategy::FillFirst);
    pool.leave("a", &failure(ErrorKind::Billing, 402));
    let after: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(after["active_provider"], "nous");
    assert_eq!(
        after["credential_pool"]["nous"],
        before["credential_pool"]["nous"]
    );
    assert_eq!(after["credential_pool"]["deepseek"][0]["other"], 1);
}

#[test]
fn keys_are_removed_by_name_or_place_and_the_file_is_private() {
    let folder = tempfile::tempdir().unwrap();
    let pool = filled(folder.path(), Strategy::FillFirst);
    pool.remove("one").unwrap();
    pool.remove("1").unwrap();
    assert!(pool.list().unwrap().is_empty());
    assert!(
        pool.remove("one")
            .unwrap_err()
            .to_string()
            .contains("auth list deepseek")
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(folder.path().join("auth.json"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn a_damaged_file_is_said_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("auth.json");
    std::fs::write(&file, "{broken").unwrap();
    let pool = pool(folder.path(), Strategy::FillFirst);
    assert!(pool.pick().is_none());
    assert!(pool.add("x", "y").unwrap_err().to_string().contains("auth.json"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{broken");
}
