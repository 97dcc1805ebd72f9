use talaria_llm::WindowSource;
use talaria_providers::{connect, resolve};

use crate::server::{Reply, Server, Then, plain};

#[tokio::test]
async fn a_configured_window_asks_nobody() {
    let server = Server::start(Vec::new()).await;
    let mut words = server.words();
    words.context_length = Some(5000);
    let window = connect(resolve(&words, &|_| None).unwrap())
        .context_window()
        .await;
    assert_eq!((window.tokens, window.source), (5000, WindowSource::Config));
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn the_servers_list_tells_the_window_once() {
    let list = r#"{"data":[{"id":"m","max_model_len":32768}]}"#;
    let server = Server::start(vec![plain("200 OK", "", list)]).await;
    let provider = server.provider();
    let window = provider.context_window().await;
    assert_eq!((window.tokens, window.source), (32768, WindowSource::Server));
    assert_eq!(provider.context_window().await.tokens, 32768);
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_list_that_hangs_does_not_block() {
    let server = Server::start(vec![Reply {
        bytes: Vec::new(),
        then: Then::Silence,
    }])
    .await;
    let window = server.provider().context_window().await;
    assert_eq!((window.tokens, window.source), (256_000, WindowSource::Default));
}

#[tokio::test]
async fn a_found_window_is_kept_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("context_length_cache.yaml");
    let list = r#"{"data":[{"id":"m","context_length":16384}]}"#;
    let server = Server::start(vec![plain("200 OK", "", list)]).await;
    let mut words = server.words();
    words.window_cache = Some(file.clone());
    let endpoint = resolve(&words, &|_| None).unwrap();
    assert_eq!(connect(endpoint.clone()).context_window().await.tokens, 16384);
    let kept = std::fs::read_to_string(file).unwrap();
    assert!(
        kept.contains(&format!("m@{}\": 16384", server.base_url)),
        "{kept}"
    );
    // The server is gone now; what it said is remembered.
    let window = connect(endpoint).context_window().await;
    assert_eq!((window.tokens, window.source), (16384, WindowSource::Cache));
}

#[tokio::test]
async fn a_window_told_by_a_refusal_holds_from_then_on() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(Vec::new()).await;
    let mut words = server.words();
    words.context_length = Some(128_000);
    words.window_cache = Some(folder.path().join("cache.yaml"));
    let provider = connect(resolve(&words, &|_| None).unwrap());
    provider.learn_window(40_000);
    assert_eq!(provider.context_window().await.tokens, 40_000);
    words.context_length = None;
    let later = connect(resolve(&words, &|_| None).unwrap());
    assert_eq!(later.context_window().await.tokens, 40_000);
}
