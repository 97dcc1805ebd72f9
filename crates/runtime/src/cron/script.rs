//! Runs a job's script.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use talaria_config::Loaded;
use talaria_schedule::script_path;
use tokio::io::AsyncReadExt;

/// The most bytes of what a script says.
const MOST: u64 = 200_000;
/// What a script sees of the environment, besides `terminal.env_passthrough`.
const PASSED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "XDG_RUNTIME_DIR",
];

/// What a script said.
pub(crate) struct Said {
    /// Its standard output, secrets masked.
    pub(crate) output: String,
    /// Why it failed.
    pub(crate) error: Option<String>,
}

/// Runs the script of that name, which stands under `scripts/` of the home.
pub(crate) async fn run(loaded: &Loaded, name: &str) -> Said {
    let failed = |error: String| Said {
        output: String::new(),
        error: Some(error),
    };
    let path = match script_path(loaded.home.root(), name) {
        Ok(path) => path,
        Err(why) => return failed(why),
    };
    let patience = Duration::from_secs(loaded.config.cron.script_timeout_seconds);
    run_within(loaded, &path, patience)
        .await
        .unwrap_or_else(|error| failed(format!("{name}: {error}")))
}

async fn run_within(loaded: &Loaded, path: &Path, patience: Duration) -> std::io::Result<Said> {
    let mut child = command(loaded, path)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()?;
    let group = child.id();
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let listen = async {
        tokio::join!(taken(out, &mut output), taken(err, &mut errors));
        child.wait().await
    };
    let ended = tokio::time::timeout(patience, listen).await;
    let error = match ended {
        Ok(status) => {
            let status = status?;
            let said = String::from_utf8_lossy(&errors);
            let said = talaria_redact::redact_own(said.trim()).into_owned();
            let end = said.char_indices().rev().nth(500).map_or(0, |(at, _)| at);
            (!status.success()).then(|| format!("the script failed ({status}): {}", &said[end..]))
        }
        Err(_) => {
            // Its children end with it.
            end_group(group);
            Some(format!(
                "the script did not end within {} s and was stopped",
                patience.as_secs()
            ))
        }
    };
    let output = talaria_redact::redact_own(&String::from_utf8_lossy(&output)).into_owned();
    Ok(Said { output, error })
}

async fn taken(stream: Option<impl tokio::io::AsyncRead + Unpin>, into: &mut Vec<u8>) {
    if let Some(stream) = stream {
        let mut bounded = stream.take(MOST);
        if bounded.read_to_end(into).await.is_ok() {
            // A script that says more is heard to its end, or it would hang.
            let _ = tokio::io::copy(&mut bounded.into_inner(), &mut tokio::io::sink()).await;
        }
    }
}

pub(crate) fn end_group(group: Option<u32>) {
    let pid = group
        .and_then(|id| i32::try_from(id).ok())
        .and_then(rustix::process::Pid::from_raw);
    if let Some(pid) = pid {
        let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
    }
}

/// A script by its ending; one without a known ending is a program.
fn command(loaded: &Loaded, path: &Path) -> tokio::process::Command {
    let by = match path.extension().and_then(|ending| ending.to_str()) {
        Some("sh" | "bash") if Path::new("/bin/bash").exists() => Some("/bin/bash"),
        Some("sh" | "bash") => Some("/bin/sh"),
        Some("py") => Some("python3"),
        _ => None,
    };
    let mut command = match by {
        Some(program) => {
            let mut command = tokio::process::Command::new(program);
            command.arg(path);
            command
        }
        None => tokio::process::Command::new(path),
    };
    command.env_clear().envs(environment(loaded));
    if let Some(folder) = path.parent() {
        command.current_dir(folder);
    }
    command
}

/// What programs of a job see: no keys but those that the person passes on by name.
pub(crate) fn environment(loaded: &Loaded) -> Vec<(String, String)> {
    let named = &loaded.config.terminal.env_passthrough;
    let wanted = |name: &str| PASSED.contains(&name) || named.iter().any(|passed| passed == name);
    let mut kept: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| wanted(name))
        .collect();
    let home = loaded.home.root().display().to_string();
    kept.push(("HERMES_HOME".to_owned(), home.clone()));
    kept.push(("TALARIA_HOME".to_owned(), home));
    kept
}
