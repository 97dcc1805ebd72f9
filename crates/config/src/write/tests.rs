use std::fs;
use std::os::unix::fs::PermissionsExt;

use rstest::rstest;

use super::*;

fn home(config: &str) -> (tempfile::TempDir, Home) {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::at(folder.path().join("home"));
    home.ensure().unwrap();
    fs::write(home.config_file(), config).unwrap();
    (folder, home)
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn a_number_is_stored_as_a_number_and_everything_else_is_kept() {
    let (_folder, home) =
        home("# my settings\nagent:\n  max_turns: 60\nunknown_section:\n  x: 1  # keep me\n");
    set(&home, "agent.max_turns", "17").unwrap();
    set(&home, "display.streaming", "no").unwrap();
    set(&home, "terminal.cwd", "12").unwrap();
    set(&home, "approvals.deny", "rm -rf *, dd *").unwrap();
    insta::assert_snapshot!(fs::read_to_string(home.config_file()).unwrap(), @r#"
    # my settings
    agent:
      max_turns: 17
    unknown_section:
      x: 1  # keep me
    display:
      streaming: false
    terminal:
      cwd: "12"
    approvals:
      deny: ["rm -rf *", "dd *"]
    "#);
}

#[test]
fn an_upper_case_name_goes_to_a_private_env_file() {
    let (_folder, home) = home("{}\n");
    fs::write(home.env_file(), "# mine\nOTHER=1\n").unwrap();
    set(&home, "OPENAI_API_KEY", "sk-1").unwrap();
    assert_eq!(
        fs::read_to_string(home.env_file()).unwrap(),
        "# mine\nOTHER=1\nOPENAI_API_KEY=sk-1\n"
    );
    assert_eq!(mode(&home.env_file()), 0o600);
    assert!(unset(&home, "OPENAI_API_KEY").unwrap());
    assert!(!unset(&home, "OPENAI_API_KEY").unwrap());
    assert_eq!(fs::read_to_string(home.config_file()).unwrap(), "{}\n");
}

#[rstest]
#[case("compression.threshold", "lots")]
#[case("compression.threshold", "7")]
#[case("agent.max_turns", "0")]
#[case("approvals.mode", "maybe")]
#[case("auxiliary.compression.timeout", "soon")]
#[case("providers.near.api_mode", "telepathy")]
#[case("no such.key", "1")]
#[case("", "1")]
fn a_value_that_does_not_fit_is_refused_and_nothing_is_written(#[case] key: &str, #[case] value: &str) {
    let (_folder, home) = home("# mine\n");
    let error = set(&home, key, value).unwrap_err().to_string();
    assert!(error.contains(key), "{error}");
    assert_eq!(fs::read_to_string(home.config_file()).unwrap(), "# mine\n");
}

#[test]
fn a_fresh_file_is_private_and_an_old_one_keeps_its_mode() {
    let (folder, home) = home("");
    fs::set_permissions(home.config_file(), fs::Permissions::from_mode(0o640)).unwrap();
    set(&home, "timezone", "UTC").unwrap();
    assert_eq!(mode(&home.config_file()), 0o640);
    let fresh = Home::at(folder.path().join("new/home"));
    set(&fresh, "timezone", "UTC").unwrap();
    assert_eq!(mode(&fresh.config_file()), 0o600);
}

#[test]
fn a_linked_file_stays_a_link() {
    let (folder, home) = home("");
    let real = folder.path().join("dotfiles.yaml");
    fs::write(&real, "timezone: UTC\n").unwrap();
    fs::remove_file(home.config_file()).unwrap();
    std::os::unix::fs::symlink(&real, home.config_file()).unwrap();
    set(&home, "timezone", "Asia/Tokyo").unwrap();
    assert!(home.config_file().symlink_metadata().unwrap().is_symlink());
    assert_eq!(fs::read_to_string(real).unwrap(), "timezone: Asia/Tokyo\n");
}

#[test]
fn a_managed_home_is_not_written() {
    let (_folder, home) = home("");
    fs::write(home.root().join(".managed"), "").unwrap();
    assert!(matches!(
        set(&home, "timezone", "Asia/Tokyo"),
        Err(ConfigError::Managed { .. })
    ));
}

#[test]
fn unknown_keys_are_found_with_their_lines_and_their_secrets_are_hidden() {
    let (_folder, home) = home(
        "agent:\n  max_turns: 1\n  moods: 3\nvoice: {x: 1}\nmcp: {api_key: sk-1}\nauxiliary: {vision: {a: 1}}\n",
    );
    let found = unknown_keys(&home).unwrap();
    assert_eq!(
        found,
        [
            ("agent.moods".to_owned(), 3),
            ("voice".to_owned(), 4),
            ("mcp".to_owned(), 5)
        ]
    );
    assert_eq!(raw(&home, "agent.moods").unwrap().as_deref(), Some("3"));
    assert_eq!(raw(&home, "mcp.api_key").unwrap().as_deref(), Some("***"));
    assert_eq!(raw(&home, "nothing").unwrap(), None);
    assert!(is_known("agent.max_turns") && is_known("providers.x.api_key") && !is_known("voice"));
}

#[test]
fn a_section_is_not_overwritten_by_a_single_value() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::at(folder.path().to_owned());
    for key in ["agent", "providers", "providers.mine", "fallback_providers"] {
        let error = set(&home, key, "7").unwrap_err();
        assert!(matches!(error, ConfigError::Value { .. }), "{key}: {error}");
    }
    set(&home, "model", "some-model").unwrap();
    set(&home, "agent.max_turns", "7").unwrap();
    set(&home, "toolsets", "file").unwrap();
    set(&home, "quite.another", "7").unwrap();
}

#[test]
fn settings_made_at_the_same_time_are_all_kept() {
    let (_folder, home) = home("");
    let home = &home;
    std::thread::scope(|scope| {
        for number in 0..12 {
            scope.spawn(move || {
                set(home, &format!("foo.val{number}"), "1").unwrap();
                set(home, &format!("SOME_KEY_{number}"), "x").unwrap();
            });
        }
    });
    let (config, env) = (
        fs::read_to_string(home.config_file()).unwrap(),
        fs::read_to_string(home.env_file()).unwrap(),
    );
    for number in 0..12 {
        assert!(config.contains(&format!("val{number}: 1")), "{config}");
        assert!(env.contains(&format!("SOME_KEY_{number}=")), "{env}");
    }
    unset(home, "foo.val3").unwrap();
    assert!(!fs::read_to_string(home.config_file()).unwrap().contains("val3:"));
}
