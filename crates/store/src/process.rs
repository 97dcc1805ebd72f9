//! Whether the process that holds a lease or a lock still lives.
//!
//! A process id alone is not enough: ids are used again. The start time of the
//! process, in clock ticks since boot, tells two with the same id apart.

/// Names this process as a holder: `pid:start:nonce`.
pub fn holder() -> String {
    let pid = std::process::id();
    format!("{pid}:{}:{}", start_time(pid).unwrap_or_default(), nonce())
}

/// Names this process as the holder of a compression lock, in the words Hermes writes.
pub fn lock_holder() -> String {
    let pid = std::process::id();
    format!(
        "pid={pid}:start={}:agent=talaria:nonce={}",
        start_time(pid).unwrap_or_default(),
        nonce()
    )
}

/// This process, as columns name it: id and start time.
pub(crate) fn own() -> (u32, u64) {
    let pid = std::process::id();
    (pid, start_time(pid).unwrap_or_default())
}

fn nonce() -> String {
    let mut nonce = [0_u8; 4];
    // Without randomness two holders of one process would be taken for one, which is harmless.
    let _ = getrandom::fill(&mut nonce);
    crate::images::hex(&nonce)
}

/// Whether the process named by a holder lives.
///
/// Reads `pid:start:nonce` and Hermes' `pid=…:tid=…:…`. A holder that names no
/// process is taken for alive: only time can free what it holds.
pub(crate) fn is_alive(holder: &str) -> bool {
    let mut fields = holder.split(':');
    let first = fields.next().unwrap_or_default();
    let Ok(pid) = first.strip_prefix("pid=").unwrap_or(first).parse::<u32>() else {
        return true;
    };
    let started = fields
        .next()
        .map(|field| field.strip_prefix("start=").unwrap_or(field))
        .and_then(|field| field.parse::<u64>().ok())
        .filter(|started| *started > 0);
    match (start_time(pid), started) {
        (Some(now), Some(then)) => now == then,
        (Some(_), None) => true,
        (None, _) => exists(pid),
    }
}

/// A holder in words.
pub(crate) fn describe(holder: &str) -> String {
    let first = holder.split(':').next().unwrap_or_default();
    format!("process {}", first.strip_prefix("pid=").unwrap_or(first))
}

/// Start time of a process in clock ticks since boot; `None` when it is gone or the system does not say.
fn start_time(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in parentheses and may hold anything.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    // A process that has ended but was not waited for holds nothing any more.
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

/// Whether a process has this id, where there is no `/proc` to tell more.
fn exists(pid: u32) -> bool {
    if std::path::Path::new("/proc/self/stat").exists() {
        return false;
    }
    let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else {
        return false;
    };
    !matches!(
        rustix::process::test_kill_process(pid),
        Err(rustix::io::Errno::SRCH)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives_and_an_older_one_with_its_id_does_not() {
        assert!(is_alive(&holder()));
        assert!(is_alive(&lock_holder()));
        let pid = std::process::id();
        assert!(!is_alive(&format!("{pid}:1:00000000")));
        assert!(is_alive(&format!("pid={pid}:tid=7:agent=x:nonce=12345678")));
        assert!(!is_alive("4194399:5:0000"));
        assert!(is_alive("somebody"));
    }
}
