use std::io::Write as _;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::address::UrlRefusal;

/// TLS that trusts nobody; the servers of these tests speak plain text.
pub(crate) fn plain_tls() -> Tls {
    Arc::new(|| {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth();
        Ok(config)
    })
}

/// A server that gives the same bytes to everybody and keeps what it was asked.
pub(crate) struct Server {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(crate) async fn answering(answer: &str) -> Self {
        Self::giving(answer.as_bytes().to_vec()).await
    }

    pub(crate) async fn json(body: &str) -> Self {
        Self::answering(&format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        ))
        .await
    }

    async fn giving(answer: Vec<u8>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = asked.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (answer, kept) = (answer.clone(), kept.clone());
                tokio::spawn(async move {
                    let mut request = vec![0; 16_384];
                    let read = stream.read(&mut request).await.unwrap_or(0);
                    kept.lock()
                        .unwrap()
                        .push(String::from_utf8_lossy(&request[..read]).into_owned());
                    let _ = stream.write_all(&answer).await;
                    let _ = stream.shutdown().await;
                });
            }
        });
        Self { address, asked }
    }

    pub(crate) fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn html(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: Text/HTML; charset=\"ISO-8859-1\"\r\nConnection: close\r\n\r\n{body}"
    )
}

/// A fetcher for which the whole private network is closed but for these servers.
fn closed(open: &[&Server]) -> Fetcher {
    Fetcher::new(Settings {
        trusted: open.iter().map(|server| server.address).collect(),
        ..Settings::new(plain_tls())
    })
}

#[tokio::test]
async fn a_page_comes_with_its_kind_and_where_it_was() {
    let server = Server::answering(&html("hello")).await;
    let fetched = closed(&[&server])
        .page(&format!("{}/a", server.base()))
        .await
        .unwrap();
    assert_eq!(fetched.body, b"hello");
    assert_eq!(fetched.media_type, "text/html");
    assert_eq!(fetched.charset.as_deref(), Some("ISO-8859-1"));
    let asked = server.requests().remove(0);
    assert!(asked.starts_with("GET /a HTTP/1.1"), "{asked}");
}

#[tokio::test]
async fn a_redirect_into_the_private_network_is_refused_and_nothing_is_sent_there() {
    let private = Server::answering(&html("secret")).await;
    let public = Server::answering(&format!(
        "HTTP/1.1 302 Found\r\nLocation: {}/admin\r\nConnection: close\r\n\r\n",
        private.base()
    ))
    .await;
    let error = closed(&[&public]).page(&public.base()).await.unwrap_err();
    assert!(
        matches!(error, WebError::Refused(UrlRefusal::Private(_))),
        "{error}"
    );
    assert_eq!(private.requests().len(), 0);
    assert_eq!(public.requests().len(), 1);
}

#[tokio::test]
async fn a_redirect_to_the_metadata_service_is_refused_where_private_networks_are_open() {
    for target in [
        "http://169.254.169.254/latest/meta-data/",
        "http://[::ffff:a9fe:a9fe]/",
        "file:///etc/passwd",
    ] {
        let server = Server::answering(&format!(
            "HTTP/1.1 307 Temporary Redirect\r\nLocation: {target}\r\nConnection: close\r\n\r\n"
        ))
        .await;
        let fetcher = Fetcher::new(Settings {
            allow_private: true,
            ..Settings::new(plain_tls())
        });
        let error = fetcher.page(&server.base()).await.unwrap_err();
        assert!(matches!(error, WebError::Refused(_)), "{target}: {error}");
    }
}

#[tokio::test]
async fn a_name_is_connected_to_at_the_address_that_was_checked() {
    let server = Server::answering(&html("pinned")).await;
    let address = server.address;
    let fetcher = Fetcher::new(Settings {
        trusted: vec![address],
        resolver: Arc::new(move |_, _| Box::pin(std::future::ready(Ok(vec![address])))),
        ..Settings::new(plain_tls())
    });
    // No resolver of the system knows this name.
    let url = format!("http://pinned.invalid:{}/", address.port());
    assert_eq!(fetcher.page(&url).await.unwrap().body, b"pinned");
}

#[tokio::test]
async fn endless_redirects_end() {
    let server =
        Server::answering("HTTP/1.1 301 Moved\r\nLocation: /again\r\nConnection: close\r\n\r\n").await;
    let error = closed(&[&server]).page(&server.base()).await.unwrap_err();
    assert!(matches!(error, WebError::Redirects(10)), "{error}");
    assert_eq!(server.requests().len(), 11);
}

#[tokio::test]
async fn a_small_answer_that_unpacks_to_a_huge_one_is_cut_off() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    for _ in 0..64 {
        packed.write_all(&vec![b'a'; 1_000_000]).unwrap();
    }
    let packed = packed.finish().unwrap();
    assert!(packed.len() < 100_000, "the bomb is small: {}", packed.len());
    let mut answer =
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n"
            .to_vec();
    answer.extend(packed);
    let server = Server::giving(answer).await;
    let error = closed(&[&server]).page(&server.base()).await.unwrap_err();
    assert_eq!(error.to_string(), "it is larger than 10 MB");
}

#[tokio::test]
async fn an_address_with_a_secret_in_it_is_sent_nowhere() {
    let server = Server::answering(&html("")).await;
    let fetcher = closed(&[&server]);
    let key = "sk-proj-abcdefghijklmnopqrstuvwx0123456789";
    let hidden: String = key.bytes().map(|byte| format!("%{byte:02x}")).collect();
    for url in [
        format!("{}/?x={key}", server.base()),
        format!("{}/{hidden}", server.base()),
        format!("http://user:hunter2@{}/", server.address),
    ] {
        let error = fetcher.page(&url).await.unwrap_err();
        assert!(matches!(error, WebError::Secret), "{url}: {error}");
        assert!(!error.to_string().contains("abcdefghij"));
    }
    assert_eq!(server.requests().len(), 0);
    for url in ["/?keyword=rust&author=bob&code=200", "/a?page_token=next"] {
        assert!(
            fetcher.page(&format!("{}{url}", server.base())).await.is_ok(),
            "{url}"
        );
    }
}

#[tokio::test]
async fn a_blocked_site_and_a_refusal_say_why() {
    let server = Server::answering("HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\nno").await;
    let error = closed(&[&server]).page(&server.base()).await.unwrap_err();
    assert_eq!(error.to_string(), "the server answered 404 Not Found");
    let fetcher = Fetcher::new(Settings {
        blocklist: Blocklist {
            domains: vec!["example.com".to_owned()],
            files: Vec::new(),
        },
        ..Settings::new(plain_tls())
    });
    let error = fetcher.page("https://www.example.com/x").await.unwrap_err();
    assert!(matches!(error, WebError::Blocked { .. }), "{error}");
}
