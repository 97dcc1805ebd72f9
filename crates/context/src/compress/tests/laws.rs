//! What holds for every history.

use proptest::prelude::*;

use super::*;

/// Any row, with sizes that make budgets matter.
fn any_row() -> impl Strategy<Value = Message> {
    let id = prop_oneof![Just("call_0"), Just("call_1"), Just(""), Just("call_2")];
    let tool = prop_oneof![Just("terminal"), Just("read_file"), Just("mystery"), Just("")];
    let arguments = prop_oneof![
        Just("{}".to_owned()),
        Just("{\"path\": \"/srv/a.toml\"}".to_owned()),
        (400..900_usize).prop_map(|size| format!("{{\"content\": \"{}\"}}", "y".repeat(size))),
        "\\PC{0,20}",
    ];
    let calls = proptest::collection::vec((id.clone(), tool, arguments), 0..3);
    let text = prop_oneof![
        Just(String::new()),
        "[a-zA-Z0-9 ./:_-]{0,60}",
        (0..2_500_usize, 0..9_usize).prop_map(|(size, seed)| prose(size, seed)),
        Just("不要修改 /etc/a.conf，超时 30 ms。".to_owned()),
        Just(format!(
            "{SUMMARY_PREFIX}\n## Goal\nan old one\n\n## Anchors\n- /srv/x.toml [m:3]\n\n{END_MARKER}"
        )),
    ];
    prop_oneof![
        3 => text.clone().prop_map(Message::user),
        3 => (text.clone(), calls).prop_map(|(text, calls)| {
            let call = |(id, name, arguments): (&str, &str, String)| ToolCall {
                id: id.to_owned(),
                name: name.to_owned(),
                arguments,
                extra: serde_json::Map::new(),
            };
            Message { tool_calls: calls.into_iter().map(call).collect(), ..Message::assistant(text) }
        }),
        3 => (id, text).prop_map(|(id, text)| Message::tool(id, "terminal", text)),
    ]
}

fn any_history() -> impl Strategy<Value = Vec<StoredMessage>> {
    proptest::collection::vec(any_row(), 0..40).prop_map(stored)
}

fn any_budget() -> impl Strategy<Value = Budget> {
    let window = prop_oneof![Just(4_096_u64), Just(8_192), Just(32_000), Just(200_000)];
    (
        window,
        0.1..0.85_f64,
        0..900_u64,
        0..6_usize,
        0..24_usize,
        prop_oneof![Just(None), (0..4_usize).prop_map(Some)],
    )
        .prop_map(|(window, threshold, overhead, first, last, exchanges)| Budget {
            protect_first_n: first,
            protect_last_n: last,
            keep_exchanges: exchanges,
            ..Budget::new(window, (window as f64 * threshold) as u64, overhead)
        })
}

/// The compressed conversation, if there is one: with a short summary, or a digest.
fn any_compressed(history: &[StoredMessage], budget: &Budget, by_model: bool) -> Option<Compressed> {
    let mut plan = plan(history, budget, Guidance::default()).ok()?;
    for _ in 0..12 {
        if plan.request().is_none() {
            return plan.without_summary();
        }
        if !by_model {
            return plan.give_up("no model", true);
        }
        match plan.accept(&say(summary("in [m:1] and [m:77] the usual"))) {
            Ok(Accepted::Next) => {}
            Ok(Accepted::Done(compressed)) => return Some(*compressed),
            Err(_) => return None,
        }
    }
    panic!("more than twelve slices");
}

fn newest_user(history: &[StoredMessage]) -> Option<&StoredMessage> {
    history.iter().rfind(|row| {
        row.message.role == Role::User && !row.message.content.is_blank() && !is_summary(&row.message)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_compression_of_any_history_is_valid_smaller_and_keeps_the_request(
        history in any_history(),
        budget in any_budget(),
        by_model in any::<bool>(),
    ) {
        let Some(compressed) = any_compressed(&history, &budget, by_model) else { return Ok(()) };
        let rows: Vec<Arc<Message>> = compressed.rows.iter().map(|row| Arc::clone(&row.message)).collect();
        let sent = compose(&rows);
        prop_assert!(validate(&sent).is_empty(), "{:?}", validate(&sent));
        prop_assert!(compressed.tokens_after < compressed.tokens_before);

        let summaries: Vec<usize> =
            (0..rows.len()).filter(|at| rows[*at].content.text().contains(SUMMARY_TAG)).collect();
        // Shortening alone leaves every row where it was.
        let moved = compressed.written_by != WrittenBy::Nobody;
        prop_assert!(!moved || summaries.len() == 1);
        if let Some(request) = newest_user(&history) {
            let at = compressed.rows.iter().position(|row| row.from.is_some_and(|(index, _)| history[index].id == request.id));
            prop_assert!(at.is_some(), "the request is gone");
            let kept = &compressed.rows[at.unwrap_or_default()];
            prop_assert_eq!(&kept.message.content, &request.message.content);
            prop_assert!(!moved || summaries.first().is_some_and(|summary| Some(*summary) < at));
        }

        // What stays and what is hidden are the history, each row once.
        let mut seen: Vec<usize> = compressed.rows.iter().filter_map(|row| row.from.map(|(index, _)| index)).collect();
        let kept = seen.len();
        seen.sort_unstable();
        seen.dedup();
        prop_assert_eq!(seen.len(), kept);
        prop_assert!(kept + compressed.hidden.len() <= history.len());
        for row in &compressed.rows {
            for call in &row.message.tool_calls {
                let before = row.from.map(|(index, _)| history[index].message.tool_calls.clone()).unwrap_or_default();
                let sound = serde_json::from_str::<serde_json::Value>(&call.arguments).is_ok();
                prop_assert!(sound || before.iter().any(|old| old.arguments == call.arguments));
            }
        }

        // Every cited id is one of the history, or was cited by it.
        let text = compressed.summary.unwrap_or_default();
        for (at, _) in text.match_indices("[m:") {
            let end = text[at..].find(']').map_or(at, |end| at + end + 1);
            let id: Option<MessageId> = text[at..end].parse().ok();
            let known = id.is_some_and(|id| id == MessageId(3) || history.iter().any(|row| row.origin == id));
            prop_assert!(known || text[at..end].starts_with("[m:12]"), "{}", &text[at..end]);
        }
        prop_assert!(compressed.anchors.kept <= compressed.anchors.total);
    }

    #[test]
    fn pruning_what_was_pruned_changes_nothing(history in any_history(), old in 0..40_usize) {
        let mut conversation = rows::Conversation::read(&history);
        prune::drop_duplicates(&mut conversation.rows);
        prune::shorten(&mut conversation.rows, |index| index < old);
        let once: Vec<Arc<Message>> = conversation.rows.iter().map(|row| Arc::clone(&row.message)).collect();
        let mut again = rows::Conversation::read(&stored(once.iter().map(|message| Message::clone(message)).collect()));
        prune::drop_duplicates(&mut again.rows);
        prune::shorten(&mut again.rows, |index| index < old);
        prop_assert!(again.rows.iter().all(|row| !row.is_changed()));
    }

    #[test]
    fn facts_are_found_in_any_text_without_trouble(text in "(\\PC|[\n\\\\./:=_#@-]|ms|/srv/|error: |never |[0-9]{1,9}|\\[m:[0-9]{1,3}\\]){0,60}") {
        let history = stored(vec![Message::user(text.clone()), Message::tool("x", "y", text)]);
        let conversation = rows::Conversation::read(&history);
        let record: Vec<_> = conversation.rows.iter().map(summarize::Record::of).collect();
        let found = anchors::collect(Vec::new(), &record);
        let listed = anchors::index(&found, "", 5_000);
        let read = anchors::read_index(listed.section.as_deref().unwrap_or_default());
        let indexed = listed.records.iter().filter(|record| record.place == AnchorPlace::Index).count();
        prop_assert_eq!(read.len(), indexed);
    }
}
