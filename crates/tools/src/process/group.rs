//! Ends whole trees of processes.
//!
//! Every command runs in a process group of its own, so one signal reaches
//! what it started. What left the group (a job of an interactive shell, a
//! child that called `setsid`) is found by walking `/proc`, where there is one.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};

/// How often a group that was told to end is looked at.
const GLANCE: Duration = Duration::from_millis(5);

/// How long killed processes are awaited.
const DEATH: Duration = Duration::from_millis(100);

/// One process as `/proc` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    pid: u32,
    parent: u32,
    group: u32,
    dead: bool,
}

/// The tree that a command's shell started; named by the shell's pid.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    leader: u32,
    /// Descendants that stand outside of the leader's group, as far as they were seen.
    strays: Vec<u32>,
}

impl Tree {
    /// The tree below `leader` as it is now.
    pub(crate) fn of(leader: u32) -> Self {
        Self::among(leader, &processes())
    }

    fn among(leader: u32, all: &[Seen]) -> Self {
        let strays = descendants(leader, all)
            .into_iter()
            .filter(|seen| seen.group != leader)
            .map(|seen| seen.pid)
            .collect();
        Self { leader, strays }
    }

    /// Asks every process of the tree to end.
    pub(crate) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Ends every process of the tree.
    pub(crate) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        if let Some(leader) = pid(self.leader) {
            // The leader by its own id too: one that is about to call `setsid` has no group yet.
            let _ = kill_process_group(leader, signal);
            let _ = kill_process(leader, signal);
        }
        for stray in self.strays.iter().filter_map(|stray| pid(*stray)) {
            let _ = kill_process(stray, signal);
        }
    }

    /// Whether any process of it still runs; a zombie does not.
    pub(crate) fn runs(&self) -> bool {
        if group_runs(self.leader) {
            return true;
        }
        self.strays
            .iter()
            .any(|stray| seen(*stray).is_some_and(|seen| !seen.dead))
    }

    /// Terminates, gives the tree `grace` to end, then kills what is left.
    pub(crate) async fn end(self, grace: Duration) {
        self.terminate();
        self.gone(grace).await;
        self.kill();
        // Whoever was born between the look and the signal.
        Self::of(self.leader).kill();
        // A signal takes a moment to do its work.
        self.gone(DEATH).await;
    }

    async fn gone(&self, patience: Duration) {
        let deadline = Instant::now() + patience;
        while self.runs() && Instant::now() < deadline {
            tokio::time::sleep(GLANCE).await;
        }
    }
}

/// Ends several trees together within about `budget`, waiting on this thread.
pub(crate) fn end_all(leaders: &[u32], budget: Duration) {
    if leaders.is_empty() {
        return;
    }
    let all = processes();
    let trees: Vec<Tree> = leaders.iter().map(|leader| Tree::among(*leader, &all)).collect();
    trees.iter().for_each(Tree::terminate);
    wait_until_gone(&trees, budget / 2);
    trees.iter().for_each(Tree::kill);
    wait_until_gone(&trees, budget / 2);
}

fn wait_until_gone(trees: &[Tree], budget: Duration) {
    let deadline = Instant::now() + budget;
    while Instant::now() < deadline && trees.iter().any(Tree::runs) {
        std::thread::sleep(GLANCE);
    }
}

/// Whether the group of `leader` has a process that is not a zombie.
pub(crate) fn group_runs(leader: u32) -> bool {
    let Some(group) = pid(leader) else { return false };
    if test_kill_process_group(group).is_err() {
        return false;
    }
    let all = processes();
    // Without `/proc` the answer of the kernel has to do.
    all.is_empty() || all.iter().any(|seen| seen.group == leader && !seen.dead)
}

fn pid(raw: u32) -> Option<Pid> {
    // 0 and 1 would mean our own group and everybody.
    i32::try_from(raw)
        .ok()
        .filter(|raw| *raw > 1)
        .and_then(Pid::from_raw)
}

fn descendants(root: u32, all: &[Seen]) -> Vec<Seen> {
    let mut children: HashMap<u32, Vec<Seen>> = HashMap::new();
    for seen in all {
        children.entry(seen.parent).or_default().push(*seen);
    }
    let mut found = Vec::new();
    let mut open = vec![root];
    while let Some(parent) = open.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            open.push(child.pid);
            found.push(child);
        }
    }
    found
}

fn processes() -> Vec<Seen> {
    let Ok(folder) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    folder
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(seen)
        .collect()
}

fn seen(pid: u32) -> Option<Seen> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse_stat(pid, &String::from_utf8_lossy(&stat))
}

/// Reads `pid (name) state parent group …`; the name may hold spaces and parentheses.
fn parse_stat(pid: u32, stat: &str) -> Option<Seen> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    Some(Seen {
        pid,
        parent: fields.next()?.parse().ok()?,
        group: fields.next()?.parse().ok()?,
        dead: matches!(state, "Z" | "X"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_name_with_parentheses_does_not_confuse_the_reader() {
        let seen = parse_stat(7, "7 (a) b (c) S 3 5 5 0 -1").unwrap();
        assert_eq!(
            seen,
            Seen {
                pid: 7,
                parent: 3,
                group: 5,
                dead: false
            }
        );
        assert!(parse_stat(7, "7 (sh) Z 3 5").unwrap().dead);
        assert_eq!(parse_stat(7, "nonsense"), None);
    }

    #[test]
    fn grandchildren_are_found_and_strangers_are_not() {
        let all: Vec<Seen> = [(2, 1, 2), (3, 2, 2), (4, 3, 4), (5, 1, 5)]
            .map(|(pid, parent, group)| Seen {
                pid,
                parent,
                group,
                dead: false,
            })
            .to_vec();
        let mut found: Vec<u32> = descendants(2, &all).iter().map(|seen| seen.pid).collect();
        found.sort_unstable();
        assert_eq!(found, [3, 4]);
    }

    #[test]
    fn our_own_group_and_everybody_are_never_meant() {
        assert_eq!(pid(0), None);
        assert_eq!(pid(1), None);
    }
}
