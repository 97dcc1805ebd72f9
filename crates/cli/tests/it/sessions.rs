//! `sessions`, `search`, `recall`, `replay`.

use talaria_testkit::{MockServer, Step, TempHome};

use crate::program::{Ran, home, run, settled, talking};

/// A home with two sessions: one about herons (titled), one about otters.
fn two_sessions() -> (MockServer, TempHome, [String; 2]) {
    let (server, home) = talking([Step::say("Herons wade."), Step::say("Otters swim.")]);
    let id = |ran: Ran| ran.ok().json()["session_id"].as_str().unwrap().to_owned();
    let herons = id(run(
        &home,
        &[
            "-z",
            "about herons, key sk-proj-Zq8vN2mL5xK9wR3tY7uP1aB4cD6eF0gH",
            "--json",
        ],
    ));
    let otters = id(run(&home, &["-z", "about otters", "--json"]));
    run(&home, &["sessions", "rename", &herons, "The", "herons"]).ok();
    (server, home, [herons, otters])
}

#[test]
fn an_empty_home_has_no_sessions_and_gets_no_database() {
    let home = home("{}\n");
    assert_eq!(
        run(&home, &["sessions", "list", "--json"]).ok().out,
        "{\"sessions\":[]}\n"
    );
    let none = run(&home, &["search", "x", "--json"]).ok().json();
    assert_eq!(none, serde_json::json!({"query": "x", "hits": [], "total": 0}));
    assert_eq!(
        run(&home, &["sessions", "stats", "--json"]).ok().json()["sessions"],
        0
    );
    insta::assert_snapshot!(run(&home, &["sessions", "show", "nope"]).told(), @r#"
    stderr: error: no session is called "nope"
    stderr:   `talaria sessions list` shows ids and titles
    exit 2
    "#);
    assert!(!home.database().exists());
}

#[test]
fn sessions_are_listed_found_and_shown() {
    let (_server, home, [herons, otters]) = two_sessions();
    let list = run(&home, &["sessions", "list", "--json"]).ok().json();
    let entries = list["sessions"].as_array().unwrap();
    let mut ids: Vec<&str> = entries
        .iter()
        .map(|entry| entry["id"].as_str().unwrap())
        .collect();
    ids.sort_unstable();
    let mut expected = [herons.as_str(), otters.as_str()];
    expected.sort_unstable();
    assert_eq!(ids, expected);
    let entry = entries
        .iter()
        .find(|entry| entry["id"] == herons.as_str())
        .unwrap();
    assert_eq!(entry["title"], "The herons");
    assert_eq!(entry["message_count"], 2);

    let found = run(&home, &["search", "otters", "--json"]).ok().json();
    assert_eq!(found["hits"][0]["session_id"], otters.as_str());
    assert_eq!(
        run(&home, &["sessions", "search", "otters", "--json"])
            .ok()
            .json()["total"],
        found["total"]
    );
    let narrowed = run(&home, &["search", "otters", "--role", "user", "--json"])
        .ok()
        .json();
    assert_eq!(narrowed["total"], 1);

    let shown = run(&home, &["sessions", "show", &otters]).ok();
    settled(&home, || {
        insta::assert_snapshot!(shown.out, @r"
        [session]  untitled
        [time], mock-model, from cli

        [m:3] user
        about otters

        [m:4] assistant
        Otters swim.
        ");
    });
}

#[test]
fn a_title_a_prefix_and_an_id_all_name_a_session() {
    let (_server, home, [herons, _]) = two_sessions();
    for name in ["The herons", herons.as_str(), &herons[..herons.len() - 1]] {
        let shown = run(&home, &["sessions", "show", name, "--json"]).ok().json();
        assert_eq!(shown["session"]["id"], herons.as_str(), "{name}");
    }
    let ambiguous = run(&home, &["sessions", "show", &herons[..4], "--json"]);
    assert!(
        ambiguous.code == 2 && ambiguous.out.is_empty(),
        "{}",
        ambiguous.told()
    );
    let taken = run(&home, &["sessions", "rename", &herons[..], "The herons"]);
    assert_eq!(taken.code, 0, "its own title is no conflict: {}", taken.told());
}

#[test]
fn what_the_user_typed_is_masked_in_exports_recall_and_search() {
    let (_server, home, [herons, _]) = two_sessions();
    let secret = "sk-proj-Zq8vN2mL5xK9wR3tY7uP1aB4cD6eF0gH";
    let commands: [&[&str]; 7] = [
        &["sessions", "export", &herons, "--json"],
        &["sessions", "export", "--format", "md"],
        &["sessions", "show", &herons, "--full", "--json"],
        &["sessions", "context", &herons, "--messages", "--json"],
        &["sessions", "list", "--json"],
        &["recall", "1", "--json"],
        &["search", "herons", "--json"],
    ];
    for args in commands {
        let ran = run(&home, args).ok();
        assert!(ran.out.contains("about herons"), "{args:?}: {}", ran.out);
        assert!(!ran.out.contains(secret), "{args:?}: {}", ran.out);
    }
}

#[test]
fn an_export_is_one_object_a_session_in_a_private_file() {
    use std::os::unix::fs::PermissionsExt;
    let (_server, home, _) = two_sessions();
    let file = home.work().join("all.jsonl");
    run(&home, &["sessions", "export", "-o", file.to_str().unwrap()]).ok();
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let text = std::fs::read_to_string(&file).unwrap();
    let objects: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(objects.len(), 2);
    assert!(
        objects
            .iter()
            .all(|object| object["messages"].as_array().unwrap().len() == 2)
    );
    let nowhere = run(&home, &["sessions", "export", "-o", "/no/such/folder/x"]);
    assert!(
        nowhere.code == 1 && nowhere.err.contains("/no/such/folder/x"),
        "{}",
        nowhere.told()
    );
}

#[test]
fn recall_prints_what_it_knows_and_names_what_it_does_not() {
    let (_server, home, [herons, otters]) = two_sessions();
    let ran = run(&home, &["recall", "[m:2]", "m:4"]).ok();
    assert!(
        ran.out.contains("Herons wade.") && ran.out.contains("Otters swim."),
        "{}",
        ran.out
    );
    let some = run(&home, &["recall", "2", "99999", "--json"]);
    assert_eq!(some.code, 1);
    assert_eq!(some.json()["messages"].as_array().unwrap().len(), 1);
    assert!(some.err.contains("there is no message m:99999"), "{}", some.err);
    assert_eq!(run(&home, &["recall", "2", "--session", &herons]).code, 0);
    assert_eq!(run(&home, &["recall", "2", "--session", &otters]).code, 1);
}

#[test]
fn a_branch_is_a_copy_that_says_where_it_comes_from() {
    let (_server, home, [herons, _]) = two_sessions();
    let branch = run(&home, &["sessions", "branch", "The herons", "--json"])
        .ok()
        .json();
    assert_eq!(
        (&branch["from"], &branch["messages"]),
        (&herons.as_str().into(), &2.into())
    );
    let new = branch["session_id"].as_str().unwrap();
    let shown = run(&home, &["sessions", "show", new, "--json"]).ok().json();
    assert_eq!(shown["session"]["parent_session_id"], herons.as_str());
    assert_eq!(
        shown["session"]["model_config"]["_branched_from"],
        herons.as_str()
    );
    let lineage = run(&home, &["sessions", "lineage", new, "--json"]).ok().json();
    assert_eq!(lineage["tip"], new, "a branch is a lineage of its own");
}

#[test]
fn nothing_is_erased_without_a_yes() {
    let (_server, home, [herons, otters]) = two_sessions();
    let refused = run(&home, &["sessions", "delete", &herons]);
    assert!(
        refused.code == 2 && refused.err.contains("--yes"),
        "{}",
        refused.told()
    );
    run(&home, &["sessions", "show", &herons]).ok();
    run(&home, &["sessions", "delete", &herons, "--yes"]).ok();
    assert_eq!(run(&home, &["sessions", "show", &herons]).code, 2);
    run(&home, &["sessions", "show", &otters]).ok();
    let pruned = run(&home, &["sessions", "prune", "--yes", "--json"]).ok().json();
    assert_eq!(pruned["deleted_count"], 0, "a session of today is not old");
}

#[test]
fn a_recorded_turn_is_replayed_without_the_server() {
    let (server, home, [herons, _]) = two_sessions();
    let asked = server.requests().len();
    let ran = run(&home, &["replay", &herons]).ok();
    assert!(ran.out.contains("1 call, all as recorded"), "{}", ran.out);
    assert_eq!(
        run(&home, &["replay", &herons, "--json"]).ok().json()["same"],
        true
    );
    assert_eq!(server.requests().len(), asked);
    assert_eq!(run(&home, &["replay", &herons, "--turn", "7"]).code, 2);
}

#[test]
fn a_title_that_is_not_the_sessions_own_erases_nothing() {
    let (_server, home, [herons, _]) = two_sessions();
    let branch = run(&home, &["sessions", "branch", "The herons", "--json"])
        .ok()
        .json();
    let branch = branch["session_id"].as_str().unwrap().to_owned();
    let refused = run(&home, &["sessions", "delete", "The herons", "--yes"]);
    assert!(
        refused.code == 2 && refused.err.contains(&branch),
        "{}",
        refused.told()
    );
    run(&home, &["sessions", "show", &herons]).ok();
    run(&home, &["sessions", "show", &branch]).ok();
    run(&home, &["sessions", "delete", "The herons #2", "--yes"]).ok();
    run(&home, &["sessions", "delete", "The herons", "--yes"]).ok();
}
