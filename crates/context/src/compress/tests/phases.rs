//! The four phases on ordinary conversations.

use super::*;

#[test]
fn a_summary_stands_between_head_and_tail_and_says_what_it_is() {
    let history = stored(chat(16, 1_500));
    let compressed = compressed_with(&history, &budget(), &summary("BODYMARK"));
    assert_sound(&compressed);
    let place = summary_place(&compressed);
    let text = compressed.summary.as_deref().unwrap();
    assert!(text.starts_with(SUMMARY_PREFIX) && text.ends_with(END_MARKER));
    assert!(!SUMMARY_PREFIX.contains('\n') && SUMMARY_PREFIX.starts_with(SUMMARY_TAG));
    let body = text.split_once('\n').unwrap().1;
    let at: Vec<usize> = HEADINGS
        .iter()
        .map(|heading| body.find(&format!("## {heading}\n")).unwrap())
        .collect();
    assert!(at.is_sorted());
    assert!(body.contains("BODYMARK"));
    assert!(place > 0 && place < compressed.rows.len() - 1);
    // The head is byte for byte what it was, and so is the newest exchange.
    assert!(Arc::ptr_eq(&compressed.rows[0].message, &history[0].message));
    assert!(Arc::ptr_eq(&compressed.rows[1].message, &history[1].message));
    assert!(Arc::ptr_eq(
        &compressed.rows.last().unwrap().message,
        &history[31].message
    ));
    let stays: Vec<usize> = compressed
        .rows
        .iter()
        .filter_map(|row| row.from.map(|(index, _)| index))
        .collect();
    assert!(stays.is_sorted());
    assert_eq!(stays.len() + compressed.hidden.len(), history.len());
}

#[test]
fn the_summary_request_asks_for_thirteen_sections_without_tools() {
    let history = stored(chat(16, 1_500));
    let plan = plan(&history, &budget(), Guidance::default()).unwrap();
    let request = plan.request().unwrap();
    assert!(request.tools.is_empty());
    assert_eq!(request.task, talaria_types::Task::Compression);
    assert!((1_000..=20_000).contains(&request.max_output_tokens.unwrap()));
    let prompt = prompt_of(&request);
    let at: Vec<usize> = HEADINGS
        .iter()
        .map(|heading| prompt.find(&format!("## {heading}\n")).unwrap())
        .collect();
    assert!(at.is_sorted());
    assert!(prompt.contains("T4 question"), "the middle is told");
    assert!(!prompt.contains("T15 answer"), "the tail is not");
    assert!(!prompt.contains('{') || !prompt.contains("{record}"));
}

#[test]
fn a_focus_memory_and_date_reach_the_summariser() {
    let guidance = Guidance {
        focus: Some("the heron database schema".to_owned()),
        memory: Some("likes <tabs> & sk-ant-api03-LEAKLEAKLEAKleakleak0123456789".to_owned()),
        today: Some("Wednesday, May 20, 2026".to_owned()),
        todo: None,
        known: Vec::new(),
    };
    let prompt = prompt_of(
        &plan(&stored(chat(16, 1_500)), &budget(), guidance)
            .unwrap()
            .request()
            .unwrap(),
    );
    assert!(prompt.contains("\"the heron database schema\"") && prompt.contains("60–70 %"));
    assert!(prompt.contains("Today is Wednesday, May 20, 2026"));
    assert!(prompt.contains("likes \\u003ctabs\\u003e \\u0026") && !prompt.contains("LEAKLEAK"));
}

#[test]
fn the_second_compression_updates_the_first_summary_and_tells_only_what_is_new() {
    let first = compressed_with(&stored(chat(16, 1_500)), &budget(), &summary("MARKSUM1 was done"));
    let more: Vec<Message> = chat(14, 1_500)
        .into_iter()
        .map(|message| {
            let text = message.content.text().replace("question", "later question");
            Message {
                content: text.into(),
                ..message
            }
        })
        .collect();
    let history = continued(&first, more);
    let mut second = plan(&history, &budget(), Guidance::default()).unwrap();
    let prompt = prompt_of(&second.request().unwrap());
    assert!(prompt.contains("MARKSUM1 was done") && prompt.contains("preserve"));
    assert!(
        !prompt.contains("T4 question:"),
        "what the first summary covers is not told again"
    );
    assert!(
        prompt.contains("T0 question:"),
        "the old head is not protected for ever"
    );
    assert!(prompt.contains("T4 later question"));
    let Accepted::Done(second) = second.accept(&say(summary("MARKSUM2"))).unwrap() else {
        panic!()
    };
    assert_sound(&second);
    assert!(texts(&second).iter().all(|text| !text.contains("MARKSUM1")));
}

#[test]
fn old_results_become_briefs_and_repeated_ones_a_note() {
    let body = format!("1|{}", prose(3_000, 5));
    let listing = format!("{{\"total_count\": 12, \"matches\": [\"{}\"]}}", prose(600, 6));
    let output = format!("{{\"output\": \"{}\", \"exit_code\": 0}}", "line\\n".repeat(60));
    let mut history = vec![Message::user("start")];
    history.extend(used("r1", "read_file", r#"{"path": "a.py"}"#, &body));
    history.extend(used("r2", "read_file", r#"{"path": "a.py"}"#, &body));
    history.extend(used("t", "terminal", r#"{"command": "npm test"}"#, &output));
    history.extend(used(
        "s",
        "search_files",
        r#"{"pattern": "compress", "path": "agent/"}"#,
        &listing,
    ));
    history.extend(used(
        "w",
        "write_file",
        r#"{"path": "x.txt", "content": "one\ntwo\nthree"}"#,
        &prose(300, 7),
    ));
    history.extend(used(
        "odd",
        "mystery",
        r#"{"a": [1, 2], "b": {"c": 1}, "d": 4}"#,
        &prose(300, 8),
    ));
    history.extend(used("bad", "terminal", r#"{"command": true}"#, &prose(300, 9)));
    history.push(Message::assistant("that was the start"));
    history.extend(chat(16, 1_200));
    let budget = Budget {
        protect_first_n: 16,
        ..budget()
    };
    let compressed = compressed_with(&stored(history), &budget, &summary("note"));
    assert_sound(&compressed);
    let results: Vec<String> = compressed
        .rows
        .iter()
        .filter(|row| row.message.role == Role::Tool)
        .map(|row| row.message.content.text().into_owned())
        .collect();
    insta::assert_snapshot!(results.join("\n"), @r#"
    [Duplicate tool output — same content as a more recent call]
    [read_file] read a.py from line 1 (3,002 chars)
    [terminal] ran `npm test` -> exit 0, 61 lines output
    [search_files] content search for 'compress' in agent/ -> 12 matches
    [write_file] wrote to x.txt (3 lines)
    [mystery] a=[1,2] b={"c":1} (300 chars result)
    [terminal] ran `true` -> exit ?, 1 lines output
    "#);
}

#[test]
fn a_tools_own_brief_is_used() {
    let mut result = Message::tool("x", "terminal", prose(400, 1));
    result.brief = Some("[terminal] ran `make` -> exit 2, 88 lines output".to_owned());
    assert_eq!(
        brief(&result, "{}"),
        "[terminal] ran `make` -> exit 2, 88 lines output"
    );
}

#[test]
fn long_arguments_are_cut_inside_of_their_json() {
    let content = "日本 \"quoted\" \\ line\n".repeat(300);
    let arguments =
        serde_json::json!({"path": "deep/x.txt", "content": content, "mode": 7, "flags": [true, null]});
    let mut history = vec![Message::user("start")];
    history.extend(used("big", "write_file", &arguments.to_string(), "ok"));
    history.extend(used("raw", "write_file", &"{\"path\": ".repeat(80), "ok"));
    history.extend(chat(16, 1_500));
    let budget = Budget {
        protect_first_n: 5,
        ..budget()
    };
    let compressed = compressed_with(&stored(history), &budget, &summary("note"));
    let call = &compressed.rows[1].message.tool_calls[0];
    let cut: serde_json::Value = serde_json::from_str(&call.arguments).unwrap();
    assert!(call.arguments.len() < 1_500);
    assert_eq!(
        (&cut["path"], &cut["mode"], &cut["flags"]),
        (&arguments["path"], &arguments["mode"], &arguments["flags"])
    );
    let text = cut["content"].as_str().unwrap();
    assert!(text.starts_with("日本 \"quoted\"") && text.ends_with(ARGUMENT_CUT));
    assert_eq!(
        compressed.rows[3].message.tool_calls[0].arguments,
        "{\"path\": ".repeat(80),
        "no JSON is left as it is"
    );
}

#[test]
fn images_before_the_newest_one_of_the_person_become_notes() {
    use talaria_types::{Content, ImagePart, ImageSource, Part};
    let seen = |text: &str| {
        let image = ImagePart {
            source: ImageSource::Stored("ab".to_owned()),
            media_type: "image/png".to_owned(),
        };
        Content::Parts(vec![
            Part::Text {
                text: text.to_owned(),
            },
            Part::Image(image),
        ])
    };
    let mut history = vec![
        Message::user(seen("first picture")),
        calling("shot", "browser_vision", "{}"),
    ];
    history.push(Message::tool("shot", "browser_vision", seen("the page")));
    history.extend(chat(14, 1_500));
    history.push(Message::user(seen("newest picture")));
    let compressed = compressed_with(&stored(history), &budget(), &summary("note"));
    assert_sound(&compressed);
    let said = texts(&compressed);
    assert_eq!(said[0], format!("first picture\n{IMAGE_STRIPPED}"));
    assert_eq!(said[2], format!("the page\n{SCREENSHOT_REMOVED}"));
    let images: usize = compressed
        .rows
        .iter()
        .map(|row| row.message.content.images().count())
        .sum();
    assert_eq!(images, 1);
}

#[test]
fn a_middle_that_does_not_fit_the_summariser_is_told_in_slices_that_build_on_each_other() {
    let history = stored(chat(30, 3_000));
    let budget = Budget {
        summariser_window: 8_000,
        ..Budget::new(60_000, 30_000, 500)
    };
    let mut plan = plan(&history, &budget, Guidance::default()).unwrap();
    let mut prompts = Vec::new();
    let compressed = loop {
        let request = plan.request().unwrap();
        let prompt = prompt_of(&request);
        assert!(
            prompt.len() as u64 / 4 + request.max_output_tokens.unwrap() <= 8_000,
            "{}",
            prompt.len()
        );
        prompts.push(prompt);
        match plan
            .accept(&say(summary(&format!("slice {} told", prompts.len()))))
            .unwrap()
        {
            Accepted::Next => {}
            Accepted::Done(compressed) => break compressed,
        }
    };
    assert_sound(&compressed);
    assert!((2..=6).contains(&prompts.len()), "{}", prompts.len());
    assert!(prompts[1].contains("slice 1 told") && !prompts[0].contains("<checkpoint>"));
    let told = prompts.concat();
    let hidden: Vec<&StoredMessage> = history
        .iter()
        .filter(|row| compressed.hidden.contains(&row.origin))
        .collect();
    assert!(
        hidden
            .iter()
            .all(|row| told.contains(&row.message.content.text()[..20])),
        "every hidden row is told"
    );
}

#[test]
fn a_refused_summary_request_is_made_smaller_each_time() {
    let history = stored(chat(30, 3_000));
    let mut plan = plan(&history, &Budget::new(60_000, 30_000, 500), Guidance::default()).unwrap();
    let mut before = prompt_of(&plan.request().unwrap());
    for _ in 0..4 {
        assert!(plan.shrink(None));
        let now = prompt_of(&plan.request().unwrap());
        assert!(now.len() < before.len(), "{} {}", before.len(), now.len());
        before = now;
    }
    assert!(plan.shrink(Some(6_000)));
    assert!(prompt_of(&plan.request().unwrap()).len() < 24_000);
}

#[test]
fn the_sessions_own_prefix_is_used_when_nothing_in_it_is_secret() {
    let history = stored(chat(16, 1_500));
    let session = ModelRequest {
        task: talaria_types::Task::Main,
        system: Arc::from("You are Talaria."),
        note: None,
        messages: compose(
            &history
                .iter()
                .map(|row| Arc::clone(&row.message))
                .collect::<Vec<_>>(),
        ),
        tools: Arc::from([]),
        tool_choice: talaria_types::ToolChoice::Auto,
        max_output_tokens: None,
        rewrites: Vec::new(),
    };
    let mut planned = plan(&history, &budget(), Guidance::default()).unwrap();
    let request = planned.prefix_request(&session, &history).unwrap();
    assert_eq!(request.tool_choice, talaria_types::ToolChoice::None);
    assert_eq!(request.system, session.system);
    let shared = request.messages.len() - 1;
    assert!(
        shared > 10
            && request.messages[..shared]
                .iter()
                .zip(&session.messages)
                .all(|(a, b)| Arc::ptr_eq(a, b))
    );
    assert!(prompt_of(&request).contains("## Critical Context"));
    assert_eq!(validate(&request.messages), []);
    assert_sound(&planned.accept_prefix(&say(summary("by prefix"))).unwrap());

    let mut secret = chat(16, 1_500);
    secret[5] = Message::assistant("use sk-proj-Zq8vN2mL5xK9wR3tY7uP1aB4cD6eF0gH");
    let secret = stored(secret);
    let planned = plan(&secret, &budget(), Guidance::default()).unwrap();
    assert!(planned.prefix_request(&session, &secret).is_none());
    let small = Budget {
        summariser_window: 4_000,
        ..budget()
    };
    assert!(
        plan(&history, &small, Guidance::default())
            .unwrap()
            .prefix_request(&session, &history)
            .is_none()
    );
}

#[test]
fn open_tasks_travel_in_the_summary_and_are_replaced_not_repeated() {
    let history = stored(chat(16, 1_500));
    let carry = |history: &[StoredMessage], todo: &str| {
        let guidance = Guidance {
            todo: Some(todo.to_owned()),
            ..Guidance::default()
        };
        let mut plan = plan(history, &budget(), guidance).unwrap();
        plan.request();
        let Accepted::Done(compressed) = plan.accept(&say(summary("note"))).unwrap() else {
            panic!()
        };
        *compressed
    };
    let first = carry(&history, "- [>] 1. port the parser (in_progress)");
    let second = carry(&continued(&first, chat(14, 1_500)), "- [ ] 2. test it (pending)");
    let text = second.summary.unwrap();
    assert_eq!(text.matches(TODO_HEADER).count(), 1);
    assert!(text.contains("test it") && !text.contains("port the parser"));
    assert!(text.ends_with(END_MARKER));
}

#[test]
fn keeping_exchanges_hides_everything_before_them() {
    let history = stored(chat(12, 400));
    let budget = Budget {
        keep_exchanges: Some(2),
        ..budget()
    };
    let compressed = compressed_with(&history, &budget, &summary("note"));
    let said = texts(&compressed);
    let kept: Vec<&str> = said[summary_place(&compressed) + 1..]
        .iter()
        .map(|text| &text[..3])
        .collect();
    assert_eq!(kept, ["T10", "T10", "T11", "T11"]);
}
