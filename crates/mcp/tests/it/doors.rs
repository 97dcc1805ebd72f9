//! The transports over HTTP, and logins.

use serde_json::{Value, json};
use talaria_mcp::{Login, Source};
use talaria_tools::approval::Mode;
use tempfile::TempDir;

use crate::rig::{Rig, Web, settings};

#[tokio::test]
async fn both_transports_over_http_give_the_same_tools() {
    let web = Web::start();
    for (path, transport) in [("mcp", "http"), ("sse", "sse")] {
        let rig = Rig::new(json!({"url": format!("{}/{path}", web.base), "transport": transport})).await;
        assert_eq!(rig.warnings, Vec::<String>::new(), "{transport}");
        assert!(
            rig.text("echo", json!({"text": "over the wire"}))
                .await
                .contains("over the wire"),
            "{transport}"
        );
        assert!(
            rig.text("picture", json!({})).await.contains("a pixel"),
            "{transport}"
        );
        let task = rig.text("tasky", json!({})).await;
        assert!(task.contains("is done"), "{transport}: {task}");
        rig.servers.close().await;
    }
}

#[tokio::test]
async fn questions_reach_the_client_over_the_older_transport() {
    let web = Web::start();
    let rig = Rig::new(json!({"url": format!("{}/sse", web.base), "transport": "sse"})).await;
    rig.person.answers.lock().unwrap().push_back("Ada".to_owned());
    let text = rig.text("ask", json!({})).await;
    assert!(text.contains("accept") && text.contains("Ada"), "{text}");
}

#[tokio::test]
async fn an_address_where_nobody_is_is_told() {
    let rig = Rig::new(json!({"url": "http://127.0.0.1:9/mcp"})).await;
    assert!(rig.warnings[0].contains("cannot be used"), "{:?}", rig.warnings);
}

/// What a browser does: goes where it is sent.
async fn browse(url: &str) -> String {
    let url = url.to_owned();
    tokio::task::spawn_blocking(move || {
        use std::io::{Read, Write};
        let parsed = url::Url::parse(&url).unwrap();
        let mut stream =
            std::net::TcpStream::connect((parsed.host_str().unwrap(), parsed.port().unwrap())).unwrap();
        let target = format!("{}?{}", parsed.path(), parsed.query().unwrap_or_default());
        write!(
            stream,
            "GET {target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
        )
        .unwrap();
        let mut text = String::new();
        let mut chunk = [0; 4096];
        while !text.contains("\r\n\r\n") {
            let read = stream.read(&mut chunk).unwrap();
            assert!(read > 0, "{text}");
            text.push_str(&String::from_utf8_lossy(&chunk[..read]));
        }
        let location = text.lines().find_map(|line| line.strip_prefix("location: "));
        location.unwrap_or_default().to_owned()
    })
    .await
    .unwrap()
}

#[tokio::test]
async fn a_login_is_kept_renewed_and_forgotten() {
    let web = Web::start();
    let written = json!({"url": format!("{}/locked", web.base), "auth": "oauth"});
    let settings = settings(&written, Source::Config);
    let rig = Rig::of(TempDir::new().unwrap(), &settings, Mode::Smart).await;
    assert!(
        rig.warnings[0].contains("talaria mcp login peer"),
        "{:?}",
        rig.warnings
    );

    let login = Login::begin(rig.home.path(), &settings).await.unwrap();
    let back = browse(login.url()).await;
    assert!(
        back.starts_with("http://127.0.0.1:") && back.contains("code=code-"),
        "{back}"
    );
    let (done, _) = tokio::join!(login.wait(), browse(&back));
    done.unwrap();

    let inside = Rig::of(rig.home, &settings, Mode::Smart).await;
    assert_eq!(inside.warnings, Vec::<String>::new());
    assert!(
        inside
            .text("echo", json!({"text": "inside"}))
            .await
            .contains("inside")
    );
    inside.servers.close().await;

    let file = inside.home.path().join("mcp-tokens/peer.json");
    let mut token: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let old = token["access_token"].clone();
    token["received_at"] = json!(1_000);
    std::fs::write(&file, token.to_string()).unwrap();
    let renewed = Rig::of(inside.home, &settings, Mode::Smart).await;
    assert!(
        renewed
            .text("echo", json!({"text": "again"}))
            .await
            .contains("again")
    );
    let token: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_ne!(token["access_token"], old);
    assert!(talaria_mcp::logout(renewed.home.path(), "peer").unwrap() && !file.exists());
}

#[tokio::test]
async fn an_address_can_be_pasted_and_a_refusal_is_told() {
    let web = Web::start();
    let settings = settings(
        &json!({"url": format!("{}/locked", web.base), "auth": "oauth"}),
        Source::Config,
    );
    let home = TempDir::new().unwrap();
    let login = Login::begin(home.path(), &settings).await.unwrap();
    let refused = login
        .finish("http://127.0.0.1/callback?error=access_denied&state=x")
        .await
        .unwrap_err();
    assert!(refused.to_string().contains("access_denied"), "{refused}");
    let back = browse(login.url()).await;
    login.finish(&back).await.unwrap();
    assert!(home.path().join("mcp-tokens/peer.json").is_file());
}
