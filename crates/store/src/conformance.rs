//! What every implementation of [`SessionStore`] must do, as checks that any of them can run.
//!
//! Each check takes a store, makes sessions with names of its own and asserts;
//! [`all`] runs every one. A failed law panics with what was expected, as a test
//! does. Speed and the file's shape are each implementation's own affair.

use std::sync::Arc;

use serde_json::{Value, json};
use talaria_types::{
    Anchors, Effect, Message, MessageId, SessionId, StoredMessage, Timestamp, ToolCall, Trigger, TurnId,
    Usage,
};

use crate::{
    CallJournal, CallState, Compacted, CompactionFacts, LeaseOutcome, ListFilter, NewSession, Origin, Result,
    Rotation, SearchQuery, SessionStore, StoreError, TurnRecord, UsageRow, holder,
};

/// Runs every check; the store should be empty.
pub fn all(store: &dyn SessionStore) -> Result<()> {
    messages_round_trip(store)?;
    the_first_end_reason_stays(store)?;
    names_resolve(store)?;
    usage_adds_up(store)?;
    calls_stay_open_until_their_row(store)?;
    leases_exclude(store)?;
    records_keep_their_order(store)?;
    branches_part(store)?;
    rewinding_hides(store)?;
    compressing_and_undoing_is_identity(store)?;
    search_finds_each_original_once(store)?;
    deleting_erases(store)
}

fn moment(seconds: f64) -> Timestamp {
    Timestamp(1_767_258_000.0 + seconds)
}

fn begin(store: &dyn SessionStore, id: &str) -> Result<SessionId> {
    store.create_session(&new(id))?;
    Ok(SessionId::new(id))
}

fn new(id: &str) -> NewSession {
    NewSession {
        id: SessionId::new(id),
        source: "cli".to_owned(),
        parent: None,
        model: "model".to_owned(),
        model_config: json!({}),
        system_prompt: "prompt".to_owned(),
        cwd: None,
        title: None,
        started_at: moment(0.0),
        billing: Default::default(),
    }
}

fn say(store: &dyn SessionStore, session: &SessionId, messages: Vec<Message>) -> Result<Vec<MessageId>> {
    let messages: Vec<Arc<Message>> = messages.into_iter().map(Arc::new).collect();
    store.append(session, &messages, moment(1.0))
}

fn words(messages: &[StoredMessage]) -> Vec<String> {
    messages
        .iter()
        .map(|stored| stored.message.content.text().into_owned())
        .collect()
}

fn dialogue(name: &str, turns: usize) -> Vec<Message> {
    (0..turns)
        .flat_map(|turn| {
            [
                Message::user(format!("{name} ask {turn}")),
                Message::assistant(format!("{name} reply {turn}")),
            ]
        })
        .collect()
}

fn messages_round_trip(store: &dyn SessionStore) -> Result<()> {
    let session = begin(store, "conformance_trip")?;
    let mut asked = Message::assistant("");
    asked.tool_calls = vec![ToolCall {
        id: "call_0".to_owned(),
        name: "terminal".to_owned(),
        arguments: "{\"command\": \"echo 日本\"}".to_owned(),
        extra: [("signature".to_owned(), json!("x"))].into_iter().collect(),
    }];
    asked.reasoning.text = Some("thinking".to_owned());
    asked.reasoning.details = Some(json!([{ "type": "thinking" }]));
    let mut result = Message::tool("call_0", "terminal", "日本");
    result.brief = Some("[terminal] ran".to_owned());
    let mut prompt = Message::user("prompt");
    prompt.sent_as = Some("prompt with memory".to_owned());
    let said = vec![prompt, asked, result, Message::assistant("answer\0with a NUL")];
    let ids = say(store, &session, said.clone())?;
    let live = store.live(&session)?;
    let back: Vec<Message> = live.iter().map(|stored| (*stored.message).clone()).collect();
    assert_eq!(back, said, "messages come back as they were");
    assert_eq!(
        live.iter().map(|stored| stored.id).collect::<Vec<_>>(),
        ids,
        "under the ids that were given"
    );
    let again = store.append_repeatable(&session, &[Arc::new(Message::assistant("more"))], moment(1.0))?;
    assert_eq!(
        words(&store.live(&session)?).last().map(String::as_str),
        Some("more")
    );
    let ids = [ids, again].concat();
    assert!(ids.is_sorted(), "ids rise");
    let row = store
        .session(&session)?
        .map(|row| (row.message_count, row.tool_call_count));
    assert_eq!(row, Some((5, 1)), "rows and calls are counted");
    let unknown = store.append(&SessionId::new("conformance_nobody"), &[], moment(0.0));
    assert!(
        matches!(unknown, Err(StoreError::UnknownSession { .. })),
        "a session must exist"
    );
    Ok(())
}

fn the_first_end_reason_stays(store: &dyn SessionStore) -> Result<()> {
    let session = begin(store, "conformance_end")?;
    store.end_session(&session, "cli_close", moment(5.0))?;
    store.end_session(&session, "new_session", moment(6.0))?;
    let reason = |store: &dyn SessionStore| {
        Ok::<_, StoreError>(store.session(&session)?.and_then(|row| row.end_reason))
    };
    assert_eq!(reason(store)?.as_deref(), Some("cli_close"));
    store.reopen(&session)?;
    assert_eq!(reason(store)?, None);
    Ok(())
}

fn names_resolve(store: &dyn SessionStore) -> Result<()> {
    let one = begin(store, "conformance_name_1")?;
    let two = begin(store, "conformance_name_2")?;
    store.set_title(&one, Some("Conformance"))?;
    store.set_title(&two, Some(&store.next_title("Conformance")?))?;
    assert_eq!(store.resolve("conformance_name_1")?, one, "an id");
    assert_eq!(
        store.resolve("Conformance")?,
        two,
        "the newest of a numbered title"
    );
    assert!(matches!(
        store.resolve("conformance_name_"),
        Err(StoreError::AmbiguousSession { .. })
    ));
    assert!(matches!(
        store.resolve("conformance_nobody"),
        Err(StoreError::UnknownSession { .. })
    ));
    assert!(matches!(
        store.set_title(&two, Some("Conformance")),
        Err(StoreError::TitleTaken { .. })
    ));
    assert_eq!(
        store.title_if_none(&one, "Other")?,
        None,
        "a title that is there stays"
    );
    Ok(())
}

fn usage_adds_up(store: &dyn SessionStore) -> Result<()> {
    let session = begin(store, "conformance_usage")?;
    let row = |task: &str, cost_usd| UsageRow {
        task: task.to_owned(),
        model: "model".to_owned(),
        billing: Default::default(),
        calls: 1,
        usage: Usage {
            prompt_tokens: 100,
            completion_tokens: 7,
            cache_read_tokens: 40,
            ..Usage::default()
        },
        cost_usd,
    };
    store.add_usage(&session, &row("main", Some(0.25)), moment(1.0))?;
    store.add_usage(&session, &row("main", Some(0.25)), moment(2.0))?;
    store.add_usage(&session, &row("compression", Some(0.5)), moment(3.0))?;
    let totals = store.totals(&session)?;
    assert_eq!(
        (
            totals.usage.prompt_tokens,
            totals.usage.cache_read_tokens,
            totals.api_calls
        ),
        (200, 80, 2)
    );
    assert_eq!(totals.cost_usd, Some(1.0), "side tasks cost too");
    store.add_usage(&session, &row("main", None), moment(4.0))?;
    assert_eq!(
        store.totals(&session)?.cost_usd,
        None,
        "one unknown price makes the sum unknown"
    );
    Ok(())
}

fn calls_stay_open_until_their_row(store: &dyn SessionStore) -> Result<()> {
    let session = begin(store, "conformance_calls")?;
    let mut entry = CallJournal {
        session_id: session.clone(),
        turn_id: TurnId::new("conformance_turn"),
        call_id: "call_0".to_owned(),
        tool: "terminal".to_owned(),
        effect: Effect::Execute,
        state: CallState::Started,
        started_at: Some(moment(1.0)),
        pid: Some(7),
        result: None,
    };
    store.journal(&entry, moment(1.0))?;
    assert_eq!(store.open_calls(&session)?, [entry.clone()]);
    let result = Message::tool("call_0", "terminal", "out");
    (entry.state, entry.result) = (CallState::Finished, Some(Arc::new(result.clone())));
    store.journal(&entry, moment(2.0))?;
    assert_eq!(
        store.open_calls(&session)?,
        [entry],
        "a finished call is open until its row is written"
    );
    say(store, &session, vec![result])?;
    assert!(store.open_calls(&session)?.is_empty());
    Ok(())
}

fn leases_exclude(store: &dyn SessionStore) -> Result<()> {
    let session = begin(store, "conformance_lease")?;
    let (one, two) = (holder(), holder());
    assert_eq!(
        store.acquire_lease(&session, &one, moment(1.0))?,
        LeaseOutcome::Held
    );
    assert!(matches!(
        store.acquire_lease(&session, &two, moment(2.0))?,
        LeaseOutcome::Busy { .. }
    ));
    store.release_lease(&session, &one)?;
    assert_eq!(
        store.acquire_lease(&session, &two, moment(3.0))?,
        LeaseOutcome::Held
    );
    store.release_lease(&session, &two)?;
    let until = moment(300.0);
    assert_eq!(
        store.acquire_compression_lock(&session, &one, moment(1.0), until)?,
        LeaseOutcome::Held
    );
    assert!(matches!(
        store.acquire_compression_lock(&session, &two, moment(2.0), until)?,
        LeaseOutcome::Busy { .. }
    ));
    assert_eq!(
        store.acquire_compression_lock(&session, &two, moment(301.0), moment(400.0))?,
        LeaseOutcome::Held
    );
    assert!(
        !store.renew_compression_lock(&session, &one, until)?,
        "a lock that was lost cannot be renewed"
    );
    store.release_compression_lock(&session, &two)
}

fn records_keep_their_order(store: &dyn SessionStore) -> Result<()> {
    let session = begin(store, "conformance_records")?;
    let turn = TurnId::new("conformance_records_turn");
    let record = |kind: &str| TurnRecord {
        session_id: session.clone(),
        turn_id: turn.clone(),
        kind: kind.to_owned(),
        payload: json!({ "kind": kind }),
    };
    store.record(&[record("begin"), record("request")], moment(1.0))?;
    store.record(&[record("end")], moment(2.0))?;
    let rows = store.records(&session, &turn)?;
    assert_eq!(
        rows.iter().map(|row| row.record.clone()).collect::<Vec<_>>(),
        ["begin", "request", "end"].map(record)
    );
    assert_eq!(store.turns(&session)?, [turn]);
    store.set_meta("conformance", Some("value"))?;
    assert_eq!(store.meta("conformance")?.as_deref(), Some("value"));
    store.set_meta("conformance", None)?;
    assert_eq!(store.meta("conformance")?, None);
    Ok(())
}

fn branches_part(store: &dyn SessionStore) -> Result<()> {
    let trunk = begin(store, "conformance_trunk")?;
    let ids = say(store, &trunk, dialogue("trunk", 2))?;
    assert_eq!(store.branch(&trunk, &new("conformance_branch"))?, 4);
    let branch = SessionId::new("conformance_branch");
    say(store, &trunk, vec![Message::user("trunk only")])?;
    let live = store.live(&branch)?;
    assert_eq!(live.len(), 4);
    assert_eq!(
        live.iter().map(|stored| stored.origin).collect::<Vec<_>>(),
        ids,
        "copies know their originals"
    );
    assert_eq!(store.tip(&trunk)?, trunk, "a branch is no continuation");
    Ok(())
}

fn rewinding_hides(store: &dyn SessionStore) -> Result<()> {
    let session = begin(store, "conformance_rewind")?;
    let ids = say(store, &session, dialogue("rewind", 2))?;
    assert_eq!(store.rewind(&session, 1)?, 2);
    assert_eq!(store.live(&session)?.len(), 2);
    assert_eq!(store.all(&session)?.len(), 4, "nothing is erased");
    assert!(
        store.recall(&ids[2..])?.is_empty(),
        "what was taken back is not recalled"
    );
    Ok(())
}

fn compressing_and_undoing_is_identity(store: &dyn SessionStore) -> Result<()> {
    for child in [Some("conformance_tip"), None] {
        let name = if child.is_some() {
            "conformance_rotate"
        } else {
            "conformance_in_place"
        };
        let session = begin(store, name)?;
        let ids = say(store, &session, dialogue(name, 4))?;
        let mut want = words(&store.live(&session)?);
        let live = store.live(&session)?;
        let rotation = Rotation {
            session: session.clone(),
            pending: vec![Arc::new(Message::user("pending"))],
            child: child.map(SessionId::new),
            system_prompt: "rebuilt".to_owned(),
            messages: vec![
                Compacted {
                    message: Arc::new(Message::user("SUMMARY")),
                    origin: Origin::New,
                },
                Compacted {
                    message: live[7].message.clone(),
                    origin: Origin::Row(live[7].id),
                },
                Compacted {
                    message: Arc::new(Message::user("pending")),
                    origin: Origin::Pending(0),
                },
            ],
            summary_at: Some(0),
            facts: facts(),
            at: moment(10.0),
        };
        let written = store.rotate(&rotation)?;
        let tip = store.tip(&session)?;
        assert_eq!((written.session.clone(), written.hidden), (tip.clone(), 7));
        assert_eq!(
            words(&store.live(&tip)?),
            [
                "SUMMARY".to_owned(),
                format!("{name} reply 3"),
                "pending".to_owned()
            ]
        );
        assert_eq!(store.recall(&ids)?.len(), 8, "every original is recalled");
        say(store, &tip, vec![Message::assistant("after")])?;
        want.extend(["pending".to_owned(), "after".to_owned()]);
        assert_eq!(words(&store.originals(&tip, 1)?), want);
        let undone = store.uncompress(&session, 1, &new(&format!("{name}_undone")))?;
        assert_eq!(
            words(&store.live(&undone.session)?),
            want,
            "undo brings all of it back"
        );
        assert_eq!(
            store.tip(&session)?,
            tip,
            "old names still reach the compressed end"
        );
        assert!(matches!(
            store.originals(&undone.session, 1),
            Err(StoreError::NothingToUndo { .. })
        ));
    }
    Ok(())
}

fn facts() -> CompactionFacts {
    CompactionFacts {
        trigger: Trigger::Command,
        summary: "SUMMARY".to_owned(),
        anchor_index: Value::Array(Vec::new()),
        anchors: Anchors::default(),
        tokens_before: 100,
        tokens_after: 10,
        usage: Usage::default(),
        cost_usd: None,
        model: None,
        duration_ms: 1,
    }
}

fn search_finds_each_original_once(store: &dyn SessionStore) -> Result<()> {
    let find = |text: &str| {
        store.search(&SearchQuery {
            text: text.to_owned(),
            limit: 50,
            ..SearchQuery::default()
        })
    };
    let found = find("\"conformance_rotate reply 3\"")?;
    assert_eq!((found.total, found.hits.len()), (1, 1), "copies are no hits");
    assert_eq!(found.hits[0].session_id.as_str(), "conformance_rotate");
    for text in [
        "\"",
        "AND",
        "(((",
        "a AND OR b",
        "*",
        "^",
        "NEAR(",
        "x\"y",
        "-",
        "don't",
        "桂",
        "",
    ] {
        find(text)?;
    }
    Ok(())
}

fn deleting_erases(store: &dyn SessionStore) -> Result<()> {
    let session = begin(store, "conformance_delete")?;
    let ids = say(store, &session, vec![Message::user("conformanceerased")])?;
    store.delete(&session)?;
    assert!(store.session(&session)?.is_none() && store.recall(&ids)?.is_empty());
    let query = SearchQuery {
        text: "conformanceerased".to_owned(),
        limit: 5,
        ..SearchQuery::default()
    };
    assert_eq!(store.search(&query)?.total, 0);
    assert!(matches!(
        store.delete(&session),
        Err(StoreError::UnknownSession { .. })
    ));
    let listed = store.list(&ListFilter::default())?;
    assert!(
        listed
            .iter()
            .all(|entry| entry.id.as_str() != "conformance_rotate"),
        "a compressed session is not listed"
    );
    Ok(())
}
