//! Where the secret of a credential stands, and how it is fetched.
//!
//! `source` of an entry says it: in the file itself (`manual`), in a variable
//! (`env:NAME`), in another file (`file:PATH`), in what a command prints
//! (`command:LINE`, for password managers) or in the system's keyring
//! (`keyring:NAME`). Only the first kind has its secret in `auth.json`.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// A password manager that asks for a touch may take a while; one that hangs must not hang a turn.
const PATIENCE: Duration = Duration::from_secs(30);
/// The service under which keys stand in the system's keyring.
const SERVICE: &str = "talaria";

/// The secret of an entry.
///
/// # Errors
/// Why there is none, in words, without the secret.
pub(super) fn fetch(entry: &Value) -> Result<String, String> {
    let source = entry["source"].as_str().unwrap_or_default();
    let found = match source.split_once(':') {
        Some(("file", path)) => of_file(Path::new(path)),
        Some(("command", line)) => printed_by("sh", &["-c", line]),
        Some(("keyring", name)) => of_keyring(name),
        Some(_) | None => Ok(entry["access_token"].as_str().unwrap_or_default().to_owned()),
    }?;
    let found = found.trim();
    if found.is_empty() {
        return Err("it is empty".to_owned());
    }
    Ok(found.to_owned())
}

/// Whether there may be a secret; asks no command.
pub(super) fn may_have(entry: &Value) -> bool {
    let elsewhere = entry["source"]
        .as_str()
        .and_then(|source| source.split_once(':'))
        .is_some_and(|(kind, _)| matches!(kind, "file" | "command" | "keyring"));
    let holds = |name: &&str| entry[*name].as_str().is_some_and(|key| !key.trim().is_empty());
    elsewhere || ["access_token", "refresh_token", "agent_key"].iter().any(holds)
}

/// Whether a secret from this source stands in the file itself.
pub(super) fn is_stored(source: &str) -> bool {
    let kind = source.split_once(':').map(|(kind, _)| kind);
    !kind.is_some_and(|kind| matches!(kind, "env" | "file" | "command" | "keyring"))
}

/// Puts a secret into the system's keyring.
///
/// # Errors
/// When there is no keyring, or it refuses.
pub(super) fn to_keyring(name: &str, key: &str) -> Result<(), String> {
    use std::io::Write;
    let (program, arguments): (&str, Vec<&str>) = if cfg!(target_os = "macos") {
        // `security` takes the secret as an argument only, or from its own prompt.
        (
            "security",
            vec!["add-generic-password", "-U", "-s", SERVICE, "-a", name, "-w", key],
        )
    } else {
        (
            "secret-tool",
            vec!["store", "--label", "talaria", "service", SERVICE, "account", name],
        )
    };
    let mut child = Command::new(program)
        .args(&arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| no_program(program, &error))?;
    if let Some(mut input) = child.stdin.take()
        && !cfg!(target_os = "macos")
    {
        input
            .write_all(key.as_bytes())
            .map_err(|error| format!("{program} does not take the key: {error}"))?;
    }
    let done = child
        .wait_with_output()
        .map_err(|error| format!("{program} failed: {error}"))?;
    if done.status.success() {
        return Ok(());
    }
    Err(format!("{program} refused: {}", first_line(&done.stderr)))
}

fn of_file(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))
}

fn of_keyring(name: &str) -> Result<String, String> {
    if cfg!(target_os = "macos") {
        return printed_by(
            "security",
            &["find-generic-password", "-s", SERVICE, "-a", name, "-w"],
        );
    }
    printed_by("secret-tool", &["lookup", "service", SERVICE, "account", name])
}

/// What a program prints, waited for a while.
fn printed_by(program: &str, arguments: &[&str]) -> Result<String, String> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| no_program(program, &error))?;
    let until = Instant::now() + PATIENCE;
    while child.try_wait().is_ok_and(|ended| ended.is_none()) {
        if Instant::now() > until {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("{program} gave no answer in {} s", PATIENCE.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let done = child
        .wait_with_output()
        .map_err(|error| format!("{program} failed: {error}"))?;
    if !done.status.success() {
        return Err(format!("{program} failed: {}", first_line(&done.stderr)));
    }
    String::from_utf8(done.stdout).map_err(|_| format!("what {program} printed is no text"))
}

fn no_program(program: &str, error: &std::io::Error) -> String {
    if error.kind() == std::io::ErrorKind::NotFound {
        return format!("there is no program {program} here; keep the key in a file or a variable instead");
    }
    format!("{program} cannot be run: {error}")
}

fn first_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let line = text.lines().find(|line| !line.trim().is_empty());
    line.unwrap_or("it gave no reason").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_comes_from_a_file_or_a_command() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        std::fs::write(&file, "sk-from-file\n").unwrap();
        let of = |source: String| fetch(&json!({"source": source, "access_token": "not this"}));
        assert_eq!(of(format!("file:{}", file.display())).unwrap(), "sk-from-file");
        assert_eq!(
            of("command:echo sk-from-command".to_owned()).unwrap(),
            "sk-from-command"
        );
        assert_eq!(
            fetch(&json!({"source": "manual", "access_token": " sk-1 "})).unwrap(),
            "sk-1"
        );
    }

    #[test]
    fn why_there_is_no_key_is_said() {
        let of = |source: &str| fetch(&json!({"source": source})).unwrap_err();
        assert!(of("file:/nowhere/at/all").contains("/nowhere/at/all"));
        assert!(of("command:echo locked >&2; exit 3").contains("locked"));
        assert!(of("command:true").contains("empty"));
    }
}
