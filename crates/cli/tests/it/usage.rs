//! Bad usage, help, and what goes where.

use rstest::rstest;

use crate::program::{command, home, run, run_with_input, settled};

#[rstest]
#[case(&["--no-such-flag"])]
#[case(&["no-such-command"])]
#[case(&["insights", "--days", "many"])]
#[case(&["chat", "-q"])]
#[case(&["chat", "-q", "hi", "--max-turns", "many"])]
#[case(&["chat", "-q", "hi", "--max-turns", "0"])]
#[case(&["-z", ""])]
#[case(&["chat", "-q", "  "])]
#[case(&["chat", "-q", "hi", "--exact"])]
#[case(&["-z", "hi", "--messages"])]
#[case(&["-z", "hi", "-r", "a", "-c"])]
#[case(&["chat", "-q", "hi", "--max-cost", "-1"])]
#[case(&["sessions"])]
#[case(&["-z", "x", "chat", "-q", "y"])]
#[case(&["-q", "x", "-z", "y"])]
#[case(&["-q", "x", "sessions", "list"])]
#[case(&["--home", "", "sessions", "list"])]
#[case(&["search"])]
#[case(&["recall", "x1"])]
fn bad_usage_exits_2_with_a_message_and_nothing_on_stdout(#[case] args: &[&str]) {
    let ran = run(&home("{}\n"), args);
    assert_eq!(ran.code, 2, "{}", ran.told());
    assert!(!ran.err.trim().is_empty() && ran.out.is_empty(), "{}", ran.told());
}

#[test]
fn an_empty_standard_input_is_an_empty_prompt() {
    let home = home("{}\n");
    let ran = run_with_input(&home, &[], "\n");
    insta::assert_snapshot!(ran.told(), @r"
    stderr: error: the prompt is empty
    stderr:   give one with -q TEXT or -z TEXT, or pipe it into standard input
    exit 2
    ");
}

#[test]
fn a_prompt_that_is_not_text_names_the_byte() {
    use std::io::Write;
    let home = home("{}\n");
    let mut child = command(&home, &[])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"ab\xff").unwrap();
    let ran = crate::program::finish(child);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("not UTF-8 text (byte 2)"), "{}", ran.err);
}

#[test]
fn no_provider_exits_3_with_advice_and_the_same_as_json() {
    let home = home("{}\n");
    assert_eq!(
        run(&home, &["-q", "hi", "--json"]).code,
        3,
        "a prompt needs no `chat`"
    );
    let ran = run(&home, &["-z", "hi"]);
    assert_eq!(ran.code, 3);
    assert!(
        ran.err.contains("OPENAI_API_KEY") && ran.out.is_empty(),
        "{}",
        ran.told()
    );
    let ran = run(&home, &["-z", "hi", "--json"]);
    assert_eq!(ran.code, 3);
    let result = ran.json();
    assert_eq!(result["final_response"], serde_json::Value::Null);
    assert_eq!(result["error"]["kind"], "config");
    assert_eq!(result["failed"], true);
}

#[test]
fn bad_usage_of_a_turn_is_told_as_json_too() {
    let home = home("{}\n");
    for args in [
        &["-z", "hi", "--json", "--nope"][..],
        &["chat", "-q", "hi", "--json", "--cwd", "/nope"],
    ] {
        let ran = run(&home, args);
        assert_eq!(ran.code, 2);
        assert_eq!(ran.json()["error"]["kind"], "config", "{args:?}");
    }
    let ran = run(&home, &["chat", "-q", "hi", "--stream-json", "--cwd", "/nope"]);
    assert_eq!(ran.json()["type"], "turn_finished");
}

#[test]
fn broken_yaml_names_file_and_line() {
    let home = home("model:\n  default: x\n   bad indent: [\n");
    let ran = run(&home, &["-z", "hi"]);
    assert_eq!(ran.code, 2);
    settled(&home, || {
        insta::assert_snapshot!(ran.told(), @r"
        stderr: error: [tmp]/home/config.yaml:3: not valid YAML: mapping values are not allowed in this context
        stderr:   fix that line (`talaria config edit` opens the file)
        exit 2
        ");
    });
}

#[rstest]
#[case(&["--help"], "--resume")]
#[case(&["-V"], "talaria 0")]
#[case(&["--version"], "talaria 0")]
#[case(&["chat", "--help"], "--query")]
#[case(&["sessions", "--help"], "export")]
#[case(&["completion", "bash"], "talaria")]
#[case(&["completion", "zsh"], "talaria")]
#[case(&["completion", "fish"], "talaria")]
#[case(&["man"], ".TH talaria")]
#[case(&["man", "sessions"], "sessions")]
fn help_goes_to_stdout_and_makes_no_home(#[case] args: &[&str], #[case] word: &str) {
    let home = home("{}\n");
    let fresh = home.path().join("not-there");
    let output = command(&home, args).env("TALARIA_HOME", &fresh).output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && out.contains(word), "{out}");
    assert!(output.stderr.is_empty());
    assert!(!fresh.exists());
}

#[test]
fn a_command_that_is_not_built_is_not_in_the_help() {
    let help = run(&home("{}\n"), &["--help"]).ok().out;
    for later in ["gateway", "setup"] {
        assert!(!help.contains(later), "{later}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_crash() {
    let home = home("{}\n");
    let mut child = command(&home, &["man"]).spawn().unwrap();
    drop(child.stdout.take());
    let ran = crate::program::finish(child);
    assert!(ran.code == 0 && ran.err.is_empty(), "{}", ran.told());
}

#[test]
fn an_answer_that_cannot_be_written_is_an_error() {
    let home = home("{}\n");
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = command(&home, &["config", "show"]).stdout(full).output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("standard output cannot be written"), "{err}");
}

#[test]
fn a_home_that_is_a_file_is_bad_usage() {
    let home = home("{}\n");
    let ran = run(&home, &["--home", "/etc/passwd", "sessions", "list"]);
    assert!(
        ran.code == 2 && ran.err.contains("/etc/passwd is a file"),
        "{}",
        ran.told()
    );
}

#[test]
fn a_folder_that_is_gone_is_told_where_one_is_needed() {
    let home = home("{}\n");
    let script = r#"mkdir gone && cd gone && rmdir ../gone && exec "$0" "$@""#;
    let talaria = env!("CARGO_BIN_EXE_talaria");
    let mut shell = home.command("sh");
    let output = shell
        .args(["-c", script, talaria, "-z", "hi"])
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--cwd"));
}
