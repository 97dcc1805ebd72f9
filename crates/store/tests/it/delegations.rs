//! Work that goes on beside its session: written down, ended once, delivered once.

use std::sync::Arc;

use serde_json::json;
use talaria_store::{Delegation, SessionStore};
use talaria_types::{Message, SessionId};

use crate::common::{Home, at};

fn handed_out(home: &Home, session: &SessionId) {
    home.store
        .delegate(&Delegation {
            id: "d1".to_owned(),
            session: session.clone(),
            state: "running".to_owned(),
            task: json!({"tasks": []}),
            result: None,
            dispatched_at: at(1.0),
        })
        .unwrap();
}

fn states(home: &Home, session: &SessionId) -> Vec<String> {
    let open = home.store.open_delegations(session, at(9.0)).unwrap();
    open.into_iter().map(|delegation| delegation.state).collect()
}

#[test]
fn a_result_is_delivered_once_whoever_asks_again() {
    let home = Home::new();
    let session = home.session("s1");
    handed_out(&home, &session);
    assert_eq!(states(&home, &session), ["running"]);
    home.store
        .end_delegation("d1", "completed", &json!({"n": 1}), at(2.0))
        .unwrap();
    home.store
        .end_delegation("d1", "failed", &json!({"n": 2}), at(3.0))
        .unwrap();
    let home = home.reopen();
    let open = home.store.open_delegations(&session, at(9.0)).unwrap();
    assert_eq!(
        (open[0].state.as_str(), &open[0].result),
        ("completed", &Some(json!({"n": 1})))
    );
    let message = Arc::new(Message::user("it is done"));
    let deliver = |home: &Home| home.store.deliver("d1", &session, &message, at(4.0)).unwrap();
    assert!(deliver(&home).is_some());
    assert!(deliver(&home).is_none());
    let home = home.reopen();
    assert!(deliver(&home).is_none());
    assert!(states(&home, &session).is_empty());
    assert_eq!(home.store.live(&session).unwrap().len(), 1);
}

#[test]
fn what_a_dead_process_ran_is_lost_and_what_a_live_one_runs_is_not() {
    let home = Home::new();
    let session = home.session("s1");
    handed_out(&home, &session);
    assert_eq!(states(&home, &session), ["running"]);
    home.sql()
        .execute_batch("UPDATE async_delegations SET owner_pid = 4194399, owner_started_at = 5")
        .unwrap();
    assert_eq!(states(&home, &session), ["lost"]);
    assert_eq!(states(&home.reopen(), &session), ["lost"]);
}

#[test]
fn erasing_a_session_erases_what_it_handed_out() {
    let home = Home::new();
    let session = home.session("s1");
    handed_out(&home, &session);
    home.store.delete(&session).unwrap();
    let left: i64 = home
        .sql()
        .query_row("SELECT count(*) FROM async_delegations", [], |row| row.get(0))
        .unwrap();
    assert_eq!(left, 0);
}

#[test]
fn the_sessions_of_subagents_are_found_by_who_started_them() {
    let home = Home::new();
    let session = home.session("s1");
    let mut child = crate::common::new("c1");
    child.parent = Some(session.clone());
    child.model_config = json!({"_delegate_from": "s1", "_delegate_call": "k"});
    home.store.create_session(&child).unwrap();
    let mut branch = crate::common::new("b1");
    branch.parent = Some(session.clone());
    home.store.create_session(&branch).unwrap();
    let found = home.store.delegates(&session).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].model_config["_delegate_call"], "k");
}
