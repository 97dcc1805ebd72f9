//! `config` and `model`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::program::{command, home, run, settled};

const CONFIG: &str = "# my settings\nmodel:\n  default: gpt-x\n  api_key: sk-very-secret\nagent:\n  max_turns: 60\nvoice:\n  x: 1  # keep me\n";

#[test]
fn show_names_the_origin_of_each_value_and_hides_secrets() {
    let home = home(CONFIG);
    let ran = run(&home, &["config", "show", "--origin"]).ok();
    let wanted = ["model.", "agent.max"];
    let lines: Vec<&str> = ran
        .out
        .lines()
        .filter(|line| wanted.iter().any(|name| line.starts_with(name)))
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    agent.max_turns = 60  # config.yaml:6
    model.api_key = ***  # config.yaml:4
    model.default = gpt-x  # config.yaml:3
    model.provider = auto  # default
    ");
    assert!(!ran.out.contains("sk-very-secret"));
    let json = run(&home, &["config", "show", "--json"]).ok().json();
    assert_eq!(json["agent.max_turns"]["origin"], "config.yaml:6");
}

#[test]
fn get_prints_the_bare_value_of_a_key_a_section_and_an_unknown_key() {
    let home = home(CONFIG);
    let get = |key| run(&home, &["config", "get", key]);
    assert_eq!(get("agent.max_turns").ok().out, "60\n");
    assert_eq!(get("model.api_key").ok().out, "***\n");
    assert_eq!(get("model.base_url").ok().out, "\n");
    assert_eq!(get("voice.x").ok().out, "1\n");
    assert_eq!(get("memory").ok().out.lines().count(), 13);
    let unknown = get("agent.max_turn");
    insta::assert_snapshot!(unknown.told(), @r#"
    stderr: error: there is no setting "agent.max_turn"
    stderr:   did you mean agent.max_turns?
    exit 2
    "#);
}

#[test]
fn set_keeps_comments_and_unknown_keys_and_refuses_what_does_not_fit() {
    let home = home(CONFIG);
    let file = home.path().join("config.yaml");
    run(&home, &["config", "set", "agent.max_turns", "17"]).ok();
    assert_eq!(fs::read_to_string(&file).unwrap(), CONFIG.replace("60", "17"));
    let refused = run(&home, &["config", "set", "compression.threshold", "lots"]);
    insta::assert_snapshot!(refused.told(), @r#"
    stderr: error: config set: compression.threshold: expected a number over 0 and at most 1, found "lots"
    exit 2
    "#);
    run(&home, &["config", "unset", "agent.max_turns"]).ok();
    assert_eq!(run(&home, &["config", "get", "agent.max_turns"]).ok().out, "90\n");
    assert_eq!(run(&home, &["config", "unset", "agent.max_turns"]).code, 1);
    let odd = run(&home, &["config", "set", "agent.mood", "good"]).ok();
    assert!(odd.err.contains("nothing reads agent.mood"), "{}", odd.err);
}

#[test]
fn a_key_goes_to_a_private_env_file() {
    let home = home(CONFIG);
    run(&home, &["config", "set", "OPENAI_API_KEY", "sk-into-dotenv"]).ok();
    let file = home.path().join(".env");
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        "OPENAI_API_KEY=sk-into-dotenv\n"
    );
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(
        fs::read_to_string(home.path().join("config.yaml")).unwrap(),
        CONFIG
    );
}

#[test]
fn check_tells_what_is_wrong_and_what_nobody_reads() {
    let good = home(CONFIG);
    let ran = run(&good, &["config", "check"]).ok();
    settled(&good, || {
        insta::assert_snapshot!(ran.told(), @r"
        [tmp]/home/config.yaml: 3 values read, 0 warnings
        stderr: note: config.yaml:7: voice is not read by this program; it is kept
        exit 0
        ");
    });
    let bad = home("compression:\n  threshold: 0\nagent:\n  max_turns: many\n");
    let ran = run(&bad, &["config", "check"]);
    settled(&bad, || {
        insta::assert_snapshot!(ran.told(), @r#"
        stderr: error: [tmp]/home/config.yaml:4: agent.max_turns: expected a whole number of at least 1, found "many"
        stderr:   set it with `talaria config set agent.max_turns VALUE`, or edit the file
        exit 2
        "#);
    });
}

#[test]
fn the_home_is_the_flag_then_talarias_variable_then_hermes() {
    let home = home("{}\n");
    let path = |args: &[&str], talaria: &str, hermes: &str| {
        let mut command = command(&home, args);
        command
            .args(["config", "path"])
            .env("TALARIA_HOME", talaria)
            .env("HERMES_HOME", hermes);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    assert_eq!(path(&["--home", "/f"], "/t", "/h"), "/f/config.yaml\n");
    assert_eq!(path(&[], "/t", "/h"), "/t/config.yaml\n");
    assert_eq!(path(&[], "", "/h"), "/h/config.yaml\n");
}

#[test]
fn edit_opens_the_editor_and_checks_what_it_left() {
    let home = home("{}\n");
    let editor = home.work().join("editor.sh");
    fs::write(&editor, "#!/bin/sh\necho 'agent: {max_turns: x}' > \"$1\"\n").unwrap();
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).unwrap();
    let output = command(&home, &["config", "edit"])
        .env("EDITOR", &editor)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("config.yaml:1: agent.max_turns"));
    let output = command(&home, &["config", "edit"])
        .env("EDITOR", "/no/editor")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_model_is_chosen_and_shown() {
    let home = home("model: old\n");
    let ran = run(
        &home,
        &[
            "model",
            "new-model",
            "--provider",
            "custom",
            "--base-url",
            "http://127.0.0.1:9/v1",
        ],
    )
    .ok();
    insta::assert_snapshot!(ran.out, @r"
    model.default = new-model  # config.yaml:2
    model.provider = custom  # config.yaml:3
    model.base_url = http://127.0.0.1:9/v1  # config.yaml:4
    model.api_mode = (not set)  # default
    model.context_length = (not set)  # default
    ");
    assert_eq!(run(&home, &["model", "--json"]).ok().json()["model"], "new-model");
}

#[test]
fn a_configuration_that_cannot_be_read_says_which_file() {
    let home = home("{}\n");
    fs::write(home.path().join("config.yaml"), b"model: \xff\n").unwrap();
    let ran = run(&home, &["config", "show"]);
    settled(&home, || {
        insta::assert_snapshot!(ran.told(), @r"
        stderr: error: [tmp]/home/config.yaml:1: not valid YAML: not UTF-8; save the file in that encoding
        stderr:   fix that line (`talaria config edit` opens the file)
        exit 2
        ");
    });
}
