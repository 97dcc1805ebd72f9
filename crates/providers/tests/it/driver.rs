use std::sync::Mutex;
use std::time::Duration;

use talaria_llm::Provider;
use talaria_providers::{CredentialPool, NewCredential, Strategy, connect, resolve};
use talaria_recovery::{Failure, Phase, Symptom};
use talaria_types::{Completion, Delta, ErrorKind, Rewrite};
use tokio_util::sync::CancellationToken;

use crate::server::{END, Reply, Server, Then, events, open_events, plain, request, text};

async fn ask(provider: &dyn Provider) -> Result<Completion, Failure> {
    provider
        .complete(&request(), &|_| {}, &CancellationToken::new())
        .await
}

async fn answer_to(reply: Reply) -> Result<Completion, Failure> {
    let server = Server::start(vec![reply]).await;
    ask(&*server.provider()).await
}

#[tokio::test]
async fn all_calls_of_a_session_use_one_connection() {
    let body = text("hello") + END;
    let server = Server::start(vec![
        events(&body),
        plain("500 Internal Server Error", "", "{}"),
        events(&body),
    ])
    .await;
    let provider = server.provider();
    assert_eq!(ask(&*provider).await.unwrap().text, "hello");
    assert_eq!(ask(&*provider).await.unwrap_err().status, Some(500));
    assert_eq!(ask(&*provider).await.unwrap().text, "hello");
    let seen = server.seen();
    assert_eq!(
        seen.iter().map(|request| request.connection).collect::<Vec<_>>(),
        [1, 1, 1]
    );
    provider.rebuild_transport();
}

#[tokio::test]
async fn a_request_says_who_sends_it_and_carries_the_key() {
    let server = Server::start(vec![events(&(text("x") + END))]).await;
    ask(&*server.provider()).await.unwrap();
    let seen = server.seen();
    let head = &seen[0].head;
    assert!(head.starts_with("post /v1/chat/completions http/1.1"), "{head}");
    for line in [
        "user-agent: talaria/",
        "authorization: bearer sk-test-key-000",
        "content-type: application/json",
        "accept: text/event-stream",
    ] {
        assert!(head.contains(line), "{line} in {head}");
    }
    assert!(seen[0].body.contains(r#""stream":true"#));
}

#[tokio::test]
async fn pieces_reach_the_sink_as_they_arrive() {
    let server = Server::start(vec![events(&(text("one ") + &text("two") + END))]).await;
    let seen = Mutex::new(Vec::new());
    let sink = |delta: Delta| seen.lock().unwrap().push(delta);
    server
        .provider()
        .complete(&request(), &sink, &CancellationToken::new())
        .await
        .unwrap();
    let together: String = seen
        .into_inner()
        .unwrap()
        .into_iter()
        .map(|delta| {
            if let Delta::Text(text) = delta {
                text
            } else {
                String::new()
            }
        })
        .collect();
    assert_eq!(together, "one two");
}

#[tokio::test]
async fn a_stream_cut_at_any_byte_is_an_error_with_what_had_arrived() {
    let body = text("Half of an ans") + &text("wer") + END;
    let whole = open_events(&body).bytes;
    let told = whole
        .windows(13)
        .position(|bytes| bytes == b"finish_reason")
        .unwrap()
        + 13;
    for cut in (60..told).step_by(7) {
        let failure = answer_to(Reply {
            bytes: whole[..cut].to_vec(),
            then: Then::Close,
        })
        .await
        .unwrap_err();
        assert_ne!(failure.phase, Phase::Answer, "cut at {cut}: {failure:?}");
        let arrived = failure.partial.map(|partial| partial.text).unwrap_or_default();
        assert!(
            "Half of an answer".starts_with(&arrived),
            "cut at {cut}: {arrived}"
        );
    }
}

#[tokio::test]
async fn an_answer_whose_line_breaks_after_its_end_is_believed() {
    let broken = open_events(&(text("whole") + END));
    assert_eq!(answer_to(broken).await.unwrap().text, "whole");
}

#[tokio::test]
async fn a_line_that_stays_open_after_the_end_is_not_waited_for() {
    let open = Reply {
        then: Then::Silence,
        ..open_events(&(text("whole") + END))
    };
    assert_eq!(answer_to(open).await.unwrap().text, "whole");
}

#[tokio::test]
async fn a_silent_stream_is_given_up_and_its_line_closed() {
    let silent = Reply {
        then: Then::Silence,
        ..open_events(&text("some words"))
    };
    let server = Server::start(vec![silent]).await;
    let mut words = server.words();
    words.local_stale_timeout = Some(Duration::from_millis(50));
    let provider = connect(resolve(&words, &|_| None).unwrap());
    let failure = ask(&*provider).await.unwrap_err();
    assert_eq!(failure.phase, Phase::Body);
    assert_eq!(failure.partial.unwrap().text, "some words");
    server.hung_up().await;
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up() {
    let server = Server::start(vec![Reply {
        bytes: Vec::new(),
        then: Then::Silence,
    }])
    .await;
    let mut words = server.words();
    words.local_stale_timeout = Some(Duration::from_millis(50));
    let provider = connect(resolve(&words, &|_| None).unwrap());
    assert_eq!(ask(&*provider).await.unwrap_err().phase, Phase::Connect);
    server.hung_up().await;
}

#[tokio::test]
async fn an_interrupt_closes_the_line_and_keeps_what_was_streamed() {
    let silent = Reply {
        then: Then::Silence,
        ..open_events(&text("some words"))
    };
    let server = Server::start(vec![silent]).await;
    let cancel = CancellationToken::new();
    let sink = |_: Delta| cancel.cancel();
    let provider = server.provider();
    let failure = provider.complete(&request(), &sink, &cancel).await.unwrap_err();
    assert_eq!(failure.partial.unwrap().text, "some words");
    server.hung_up().await;
}

#[tokio::test]
async fn a_refusal_brings_status_headers_and_body() {
    let body = r#"{"error":{"message":"slow down","type":"rate_limit_error"}}"#;
    let failure = answer_to(plain("429 Too Many Requests", "retry-after: 3\r\n", body))
        .await
        .unwrap_err();
    assert_eq!((failure.phase, failure.status), (Phase::Status, Some(429)));
    assert!(failure.message.contains("slow down"), "{failure:?}");
}

#[tokio::test]
async fn a_huge_refusal_is_kept_in_part_only() {
    let page = format!("<html>{}</html>", "<p>x</p>".repeat(100_000));
    let failure = answer_to(plain("502 Bad Gateway", "", &page)).await.unwrap_err();
    assert!(failure.body.len() <= 64 * 1024);
}

#[tokio::test]
async fn a_key_that_the_server_repeats_is_masked() {
    let body = r#"{"error":{"message":"bad key sk-test-key-000"}}"#;
    let failure = answer_to(plain("401 Unauthorized", "", body)).await.unwrap_err();
    assert!(!format!("{failure:?}").contains("sk-test-key-000"), "{failure:?}");
}

#[tokio::test]
async fn a_plain_answer_to_a_streaming_request_is_taken() {
    let body = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"plain"},"finish_reason":"stop"}]}"#;
    assert_eq!(
        answer_to(plain("200 OK", "content-type: text/event-stream\r\n", body))
            .await
            .unwrap()
            .text,
        "plain"
    );
    let stream = events(&(text("streamed") + END));
    let lying = String::from_utf8(stream.bytes)
        .unwrap()
        .replace("text/event-stream", "application/json ");
    let lying = Reply {
        bytes: lying.into_bytes(),
        then: Then::KeepOpen,
    };
    assert_eq!(answer_to(lying).await.unwrap().text, "streamed");
}

#[tokio::test]
async fn what_is_no_answer_at_all_is_invalid() {
    for body in [
        "",
        "this is not an answer",
        "<html><title>Login</title></html>",
        r#"{"id":"x","choices":[]}"#,
    ] {
        let failure = answer_to(plain("200 OK", "content-type: application/json\r\n", body))
            .await
            .unwrap_err();
        assert_eq!(failure.phase, Phase::Answer, "{body:?}: {failure:?}");
    }
}

#[tokio::test]
async fn a_bare_error_after_two_good_lines_is_that_error() {
    let error = "{\"error\": {\n  \"code\": 503,\n  \"message\": \"The model is overloaded.\"\n}}\n";
    let failure = answer_to(events(&(text("Half") + error))).await.unwrap_err();
    assert_eq!(failure.phase, Phase::Body);
    assert!(failure.body.contains("overloaded"), "{failure:?}");
}

#[tokio::test]
async fn only_the_repair_asks_without_streaming() {
    let body = r#"{"choices":[{"index":0,"message":{"content":"whole"},"finish_reason":"stop"}]}"#;
    let server = Server::start(vec![plain("200 OK", "", body)]).await;
    let mut request = request();
    request.rewrites = vec![Rewrite::DoNotStream];
    let answer = server
        .provider()
        .complete(&request, &|_| {}, &CancellationToken::new())
        .await
        .unwrap();
    assert_eq!(answer.text, "whole");
    assert!(server.seen()[0].body.contains(r#""stream":false"#));
}

#[tokio::test]
async fn a_key_that_is_not_ascii_is_refused_before_any_request() {
    let server = Server::start(Vec::new()).await;
    let mut words = server.words();
    words.api_key = Some("sk-ключ".to_owned().into());
    let provider = connect(resolve(&words, &|_| None).unwrap());
    let failure = ask(&*provider).await.unwrap_err();
    assert_eq!(failure.phase, Phase::Build);
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told_from_one_that_hangs_up() {
    let server = Server::start(Vec::new()).await;
    let mut words = server.words();
    words.base_url = Some("http://127.0.0.1:1/v1".to_owned());
    let provider = connect(resolve(&words, &|_| None).unwrap());
    let refused = ask(&*provider).await.unwrap_err();
    assert_eq!((refused.phase, refused.status), (Phase::Connect, None));
    let hung_up = answer_to(Reply {
        bytes: Vec::new(),
        then: Then::Close,
    })
    .await
    .unwrap_err();
    assert_eq!((hung_up.phase, hung_up.status), (Phase::Connect, None));
    assert_ne!(refused.kind, ErrorKind::Interrupted);
}

#[tokio::test]
async fn a_redirect_is_not_followed_with_the_key() {
    let server = Server::start(vec![plain("302 Found", "location: http://127.0.0.1:1/\r\n", "")]).await;
    let failure = ask(&*server.provider()).await.unwrap_err();
    assert!(
        failure.message.contains("points to http://127.0.0.1:1/"),
        "{failure:?}"
    );
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_spent_key_is_left_for_the_next_of_the_pool() {
    let spent = plain(
        "402 Payment Required",
        "",
        r#"{"error":{"message":"Insufficient credits","code":402}}"#,
    );
    let server = Server::start(vec![spent, events(&(text("paid") + END))]).await;
    let folder = tempfile::tempdir().unwrap();
    let pool = CredentialPool::new(folder.path().join("auth.json"), "custom", Strategy::FillFirst);
    for key in ["sk-pool-1", "sk-pool-2"] {
        let new = NewCredential {
            source: "manual".to_owned(),
            secret: Some(key.to_owned().into()),
            ..NewCredential::default()
        };
        pool.add(&new).unwrap();
    }
    let mut words = server.words();
    words.api_key = None;
    words.auth_file = Some(folder.path().join("auth.json"));
    let provider = connect(resolve(&words, &|_| None).unwrap());
    let failure = ask(&*provider).await.unwrap_err();
    assert!(provider.credentials().can_rotate);
    assert!(provider.next_credential(&failure));
    assert!(!provider.credentials().can_rotate);
    assert_eq!(ask(&*provider).await.unwrap().text, "paid");
    let seen = server.seen();
    assert!(seen[0].head.contains("sk-pool-1") && seen[1].head.contains("sk-pool-2"));
}

#[tokio::test]
async fn what_is_no_model_server_is_not_asked_again() {
    let page = "<!doctype html><html><head><title>Grafana</title></head></html>";
    for (reply, told) in [
        (plain("200 OK", "content-type: text/html\r\n", page), "Grafana"),
        (
            plain("200 OK", "content-type: application/json\r\n", "[1, 2]"),
            "no",
        ),
        (plain("200 OK", "content-type: application/json\r\n", "[]"), "no"),
        (
            plain(
                "307 Temporary Redirect",
                "location: https://example.org/login\r\n",
                "",
            ),
            "example.org/login",
        ),
    ] {
        let failure = answer_to(reply).await.unwrap_err();
        assert_eq!(failure.symptom, Some(Symptom::WrongAddress), "{failure:?}");
        assert!(failure.message.contains(told), "{failure:?}");
    }
}
