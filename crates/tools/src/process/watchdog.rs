//! Lets children die with the program, even when it is killed.
//!
//! A program that gets `SIGKILL` cannot clean up, and the usual remedy (a
//! parent-death signal set between fork and exec) needs unsafe code. So one
//! small `sh` holds the read end of a pipe: it is told of every group that
//! starts and ends, and when the pipe closes, because the program is gone for
//! whatever reason, it kills the groups that are still listed. It starts with
//! the first command and costs about a millisecond, once. A kill in the instant
//! between a start and its telling still leaves that one command behind.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Reads `+ pid` and `- pid` until the pipe closes, then kills what is left.
const SCRIPT: &str = r#"trap '' INT TERM HUP QUIT
live=' '
while read -r what pid; do
  case $what in
    +) live="$live$pid " ;;
    -) case $live in *" $pid "*) live="${live%% $pid *} ${live#* $pid }" ;; esac ;;
  esac
done
for pid in $live; do kill -9 "-$pid"; done
"#;

static WATCHDOG: OnceLock<Mutex<Option<ChildStdin>>> = OnceLock::new();

/// A group that dies with the program until this is dropped.
#[derive(Debug)]
pub(crate) struct Watched(u32);

impl Watched {
    /// Watches the group of `leader`.
    pub(crate) fn new(leader: u32) -> Self {
        tell('+', leader);
        Self(leader)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        tell('-', self.0);
    }
}

fn tell(what: char, leader: u32) {
    let mut pipe = WATCHDOG
        .get_or_init(|| Mutex::new(start()))
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    // Without a watchdog commands still run; only a SIGKILL would orphan them.
    let told = pipe.as_mut().map(|pipe| writeln!(pipe, "{what} {leader}"));
    if let Some(Err(error)) = told {
        tracing::warn!(%error, "the watchdog of child processes is gone");
        *pipe = None;
    }
}

fn start() -> Option<ChildStdin> {
    let child = Command::new("/bin/sh")
        .args(["-c", SCRIPT])
        .current_dir("/")
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // A group of its own: a signal to the program's group must not take the watchdog along.
        .process_group(0)
        .spawn();
    match child {
        Ok(mut child) => child.stdin.take(),
        Err(error) => {
            tracing::warn!(%error, "no watchdog for child processes");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the script would kill, in the order it would.
    fn left_after(lines: &str) -> String {
        let script = SCRIPT.replace("kill -9 \"-$pid\"", "echo \"-$pid\"");
        let mut child = Command::new("/bin/sh")
            .args(["-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        String::from_utf8(output.stdout)
            .unwrap()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn only_groups_that_have_not_ended_are_killed_when_the_pipe_closes() {
        assert_eq!(left_after("+ 10\n+ 101\n+ 11\n- 10\n"), "-101 -11");
        assert_eq!(left_after("+ 10\n- 10\n"), "");
        assert_eq!(left_after("+ 7\n+ 8\n- 8\n- 9\n"), "-7");
        assert_eq!(left_after(""), "");
    }
}
