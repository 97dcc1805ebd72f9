//! Programs of a few lines of `sh`, each with one way to be a nuisance.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use talaria_peer::{Handler, Limits, Opening, Peer, PeerError, Program, Quiet, Refusal};

/// Nothing here takes that long unless it is broken.
const LONG: Duration = Duration::from_secs(30);

/// Gives the id of a request to what follows.
const READ: &str = r#"take() { read -r line || exit 0; id=${line#*\"id\":}; id=${id%%,*}; }
give() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
"#;

fn sh(script: &str) -> Program {
    Program::new("/bin/sh")
        .named("notes")
        .arg("-c")
        .arg(format!("{READ}{script}"))
}

async fn started(script: &str) -> Peer {
    Peer::start(sh(script), Quiet).await.unwrap()
}

async fn call(peer: &Peer, method: &str) -> Result<Value, PeerError> {
    peer.call(method, json!({"x": "é\n"}), LONG).await
}

#[tokio::test]
async fn a_call_is_answered_and_what_was_sent_is_one_line() {
    let peer = started(r#"while take; do give "$(printf '%s' "$line")"; done"#).await;
    let answer = call(&peer, "echo").await.unwrap();
    assert_eq!(
        answer,
        json!({"jsonrpc": "2.0", "id": 1, "method": "echo", "params": {"x": "é\n"}})
    );
    peer.stop(LONG).await;
    assert!(matches!(
        call(&peer, "echo").await,
        Err(PeerError::Stopped { .. })
    ));
}

#[tokio::test]
async fn answers_out_of_order_reach_their_callers() {
    let peer = started(r#"take; first=$id; take; give '"second"'; id=$first; give '"first"'; take"#).await;
    let (first, second) = tokio::join!(call(&peer, "a"), call(&peer, "b"));
    assert_eq!(
        (first.unwrap(), second.unwrap()),
        (json!("first"), json!("second"))
    );
}

#[tokio::test]
async fn a_stray_print_costs_nothing_and_an_error_is_told() {
    let script = r#"echo 'loading the model'; echo '[1,2]'; take
        printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"key sk-abcdefghijklmnopqrstuvwxyz0123456789"}}\n' "$id"; take"#;
    let error = call(&started(script).await, "what").await.unwrap_err();
    assert!(error.is_unknown_method(), "{error}");
    assert!(!error.to_string().contains("klmnop"), "{error}");
}

#[tokio::test]
async fn a_hung_program_costs_the_bound_and_not_more() {
    let peer = started("while take; do :; done").await;
    let error = peer
        .call("x", Value::Null, Duration::from_millis(20))
        .await
        .unwrap_err();
    assert!(matches!(error, PeerError::Late { .. }), "{error}");
    assert!(peer.runs());
}

#[tokio::test]
async fn a_death_fails_what_waits_at_once_and_says_what_was_said() {
    let peer = started("take; echo 'no such module: tea' >&2; exit 3").await;
    let (first, second) = tokio::join!(call(&peer, "a"), call(&peer, "b"));
    for error in [first.unwrap_err(), second.unwrap_err()] {
        let told = error.to_string();
        assert!(
            told.contains("exit status: 3") && told.contains("no such module: tea"),
            "{told}"
        );
    }
}

#[tokio::test]
async fn an_answer_given_with_the_last_breath_still_counts() {
    let peer = started(r#"take; give '"bye"'"#).await;
    assert_eq!(call(&peer, "a").await.unwrap(), json!("bye"));
}

#[tokio::test]
async fn the_next_call_starts_it_again_and_one_that_keeps_dying_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let script = "echo x >> starts; take; exit 1";
    let peer = Peer::new(sh(script).folder(folder.path()), Quiet);
    assert!(!peer.runs());
    for _ in 0..3 {
        assert!(matches!(call(&peer, "a").await, Err(PeerError::Died { .. })));
    }
    let resting = call(&peer, "a").await.unwrap_err();
    assert!(matches!(resting, PeerError::Resting { .. }), "{resting}");
    assert!(resting.to_string().contains("exit status: 1"), "{resting}");
    peer.forgive().await;
    assert!(matches!(call(&peer, "a").await, Err(PeerError::Died { .. })));
    let starts = std::fs::read_to_string(folder.path().join("starts")).unwrap();
    assert_eq!(starts.lines().count(), 4);
}

#[tokio::test]
async fn a_handshake_comes_first_after_every_start() {
    let peer = Peer::new(
        sh(r#"take; give "$line"; take; give "$line"; take; exit 1"#),
        Quiet,
    );
    peer.opens_with(Opening {
        method: "hello".to_owned(),
        params: json!({"version": 1}),
        within: LONG,
    });
    for _ in 0..2 {
        let answer = call(&peer, "a").await.unwrap();
        assert_eq!(answer["method"], "a");
        assert_eq!(peer.greeting()["params"], json!({"version": 1}));
        assert!(matches!(call(&peer, "b").await, Err(PeerError::Died { .. })));
    }
}

#[tokio::test]
async fn a_handshake_that_hangs_ends_the_program() {
    let peer = Peer::new(sh("while take; do :; done"), Quiet);
    peer.opens_with(Opening {
        method: "hello".to_owned(),
        params: Value::Null,
        within: Duration::from_millis(20),
    });
    let error = peer.connect().await.unwrap_err();
    assert!(matches!(error, PeerError::Late { .. }), "{error}");
    assert!(!peer.runs());
}

#[tokio::test]
async fn a_line_without_end_ends_the_program() {
    let script = "take; head -c 100000 /dev/zero | tr '\\0' x; take";
    let limits = Limits {
        line_bytes: 1000,
        ..Limits::default()
    };
    let peer = Peer::start(sh(script).limits(limits), Quiet).await.unwrap();
    let error = call(&peer, "a").await.unwrap_err().to_string();
    assert!(error.contains("longer than 1000 bytes"), "{error}");
}

#[tokio::test]
async fn a_program_that_does_not_exist_says_so() {
    let error = Peer::start(Program::new("/nowhere/notes"), Quiet)
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("notes could not be started"),
        "{error}"
    );
}

#[tokio::test]
async fn a_flood_that_nobody_reads_is_refused_and_blocks_nobody() {
    let limits = Limits {
        waiting: 4,
        ..Limits::default()
    };
    // It reads nothing until its standard input is closed by the stop.
    let peer = Peer::start(
        sh("exec 3<&0; cat <&- ; while :; do read -r line <&3 || exit 0; exec sleep 60; done").limits(limits),
        Quiet,
    )
    .await
    .unwrap();
    let much = json!("x".repeat(200_000));
    let refused = (0..20).any(|_| matches!(peer.notify("n", &much), Err(PeerError::Busy { .. })));
    assert!(refused);
    peer.stop(Duration::from_millis(10)).await;
}

/// Whether a process still runs; a zombie nobody reaped does not.
fn lives(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')')
        .is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

#[tokio::test]
async fn stopping_ends_what_the_program_started_and_ignores_its_deafness() {
    let peer = started(r#"trap '' TERM; sleep 600 & take; give "$!"; while :; do sleep 600; done"#).await;
    let child = call(&peer, "a").await.unwrap().to_string();
    assert!(lives(&child));
    peer.stop(Duration::from_millis(10)).await;
    assert!(!lives(&child));
}

#[tokio::test]
async fn a_program_that_ends_by_itself_when_its_input_closes_is_not_killed() {
    let folder = tempfile::tempdir().unwrap();
    let script = "take; give 1; read -r line; echo done > end";
    let peer = Peer::start(sh(script).folder(folder.path()), Quiet)
        .await
        .unwrap();
    call(&peer, "a").await.unwrap();
    peer.stop(LONG).await;
    assert_eq!(
        std::fs::read_to_string(folder.path().join("end")).unwrap(),
        "done\n"
    );
}

/// Adds up, and keeps what it is told.
#[derive(Clone, Default)]
struct Listener(Arc<Mutex<Vec<Value>>>);

impl Handler for Listener {
    fn call<'a>(&'a self, method: &'a str, params: Value) -> BoxFuture<'a, Result<Value, Refusal>> {
        Box::pin(async move {
            match method {
                "add" => Ok(json!(params[0].as_i64().unwrap() + params[1].as_i64().unwrap())),
                _ => Err(Refusal::unknown(method)),
            }
        })
    }

    fn notified<'a>(&'a self, method: &'a str, params: Value) -> BoxFuture<'a, ()> {
        Box::pin(async move { self.0.lock().unwrap().push(json!([method, params])) })
    }
}

#[tokio::test]
async fn the_program_may_call_and_tell_us_too() {
    let script = r#"take; mine=$id
        printf '{"jsonrpc":"2.0","method":"progress","params":1}\n'
        printf '{"jsonrpc":"2.0","method":"progress","params":2}\n'
        printf '{"jsonrpc":"2.0","id":"q","method":"add","params":[2,3]}\n'
        read -r sum
        printf '{"jsonrpc":"2.0","id":"r","method":"nope"}\n'
        read -r refusal
        id=$mine; give "[$sum,$refusal]"; take"#;
    let listener = Listener::default();
    let peer = Peer::start(sh(script), listener.clone()).await.unwrap();
    let answer = call(&peer, "a").await.unwrap();
    assert_eq!(answer[0], json!({"jsonrpc": "2.0", "id": "q", "result": 5}));
    assert_eq!(answer[1]["error"]["code"], -32601);
    assert_eq!(
        *listener.0.lock().unwrap(),
        [json!(["progress", 1]), json!(["progress", 2])]
    );
}
