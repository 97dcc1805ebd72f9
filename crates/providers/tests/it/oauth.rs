//! Logins against a recorded token server: renewed when they run out or are refused, and made for the first time.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use talaria_llm::Provider;
use talaria_providers::{
    BrowserLogin, CredentialPool, DeviceLogin, LoginError, NewCredential, ProviderRequest, Strategy, connect,
    login_row, resolve,
};
use talaria_recovery::Failure;
use talaria_types::{ApiMode, Completion};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_util::sync::CancellationToken;

use crate::server::{END, Reply, Seen, Server, events, plain, request, text};

/// The server's address without a path.
fn origin(server: &Server) -> String {
    server.base_url.trim_end_matches("/v1").to_owned()
}

fn json_reply(status: &str, body: &Value) -> Reply {
    plain(status, "content-type: application/json\r\n", &body.to_string())
}

fn refused() -> Reply {
    json_reply(
        "401 Unauthorized",
        &json!({"error": {"message": "Unauthorized", "code": 401}}),
    )
}

fn answered() -> Reply {
    events(&(text("hello") + END))
}

/// A login of a provider in a file, at this server.
fn stored(folder: &Path, provider: &str, server: &Server, mut entry: Value) -> CredentialPool {
    let file = folder.join("auth.json");
    entry["id"] = "login".into();
    entry["auth_type"] = "oauth".into();
    entry["source"] = "manual:device_code".into();
    entry["portal_base_url"] = origin(server).into();
    entry["base_url"] = server.base_url.clone().into();
    std::fs::write(&file, json!({"credential_pool": {provider: [entry]}}).to_string()).unwrap();
    CredentialPool::new(file, provider, Strategy::FillFirst)
}

fn model(folder: &Path, provider: &str) -> Arc<dyn Provider> {
    let words = ProviderRequest {
        provider: Some(provider.to_owned()),
        model: Some("m".to_owned()),
        auth_file: Some(folder.join("auth.json")),
        api_mode: Some(ApiMode::ChatCompletions),
        ..ProviderRequest::default()
    };
    connect(resolve(&words, &|_| None).unwrap())
}

async fn ask(provider: &dyn Provider) -> Result<Completion, Failure> {
    provider
        .complete(&request(), &|_| {}, &CancellationToken::new())
        .await
}

fn sent_key(seen: &Seen) -> &str {
    let line = seen
        .head
        .lines()
        .find_map(|line| line.strip_prefix("authorization: "));
    line.unwrap_or_default()
}

/// One login: what is stored of it, what its server answers, and what comes of it.
struct Case {
    provider: &'static str,
    entry: Value,
    answers: Vec<Value>,
    /// Where each of them is asked for, and a word of the request.
    asked: Vec<(&'static str, &'static str)>,
    key: &'static str,
}

fn cases() -> Vec<Case> {
    let plain_entry = || json!({"access_token": "old-token", "refresh_token": "refresh-1"});
    let fresh = || json!({"access_token": "new-token", "refresh_token": "refresh-2", "expires_in": 3600});
    vec![
        Case {
            provider: "anthropic",
            entry: json!({"access_token": "sk-ant-oat01-old", "refresh_token": "refresh-1"}),
            answers: vec![
                json!({"access_token": "sk-ant-oat01-new", "refresh_token": "refresh-2", "expires_in": 3600}),
            ],
            asked: vec![("post /v1/oauth/token", "\"refresh_token\":\"refresh-1\"")],
            key: "sk-ant-oat01-new",
        },
        Case {
            provider: "openai-codex",
            entry: plain_entry(),
            answers: vec![fresh()],
            asked: vec![("post /oauth/token", "refresh_token=refresh-1")],
            key: "new-token",
        },
        Case {
            provider: "xai-oauth",
            entry: plain_entry(),
            answers: vec![fresh()],
            asked: vec![("post /oauth2/token", "refresh_token=refresh-1")],
            key: "new-token",
        },
        Case {
            provider: "nous",
            entry: json!({"access_token": "portal", "refresh_token": "refresh-1", "agent_key": "old-key"}),
            answers: vec![json!({"api_key": "minted-key", "expires_in": 1800})],
            asked: vec![("post /api/oauth/agent-key", "min_ttl_seconds")],
            key: "minted-key",
        },
        Case {
            provider: "copilot",
            entry: json!({"access_token": "gho_stored", "agent_key": "old-key"}),
            answers: vec![json!({"token": "exchanged", "expires_at": 4_000_000_000_u64})],
            asked: vec![("get /copilot_internal/v2/token", "")],
            key: "exchanged",
        },
    ]
}

#[tokio::test]
async fn a_refused_login_is_renewed_and_the_call_succeeds() {
    for case in cases() {
        let folder = tempfile::tempdir().unwrap();
        let mut script = vec![refused()];
        script.extend(case.answers.iter().map(|answer| json_reply("200 OK", answer)));
        script.push(answered());
        let server = Server::start(script).await;
        stored(folder.path(), case.provider, &server, case.entry);
        let provider = model(folder.path(), case.provider);
        let failure = ask(&*provider).await.unwrap_err();
        assert_eq!(failure.status, Some(401), "{}", case.provider);
        assert!(provider.credentials().can_refresh, "{}", case.provider);
        assert!(provider.refresh_credential().await, "{}", case.provider);
        assert_eq!(ask(&*provider).await.unwrap().text, "hello", "{}", case.provider);
        let seen = server.seen();
        for ((place, word), asked) in case.asked.iter().zip(&seen[1..]) {
            assert!(
                asked.head.starts_with(place) && asked.body.contains(word),
                "{asked:?}"
            );
        }
        let key = sent_key(seen.last().unwrap());
        assert!(
            key.eq_ignore_ascii_case(&format!("bearer {}", case.key)),
            "{}: {key}",
            case.provider
        );
        let written = std::fs::read_to_string(folder.path().join("auth.json")).unwrap();
        assert!(written.contains(case.key), "{}: {written}", case.provider);
    }
}

#[tokio::test]
async fn a_login_that_runs_out_is_renewed_before_the_call() {
    let folder = tempfile::tempdir().unwrap();
    let fresh = json!({"access_token": "new-token", "expires_in": 3600});
    let server = Server::start(vec![json_reply("200 OK", &fresh), answered(), answered()]).await;
    let entry =
        json!({"access_token": "old", "refresh_token": "refresh-1", "expires_at": "2020-01-01T00:00:00Z"});
    stored(folder.path(), "xai-oauth", &server, entry);
    let provider = model(folder.path(), "xai-oauth");
    ask(&*provider).await.unwrap();
    ask(&*provider).await.unwrap();
    let keys: Vec<String> = server.seen()[1..]
        .iter()
        .map(|seen| sent_key(seen).to_lowercase())
        .collect();
    assert_eq!(keys, ["bearer new-token", "bearer new-token"]);
    // A server that gives no new refresh token means the old one to go on.
    let written = std::fs::read_to_string(folder.path().join("auth.json")).unwrap();
    assert!(written.contains("refresh-1"), "{written}");
}

#[tokio::test]
async fn a_login_that_is_over_is_dead_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let over = json!({"error": "invalid_grant", "error_description": "refresh token was used"});
    let server = Server::start(vec![refused(), json_reply("400 Bad Request", &over)]).await;
    let entry = json!({"access_token": "old", "refresh_token": "refresh-1"});
    let pool = stored(folder.path(), "openai-codex", &server, entry);
    let provider = model(folder.path(), "openai-codex");
    ask(&*provider).await.unwrap_err();
    assert!(!provider.refresh_credential().await);
    assert!(!provider.credentials().can_refresh);
    let listed = pool.list().unwrap();
    assert_eq!(listed[0].status, "dead");
    assert!(
        listed[0].why.as_ref().unwrap().contains("refresh token was used"),
        "{listed:?}"
    );
}

#[tokio::test]
async fn what_another_process_has_renewed_is_taken_over() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(vec![refused(), answered()]).await;
    let entry = json!({"access_token": "old", "refresh_token": "refresh-1"});
    stored(folder.path(), "openai-codex", &server, entry);
    let provider = model(folder.path(), "openai-codex");
    ask(&*provider).await.unwrap_err();
    let entry = json!({"access_token": "from-the-other", "refresh_token": "refresh-2"});
    stored(folder.path(), "openai-codex", &server, entry);
    assert!(provider.refresh_credential().await);
    ask(&*provider).await.unwrap();
    assert_eq!(server.seen().len(), 2);
    assert!(sent_key(&server.seen()[1]).contains("from-the-other"));
}

#[tokio::test]
async fn a_login_server_that_fails_is_not_the_end_of_the_login() {
    let row = login_row("copilot").unwrap();
    let server = Server::start(vec![json_reply("500 Internal Server Error", &json!({}))]).await;
    let error = DeviceLogin::begin(row, Some(&origin(&server)), None)
        .await
        .unwrap_err();
    assert!(matches!(error, LoginError::Unreachable(_)), "{error}");
}

fn kept(new: &NewCredential, name: &str) -> String {
    new.members
        .get(name)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

#[tokio::test]
async fn a_code_typed_in_elsewhere_logs_in() {
    let code = json!({"device_code": "secret", "user_code": "ABCD-EFGH", "verification_uri": "https://x.example/device",
        "interval": 0, "expires_in": 60});
    let pending = json!({"error": "authorization_pending"});
    let fresh = json!({"access_token": "token", "refresh_token": "refresh"});
    let server = Server::start(vec![
        json_reply("200 OK", &code),
        json_reply("400 Bad Request", &pending),
        json_reply("200 OK", &fresh),
    ])
    .await;
    let row = login_row("xai-oauth").unwrap();
    let login = DeviceLogin::begin(row, Some(&origin(&server)), None)
        .await
        .unwrap();
    assert_eq!(
        (login.code.as_str(), login.url.as_str()),
        ("ABCD-EFGH", "https://x.example/device")
    );
    let new = login.wait().await.unwrap();
    assert_eq!(
        (
            kept(&new, "access_token").as_str(),
            kept(&new, "auth_type").as_str()
        ),
        ("token", "oauth")
    );
    assert!(server.seen()[2].body.contains("device_code=secret"));
}

#[tokio::test]
async fn a_chatgpt_code_is_exchanged_for_tokens() {
    let code = json!({"device_auth_id": "secret", "user_code": "WXYZ", "interval": "0"});
    let granted = json!({"authorization_code": "the-code", "code_verifier": "the-proof"});
    let fresh = json!({"access_token": "token", "refresh_token": "refresh"});
    let server = Server::start(vec![
        json_reply("200 OK", &code),
        json_reply("403 Forbidden", &json!({})),
        json_reply("200 OK", &granted),
        json_reply("200 OK", &fresh),
    ])
    .await;
    let row = login_row("openai-codex").unwrap();
    let login = DeviceLogin::begin(row, Some(&origin(&server)), None)
        .await
        .unwrap();
    let new = login.wait().await.unwrap();
    assert_eq!(kept(&new, "refresh_token"), "refresh");
    let exchange = &server.seen()[3];
    assert!(
        exchange.body.contains("code=the-code") && exchange.body.contains("code_verifier=the-proof"),
        "{exchange:?}"
    );
}

#[tokio::test]
async fn a_browser_brings_the_code_back_to_this_machine() {
    let fresh = json!({"access_token": "sk-ant-oat01-x", "refresh_token": "refresh", "expires_in": 60});
    let server = Server::start(vec![json_reply("200 OK", &fresh)]).await;
    let row = login_row("anthropic").unwrap();
    let login = BrowserLogin::begin(row, Some(&origin(&server)), None, false)
        .await
        .unwrap();
    let url = url::Url::parse(&login.url).unwrap();
    let word = |name: &str| {
        url.query_pairs()
            .find(|(known, _)| known == name)
            .unwrap()
            .1
            .into_owned()
    };
    let (redirect, state) = (word("redirect_uri"), word("state"));
    assert_eq!(word("code_challenge_method"), "S256");
    let waiting = tokio::spawn(login.wait());
    let address = redirect
        .trim_start_matches("http://")
        .split('/')
        .next()
        .unwrap()
        .to_owned();
    let visit = async |path: String| {
        let mut stream = tokio::net::TcpStream::connect(&address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    };
    assert!(visit("/favicon.ico".to_owned()).await.starts_with("HTTP/1.1 404"));
    assert!(
        visit(format!("/callback?code=abc&state={state}"))
            .await
            .contains("Logged in")
    );
    let new = waiting.await.unwrap().unwrap();
    assert_eq!(kept(&new, "access_token"), "sk-ant-oat01-x");
    let exchange: Value = serde_json::from_str(&server.seen()[0].body).unwrap();
    assert_eq!(
        (exchange["code"].as_str(), exchange["state"].as_str()),
        (Some("abc"), Some(state.as_str()))
    );
    assert!(exchange["code_verifier"].as_str().unwrap().len() >= 43);
}

#[tokio::test]
async fn a_code_of_another_login_is_not_taken() {
    let row = login_row("anthropic").unwrap();
    let login = BrowserLogin::begin(row, Some("http://127.0.0.1:9"), None, true)
        .await
        .unwrap();
    let error = login.finish("code#of-somebody-else").await.unwrap_err();
    assert!(matches!(error, LoginError::NotCompleted(_)), "{error}");
}
