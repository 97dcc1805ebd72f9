//! Runs a job's script.

use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use talaria_config::Loaded;
use talaria_schedule::script_path;
use tokio::io::AsyncReadExt;
use tokio::process::Child;

/// The most bytes of what a script says.
const MOST: u64 = 200_000;
/// How long the pipes of a script that has ended are listened to: what it left behind may hold them for ever.
const LEFT: Duration = Duration::from_secs(2);
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
    let mut group = Group(child.id());
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    let listen = listen(&mut child, &mut output, &mut errors);
    let ended = tokio::time::timeout(patience, listen).await;
    let error = match ended {
        Ok(ended) => {
            let (status, all) = ended?;
            if all {
                // What it started and let go of on purpose goes on.
                group.0 = None;
            }
            let said = String::from_utf8_lossy(&errors);
            let said = talaria_redact::redact_own(said.trim()).into_owned();
            let end = said.char_indices().rev().nth(500).map_or(0, |(at, _)| at);
            (!status.success()).then(|| format!("the script failed ({status}): {}", &said[end..]))
        }
        Err(_) => Some(format!(
            "the script did not end within {} s and was stopped",
            patience.as_secs()
        )),
    };
    drop(group);
    let output = talaria_redact::redact_own(&String::from_utf8_lossy(&output)).into_owned();
    Ok(Said { output, error })
}

/// Hears a script until it has ended and its pipes are closed, or it has ended and they are not closed in time;
/// says which.
async fn listen(
    child: &mut Child,
    output: &mut Vec<u8>,
    errors: &mut Vec<u8>,
) -> std::io::Result<(ExitStatus, bool)> {
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let mut hear = std::pin::pin!(async { tokio::join!(taken(out, output), taken(err, errors)) });
    tokio::select! {
        _ = &mut hear => Ok((child.wait().await?, true)),
        status = child.wait() => {
            let all = tokio::time::timeout(LEFT, hear).await.is_ok();
            Ok((status?, all))
        }
    }
}

/// A group of processes that ends with this: when a run is given up its future is dropped, wherever it stands.
pub(crate) struct Group(pub(crate) Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        end_group(self.0);
    }
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

fn end_group(group: Option<u32>) {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a process runs; a zombie does not.
    fn runs(pid: &str) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(") ")
            .is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
    }

    /// A killed process takes a moment to be gone.
    async fn gone(pid: &str) {
        while runs(pid) {
            tokio::task::yield_now().await;
        }
    }

    fn script(text: &str) -> (tempfile::TempDir, Loaded, std::path::PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("watch.sh");
        std::fs::write(&path, text).unwrap();
        let at = talaria_config::Home::at(home.path());
        let loaded = talaria_config::load(at, home.path(), &talaria_config::Overrides::default()).unwrap();
        (home, loaded, path)
    }

    #[tokio::test]
    async fn a_script_that_leaves_a_child_with_its_output_does_not_hang() {
        let (_home, loaded, path) = script("sleep 4444 &\necho $!\n");
        let said = run_within(&loaded, &path, Duration::from_secs(600))
            .await
            .unwrap();
        assert_eq!(said.error, None);
        gone(said.output.trim()).await;
    }

    #[tokio::test]
    async fn a_run_that_is_given_up_leaves_no_process_of_its_script() {
        let (home, loaded, path) = script("sleep 4444 &\necho $! > pid.new; mv pid.new pid\nwait\n");
        let pid = home.path().join("pid");
        {
            let mut run = std::pin::pin!(run_within(&loaded, &path, Duration::from_secs(600)));
            let begun = async {
                while !pid.exists() {
                    tokio::task::yield_now().await;
                }
            };
            tokio::select! {
                _ = &mut run => panic!("the script ended"),
                () = begun => {}
            }
        }
        gone(std::fs::read_to_string(pid).unwrap().trim()).await;
    }
}
