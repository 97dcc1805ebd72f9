//! Bedrock and Vertex: the address, the body and the proof of who asks, as a server sees them.

use std::path::Path;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use talaria_llm::Provider;
use talaria_providers::{ProviderRequest, ResolveError, connect, resolve};
use talaria_recovery::Failure;
use talaria_types::{Completion, ErrorKind};
use tokio_util::sync::CancellationToken;

use crate::server::{Reply, Server, Then, events, plain, request};

const CLAUDE: &str = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";
const AWS: [(&str, &str); 3] = [
    ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"),
    ("AWS_SECRET_ACCESS_KEY", "made-up-secret"),
    ("AWS_REGION", "eu-central-1"),
];

fn words(provider: &str, model: &str, base_url: Option<&str>) -> ProviderRequest {
    ProviderRequest {
        provider: Some(provider.to_owned()),
        model: Some(model.to_owned()),
        base_url: base_url.map(str::to_owned),
        ..ProviderRequest::default()
    }
}

fn found(
    words: &ProviderRequest,
    variables: &[(&str, &str)],
) -> Result<talaria_providers::Endpoint, ResolveError> {
    resolve(words, &|name| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    })
}

fn model(words: &ProviderRequest, variables: &[(&str, &str)]) -> Arc<dyn Provider> {
    connect(found(words, variables).unwrap())
}

async fn ask(provider: &dyn Provider) -> Result<Completion, Failure> {
    provider
        .complete(&request(), &|_| {}, &CancellationToken::new())
        .await
}

/// An answer as AWS frames it.
fn framed(events: &[Value]) -> Reply {
    let mut body = Vec::new();
    for event in events {
        let content = json!({"bytes": STANDARD.encode(event.to_string())}).to_string();
        let head = b"\x0b:event-type\x07\x00\x05chunk";
        let length = 12 + head.len() + content.len() + 4;
        body.extend_from_slice(&(length as u32).to_be_bytes());
        body.extend_from_slice(&(head.len() as u32).to_be_bytes());
        body.extend_from_slice(&[0; 4]);
        body.extend_from_slice(head);
        body.extend_from_slice(content.as_bytes());
        body.extend_from_slice(&[0; 4]);
    }
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/vnd.amazon.eventstream\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let bytes = [head.into_bytes(), body].concat();
    Reply {
        bytes,
        then: Then::KeepOpen,
    }
}

fn claude_says(text: &str) -> Vec<Value> {
    vec![
        json!({"type": "message_start", "message": {"id": "m", "role": "assistant", "content": [], "usage": {"input_tokens": 9, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}),
        json!({"type": "message_stop"}),
    ]
}

#[tokio::test]
async fn claude_at_bedrock_is_asked_with_a_signed_request() {
    let server = Server::start(vec![framed(&claude_says("from the cloud"))]).await;
    let url = server.base_url.trim_end_matches("/v1");
    let answer = ask(&*model(&words("bedrock", CLAUDE, Some(url)), &AWS))
        .await
        .unwrap();
    assert_eq!(answer.text, "from the cloud");
    let seen = &server.seen()[0];
    let path =
        "post /model/us.anthropic.claude-sonnet-4-5-20250929-v1%3a0/invoke-with-response-stream http/1.1";
    assert!(seen.head.starts_with(path), "{}", seen.head);
    let proof = "authorization: aws4-hmac-sha256 credential=akidexample/";
    assert!(seen.head.contains(proof), "{}", seen.head);
    let signed = "/eu-central-1/bedrock/aws4_request, signedheaders=content-type;host;x-amz-date, signature=";
    assert!(seen.head.contains(signed), "{}", seen.head);
    let body: Value = serde_json::from_str(&seen.body).unwrap();
    assert_eq!(body["anthropic_version"], "bedrock-2023-05-31");
    assert!(
        body.get("model").is_none() && body.get("stream").is_none() && body["messages"].is_array(),
        "{body}"
    );
    assert!(!seen.head.contains("made-up-secret"));
}

#[tokio::test]
async fn a_key_of_bedrocks_own_is_sent_and_does_not_sign() {
    let server = Server::start(vec![framed(&claude_says("x"))]).await;
    let url = server.base_url.trim_end_matches("/v1");
    let variables = [
        ("AWS_BEARER_TOKEN_BEDROCK", "made-up-token"),
        ("AWS_REGION", "us-east-1"),
    ];
    ask(&*model(&words("bedrock", CLAUDE, Some(url)), &variables))
        .await
        .unwrap();
    assert!(
        server.seen()[0]
            .head
            .contains("authorization: bearer made-up-token")
    );
}

#[test]
fn each_model_has_its_protocol_and_its_address() {
    let address = |provider: &str, model: &str, variables: &[(&str, &str)]| {
        let identity = found(&words(provider, model, None), variables).unwrap().identity;
        (identity.base_url, identity.api_mode.as_str())
    };
    assert_eq!(
        address("bedrock", CLAUDE, &AWS),
        (
            "https://bedrock-runtime.eu-central-1.amazonaws.com".to_owned(),
            "anthropic_messages"
        )
    );
    assert_eq!(
        address("aws", "openai.gpt-oss-120b-1:0", &AWS),
        (
            "https://bedrock-runtime.eu-central-1.amazonaws.com/openai/v1".to_owned(),
            "chat_completions"
        )
    );
    let folder = tempfile::tempdir().unwrap();
    let file = account(folder.path(), "https://oauth2.googleapis.com/token");
    let google = [
        ("GOOGLE_APPLICATION_CREDENTIALS", file.as_str()),
        ("GOOGLE_CLOUD_PROJECT", "p1"),
    ];
    assert_eq!(
        address("vertex", "gemini-3-pro", &google),
        (
            "https://aiplatform.googleapis.com/v1/projects/p1/locations/global/publishers/google".to_owned(),
            "gemini"
        )
    );
    let europe = [google[0], google[1], ("GOOGLE_CLOUD_LOCATION", "europe-west1")];
    let claude = "https://europe-west1-aiplatform.googleapis.com/v1/projects/p1/locations/europe-west1/publishers/anthropic";
    assert_eq!(
        address("vertex", "claude-sonnet-4-5", &europe),
        (claude.to_owned(), "anthropic_messages")
    );
}

#[test]
fn what_a_cloud_lacks_is_named() {
    let missing = |provider: &str, variables: &[(&str, &str)]| {
        found(&words(provider, "m", None), variables)
            .unwrap_err()
            .to_string()
    };
    assert!(missing("bedrock", &[]).contains("AWS_ACCESS_KEY_ID"));
    assert!(missing("bedrock", &AWS[..2]).contains("AWS_REGION"));
    assert!(missing("vertex", &[]).contains("GOOGLE_APPLICATION_CREDENTIALS"));
}

#[test]
fn a_profile_of_the_aws_files_is_read() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join(".aws")).unwrap();
    let keys =
        "[default]\naws_access_key_id = no\n[work]\naws_access_key_id = AKID\naws_secret_access_key = s\n";
    std::fs::write(home.path().join(".aws/credentials"), keys).unwrap();
    std::fs::write(
        home.path().join(".aws/config"),
        "[profile work]\nregion = ap-south-1\n",
    )
    .unwrap();
    let words = ProviderRequest {
        user_home: Some(home.path().to_owned()),
        ..words("bedrock", CLAUDE, None)
    };
    let found = found(&words, &[("AWS_PROFILE", "work")]).unwrap();
    assert!(found.identity.base_url.contains("ap-south-1"));
}

/// A person's login in Google's file.
fn account(folder: &Path, token_url: &str) -> String {
    let file = folder.join("adc.json");
    let content = json!({"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "r-1",
        "token_uri": token_url, "quota_project_id": "p0"});
    std::fs::write(&file, content.to_string()).unwrap();
    file.display().to_string()
}

#[tokio::test]
async fn a_refused_token_of_google_is_fetched_anew() {
    let token = |text: &str| {
        let body = json!({"access_token": text, "expires_in": 3600}).to_string();
        plain("200 OK", "content-type: application/json\r\n", &body)
    };
    let body = json!({"error": {"code": 401, "message": "Request had invalid authentication credentials.", "status": "UNAUTHENTICATED"}});
    let refused = plain(
        "401 Unauthorized",
        "content-type: application/json\r\n",
        &body.to_string(),
    );
    let chunk = json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "hello"}]}, "finishReason": "STOP"}]});
    let said = events(&format!("data: {chunk}\n\n"));
    let server = Server::start(vec![token("first"), refused, token("second"), said.clone(), said]).await;
    let folder = tempfile::tempdir().unwrap();
    let file = account(folder.path(), &format!("{}/token", server.base_url));
    let variables = [("GOOGLE_APPLICATION_CREDENTIALS", file.as_str())];
    let provider = model(
        &words("vertex", "gemini-3-pro", Some(&server.base_url)),
        &variables,
    );
    let failure = ask(&*provider).await.unwrap_err();
    assert_eq!(failure.kind, ErrorKind::Auth);
    assert!(provider.credentials().can_refresh);
    assert!(provider.refresh_credential().await);
    assert_eq!(ask(&*provider).await.unwrap().text, "hello");
    assert_eq!(ask(&*provider).await.unwrap().text, "hello");
    let seen = server.seen();
    assert!(seen[0].body.contains("refresh_token=r-1") && seen[0].head.starts_with("post /v1/token"));
    let tokens: Vec<bool> = seen
        .iter()
        .map(|seen| seen.head.contains("bearer second"))
        .collect();
    assert_eq!(tokens, [false, false, false, true, true]);
    assert!(
        seen[1]
            .head
            .starts_with("post /v1/models/gemini-3-pro:streamgeneratecontent"),
        "{}",
        seen[1].head
    );
}
