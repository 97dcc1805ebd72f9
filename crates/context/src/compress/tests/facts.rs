//! Which facts are found, which are listed, and what becomes of them later.

use super::*;

fn anchors_of(compressed: &Compressed) -> String {
    let text = compressed.summary.clone().unwrap_or_default();
    text.split_once(ANCHORS_HEADING)
        .map_or_else(String::new, |(_, listed)| listed.to_owned())
}

/// A conversation with these rows behind the four that a first compression protects.
fn beginning_with(first: Vec<Message>) -> Vec<StoredMessage> {
    let protected = chat(2, 60).into_iter();
    stored(protected.chain(first).chain(chat(16, 1_500)).collect())
}

#[test]
fn the_line_numbers_of_a_file_are_no_facts() {
    let plain = "    31|// Turned back:\n    32|A = 1;\n    33|let port = 8443; // in /srv/a/b.toml\n";
    let escaped = serde_json::json!({"content": plain, "total_lines": 3}).to_string();
    for printed in [plain.to_owned(), escaped] {
        let [call, result] = used("c1", "read_file", "{\"path\": \"src/x.rs\"}", &printed);
        let history = beginning_with(vec![Message::user("Read it."), call, result]);
        let compressed = compressed_with(&history, &budget(), &summary("nothing"));
        let listed = anchors_of(&compressed);
        assert!(
            !listed.contains("back: 32") && !listed.contains("32|"),
            "{listed}"
        );
        assert!(listed.contains("/srv/a/b.toml"), "{listed}");
    }
}

#[test]
fn a_series_is_told_by_its_first_and_a_number_without_a_name_not_at_all() {
    let lines: String = (1..9)
        .map(|line| {
            format!(
                "src/parts/wing.rs:{}: let part = table.get(&key)?; // {} ms\n",
                100 + line,
                900 + line
            )
        })
        .collect();
    let [call, result] = used(
        "c1",
        "search_files",
        "{}",
        &format!("{lines}the latency was 372.5 ms\n"),
    );
    let history = beginning_with(vec![Message::user("Look."), call, result]);
    let listed = anchors_of(&compressed_with(&history, &budget(), &summary("nothing")));
    assert_eq!(listed.matches("wing.rs").count(), 1, "{listed}");
    assert!(
        listed.contains("latency: 372.5 ms") && !listed.contains("904 ms"),
        "{listed}"
    );
}

#[test]
fn what_one_summary_said_and_the_next_leaves_out_comes_into_the_index() {
    let history = beginning_with(vec![
        Message::user("The ticket is INC-48213, the file /srv/heron/main.conf."),
        Message::assistant("Noted."),
    ]);
    let first = compressed_with(
        &history,
        &budget(),
        &summary("INC-48213 and /srv/heron/main.conf"),
    );
    assert!(!anchors_of(&first).contains("INC-48213"));
    let again = continued(&first, chat(16, 1_500));
    let guidance = Guidance {
        known: first.anchor_records,
        ..Guidance::default()
    };
    let mut plan = plan(&again, &budget(), guidance).unwrap();
    let Accepted::Done(second) = plan.accept(&say(summary("nothing of it"))).unwrap() else {
        panic!("one slice")
    };
    let listed = anchors_of(&second);
    assert!(
        listed.contains("INC-48213") && listed.contains("/srv/heron/main.conf"),
        "{listed}"
    );
    assert!(listed.contains("[m:5]"), "{listed}");
}

#[test]
fn what_the_person_said_outranks_what_tools_printed_also_one_compression_later() {
    let mut first = vec![Message::user("The ticket is INC-48213.")];
    first.extend((0..40).flat_map(|at| {
        used(
            &format!("c{at}"),
            "terminal",
            &format!("{{\"command\": \"make part_{at}\"}}"),
            &format!("wrote /srv/out/build-{at}/report.html"),
        )
    }));
    let tight = Budget::new(8_192, 4_096, 200);
    let mut known = Vec::new();
    let mut history = beginning_with(first);
    for pass in 0..3 {
        let guidance = Guidance {
            known,
            ..Guidance::default()
        };
        let mut plan = plan(&history, &tight, guidance).unwrap();
        let compressed = loop {
            plan.request();
            if let Accepted::Done(compressed) = plan.accept(&say(summary("nothing"))).unwrap() {
                break compressed;
            }
        };
        assert!(anchors_of(&compressed).contains("INC-48213"), "pass {pass}");
        assert!(
            compressed.anchors.kept < compressed.anchor_records.len() as u64,
            "all had room"
        );
        known = compressed.anchor_records.clone();
        history = continued(&compressed, chat(8, 1_500));
    }
}

#[test]
fn what_is_remembered_of_facts_has_an_end() {
    let anchors = |count: i64| {
        let anchor = |at| anchors::Anchor {
            text: format!("INC-{at}"),
            id: MessageId(at),
            rank: if at % 2 == 0 {
                AnchorRank::Said
            } else {
                AnchorRank::Printed
            },
            subject: None,
            was_left_out: false,
        };
        (0..count).map(anchor).collect::<Vec<_>>()
    };
    assert_eq!(anchors::best(anchors(1_500)).len(), 1_500);
    let best = anchors::best(anchors(4_000));
    assert_eq!(best.len(), 1_500);
    assert!(
        best.iter()
            .all(|anchor| anchor.rank == AnchorRank::Said && anchor.id.0 >= 1_000)
    );
}

#[test]
fn a_digest_of_a_digest_of_a_digest_does_not_grow() {
    let mut history = stored(chat(20, 1_500));
    let mut sizes = Vec::new();
    for _ in 0..24 {
        let plan = plan(&history, &budget(), Guidance::default()).unwrap();
        let compressed = plan.give_up("no model", true).unwrap();
        sizes.push(compressed.tokens_after);
        history = continued(&compressed, chat(10, 1_500));
    }
    let most = sizes[12] + sizes[12] / 10;
    assert!(sizes[13..].iter().all(|size| *size <= most), "{sizes:?}");
}
