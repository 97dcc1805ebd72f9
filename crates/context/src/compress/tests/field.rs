//! What went wrong in the field, each named by its symptom.

use super::*;

#[test]
fn the_newest_request_is_verbatim_behind_the_summary_wherever_the_cut_falls() {
    for size in [200, 2_000, 6_000, 12_000, 40_000] {
        let mut history = vec![Message::user(format!("TASK-A {}", prose(400, 1)))];
        for step in 0..12 {
            history.extend(used(&format!("a{step}"), "terminal", "{}", &prose(2_000, step)));
        }
        history.push(Message::assistant("A done"));
        history.push(Message::user("TASK-B marker ZQX"));
        history.extend(used(
            "b",
            "terminal",
            "{\"command\": \"cat big\"}",
            &prose(size, 77),
        ));
        let compressed = compressed_with(&stored(history), &budget(), &summary("note"));
        assert_sound(&compressed);
        let said = texts(&compressed);
        let request = said
            .iter()
            .position(|text| text == "TASK-B marker ZQX")
            .expect("verbatim");
        assert!(request > summary_place(&compressed), "size {size}");
        assert_eq!(compressed.rows.last().unwrap().message.role, Role::Tool);
    }
}

#[test]
fn one_request_followed_by_a_long_tool_loop_is_compressed() {
    let mut history = vec![Message::user("Do the LOOP task")];
    for step in 0..40 {
        history.extend(used(&format!("c{step}"), "terminal", "{}", &prose(1_500, step)));
    }
    let compressed = compressed_with(&stored(history), &budget(), &summary("note"));
    assert_sound(&compressed);
    let said = texts(&compressed);
    let place = summary_place(&compressed);
    assert_eq!(said[place + 1], "Do the LOOP task");
    assert!(compressed.hidden.len() > 50);
    assert!(compressed.rows.len() > place + 4, "the recent rounds stay");
}

#[test]
fn big_results_do_not_push_recent_exchanges_out_of_the_tail() {
    let mut history = Vec::new();
    for turn in 0..10 {
        history.push(Message::user(format!("turn {turn} please: {}", prose(800, turn))));
        if turn >= 6 {
            history.extend(used(
                &format!("c{turn}"),
                "terminal",
                "{}",
                &prose(9_000, 50 + turn),
            ));
        }
        history.push(Message::assistant(format!("turn {turn} answered")));
    }
    history.push(Message::user("turn 10 please"));
    let compressed = compressed_with(&stored(history), &budget(), &summary("note"));
    assert_sound(&compressed);
    let said = texts(&compressed);
    assert!(
        said.iter().any(|text| text.starts_with("turn 9 please: ")),
        "{said:?}"
    );
    assert!(said.len() >= 6);
}

#[test]
fn compressing_again_at_once_keeps_the_summary_and_the_newest_exchange() {
    let history = stored(chat(16, 1_500));
    let first = compressed_with(&history, &budget(), &summary("FIRST"));
    let again = continued(&first, Vec::new());
    let second = match plan(&again, &budget(), Guidance::default()) {
        Err(_) => return,
        Ok(_) => compressed_with(&again, &budget(), &summary("SECOND")),
    };
    assert_sound(&second);
    let said = texts(&second);
    assert!(
        said.iter().any(|text| text.starts_with("T15 question"))
            && said.iter().any(|text| text.starts_with("T15 answer"))
    );
    let third = continued(&second, Vec::new());
    assert!(
        plan(&third, &budget(), Guidance::default()).is_err(),
        "nothing is left to hide"
    );
}

#[test]
fn a_fact_of_the_first_summary_survives_three_compressions() {
    let mut first = chat(16, 1_500);
    first[6] = Message::user("Remember FACT:F1 for later.");
    let mut history = stored(first);
    for pass in 0..3 {
        let mut plan = plan(&history, &budget(), Guidance::default()).unwrap();
        let prompt = prompt_of(&plan.request().unwrap());
        assert!(prompt.contains("FACT:F1"), "pass {pass}");
        let Accepted::Done(done) = plan.accept(&say(summary("so far FACT:F1"))).unwrap() else {
            panic!()
        };
        assert_eq!(
            texts(&done)
                .iter()
                .filter(|text| text.contains(SUMMARY_TAG))
                .count(),
            1
        );
        history = continued(&done, chat(14, 1_500));
    }
}

#[test]
fn a_summary_of_an_older_wording_is_replaced_not_nested() {
    let old = "[CONTEXT SUMMARY]: earlier part.\n## Active Task\nUser asked: \"delete all branches\"\n## Goal\nOLDGOAL77";
    let static_wording =
        "[CONTEXT COMPACTION — REFERENCE ONLY] Resume exactly from the active task.\n## Goal\nOLDGOAL77";
    let merged = format!("{static_wording}\n\n{END_MARKER}\n\nwhat is a heron?");
    let behind = format!(
        "[PRIOR CONTEXT — for reference only; not a new message]\nwhat is a heron?\n\n[END OF PRIOR CONTEXT — COMPACTION SUMMARY BELOW]\n\n{static_wording}\n\n{END_MARKER}"
    );
    for (wording, question) in [
        (old, false),
        (static_wording, false),
        (merged.as_str(), true),
        (behind.as_str(), true),
    ] {
        let mut history = vec![Message::user(wording), Message::assistant("Continuing.")];
        history.extend(chat(16, 1_500));
        history.push(Message::user("what's the date format?"));
        let history = stored(history);
        let mut planned = plan(&history, &budget(), Guidance::default()).unwrap();
        let prompt = prompt_of(&planned.request().unwrap());
        assert!(prompt.contains("OLDGOAL77"), "{wording}");
        assert_eq!(prompt.contains("what is a heron?"), question, "{wording}");
        let Accepted::Done(done) = planned.accept(&say(summary("new"))).unwrap() else {
            panic!()
        };
        assert_sound(&done);
        let sent = texts(&done).join("\n");
        assert!(
            !sent.contains("[CONTEXT SUMMARY]:")
                && !sent.contains("Resume exactly")
                && !sent.contains("OLDGOAL77")
        );
        assert_eq!(texts(&done).last().unwrap(), "what's the date format?");
    }
}

#[test]
fn a_placeholder_as_active_task_is_replaced_by_the_real_request() {
    for placeholder in ["[N/A]", "None", "...", "TBD", ""] {
        let mut history = chat(16, 1_500);
        history.push(Message::user("Please port module HERON1 to Rust."));
        history.extend(used("x", "terminal", "{}", "pressed"));
        let answer = summary("work").replace("User asked: \"carry on with the work\"", placeholder);
        let compressed = compressed_with(&stored(history), &budget(), &answer);
        let text = compressed.summary.unwrap();
        assert!(
            text.contains("## Active Task\nUser asked: \"Please port module HERON1 to Rust.\"\n\n## Goal"),
            "{text}"
        );
    }
}

#[test]
fn an_answered_request_is_not_made_the_active_task() {
    let answer = summary("work").replace("User asked: \"carry on with the work\"", "[N/A]");
    let compressed = compressed_with(&stored(chat(16, 1_500)), &budget(), &answer);
    assert!(compressed.summary.unwrap().contains("## Active Task\nNone\n"));
}

#[test]
fn empty_refused_cut_and_pointless_answers_are_no_summary() {
    let history = stored(chat(16, 1_500));
    let mut planned = plan(&history, &budget(), Guidance::default()).unwrap();
    planned.request();
    let bare: String = HEADINGS
        .iter()
        .map(|heading| format!("## {heading}\nNone\n"))
        .collect();
    let cut = Completion {
        finish: talaria_types::FinishReason::Length,
        ..say(summary("x"))
    };
    let refused = Completion {
        finish: talaria_types::FinishReason::Refused,
        ..say("")
    };
    let call = Completion {
        tool_calls: calling("x", "terminal", "{}").tool_calls,
        ..say("")
    };
    let thought = Completion {
        reasoning: talaria_types::Reasoning {
            text: Some("thinking only".to_owned()),
            ..Default::default()
        },
        ..say("")
    };
    let answers = [
        say(""),
        say("   \n "),
        say("<think>only thoughts</think>"),
        say("<think>never closed"),
        thought,
        cut,
        refused,
        call,
        say("There is no conversation to summarize."),
        say("I'm sorry, but I can't help with that. ".repeat(10)),
        say(bare),
    ];
    for answer in answers {
        let refused = planned.accept(&answer).unwrap_err();
        assert!(!refused.to_string().is_empty());
    }
    assert!(
        matches!(planned.accept(&say(summary("fine"))), Ok(Accepted::Done(_))),
        "a refusal changes nothing"
    );
    assert_eq!(
        planned.give_up("quota", false),
        None,
        "the history stays as it is"
    );
}

#[test]
fn a_summary_longer_than_what_it_replaces_is_refused() {
    let history = stored(chat(16, 1_500));
    let mut planned = plan(&history, &budget(), Guidance::default()).unwrap();
    let echo = prompt_of(&planned.request().unwrap());
    let answer = summary(&format!("{echo} {echo}"));
    assert!(matches!(
        planned.accept(&say(answer)),
        Err(Rejected::LongerThanReplaced { .. })
    ));
}

#[test]
fn thoughts_and_frames_in_an_answer_do_not_reach_the_conversation() {
    let answer = format!(
        "<think>SECRET PLAN</think>\n{SUMMARY_PREFIX}\n{}\n\n## Anchors\n- made up [m:3]\n\n{END_MARKER}",
        summary("real text")
    );
    let compressed = compressed_with(&stored(chat(16, 1_500)), &budget(), &answer);
    let text = compressed.summary.unwrap();
    assert!(text.contains("real text") && !text.contains("SECRET PLAN") && !text.contains("made up"));
    assert_eq!(text.matches(SUMMARY_TAG).count(), 1);
    assert_eq!(text.matches(END_MARKER).count(), 1);
}

#[test]
fn headings_in_another_style_or_language_are_understood() {
    let history = stored(chat(16, 1_500));
    let styled = summary("styled")
        .replace("## Active Task", "**Historical Task Snapshot:**")
        .replace("## Goal", "### 2. Goal");
    let text = compressed_with(&history, &budget(), &styled).summary.unwrap();
    assert!(text.contains("## Goal\nGoal of styled."));
    let mut localised = summary("本地化的内容");
    for (index, heading) in HEADINGS.iter().enumerate() {
        localised = localised.replace(&format!("## {heading}"), &format!("## 第{index}节"));
    }
    let text = compressed_with(&history, &budget(), &localised).summary.unwrap();
    assert!(text.contains("## Goal\nGoal of 本地化的内容."), "{text}");
    let free = "The user and the assistant worked on the parser. ".repeat(8);
    let text = compressed_with(&history, &budget(), &free).summary.unwrap();
    assert!(text.contains("## Critical Context\nThe user and"));
}

#[test]
fn secrets_are_masked_before_a_summary_and_after_it() {
    let secrets = [
        "sk-proj-Zq8vN2mL5xK9wR3tY7uP1aB4cD6eF0gH",
        "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
        "AKIAQ3EGRXYZ7ABC4DEF",
        "xoxb-123456789012-abcdefABCDEF",
        "sk_live_9aB8cD7eF6gH5iJ4kL3m",
    ];
    let mut history = chat(16, 1_500);
    for (index, secret) in secrets.iter().enumerate() {
        history[4 + 2 * index] = Message::user(format!("here is {secret} use it. {}", prose(800, index)));
    }
    history[9] = Message::assistant(
        "env DB_PASSWORD=hunter2hunter2, header Authorization: Bearer abcDEF123456ghiJKL789.",
    );
    history[11] = calling(
        "k",
        "terminal",
        r#"{"command": "export API_KEY=sk-ant-api03-ARGUMENTARGUMENT0123456789"}"#,
    );
    history[12] = Message::tool("k", "terminal", "ok");
    let history = stored(history);
    let mut planned = plan(&history, &budget(), Guidance::default()).unwrap();
    let prompt = prompt_of(&planned.request().unwrap());
    for secret in secrets
        .iter()
        .chain(&["hunter2hunter2", "abcDEF123456ghiJKL789", "ARGUMENTARGUMENT"])
    {
        assert!(!prompt.contains(secret), "{secret}");
    }
    let leak = "sk-ant-api03-LEAKLEAKLEAKleakleak0123456789";
    let Accepted::Done(done) = planned
        .accept(&say(summary(&format!("The key is {leak} and {}", secrets[1]))))
        .unwrap()
    else {
        panic!()
    };
    let text = done.summary.unwrap();
    for secret in secrets
        .iter()
        .chain(&[leak, "hunter2hunter2", "ARGUMENTARGUMENT"])
    {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    let digest = planned.give_up("no model", true).unwrap().summary.unwrap();
    for secret in secrets.iter().chain(&["hunter2hunter2", "ARGUMENTARGUMENT"]) {
        assert!(!digest.contains(secret), "{secret} in {digest}");
    }
}

#[test]
fn the_end_of_a_long_result_reaches_the_summariser() {
    let mut history = vec![Message::user("run the tests")];
    for run in 0..10 {
        let output = format!("{}\nEXIT 1: tests failed at foo_{run}.rs:42", prose(9_000, run));
        history.extend(used(
            &format!("c{run}"),
            "terminal",
            "{\"command\": \"cargo test\"}",
            &output,
        ));
        history.push(Message::assistant(format!("looked at {run}")));
        history.push(Message::user(format!("next {run}")));
    }
    let history = stored(history);
    let plan = plan(&history, &budget(), Guidance::default()).unwrap();
    let prompt = prompt_of(&plan.request().unwrap());
    let seen = (0..10)
        .filter(|run| prompt.contains(&format!("foo_{run}.rs:42")))
        .count();
    assert!(seen >= 3, "{seen}");
}

#[test]
fn a_file_to_send_is_not_sent_again_from_a_summary() {
    let mut history = chat(16, 1_500);
    history[8] = Message::assistant("here it is MEDIA:/tmp/report.pdf as you asked");
    let plan = plan(&stored(history), &budget(), Guidance::default()).unwrap();
    let prompt = prompt_of(&plan.request().unwrap());
    assert!(prompt.contains("[media attachment] as you asked") && !prompt.contains("MEDIA:"));
}

#[test]
fn giant_results_of_the_tail_shrink_when_nothing_else_can_go() {
    let mut history = vec![Message::user("load")];
    for part in 0..8 {
        history.extend(used(&format!("c{part}"), "read_file", "{}", &prose(60_000, part)));
    }
    history.push(Message::assistant("loaded"));
    history.push(Message::user("and?"));
    let budget = budget();
    let compressed = compressed_with(&stored(history), &budget, &summary("note"));
    assert_sound(&compressed);
    assert!(
        compressed.tokens_after < budget.trigger - budget.overhead,
        "{}",
        compressed.tokens_after
    );
    assert_eq!(texts(&compressed).last().unwrap(), "and?");

    // A single round that is too large: nothing to hide, but it shrinks.
    let mut history = vec![Message::user("load")];
    history.extend(used("c", "read_file", "{}", &prose(120_000, 3)));
    let plan = plan(&stored(history), &budget, Guidance::default()).unwrap();
    assert!(plan.request().is_none());
    let shrunk = plan.without_summary().unwrap();
    assert_sound(&shrunk);
    assert_eq!(shrunk.written_by, WrittenBy::Nobody);
    assert!(texts(&shrunk)[2].contains("full text: [m:3]"));
    assert!(shrunk.tokens_after < budget.trigger);
}

#[test]
fn a_short_conversation_says_why_there_is_nothing_to_hide() {
    assert_eq!(
        plan(&[], &budget(), Guidance::default()).err(),
        Some(NothingToHide::Empty)
    );
    let short = plan(&stored(chat(1, 20)), &budget(), Guidance::default()).unwrap_err();
    assert!(short.to_string().contains("newest exchange"), "{short}");
    let little = plan(&stored(chat(8, 20)), &budget(), Guidance::default()).unwrap_err();
    assert!(matches!(little, NothingToHide::TooLittle(_)), "{little}");
}

#[test]
fn without_any_model_a_digest_tells_what_is_known() {
    let mut history = vec![
        Message::user("Fix the login."),
        Message::assistant("On it."),
        Message::user("Good."),
    ];
    history.push(Message::assistant("Anything else?"));
    history.push(Message::user("Never touch src/legacy/auth.rs please."));
    for step in 0..6 {
        let arguments = format!("{{\"path\": \"src/login_{step}.rs\"}}");
        history.extend(used(
            &format!("c{step}"),
            "read_file",
            &arguments,
            &prose(2_500, step),
        ));
    }
    history.extend(used(
        "t",
        "terminal",
        "{\"command\": \"cargo test\"}",
        &format!("error: login test failed\n{}", prose(2_500, 9)),
    ));
    history.push(Message::assistant("The test fails."));
    history.extend(chat(12, 900));
    history.push(Message::user("so what now?"));
    let planned = plan(&stored(history), &budget(), Guidance::default()).unwrap();
    let digest = planned
        .give_up("the summary model is out of quota", true)
        .unwrap();
    assert_sound(&digest);
    assert_eq!(digest.written_by, WrittenBy::Digest);
    let text = digest.summary.unwrap();
    for told in [
        "without a model",
        "out of quota",
        "so what now?",
        "Never touch src/legacy/auth.rs",
        "error: login test failed",
        "src/login_5.rs",
        "[terminal] ran `cargo test`",
    ] {
        assert!(text.contains(told), "{told} in {text}");
    }
}

#[test]
fn anchors_list_what_the_summary_lacks_with_the_ids_of_their_messages() {
    let mut history = chat(16, 1_000);
    history[8] = Message::user(
        "Never touch the file /srv/heron/app/config_v3.toml please. It is documented at https://docs.heron.test/api/v2?page=7. More words.",
    );
    history[9] = Message::assistant(
        "I saw ERR_TOO_MANY_OTTERS: connection pool exhausted in commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b. And so on.",
    );
    history[10] = Message::user(
        "Latency was 372.5 ms for ticket INC-48213. 端口改为8443，见/etc/heron/端口.conf 和 /etc/heron/main.conf。",
    );
    let history = stored(history);
    let bare = compressed_with(&history, &budget(), &summary("nothing of it"));
    let text = bare.summary.as_deref().unwrap();
    let listed = text.split_once("## Anchors\n").unwrap().1;
    let facts = [
        ("/srv/heron/app/config_v3.toml", 9),
        ("Never touch the file", 9),
        ("https://docs.heron.test/api/v2?page=7", 9),
        ("ERR_TOO_MANY_OTTERS: connection pool exhausted", 10),
        ("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", 10),
        ("372.5 ms", 11),
        ("INC-48213", 11),
        ("/etc/heron/main.conf", 11),
    ];
    for (fact, id) in facts {
        let line = listed
            .lines()
            .find(|line| line.contains(fact))
            .unwrap_or_else(|| panic!("{fact} in {listed}"));
        assert!(line.ends_with(&format!("[m:{id}]")), "{line}");
    }
    assert_eq!(bare.anchors.kept, bare.anchors.total);
    let told =
        summary("See /srv/heron/app/config_v3.toml and https://docs.heron.test/api/v2?page=7 at 372.5 ms.");
    let told = compressed_with(&history, &budget(), &told);
    let listed = told
        .summary
        .as_deref()
        .unwrap()
        .split_once("## Anchors\n")
        .unwrap()
        .1
        .to_owned();
    assert!(
        !listed.contains("https://") && !listed.contains("372.5 ms"),
        "{listed}"
    );
    assert!(
        listed
            .lines()
            .filter(|line| line.contains("config_v3"))
            .all(|line| line.contains("Never"))
    );
    assert!(listed.contains("INC-48213"));
}

#[test]
fn anchors_survive_the_next_compression_and_stay_newest_first() {
    let mut first = chat(16, 1_000);
    first[6] = Message::user("the build is deadbee5 in /srv/first/path.toml");
    first[8] = Message::user("and 7f3a9c21 in /srv/second/path.toml");
    let done = compressed_with(&stored(first), &budget(), &summary("nothing"));
    let mut more = chat(14, 1_000);
    more[2] = Message::user("third is c0ffee11 in /srv/third/path.toml");
    let done = compressed_with(&continued(&done, more), &budget(), &summary("nothing again"));
    let text = done.summary.unwrap();
    let at = |fact: &str| text.find(fact).unwrap_or_else(|| panic!("{fact} in {text}"));
    assert!(at("c0ffee11") < at("7f3a9c21") && at("7f3a9c21") < at("deadbee5"));
    assert!(text.contains("deadbee5 · /srv/first/path.toml [m:7]"), "{text}");
}

#[test]
fn a_correction_wins_over_what_it_corrects() {
    let mut history = chat(16, 900);
    history[4] =
        Message::user("The timeout is 30 s and the server listens on port 8080. Deploy to /srv/blue/app.");
    history[6] = Message::user("I was wrong: the timeout is 45 s.");
    history[8] =
        Message::user("Use port 8443 instead of 8080. Change /srv/blue/app to /srv/green/app please.");
    let compressed = compressed_with(&stored(history), &budget(), &summary("nothing"));
    let text = compressed.summary.unwrap();
    let listed = text.split_once("## Anchors\n").unwrap().1;
    for gone in ["30 s", "port: 8080", "[m:5]"] {
        assert!(!listed.contains(gone), "{gone} in {listed}");
    }
    for there in ["timeout: 45 s", "8443", "/srv/green/app"] {
        assert!(listed.contains(there), "{there} in {listed}");
    }
}

#[test]
fn a_cited_id_that_leads_nowhere_is_dropped() {
    let compressed = compressed_with(
        &stored(chat(16, 1_500)),
        &budget(),
        &summary("seen in [m:7] and [m:99999] too"),
    );
    let text = compressed.summary.unwrap();
    assert!(text.contains("seen in [m:7] and too"), "{text}");
}

#[test]
fn a_listing_of_a_thousand_files_does_not_fill_the_index() {
    let mut history = chat(8, 1_200);
    let listing: String = (0..1_000)
        .map(|file| format!("src/module_{file}/file_{file}.rs\n"))
        .collect();
    history.extend(used("l", "terminal", "{\"command\": \"find\"}", &listing));
    history.extend(chat(10, 1_200));
    history[4] = Message::user("the important one is /srv/heron/needle.toml");
    let compressed = compressed_with(&stored(history), &budget(), &summary("nothing"));
    let text = compressed.summary.unwrap();
    assert!(text.contains("/srv/heron/needle.toml"));
    assert!(text.matches("src/module_").count() <= 12);
}

#[test]
fn a_session_goes_on_in_a_window_of_4096_tokens() {
    let budget = Budget::new(4_096, 2_048, 700);
    let mut history = stored(chat(10, 700));
    for pass in 0..5 {
        let compressed = compressed_with(&history, &budget, &summary("small window facts of pass"));
        assert_sound(&compressed);
        assert!(
            compressed.tokens_after < budget.trigger - budget.overhead,
            "pass {pass}: {}",
            compressed.tokens_after
        );
        history = continued(&compressed, chat(8, 700));
    }
}

#[test]
fn odd_rows_of_a_store_do_not_stop_a_compression() {
    let mut history = vec![
        Message::new(Role::System, "an old prompt"),
        Message::tool("gone", "terminal", "an orphan"),
        Message::assistant("hello"),
        Message::assistant(""),
        Message::user(""),
    ];
    history.extend(chat(6, 1_500));
    history.push(calling("lost", "terminal", "not json"));
    history.extend(chat(10, 1_500));
    history.push(calling("open", "terminal", "{}"));
    let compressed = compressed_with(&stored(history), &budget(), &summary("note"));
    assert!(compressed.tokens_after < compressed.tokens_before);
    let last = compressed.rows.last().unwrap();
    assert_eq!(last.message.content.text(), RESULT_EARLIER);
    let rows: Vec<Arc<Message>> = compressed
        .rows
        .iter()
        .map(|row| Arc::clone(&row.message))
        .collect();
    assert_eq!(validate(&compose(&rows)), []);
}

#[test]
fn a_shortened_round_loses_its_signed_thoughts() {
    let mut signed = calling(
        "s",
        "write_file",
        &format!("{{\"content\": \"{}\"}}", "x".repeat(900)),
    );
    signed.reasoning.details = Some(serde_json::json!([{"type": "thinking", "signature": "abc"}]));
    signed.reasoning.text = Some("plain".to_owned());
    let mut history = vec![
        Message::user("go"),
        signed,
        Message::tool("s", "write_file", "ok"),
    ];
    history.extend(chat(16, 1_500));
    let compressed = compressed_with(&stored(history), &budget(), &summary("note"));
    let kept = &compressed.rows[1].message;
    assert!(kept.tool_calls[0].arguments.len() < 400);
    assert_eq!(kept.reasoning.details, None);
    assert_eq!(kept.reasoning.text.as_deref(), Some("plain"));
}
