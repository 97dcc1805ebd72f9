//! What became of subagents whose parent was killed while they worked.
//!
//! They died with it. What they had done until then stands in their own sessions: an answer that was given
//! before the end is an answer; anything else is lost, and said to be.

use std::sync::Arc;

use serde_json::{Value, json};
use talaria_store::{Delegation, SessionRow, SessionStore};
use talaria_types::{Message, SessionId};

use super::report::{self, Report, Status};
use crate::clock;

/// The most characters of a found answer.
const MOST: usize = 24_000;

/// The result of a call of `delegate_task` that the program's end cut off; nothing when it had started nobody.
pub(crate) fn of_call(store: &dyn SessionStore, session: &SessionId, call: &str) -> Option<String> {
    let rows = store.delegates(session).ok()?;
    let of_call = rows
        .iter()
        .filter(|row| row.model_config["_delegate_call"] == call);
    let mut reports: Vec<Report> = of_call.map(|row| found(store, row)).collect();
    if reports.is_empty() {
        return None;
    }
    reports.sort_by_key(|report| report.task_index);
    Some(told(&reports).to_string())
}

/// The same for work that was sent away.
pub(super) fn of_delegation(store: &dyn SessionStore, delegation: &Delegation) -> Value {
    let tasks = delegation.task["tasks"].as_array().cloned().unwrap_or_default();
    let reports: Vec<Report> = tasks
        .iter()
        .enumerate()
        .map(|(index, task)| {
            let id = task["session_id"].as_str().unwrap_or_default();
            match store.session(&SessionId::new(id)) {
                Ok(Some(row)) => found(store, &row),
                Ok(None) | Err(_) => {
                    let error = "it had not begun when the program ended".to_owned();
                    Report::bare(index, id, Status::Lost, Some(error))
                }
            }
        })
        .collect();
    told(&reports)
}

fn told(reports: &[Report]) -> Value {
    json!({
        "results": reports,
        "note": "the program ended while these subagents were at work. What a lost one did is not known for sure: read \
                 its session (session_search with its session_id) and look at the files before you repeat anything",
    })
}

/// What a session that nobody works in any more shows.
fn found(store: &dyn SessionStore, row: &SessionRow) -> Report {
    let index = row.model_config["_delegate_task"].as_u64().unwrap_or_default() as usize;
    let messages: Vec<Arc<Message>> = store
        .live(&row.id)
        .unwrap_or_default()
        .into_iter()
        .map(|row| row.message)
        .collect();
    let mut report = match report::answer(&messages) {
        Some(answer) => Report {
            summary: Some(report::cut(&answer, MOST, row.id.as_str())),
            ..Report::bare(index, row.id.as_str(), Status::Completed, None)
        },
        None => {
            let error = "the program ended while it worked; the outcome is unknown".to_owned();
            Report::bare(index, row.id.as_str(), Status::Lost, Some(error))
        }
    };
    report.saw(&messages);
    report.model = row.model.clone().unwrap_or_default();
    report.api_calls = row.api_call_count;
    if row.ended_at.is_none() {
        // The first end stays, so this is only written once.
        let _ = store.end_session(&row.id, report.status.as_str(), clock::now());
    }
    report
}
