//! Runs one command with a text on its standard input, within a time.
//!
//! It stands in a process group of its own, so that what it started ends with it when its
//! time is over. What it prints is read to the end and kept up to a limit: a hook that
//! floods must neither fill the memory nor stop for want of a reader.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

use crate::reply::Output;

/// What is kept of standard output and of standard error, in bytes.
const STDOUT_BYTES: usize = 1024 * 1024;
const STDERR_BYTES: usize = 64 * 1024;
/// How long output is awaited after the command has ended; a child of it may hold the pipe.
const DRAIN: Duration = Duration::from_millis(100);

/// The variables of a command.
pub type Variables = BTreeMap<OsString, OsString>;

/// Why a command gave no answer.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum NotRun {
    #[error("could not be started: {0}")]
    NotStarted(String),
    #[error("took longer than {0} s and was ended")]
    TimedOut(u64),
}

/// Runs `argv`.
///
/// # Errors
/// When it could not be started or took too long.
pub(crate) async fn run(
    argv: &[String],
    cwd: &Path,
    variables: &Variables,
    input: Vec<u8>,
    limit: Duration,
) -> Result<Output, NotRun> {
    let (program, rest) = argv
        .split_first()
        .ok_or_else(|| NotRun::NotStarted("the command is empty".to_owned()))?;
    let mut command = Command::new(program);
    command
        .args(rest)
        .current_dir(cwd)
        .env_clear()
        .envs(variables)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    let child = command
        .spawn()
        .map_err(|error| NotRun::NotStarted(error.to_string()))?;
    let group = Group(child.id());
    let ended = tokio::time::timeout(limit, talk(child, input)).await;
    match ended {
        Ok(output) => {
            group.leave();
            Ok(output)
        }
        // Dropping the group ends it.
        Err(_) => Err(NotRun::TimedOut(limit.as_secs())),
    }
}

/// Ends the whole group when it is dropped.
struct Group(Option<u32>);

impl Group {
    fn leave(mut self) {
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let pid = self.0.and_then(|id| i32::try_from(id).ok()).filter(|id| *id > 1);
        if let Some(pid) = pid.and_then(Pid::from_raw) {
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}

async fn talk(mut child: Child, input: Vec<u8>) -> Output {
    let mut stdin = child.stdin.take();
    let stdout = child.stdout.take();
    let stderr = child.stderr.take();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let write = async {
        if let Some(mut stdin) = stdin.take() {
            // A hook need not read what it is told.
            let _ = stdin.write_all(&input).await;
        }
        std::future::pending::<()>().await;
    };
    let read = async {
        tokio::join!(
            keep(stdout, &mut out, STDOUT_BYTES),
            keep(stderr, &mut err, STDERR_BYTES)
        );
    };
    let code = {
        tokio::pin!(read);
        tokio::pin!(write);
        let mut open = true;
        let status = loop {
            tokio::select! {
                status = child.wait() => break status,
                () = &mut read, if open => open = false,
                () = &mut write => {}
            }
        };
        if open {
            let _ = tokio::time::timeout(DRAIN, read).await;
        }
        status.ok().and_then(|status| status.code())
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Output {
        code,
        stdout: text(&out),
        stderr: text(&err),
    }
}

/// Reads to the end and keeps the first `most` bytes.
async fn keep(pipe: Option<impl AsyncRead + Unpin>, kept: &mut Vec<u8>, most: usize) {
    let Some(mut pipe) = pipe else { return };
    let mut buffer = vec![0; 8 * 1024];
    while let Ok(count) = pipe.read(&mut buffer).await {
        if count == 0 {
            return;
        }
        let room = most.saturating_sub(kept.len()).min(count);
        kept.extend_from_slice(&buffer[..room]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    async fn sh(script: &str, limit_ms: u64) -> Result<Output, NotRun> {
        let argv = ["/bin/sh", "-c", script].map(str::to_owned);
        let variables = Variables::from([("PATH".into(), "/usr/bin:/bin".into())]);
        let limit = Duration::from_millis(limit_ms);
        run(&argv, Path::new("/"), &variables, b"told".to_vec(), limit).await
    }

    #[tokio::test]
    async fn it_reads_what_it_is_told_and_both_outputs_are_kept_apart() {
        let output = sh("cat; echo oh >&2; exit 2", 20_000).await.unwrap();
        assert_eq!(output.code, Some(2));
        assert_eq!((&*output.stdout, &*output.stderr), ("told", "oh\n"));
    }

    #[tokio::test]
    async fn a_hook_that_hangs_is_ended_with_all_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("pid");
        let script = format!("sleep 600 & echo $! > {}; wait", mark.display());
        assert_eq!(sh(&script, 2_000).await, Err(NotRun::TimedOut(2)));
        let child: i32 = std::fs::read_to_string(&mark).unwrap().trim().parse().unwrap();
        let gone = || {
            let state = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
            state.is_empty()
                || state
                    .rsplit_once(')')
                    .is_some_and(|(_, rest)| rest.starts_with(" Z"))
        };
        let patience = Instant::now() + Duration::from_secs(10);
        while !gone() && Instant::now() < patience {
            tokio::task::yield_now().await;
        }
        assert!(gone());
    }

    #[tokio::test]
    async fn a_flood_is_read_and_not_kept() {
        let output = sh("head -c 8000000 /dev/zero; exit 0", 60_000).await.unwrap();
        assert_eq!((output.code, output.stdout.len()), (Some(0), STDOUT_BYTES));
    }

    #[tokio::test]
    async fn a_child_left_behind_does_not_hold_the_answer_back() {
        let output = sh("sleep 600 & echo $!", 30_000).await.unwrap();
        let child = output.stdout.trim().parse().ok().and_then(Pid::from_raw).unwrap();
        assert_eq!(rustix::process::kill_process(child, Signal::KILL), Ok(()));
    }

    #[tokio::test]
    async fn what_is_not_there_is_told() {
        let argv = ["/no/such/program".to_owned()];
        let ran = run(
            &argv,
            Path::new("/"),
            &Variables::new(),
            Vec::new(),
            Duration::from_secs(5),
        )
        .await;
        assert!(matches!(ran, Err(NotRun::NotStarted(_))));
    }
}
