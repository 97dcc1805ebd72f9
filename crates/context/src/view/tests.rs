use std::sync::Arc;

use proptest::prelude::*;
use talaria_types::{Message, ModelRequest, Task, ToolCall, ToolChoice, Usage};

use super::*;
use crate::compress::SUMMARY_PREFIX;

fn request(system: &str, messages: Vec<Message>) -> ModelRequest {
    ModelRequest {
        task: Task::Main,
        system: Arc::from(system),
        note: None,
        messages: messages.into_iter().map(Arc::new).collect(),
        tools: Arc::from([]),
        tool_choice: ToolChoice::Auto,
        max_output_tokens: None,
        rewrites: Vec::new(),
    }
}

fn conversation() -> ModelRequest {
    let rule = "═".repeat(46);
    let system = format!(
        "You are Talaria.\n\n{rule}\nMEMORY (your personal notes) [3% — 60/2,200 chars]\n{rule}\nThe user likes tea.\n\nConversation started: Tuesday\nModel: m"
    );
    let summary = format!(
        "{SUMMARY_PREFIX}\n## Active Task\nPort the parser.\n\n{ANCHORS_HEADING}\n- src/lib.rs · 42 ms [m:7]\n\n{END_MARKER}"
    );
    let call = Message {
        tool_calls: vec![ToolCall {
            id: "c".to_owned(),
            name: "terminal".to_owned(),
            arguments: r#"{"command": "cargo test --workspace"}"#.to_owned(),
            extra: serde_json::Map::new(),
        }],
        ..Message::assistant("Testing.")
    };
    request(
        &system,
        vec![
            Message::user(summary),
            call,
            Message::tool("c", "terminal", "ok\n".repeat(200)),
            Message::user("And now?"),
        ],
    )
}

#[test]
fn the_parts_add_up_to_what_the_provider_counted() {
    let shares = shares(&conversation(), &Counter::for_model("mock"), 10_007);
    assert_eq!(shares.iter().map(|share| share.tokens).sum::<u64>(), 10_007);
    let kinds: Vec<Part> = shares.iter().map(|share| share.part).collect();
    assert_eq!(
        kinds,
        [
            Part::System,
            Part::Memory,
            Part::Summary,
            Part::Anchors,
            Part::User,
            Part::Assistant,
            Part::ToolCalls,
            Part::ToolResults
        ]
    );
    let results = shares
        .iter()
        .find(|share| share.part == Part::ToolResults)
        .unwrap();
    assert_eq!(results.messages, 1);
    assert!(results.tokens > 2_000);
}

#[test]
fn a_person_reads_what_fills_the_window_and_what_comes_next() {
    let plan = WindowPlan {
        window: 128_000,
        max_output: 0,
        threshold: 0.5,
        min_tokens: 64_000,
    };
    let parts = shares(&conversation(), &Counter::for_model("mock"), 32_000);
    let usage = Usage {
        prompt_tokens: 31_000,
        cache_read_tokens: 29_450,
        completion_tokens: 120,
        ..Usage::default()
    };
    let mut view = ContextView::new(parts, &plan, 32_000, Some(usage));
    view.reported = true;
    view.compressions = 1;
    insta::assert_snapshot!(view.render(), @r"
    32 000 of 128 000 tokens, 25 % of the window
    [SMMMΣΣΣAuacrrrrr················································]
                                     ▲ compression
      S system prompt          477    0 %
      M memory               7 482    6 %
      Σ summary              7 005    5 %  in 1 message
      A anchors                597    0 %  in 1 message
      u your messages          238    0 %  in 1 message
      a answers                238    0 %  in 1 message
      c tool calls             676    1 %  in 1 message
      r tool results        15 287   12 %  in 1 message
      · free                96 000   75 %
    next compression at 64 000, in 32 000 tokens
    so far           1 compression
    last call        31 000 prompt tokens, 29 450 from the cache (95 %), 120 out
    ");
}

#[test]
fn a_pause_is_said_where_the_next_compression_is() {
    let plan = WindowPlan {
        window: 8_192,
        max_output: 0,
        threshold: 0.5,
        min_tokens: 4_000,
    };
    let mut view = ContextView::new(Vec::new(), &plan, 5_000, None);
    assert!(view.render().contains("due now"));
    view.paused = Some("compression.enabled is false".to_owned());
    assert!(
        view.render()
            .contains("at 4 096, but compression.enabled is false")
    );
}

proptest! {
    #[test]
    fn any_sizes_fill_exactly_the_bar(sizes in proptest::collection::vec(0u64..200_000, 0..10), window in 1u64..300_000) {
        let parts = sizes
            .iter()
            .zip(Part::ALL)
            .map(|(tokens, (part, _, _))| Share { part, tokens: *tokens, messages: 0 })
            .collect();
        let plan = WindowPlan { window, max_output: 0, threshold: 0.5, min_tokens: 0 };
        let view = ContextView::new(parts, &plan, sizes.iter().sum(), None);
        prop_assert_eq!(view.bar().chars().count() as u64, BAR);
        prop_assert!(!view.render().is_empty());
    }
}
