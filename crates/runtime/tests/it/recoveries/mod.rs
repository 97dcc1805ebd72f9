//! Every row of the recovery chain, end to end: a server refuses with a real body, the row's remedy is seen
//! in the request that follows, and the turn succeeds; or nothing follows, and the turn says why.

mod cases;

use std::path::Path;

use serde_json::{Value, json};
use talaria_config::Overrides;
use talaria_providers::{CredentialPool, NewCredential, Strategy};
use talaria_runtime::Open;
use talaria_testkit::{MockServer, Recorded, Scenario, TempHome};
use talaria_types::{
    Content, ImagePart, ImageSource, Message, Op, Part, SessionId, Timestamp, ToolCall, TurnResult,
};

use crate::rig::{Rig, Talk};

/// One row and one of its fixtures.
struct Case {
    row: &'static str,
    /// The file in the row's `claims` whose body the server answers with.
    fixture: &'static str,
    mode: &'static str,
    /// Further lines of `model:`.
    model: &'static str,
    /// Further lines of `config.yaml`.
    config: &'static str,
    /// What is answered before it refuses.
    before: fn() -> Vec<Value>,
    /// How many turns that takes.
    turns: usize,
    /// What stands in the conversation.
    history: History,
    /// What the server answers instead of the fixture's body.
    instead: fn() -> Option<Value>,
    /// How often it refuses.
    times: usize,
    /// The server asks for a moment's patience, so that a wait takes no longer.
    patient: bool,
    /// Keys in the provider's pool; with one of its own otherwise.
    pool: &'static [&'static str],
    check: fn(&Seen),
}

/// What a case needs in its conversation.
#[derive(PartialEq)]
enum History {
    Plain,
    /// The prompt shows a picture.
    Picture,
    /// A tool has given a picture.
    ToolPicture,
}

impl Case {
    const fn new(row: &'static str, fixture: &'static str, check: fn(&Seen)) -> Self {
        Self {
            row,
            fixture,
            mode: "chat_completions",
            model: "",
            config: "",
            before: Vec::new,
            turns: 0,
            history: History::Plain,
            instead: || None,
            times: 1,
            patient: true,
            pool: &[],
            check,
        }
    }
}

/// What happened in a case.
struct Seen {
    /// The main request that was refused, and the one after it.
    refused: Recorded,
    next: Option<Recorded>,
    result: TurnResult,
}

impl Seen {
    fn next(&self) -> &Recorded {
        self.next.as_ref().unwrap()
    }

    /// The turn went well after the remedy.
    fn cured(&self) {
        assert_eq!(
            self.result.final_response.as_deref(),
            Some("done"),
            "{:?}",
            self.result
        );
    }

    /// Nothing more was sent, and the turn says so.
    fn ended(&self, kind: &str) {
        assert!(self.next.is_none());
        let error = self.result.error.as_ref().unwrap();
        assert_eq!(serde_json::to_value(error.kind).unwrap(), kind, "{error:?}");
    }
}

/// Lines of configuration that make the same server, as another model, the fallback.
const FALLBACK: &str = "fallback_providers:\n  - provider: custom\n    model: other-model\n    base_url: BASE\n    api_key: test-key-1111\n    context_length: 400000\n";

fn refusal(case: &Case) -> Value {
    if let Some(step) = (case.instead)() {
        return step;
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../recovery/fixtures")
        .join(case.row)
        .join("claims")
        .join(format!("{}.json", case.fixture));
    let fixture: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let failure = &fixture["failure"];
    let body = match failure["body"].as_str() {
        Some(text) => json!(text),
        None => failure["json"].clone(),
    };
    let mut headers = if case.patient {
        json!({"retry-after-ms": "20"})
    } else {
        json!({})
    };
    for header in failure["headers"].as_array().into_iter().flatten() {
        let name = header[0].as_str().unwrap();
        if !name.eq_ignore_ascii_case("retry-after") {
            headers[name] = header[1].clone();
        }
    }
    json!({"status": failure["status"], "headers": headers, "body": body})
}

fn rig(case: &Case) -> Rig {
    let mut steps = (case.before)();
    steps.extend(std::iter::repeat_n(refusal(case), case.times));
    steps.push(json!({"text": "done"}));
    let summary: String = talaria_context::compress::HEADINGS
        .iter()
        .map(|heading| format!("## {heading}\nThe log was read.\n\n"))
        .collect();
    let scenario = json!({"steps": steps, "tasks": {"summary": [{"text": summary}]}, "on_end": "repeat"});
    let server = MockServer::start(Scenario::from_value(scenario).unwrap()).unwrap();
    let base = if case.mode == "gemini" {
        format!("{}/v1beta", server.origin())
    } else {
        server.base_url()
    };
    let usual = [
        ("default", "mock-model"),
        ("provider", "custom"),
        ("api_key", "test-key-0000"),
        ("context_length", "200000"),
    ];
    let said = |name: &str| case.model.contains(name) || (name == "api_key" && !case.pool.is_empty());
    let usual: String = usual
        .iter()
        .filter(|(name, _)| !said(name))
        .map(|(name, value)| format!("  {name}: {value}\n"))
        .collect();
    let yaml = format!(
        "model:\n  base_url: {base}\n  api_mode: {}\n{usual}{}approvals:\n  mode: \"off\"\nauxiliary:\n  title_generation:\n    enabled: false\n{}",
        case.mode,
        case.model,
        case.config.replace("BASE", &base)
    );
    let home = TempHome::with_config(&yaml).unwrap();
    let pool = CredentialPool::new(home.path().join("auth.json"), "custom", Strategy::FillFirst);
    for key in case.pool {
        let new = NewCredential {
            source: "manual".to_owned(),
            secret: Some((*key).to_owned().into()),
            ..NewCredential::default()
        };
        pool.add(&new).unwrap();
    }
    let server = server.allowing("prefix");
    let server = if case.row == "prefill_refused" {
        server.allowing("end")
    } else {
        server
    };
    Rig { server, home }
}

fn picture() -> Part {
    Part::Image(ImagePart {
        source: ImageSource::Url("https://example.com/heron.png".to_owned()),
        media_type: "image/png".to_owned(),
    })
}

/// A session in which a tool has given a picture.
fn with_tool_picture(rig: &Rig) -> SessionId {
    let engine = rig.engine_with(&Overrides::default());
    let id = SessionId::new("20260520_143022_000001");
    engine
        .store()
        .create_session(&crate::laws::row(&id, None, json!({})))
        .unwrap();
    let call = ToolCall {
        id: "call_1".to_owned(),
        name: "read_file".to_owned(),
        arguments: r#"{"path":"heron.png"}"#.to_owned(),
        extra: serde_json::Map::new(),
    };
    let shown = Content::Parts(vec![
        Part::Text {
            text: "a picture".to_owned(),
        },
        picture(),
    ]);
    let rows = [
        Message::user("look at heron.png"),
        Message {
            tool_calls: vec![call],
            ..Message::assistant("")
        },
        Message::tool("call_1", "read_file", shown),
        Message::assistant("A heron."),
    ];
    let rows: Vec<_> = rows.into_iter().map(Into::into).collect();
    engine.store().append(&id, &rows, Timestamp(2.0)).unwrap();
    id
}

async fn play(case: &Case) -> Seen {
    let rig = rig(case);
    let open = match case.history {
        History::ToolPicture => Open::Resume {
            name: with_tool_picture(&rig).to_string(),
            exact: false,
        },
        History::Plain | History::Picture => Open::New,
    };
    let engine = rig.engine();
    let mut talk = Talk::open(&engine, open).await;
    for turn in 0..case.turns {
        talk.turn(&format!(
            "question {turn}: {}",
            "what does the log say? ".repeat(40)
        ))
        .await;
    }
    let asked = rig.server.main_requests().len() + (case.before)().len() - case.turns;
    let prompt = match case.history {
        History::Picture => Content::Parts(vec![
            Part::Text {
                text: "what is this?".to_owned(),
            },
            picture(),
        ]),
        History::Plain | History::ToolPicture => "go on".into(),
    };
    talk.handle.send(Op::Prompt { content: prompt });
    let (_, result) = talk.rest().await;
    let mut sent = rig.server.main_requests().split_off(asked);
    let next = (sent.len() > case.times).then(|| sent.swap_remove(case.times));
    Seen {
        refused: sent.swap_remove(0),
        next,
        result,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_row_cures_its_failure_or_ends_the_turn_with_a_reason() {
    for case in cases::CASES {
        let seen = play(case).await;
        // Shown when a check of the case fails.
        eprintln!("{} / {}", case.row, case.fixture);
        let fired = seen.result.recoveries.iter().any(|row| row.row == case.row);
        // A row that ends the turn has cured nothing.
        assert!(fired || seen.next.is_none(), "it did not fire: {:?}", seen.result);
        (case.check)(&seen);
    }
}

#[test]
fn every_row_has_its_case_or_is_tested_where_its_edge_is() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../recovery/fixtures");
    for entry in std::fs::read_dir(folder).unwrap() {
        let row = entry.unwrap().file_name().into_string().unwrap();
        let here = cases::CASES.iter().any(|case| case.row == row);
        let there = cases::ELSEWHERE.iter().any(|(name, _)| *name == row);
        assert!(here != there, "{row} has a case here: {here}, elsewhere: {there}");
    }
}

/// A server that shows a certificate nobody has signed, and counts who went on after seeing it.
fn with_unknown_certificate() -> (String, std::sync::Arc<std::sync::atomic::AtomicUsize>) {
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    use std::io::Read;
    use std::sync::atomic::{AtomicUsize, Ordering};
    let certificate = CertificateDer::from_pem_slice(include_bytes!("unknown-certificate.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("unknown-key.pem")).unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let config = std::sync::Arc::new(config);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("https://{}/v1", listener.local_addr().unwrap());
    let seen = std::sync::Arc::new(AtomicUsize::new(0));
    let connections = seen.clone();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            connections.fetch_add(1, Ordering::SeqCst);
            let connection = rustls::ServerConnection::new(config.clone()).unwrap();
            let mut stream = rustls::StreamOwned::new(connection, client);
            // A client that trusts it would send its request, and its key with it.
            let mut request = [0; 64];
            if stream.read(&mut request).is_ok_and(|read| read > 0) {
                connections.fetch_add(1_000, Ordering::SeqCst);
            }
        }
    });
    (address, seen)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_with_an_unknown_certificate_is_asked_once_and_given_no_key() {
    let (address, seen) = with_unknown_certificate();
    let rig = Rig::new(json!([]));
    let yaml = format!(
        "model:\n  default: mock-model\n  provider: custom\n  base_url: {address}\n  api_key: test-key-0000\n  context_length: 200000\n"
    );
    std::fs::write(rig.home.path().join("config.yaml"), yaml).unwrap();
    let engine = rig.engine();
    let (_, result) = Talk::open(&engine, Open::New).await.turn("hi").await;
    let error = result.error.unwrap();
    assert_eq!(
        serde_json::to_value(error.kind).unwrap(),
        "ssl_cert_verification",
        "{error:?}"
    );
    assert_eq!(seen.load(std::sync::atomic::Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_fifth_stall_in_a_row_ends_the_turn_over_turns_too() {
    let silent = json!({"text": "words", "chunk_chars": 2, "stall_after": 1, "stall_ms": 60_000});
    let scenario = json!({"steps": [silent], "on_end": "repeat"});
    let server = MockServer::start(Scenario::from_value(scenario).unwrap()).unwrap();
    let home = TempHome::pointing_at(&server).unwrap();
    let path = home.path().join("config.yaml");
    let config = std::fs::read_to_string(&path).unwrap();
    let more = "agent:\n  api_max_retries: 1\n  local_stream_stale_timeout: 1\n";
    std::fs::write(path, config + more).unwrap();
    let rig = Rig {
        server: server.allowing("prefix"),
        home,
    };
    let engine = rig.engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    talk.turn("one").await;
    let first = rig.server.main_requests().len();
    let (_, result) = talk.turn("two").await;
    let second = rig.server.main_requests().len() - first;
    assert_eq!((first, second), (3, 2), "{result:?}");
    assert!(!result.completed, "{result:?}");
}
