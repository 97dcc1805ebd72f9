//! `memory providers`, `setup` and `status`, and a provider in a turn of its own process.

use crate::program::{home, run, run_with_input, talking};
use serde_json::Value;
use talaria_testkit::Step;

const RECORDER: &str = r#"while read -r line; do id=${line#*\"id\":}; id=${id%%,*}
  printf '%s\n' "$line" >> heard
  printf '{"jsonrpc":"2.0","id":%s,"result":null}\n' "$id"
done
"#;

#[test]
fn a_provider_is_chosen_looked_at_and_left_again() {
    let home = home("{}\n");
    let listed = run(&home, &["memory", "providers", "--json"]).ok().json();
    let names: Vec<&str> = listed["providers"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|row| row["name"].as_str())
        .collect();
    assert_eq!(names, ["local", "process", "mem0", "honcho"]);
    let chosen = run(&home, &["memory", "setup", "local"]).ok();
    assert!(
        chosen
            .out
            .contains("local: ready; tools: fact_store, fact_feedback"),
        "{}",
        chosen.told()
    );
    let status = run(&home, &["memory", "status", "--json"]).ok().json();
    assert_eq!(
        (&status["provider"], &status["ready"]),
        (&"local".into(), &true.into())
    );
    run(&home, &["memory", "setup", "none"]).ok();
    assert_eq!(
        run(&home, &["memory", "status", "--json"]).ok().json()["provider"],
        Value::Null
    );
    let unknown = run(&home, &["memory", "setup", "zep"]);
    assert!(
        unknown.code == 2 && unknown.err.contains("local, process, mem0, honcho"),
        "{}",
        unknown.told()
    );
}

#[test]
fn a_key_goes_into_the_env_file_and_is_never_shown() {
    let home = home("{}\n");
    let setup = ["memory", "setup", "mem0", "user_id=rider"];
    let ran = run_with_input(&home, &setup, "m0-a-made-up-key-of-nobody\n").ok();
    assert!(!ran.told().contains("made-up-key"), "{}", ran.told());
    let kept = std::fs::read_to_string(home.path().join(".env")).unwrap();
    assert!(kept.contains("MEM0_API_KEY=") && kept.contains("m0-a-made-up-key-of-nobody"));
    let config = std::fs::read_to_string(home.path().join("config.yaml")).unwrap();
    assert!(
        config.contains("rider") && !config.contains("made-up"),
        "{config}"
    );
    let doctor = run(&home, &["doctor", "--offline"]);
    assert!(
        doctor.out.contains("mem0") && !doctor.told().contains("made-up-key"),
        "{}",
        doctor.told()
    );
}

#[test]
fn what_a_provider_lacks_is_said_by_setup_status_and_doctor() {
    let home = home("{}\n");
    let ran = run(&home, &["memory", "setup", "process"]);
    assert!(ran.code == 2 && ran.err.contains("command"), "{}", ran.told());
    let home = crate::program::home("memory: {provider: honcho}\n");
    let status = run(&home, &["memory", "status"]);
    assert!(
        status.code == 1 && status.err.contains("HONCHO_API_KEY"),
        "{}",
        status.told()
    );
    let doctor = run(&home, &["doctor", "--offline"]);
    assert!(doctor.told().contains("HONCHO_API_KEY"), "{}", doctor.told());
}

#[test]
fn one_turn_in_a_process_of_its_own_is_told_to_the_end() {
    let (_server, home) = talking([Step::say("oolong")]);
    std::fs::write(home.path().join("recorder.sh"), RECORDER).unwrap();
    run(&home, &["memory", "setup", "process", "command=sh recorder.sh"]).ok();
    std::fs::remove_file(home.path().join("heard")).unwrap();
    run(&home, &["-z", "which tea?"]).ok();
    let heard = std::fs::read_to_string(home.path().join("heard")).unwrap();
    let methods: Vec<String> = heard
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["method"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(
        methods,
        [
            "initialize",
            "initialize",
            "on_turn_start",
            "prefetch",
            "sync_turn",
            "queue_prefetch",
            "on_session_end",
            "shutdown"
        ]
    );
}
