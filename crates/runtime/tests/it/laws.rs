//! What holds for every compression, with the real store and the real encoders behind it.

use std::sync::Arc;

use proptest::prelude::*;
use talaria_context::compose::compose;
use talaria_context::compress::{Accepted, Budget, Compressed, Guidance, HEADINGS, is_summary, plan};
use talaria_providers::{ProviderRequest, connect, resolve};
use talaria_store::sqlite::SqliteStore;
use talaria_store::{Compacted, CompactionFacts, NewSession, Origin, Rotation, SearchQuery, SessionStore};
use talaria_testkit::{MockServer, Scenario};
use talaria_types::{
    Anchors, ApiMode, Completion, Message, MessageId, ModelRequest, SessionId, StoredMessage, Task,
    Timestamp, ToolCall, ToolChoice, Trigger, Usage,
};

/// Secrets of several shapes; the middle of each is what must never be seen again.
const SECRETS: [(&str, &str); 4] = [
    ("sk-proj-Zq8vN2mL5xK9wR3tY7uP1aB4cD6eF0gH", "N2mL5xK9wR3t"),
    ("ghp_Aa1Bb2Cc3Dd4Ee5Ff6Gg7Hh8Ii9Jj0Kk1Ll2", "Cc3Dd4Ee5Ff6"),
    ("AKIAIOSFODNN7EXAMPLE", "OSFODNN7EXAM"),
    ("DB_PASSWORD=hunter2-correct-horse-battery", "correct-horse"),
];

/// How many sessions each law looks at; `TALARIA_CASES=5000 cargo test laws` looks at more.
fn cases() -> u32 {
    let asked = std::env::var("TALARIA_CASES").ok();
    asked.and_then(|count| count.parse().ok()).unwrap_or(100)
}

fn words(size: usize, seed: usize) -> String {
    const WORDS: [&str; 8] = [
        "amber", "basin", "cedar", "delta", "grove", "heron", "inlet", "willow",
    ];
    (0..size)
        .map(|at| format!("{} ", WORDS[(at * 7 + seed) % WORDS.len()]))
        .collect()
}

/// A round of a session: what is asked, perhaps a tool, an answer; a secret in some.
fn any_round() -> impl Strategy<Value = Vec<Message>> {
    let secret = prop_oneof![3 => Just(None), 1 => (0..SECRETS.len()).prop_map(Some)];
    (10..220_usize, 0..8_usize, any::<bool>(), secret, 0..3_u8).prop_map(
        |(size, seed, tool, secret, place)| {
            let said = |at: u8| {
                secret
                    .filter(|_| place == at)
                    .map_or("", |which| SECRETS[which].0)
            };
            let mut round = vec![Message::user(format!(
                "Look at /srv/x/{size}.toml {} {}",
                said(0),
                words(size, seed)
            ))];
            if tool {
                round.push(Message {
                    tool_calls: vec![ToolCall {
                        id: format!("call_{size}_{seed}"),
                        name: "terminal".to_owned(),
                        arguments: serde_json::json!({"command": format!("echo {} {size}", said(1))})
                            .to_string(),
                        extra: serde_json::Map::new(),
                    }],
                    ..Message::assistant("")
                });
                let printed = format!("took {size}.5 ms {} {}", said(2), words(size, seed + 1));
                round.push(Message::tool(format!("call_{size}_{seed}"), "terminal", printed));
            }
            round.push(Message::assistant(format!(
                "INC-{size}{seed} is done. {}",
                words(size, seed + 2)
            )));
            round
        },
    )
}

fn any_session() -> impl Strategy<Value = Vec<Message>> {
    proptest::collection::vec(any_round(), 12..30).prop_map(|rounds| rounds.into_iter().flatten().collect())
}

struct Home {
    store: SqliteStore,
    session: SessionId,
}

pub(crate) fn row(id: &SessionId, parent: Option<&SessionId>, config: serde_json::Value) -> NewSession {
    NewSession {
        id: id.clone(),
        source: "cli".to_owned(),
        parent: parent.cloned(),
        model: "mock-model".to_owned(),
        model_config: config,
        system_prompt: "prompt".to_owned(),
        cwd: None,
        title: None,
        started_at: Timestamp(1.0),
        billing: <_>::default(),
    }
}

impl Home {
    fn with(messages: &[Message]) -> Self {
        let store = SqliteStore::open_in_memory(&std::env::temp_dir()).unwrap();
        let session = SessionId::new("20260520_143022_000001");
        store
            .create_session(&row(&session, None, serde_json::json!({})))
            .unwrap();
        let home = Self { store, session };
        home.say(&home.session, messages);
        home
    }

    fn say(&self, session: &SessionId, messages: &[Message]) {
        let rows: Vec<Arc<Message>> = messages.iter().cloned().map(Arc::new).collect();
        self.store.append(session, &rows, Timestamp(2.0)).unwrap();
    }

    /// Compresses as the engine does; the summary repeats all secrets, or no model answers.
    fn compress(&self, by_model: bool) -> Option<(SessionId, Compressed)> {
        let history = self.store.live(&self.session).unwrap();
        let budget = Budget::new(16_000, 3_000, 200);
        let mut plan = plan(&history, &budget, Guidance::default()).ok()?;
        let compressed = loop {
            if plan.request().is_none() {
                break plan.without_summary()?;
            }
            if !by_model {
                break plan.give_up("no model", true)?;
            }
            let text: String = HEADINGS
                .iter()
                .map(|heading| format!("## {heading}\nSaw {} in [m:1].\n\n", SECRETS[1].0))
                .collect();
            let answer = Completion {
                text,
                ..Completion::default()
            };
            match plan.accept(&answer).ok()? {
                Accepted::Done(compressed) => break *compressed,
                Accepted::Next => {}
            }
        };
        Some((self.rotate(&history, &compressed), compressed))
    }

    fn rotate(&self, history: &[StoredMessage], compressed: &Compressed) -> SessionId {
        let child = SessionId::new("20260520_143022_000002");
        let origin = |from: Option<(usize, MessageId)>| {
            from.map_or(Origin::New, |(place, _)| Origin::Row(history[place].origin))
        };
        let messages = compressed.rows.iter().map(|row| Compacted {
            message: row.message.clone(),
            origin: origin(row.from),
        });
        let rotation = Rotation {
            session: self.session.clone(),
            pending: Vec::new(),
            child: Some(child.clone()),
            system_prompt: "prompt".to_owned(),
            messages: messages.collect(),
            summary_at: compressed.rows.iter().position(|row| is_summary(&row.message)),
            facts: CompactionFacts {
                trigger: Trigger::AfterTools,
                summary: compressed.summary.clone().unwrap_or_default(),
                anchor_index: serde_json::to_value(&compressed.anchor_records).unwrap(),
                anchors: Anchors::default(),
                tokens_before: 0,
                tokens_after: 0,
                usage: Usage::default(),
                cost_usd: None,
                model: None,
                duration_ms: 0,
            },
            at: Timestamp(3.0),
        };
        self.store.rotate(&rotation).unwrap();
        child
    }
}

fn said(rows: &[StoredMessage]) -> Vec<Message> {
    rows.iter().map(|row| Message::clone(&row.message)).collect()
}

fn shows_secret(text: &str) -> Option<&'static str> {
    SECRETS
        .iter()
        .map(|(_, middle)| *middle)
        .find(|middle| text.contains(middle))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn undoing_a_compression_gives_back_what_was_and_what_came_after(
        session in any_session(),
        after in any_round(),
        by_model in any::<bool>(),
    ) {
        let home = Home::with(&session);
        let before = said(&home.store.live(&home.session).unwrap());
        let Some((child, _)) = home.compress(by_model) else { return Ok(()) };
        home.say(&child, &after);
        let undone = SessionId::new("20260520_143022_000003");
        let config = serde_json::json!({"_branched_from": child, "_undo_of": child});
        home.store.uncompress(&child, 1, &row(&undone, Some(&child), config)).unwrap();
        let now = said(&home.store.live(&undone).unwrap());
        let wanted: Vec<Message> = before.into_iter().chain(after).collect();
        prop_assert_eq!(now.len(), wanted.len());
        for (now, wanted) in now.iter().zip(&wanted) {
            prop_assert_eq!(&now.content, &wanted.content);
            prop_assert_eq!(&now.tool_calls, &wanted.tool_calls);
        }
    }

    #[test]
    fn every_id_a_summary_cites_gives_its_message_and_no_secret_is_seen_again(
        session in any_session(),
        by_model in any::<bool>(),
    ) {
        let home = Home::with(&session);
        let Some((child, compressed)) = home.compress(by_model) else { return Ok(()) };
        let summary = compressed.summary.clone().unwrap_or_default();
        for (at, _) in summary.match_indices("[m:") {
            let end = summary[at..].find(']').map_or(at, |end| at + end + 1);
            let id: MessageId = summary[at..end].parse().unwrap();
            prop_assert_eq!(home.store.recall(&[id]).unwrap().len(), 1, "{}", id);
        }
        for record in &compressed.anchor_records {
            let original = home.store.recall(&[record.id]).unwrap();
            prop_assert_eq!(original.len(), 1);
        }
        let listed = serde_json::to_string(&compressed.anchor_records).unwrap();
        prop_assert_eq!(shows_secret(&summary), None);
        prop_assert_eq!(shows_secret(&listed), None);
        let record = &home.store.compactions(&child).unwrap()[0];
        prop_assert_eq!(shows_secret(&record.facts.summary), None);
        for (secret, _) in SECRETS {
            let query = SearchQuery { text: secret.to_owned(), limit: 50, ..SearchQuery::default() };
            for hit in home.store.search(&query).unwrap().hits {
                prop_assert_eq!(shows_secret(&hit.snippet), None, "{}", hit.snippet);
            }
        }
    }
}

/// One provider for each protocol, all of them this server.
fn providers(server: &MockServer) -> Vec<Arc<dyn talaria_llm::Provider>> {
    let modes = [
        ApiMode::ChatCompletions,
        ApiMode::AnthropicMessages,
        ApiMode::CodexResponses,
        ApiMode::Gemini,
    ];
    let provider = |mode| {
        let asked = ProviderRequest {
            provider: Some("custom".to_owned()),
            model: Some("mock-model".to_owned()),
            base_url: Some(if mode == ApiMode::Gemini {
                format!("{}/v1beta", server.origin())
            } else {
                server.base_url()
            }),
            api_mode: Some(mode),
            context_length: Some(16_000),
            ..ProviderRequest::default()
        };
        connect(resolve(&asked, &|_| Some("test-key-0000".to_owned())).unwrap())
    };
    modes.into_iter().map(provider).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_left_of_any_compression_is_valid_in_all_four_protocols() {
    use proptest::strategy::ValueTree;
    let scenario = serde_json::json!({"steps": [{"text": "ok"}], "on_end": "repeat"});
    let server = MockServer::start(Scenario::from_value(scenario).unwrap()).unwrap();
    let server = server.allowing("prefix");
    let providers = providers(&server);
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut sent = 0;
    for case in 0..cases() {
        let session = any_session().new_tree(&mut runner).unwrap().current();
        let home = Home::with(&session);
        let Some((child, _)) = home.compress(case % 2 == 0) else {
            continue;
        };
        let mut rows: Vec<Arc<Message>> = home
            .store
            .live(&child)
            .unwrap()
            .into_iter()
            .map(|row| row.message)
            .collect();
        rows.push(Arc::new(Message::user("And now?")));
        let request = ModelRequest {
            task: Task::Main,
            system: Arc::from("prompt"),
            note: None,
            messages: compose(&rows),
            tools: Arc::from([]),
            tool_choice: ToolChoice::Auto,
            max_output_tokens: None,
            rewrites: Vec::new(),
        };
        for provider in &providers {
            let quiet = |_| {};
            let cancel = tokio_util::sync::CancellationToken::new();
            let answer = provider.complete(&request, &quiet, &cancel).await;
            assert!(
                answer.is_ok(),
                "{:?}: {:?}",
                provider.identity().api_mode,
                answer.err()
            );
            sent += 1;
        }
    }
    assert!(sent >= 3 * cases(), "only {sent} requests");
    assert_eq!(server.findings(), Vec::<String>::new());
}
