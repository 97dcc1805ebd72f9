//! The output of a process by lines.

use serde_json::{Value, json};

use crate::process::{Job, SHOWN, Status, last_chars};

/// Lines that are shown when no number is asked for.
const LINES: usize = 200;

/// Lines of what `job` has printed: the last ones, or those from `offset` on.
pub(super) fn lines(job: &Job, offset: Option<usize>, limit: Option<usize>) -> Value {
    let (text, whole) = job.output();
    let all: Vec<&str> = text.lines().collect();
    let (from, to) = window(all.len(), offset.unwrap_or(0), limit.unwrap_or(LINES).max(1));
    let shown = all[from..to].join("\n");
    let cut = shown.chars().count() > SHOWN;
    let status = match job.status() {
        Status::Running => "running",
        Status::Exited(_) => "exited",
    };
    let mut value = json!({
        "session_id": job.id,
        "status": status,
        "output": if cut { last_chars(&shown, SHOWN) } else { &shown },
        "total_lines": all.len(),
        "showing": if from == to { "no lines".to_owned() } else { format!("lines {}-{to}", from + 1) },
    });
    if let Status::Exited(code) = job.status() {
        value["exit_code"] = code.into();
    }
    if !whole || cut {
        value["note"] = "the output is longer; its beginning is not shown".into();
    }
    value
}

/// The lines to show, from and to; without an offset the last ones.
fn window(total: usize, offset: usize, limit: usize) -> (usize, usize) {
    if offset == 0 {
        return (total.saturating_sub(limit), total);
    }
    let from = offset.min(total);
    (from, from.saturating_add(limit).min(total))
}

#[cfg(test)]
mod tests {
    use super::window;

    #[test]
    fn without_an_offset_the_last_lines_are_shown() {
        assert_eq!(window(10, 0, 3), (7, 10));
        assert_eq!(window(2, 0, 3), (0, 2));
        assert_eq!(window(10, 4, 3), (4, 7));
        assert_eq!(window(10, 40, 3), (10, 10));
        assert_eq!(window(10, 4, usize::MAX), (4, 10));
    }
}
