use std::path::Path;

use talaria_recovery::Phase;
use talaria_types::ErrorKind;

use super::super::entry::REFUSED_REST;
use super::*;

fn pool(folder: &Path, strategy: Strategy) -> CredentialPool {
    CredentialPool::new(folder.join("auth.json"), "deepseek", strategy)
}

fn filled(folder: &Path, strategy: Strategy) -> CredentialPool {
    let pool = pool(folder, strategy);
    pool.add(&key_named("one", "sk-1")).unwrap();
    pool.add(&key_named("two", "sk-2")).unwrap();
    pool
}

fn key_named(label: &str, key: &str) -> NewCredential {
    NewCredential {
        label: label.to_owned(),
        source: "manual".to_owned(),
        secret: Some(SecretString::from(key)),
        ..NewCredential::default()
    }
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
    assert!(!pool.has_other(""));
    // A dead one is never tried again; one that only rests is, before nothing is.
    assert_eq!(key(pool.pick().as_ref()), "sk-2");
    pool.leave("key2", &failure(ErrorKind::AuthPermanent, 401));
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
    assert!(
        pool.add(&key_named("x", "y"))
            .unwrap_err()
            .to_string()
            .contains("auth.json")
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{broken");
}

#[test]
fn a_key_of_the_environment_comes_last_and_is_never_written() {
    let folder = tempfile::tempdir().unwrap();
    let of = |key: &str| {
        let variable = ("DEEPSEEK_API_KEY".to_owned(), SecretString::from(key));
        pool(folder.path(), Strategy::FillFirst).with_environment(vec![variable])
    };
    let both = of("sk-env");
    both.add(&key_named("one", "sk-1")).unwrap();
    assert_eq!(key(both.pick().as_ref()), "sk-1");
    let next = both.leave("key1", &failure(ErrorKind::Billing, 402));
    assert_eq!(key(next.as_ref()), "sk-env");
    assert!(
        both.leave("env:DEEPSEEK_API_KEY", &failure(ErrorKind::Billing, 402))
            .is_none()
    );
    let written = std::fs::read_to_string(folder.path().join("auth.json")).unwrap();
    assert!(
        !written.contains("sk-env") && written.contains("env:DEEPSEEK_API_KEY"),
        "{written}"
    );
    // Another key in the same variable is another credential.
    assert_eq!(key(of("sk-new").pick().as_ref()), "sk-new");
    assert!(
        both.remove("DEEPSEEK_API_KEY")
            .unwrap_err()
            .to_string()
            .contains("DEEPSEEK_API_KEY")
    );
}

#[test]
fn a_key_that_cannot_be_fetched_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let pool = pool(folder.path(), Strategy::FillFirst);
    let from = |source: &str| NewCredential {
        source: source.to_owned(),
        ..NewCredential::default()
    };
    pool.add(&from("command:exit 1")).unwrap();
    pool.add(&from("command:printf sk-from-%s manager")).unwrap();
    assert_eq!(key(pool.pick().as_ref()), "sk-from-manager");
    let written = std::fs::read_to_string(folder.path().join("auth.json")).unwrap();
    assert!(!written.contains("sk-from-manager"), "{written}");
    assert_eq!(
        CredentialPool::providers(folder.path().join("auth.json")).unwrap(),
        ["deepseek"]
    );
}
