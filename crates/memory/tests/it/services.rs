//! Every request that is made is one the service's own SDK was seen to make, and every answer is read as it came.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use talaria_memory::providers::{Exchange, MemoryProvider, MemoryWrite, Opening, ToolUse};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::place::{place, provider};

/// A server that knows the captured exchanges and takes down what it is asked.
struct Replay {
    address: String,
    exchanges: Arc<Vec<Value>>,
    seen: Arc<Mutex<Vec<Value>>>,
}

impl Replay {
    async fn start(captured: &str) -> Self {
        let captured: Value = serde_json::from_str(captured).unwrap();
        let exchanges = Arc::new(captured["exchanges"].as_array().unwrap().clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let seen: Arc<Mutex<Vec<Value>>> = Arc::default();
        let (known, taken) = (exchanges.clone(), seen.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (known, taken) = (known.clone(), taken.clone());
                tokio::spawn(async move {
                    let _ = serve(stream, &known, &taken).await;
                });
            }
        });
        Self {
            address,
            exchanges,
            seen,
        }
    }

    /// Compares what was asked with the captured requests of these names, in order.
    fn compare(&self, names: &[&str]) {
        let mut expected = Vec::new();
        for name in names {
            let named = self
                .exchanges
                .iter()
                .filter(|exchange| exchange["name"] == **name);
            expected.extend(named.map(comparable));
        }
        let seen: Vec<Value> = self.seen.lock().unwrap().iter().map(comparable).collect();
        assert_eq!(seen.len(), expected.len(), "{seen:#?}");
        for (seen, expected) in seen.iter().zip(&expected) {
            assert_eq!(seen, expected);
        }
    }
}

/// What of a request matters: the SDK's name for itself does not.
fn comparable(exchange: &Value) -> Value {
    let header = |name: &str| exchange["headers"].get(name).cloned();
    // The SDK of Honcho says so of requests without a body too.
    let kind = header("content-type").filter(|_| !exchange["body"].is_null());
    json!({
        "method": exchange["method"], "path": exchange["path"], "authorization": header("authorization"),
        "content-type": kind, "body": exchange["body"],
    })
}

async fn serve(stream: TcpStream, known: &[Value], seen: &Mutex<Vec<Value>>) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(());
        }
        let mut words = line.split_whitespace();
        let (method, path) = (words.next().unwrap().to_owned(), words.next().unwrap().to_owned());
        let mut headers = serde_json::Map::new();
        loop {
            let mut header = String::new();
            stream.read_line(&mut header).await?;
            let Some((name, value)) = header.trim_end().split_once(": ") else {
                break;
            };
            headers.insert(name.to_lowercase(), value.into());
        }
        let length = headers
            .get("content-length")
            .and_then(Value::as_str)
            .unwrap_or("0");
        let mut body = vec![0; length.parse().unwrap()];
        stream.read_exact(&mut body).await?;
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let same =
            |exchange: &&Value| exchange["method"] == method.as_str() && exchange["path"] == path.as_str();
        let answer = known
            .iter()
            .find(same)
            .map(|exchange| exchange["response"].to_string());
        seen.lock()
            .unwrap()
            .push(json!({"method": method, "path": path, "headers": headers, "body": body}));
        let (status, answer) = match answer {
            Some(answer) => ("200 OK", answer),
            None => (
                "404 Not Found",
                r#"{"detail":"no such thing, key m0-test-key"}"#.to_owned(),
            ),
        };
        let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n", answer.len());
        stream
            .get_mut()
            .write_all(format!("{head}{answer}").as_bytes())
            .await?;
    }
}

async fn call(provider: &Arc<dyn MemoryProvider>, name: &str, arguments: Value) -> Value {
    let call = ToolUse {
        name: name.to_owned(),
        arguments,
        session_id: "s1".to_owned(),
    };
    provider.handle_tool_call(&call).await.unwrap()
}

fn turn() -> Exchange {
    Exchange {
        session_id: "s1".to_owned(),
        user: "I prefer oolong".to_owned(),
        assistant: "Noted: oolong.".to_owned(),
    }
}

#[tokio::test]
async fn mem0_is_asked_as_its_own_sdk_asks_it() {
    let server = Replay::start(include_str!("../data/mem0.json")).await;
    let home = tempfile::tempdir().unwrap();
    let mut place = place(home.path(), &[("MEM0_API_KEY", "m0-test-key")]);
    place.base_url.clone_from(&server.address);
    let mem0 = provider("mem0", &place);
    mem0.sync_turn(&turn()).await.unwrap();
    let recalled = mem0.prefetch("which tea?", "s1").await.unwrap();
    assert_eq!(recalled, "- Prefers oolong tea\n- Builds with two cores");
    let found = call(
        &mem0,
        "mem0_search",
        json!({"query": "which tea?", "top_k": 5, "rerank": true}),
    )
    .await;
    assert_eq!(
        found["results"][0],
        json!({"memory": "Prefers oolong tea", "score": 0.82})
    );
    let profile = call(&mem0, "mem0_profile", json!({})).await;
    assert_eq!(profile["result"], recalled);
    call(
        &mem0,
        "mem0_conclude",
        json!({"conclusion": "Prefers oolong tea"}),
    )
    .await;
    server.compare(&["add", "search", "search_rerank", "get_all", "conclude"]);
}

#[tokio::test]
async fn honcho_is_asked_as_its_own_sdk_asks_it_and_makes_nothing_twice() {
    let server = Replay::start(include_str!("../data/honcho.json")).await;
    let home = tempfile::tempdir().unwrap();
    let mut place = place(home.path(), &[("HONCHO_API_KEY", "hc-test-key")]);
    place.base_url.clone_from(&server.address);
    let honcho = provider("honcho", &place);
    let opening = Opening {
        session_id: "s1".to_owned(),
        ..Opening::default()
    };
    honcho.initialize(&opening).await.unwrap();
    honcho.sync_turn(&turn()).await.unwrap();
    let recalled = honcho.prefetch("which tea?", "s1").await.unwrap();
    assert_eq!(recalled, "Name: Rider\n\nRider prefers oolong tea.");
    let context = call(&honcho, "honcho_context", json!({})).await;
    assert_eq!(context["representation"], "Rider prefers oolong tea.");
    call(&honcho, "honcho_search", json!({"query": "which tea?"})).await;
    let card = call(&honcho, "honcho_profile", json!({})).await;
    assert_eq!(card["result"][1], "Tea: oolong");
    let answer = call(&honcho, "honcho_reasoning", json!({"query": "which tea?"})).await;
    assert_eq!(answer["result"], "Rider prefers oolong tea.");
    call(
        &honcho,
        "honcho_conclude",
        json!({"conclusion": "Prefers oolong tea"}),
    )
    .await;
    server.compare(&[
        "peer_user",
        "peer_agent",
        "session",
        "add_peers",
        "add_messages",
        "context",
        "context_plain",
        "representation",
        "card",
        "chat",
        "conclude",
    ]);
    // Notes of the agent about itself are none about the person.
    let note = MemoryWrite {
        action: "add".to_owned(),
        target: "memory".to_owned(),
        content: "the CI has two cores".to_owned(),
        ..MemoryWrite::default()
    };
    let before = server.seen.lock().unwrap().len();
    honcho.on_memory_write(&note).await.unwrap();
    assert_eq!(server.seen.lock().unwrap().len(), before);
}

#[tokio::test]
async fn a_service_that_refuses_is_told_without_the_key() {
    let server = Replay::start(r#"{"exchanges": []}"#).await;
    let home = tempfile::tempdir().unwrap();
    let mut place = place(home.path(), &[("MEM0_API_KEY", "m0-test-key")]);
    place.base_url.clone_from(&server.address);
    talaria_redact::learn(["m0-test-key".to_owned()]);
    let error = provider("mem0", &place)
        .prefetch("tea", "s1")
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("404") && error.contains("no such thing"),
        "{error}"
    );
    assert!(!error.contains("m0-test-key"), "{error}");
    place.base_url = "http://127.0.0.1:1".to_owned();
    let error = provider("mem0", &place)
        .prefetch("tea", "s1")
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("mem0 could not be reached"), "{error}");
}

#[test]
fn without_a_key_it_is_said_which_one_is_missing() {
    let home = tempfile::tempdir().unwrap();
    for (name, variable) in [("mem0", "MEM0_API_KEY"), ("honcho", "HONCHO_API_KEY")] {
        let row = talaria_memory::providers::table::row(name).unwrap();
        let Err(error) = row.build(&place(home.path(), &[])) else {
            panic!("{name} needs a key")
        };
        assert!(error.to_string().contains(variable), "{error}");
    }
}
