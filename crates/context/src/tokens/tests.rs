use std::sync::Arc;

use rstest::rstest;
use talaria_types::{Content, ImagePart, ImageSource, Message, Part, ToolCall, ToolSpec};

use super::*;

const TEXTS: [(&str, &str); 6] = [
    ("english", include_str!("../../tests/fixtures/texts/english.txt")),
    ("chinese", include_str!("../../tests/fixtures/texts/chinese.txt")),
    (
        "japanese",
        include_str!("../../tests/fixtures/texts/japanese.txt"),
    ),
    ("korean", include_str!("../../tests/fixtures/texts/korean.txt")),
    ("code", include_str!("../../tests/fixtures/texts/code.txt")),
    ("json", include_str!("../../tests/fixtures/texts/json.txt")),
];

#[test]
fn the_estimate_is_within_fifteen_per_cent_in_every_script() {
    let truth = tiktoken_rs::o200k_base().unwrap();
    let mut report = Vec::new();
    for (name, text) in TEXTS {
        let counted = truth.encode_ordinary(text).len() as f64;
        let error = quick(text) as f64 / counted - 1.0;
        report.push((name, counted, (error * 1000.0).round() / 10.0));
    }
    assert!(
        report.iter().all(|(_, _, error)| error.abs() <= 15.0),
        "{report:?}"
    );
}

#[rstest]
#[case("gpt-4o-mini")]
#[case("openai/gpt-5.2")]
#[case("o3")]
#[case("gpt-4-turbo")]
fn an_openai_model_is_counted_as_tiktoken_counts_it(#[case] model: &str) {
    let counter = Counter::for_model(model);
    assert!(counter.is_exact());
    let truth = if model == "gpt-4-turbo" {
        tiktoken_rs::cl100k_base()
    } else {
        tiktoken_rs::o200k_base()
    }
    .unwrap();
    for (name, text) in TEXTS {
        assert_eq!(
            counter.text(text),
            truth.encode_ordinary(text).len() as u64,
            "{name}"
        );
    }
}

#[test]
fn a_model_of_another_house_is_estimated() {
    for model in [
        "claude-sonnet-4-5",
        "qwen3-coder",
        "deepseek/deepseek-chat",
        "mock-model",
        "gemini-2.5-pro",
    ] {
        assert!(!Counter::for_model(model).is_exact(), "{model}");
    }
}

#[test]
fn images_calls_and_thinking_that_is_sent_back_all_count() {
    let counter = Counter::for_model("mock-model");
    let plain = counter.message(&Message::user("look"));
    let image = ImagePart {
        source: ImageSource::Stored("ab".to_owned()),
        media_type: "image/png".to_owned(),
    };
    let seen = Message::user(Content::Parts(vec![
        Part::Text {
            text: "look".to_owned(),
        },
        Part::Image(image),
    ]));
    assert_eq!(counter.message(&seen), plain + IMAGE_TOKENS);

    let mut calling = Message::assistant("");
    let silent = counter.message(&calling);
    calling.tool_calls.push(ToolCall {
        id: "c".to_owned(),
        name: "terminal".to_owned(),
        arguments: format!("{{\"command\": \"{}\"}}", "echo hello; ".repeat(100)),
        extra: serde_json::Map::new(),
    });
    assert!(counter.message(&calling) > silent + 250);

    let mut thinking = Message::assistant("yes");
    thinking.reasoning.text = Some("only shown ".repeat(50));
    assert_eq!(
        counter.message(&thinking),
        counter.message(&Message::assistant("yes"))
    );
    thinking.reasoning.content = Some("sent back ".repeat(50));
    assert!(counter.message(&thinking) > counter.message(&Message::assistant("yes")) + 80);
}

#[test]
fn a_recalled_memory_counts_as_it_was_sent() {
    let counter = Counter::for_model("mock-model");
    let recalled = Message {
        sent_as: Some("hi ".repeat(200)),
        ..Message::user("hi")
    };
    assert!(counter.message(&recalled) > 150);
}

#[test]
fn a_server_that_counts_a_third_more_is_believed_after_a_few_answers() {
    let mut counter = Counter::for_model("mock-model");
    for _ in 0..5 {
        counter.observe(10_000, 13_000);
    }
    assert!(
        (12_800..=13_000).contains(&counter.calibrated(10_000)),
        "{}",
        counter.calibration
    );
    counter.observe(10, 13_000);
    counter.observe(10_000, 0);
    assert!(counter.calibration < 1.31);
    counter.observe(10_000, 900_000);
    assert!(counter.calibration <= 2.0);
}

#[test]
fn counts_follow_a_conversation_that_grows_shrinks_and_changes() {
    let row = |text: &str| Arc::new(Message::user(text));
    let counter = Counter::for_model("gpt-4o");
    let mut counted = CountedHistory::default();
    let mut rows = vec![row("one"), row("two words"), row(&"many ".repeat(100))];
    let sum = |rows: &[Arc<Message>]| rows.iter().map(|row| counter.message(row)).sum::<u64>();
    assert_eq!(counted.tokens(&counter, &rows, 0), sum(&rows));
    rows.push(row("three"));
    assert_eq!(counted.tokens(&counter, &rows, 0), sum(&rows));
    rows[1] = row("something else entirely");
    assert_eq!(counted.tokens(&counter, &rows, 0), sum(&rows));
    rows.truncate(2);
    assert_eq!(counted.tokens(&counter, &rows, 0), sum(&rows));
    let estimate: u64 = rows.iter().map(|row| Counter::quick_message(row)).sum();
    assert_eq!(counted.tokens(&counter, &rows, 1_000_000), estimate);
}

#[test]
fn tool_schemas_count_with_their_descriptions() {
    let tool = |description: &str| ToolSpec {
        name: "read_file".to_owned(),
        description: description.to_owned(),
        parameters: serde_json::json!({"type": "object", "properties": {"path": {"type": "string"}}}),
    };
    let counter = Counter::for_model("mock-model");
    let short = counter.tools(&[tool("Reads.")]);
    assert!((20..60).contains(&short), "{short}");
    assert!(counter.tools(&[tool("Reads."), tool(&"Reads a file. ".repeat(40))]) > 2 * short + 150);
    assert_eq!(Counter::quick_tools(&[tool("Reads.")]), short);
}
