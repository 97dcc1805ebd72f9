//! Logins to servers: the token's file, and the way through the browser.
//!
//! The files are Hermes' own: `mcp-tokens/<server>.json` holds the token, `<server>.client.json` the
//! registration. Both programs can use a login of the other.

use std::collections::BTreeMap;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::future::BoxFuture;
use rmcp::transport::auth::{OAuthClientConfig, OAuthTokenResponse};
use rmcp::transport::{
    AuthError, AuthorizationManager, AuthorizationRequest, AuthorizationSession, CredentialStore,
    OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRequest, StoredCredentials,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::client;
use crate::settings::{Door, OAuth, Verify};
use crate::{McpError, ServerSettings, naming};

/// The most a login server may answer with, in bytes.
const ANSWER: usize = 1024 * 1024;
/// The longest request of the browser, in bytes.
const REQUEST: usize = 16 * 1024;
/// How long the person may take.
const PATIENCE: Duration = Duration::from_secs(600);
const PATH: &str = "/callback";
const SEEN: &str = "<!doctype html><meta charset=utf-8><title>talaria</title><p>You can close this page.";

/// The token's file.
pub(crate) fn file(home: &Path, server: &str) -> PathBuf {
    home.join("mcp-tokens")
        .join(format!("{}.json", naming::file(server)))
}

fn client_file(home: &Path, server: &str) -> PathBuf {
    home.join("mcp-tokens")
        .join(format!("{}.client.json", naming::file(server)))
}

/// Forgets a login.
///
/// # Errors
/// When its files cannot be removed. Whether there was one is told.
pub(crate) fn forget(home: &Path, server: &str) -> std::io::Result<bool> {
    let mut was = false;
    for path in [file(home, server), client_file(home, server)] {
        match std::fs::remove_file(path) {
            Ok(()) => was = true,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(was)
}

/// Credentials in the files of a server.
#[derive(Clone)]
struct Files {
    home: PathBuf,
    server: String,
}

impl Files {
    fn read(&self) -> Option<StoredCredentials> {
        let json =
            |path: PathBuf| -> Option<Value> { serde_json::from_slice(&std::fs::read(path).ok()?).ok() };
        let token = json(file(&self.home, &self.server));
        let registered = json(client_file(&self.home, &self.server)).unwrap_or_default();
        let text = |value: &Value, key: &str| value[key].as_str().map(str::to_owned);
        let own = token.clone().unwrap_or_default();
        let client = text(&own, "client_id").or_else(|| text(&registered, "client_id"))?;
        let received = own["received_at"].as_u64().or_else(|| {
            // Hermes keeps the end instead of the beginning.
            let end = own["expires_at"].as_f64()?;
            let lasts = own["expires_in"].as_f64().unwrap_or(0.0);
            Some((end - lasts).max(0.0) as u64)
        });
        let scopes = text(&own, "scope").unwrap_or_default();
        let response = token.and_then(|token| serde_json::from_value::<OAuthTokenResponse>(token).ok());
        let issuer = text(&own, "issuer");
        let scopes = scopes.split_whitespace().map(str::to_owned).collect();
        Some(StoredCredentials::new(client, response, scopes, received).with_issuer(issuer))
    }

    fn write(&self, credentials: &StoredCredentials) -> std::io::Result<()> {
        let folder = self.home.join("mcp-tokens");
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
        let mut token = serde_json::to_value(&credentials.token_response).unwrap_or_default();
        if let Value::Object(token) = &mut token {
            let received = credentials.token_received_at.unwrap_or_else(now);
            if let Some(lasts) = token.get("expires_in").and_then(Value::as_u64) {
                token.insert("expires_at".to_owned(), json!(received + lasts));
            }
            token.insert("received_at".to_owned(), json!(received));
            token.insert("client_id".to_owned(), json!(credentials.client_id));
            token.insert("issuer".to_owned(), json!(credentials.issuer));
            private(&file(&self.home, &self.server), &json!(token))?;
        }
        let path = client_file(&self.home, &self.server);
        let known = std::fs::read(&path)
            .ok()
            .and_then(|text| serde_json::from_slice::<Value>(&text).ok());
        if known.is_some_and(|known| known["client_id"] == json!(credentials.client_id)) {
            return Ok(());
        }
        private(
            &path,
            &json!({"client_id": credentials.client_id, "token_endpoint_auth_method": "none"}),
        )
    }
}

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |passed| passed.as_secs())
}

/// Writes a file that only its owner reads, whole or not at all.
fn private(path: &Path, value: &Value) -> std::io::Result<()> {
    use std::io::Write;
    let new = path.with_extension(format!("new{}", std::process::id()));
    let mut options = std::fs::OpenOptions::new();
    let mut file = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&new)?;
    file.write_all(serde_json::to_string_pretty(value).unwrap_or_default().as_bytes())?;
    file.sync_all()?;
    std::fs::rename(new, path)
}

fn stored<T>(done: std::io::Result<T>) -> Result<T, AuthError> {
    done.map_err(|error| AuthError::CredentialStoreError(error.to_string()))
}

impl CredentialStore for Files {
    fn load<'a, 'f>(&'a self) -> BoxFuture<'f, Result<Option<StoredCredentials>, AuthError>>
    where
        'a: 'f,
        Self: 'f,
    {
        Box::pin(async { Ok(self.read()) })
    }

    fn save<'a, 'f>(&'a self, credentials: StoredCredentials) -> BoxFuture<'f, Result<(), AuthError>>
    where
        'a: 'f,
        Self: 'f,
    {
        Box::pin(async move { stored(self.write(&credentials)) })
    }

    fn clear<'a, 'f>(&'a self) -> BoxFuture<'f, Result<(), AuthError>>
    where
        'a: 'f,
        Self: 'f,
    {
        Box::pin(async { stored(forget(&self.home, &self.server)).map(drop) })
    }
}

/// The HTTP client of logins: none of the server's own headers, and no redirects to elsewhere.
struct Plain(reqwest::Client);

impl OAuthHttpClient for Plain {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let patience = request.timeout.unwrap_or(Duration::from_secs(30));
            let sent = reqwest::Request::try_from(request.request).map_err(boxed)?;
            let answered = tokio::time::timeout(patience, self.0.execute(sent))
                .await
                .map_err(boxed)?;
            let mut response = answered.map_err(boxed)?;
            let (status, headers) = (response.status(), response.headers().clone());
            let mut body = Vec::new();
            while let Some(chunk) = response.chunk().await.map_err(boxed)? {
                if body.len() + chunk.len() > ANSWER {
                    return Err("the answer is too long".into());
                }
                body.extend_from_slice(&chunk);
            }
            // The library's own type, without naming the crate it comes from.
            let mut answer = reqwest_response(body);
            *answer.status_mut() = status;
            *answer.headers_mut() = headers;
            Ok(answer)
        })
    }
}

fn boxed(error: impl std::error::Error + Send + Sync + 'static) -> OAuthHttpClientError {
    Box::new(error)
}

fn reqwest_response(body: Vec<u8>) -> http::Response<Vec<u8>> {
    http::Response::new(body)
}

async fn fresh(home: &Path, settings: &ServerSettings) -> Result<AuthorizationManager, McpError> {
    let Door::Http { url, verify, .. } = &settings.door else {
        return Err(here(settings, "it is no address"));
    };
    // The login may be at another place than a server in plain text, so the roots are there for it.
    let any = if url.starts_with("http://") && *verify == Verify::Nothing {
        url
    } else {
        "https://login"
    };
    let plain = client(any, &BTreeMap::new(), verify).or_else(|_| client(url, &BTreeMap::new(), verify));
    let plain = Plain(plain.map_err(|error| here(settings, &error))?);
    let made = AuthorizationManager::new_with_oauth_http_client(url.as_str(), Arc::new(plain)).await;
    let mut manager = made.map_err(|error| here(settings, &error.to_string()))?;
    manager.set_credential_store(Files {
        home: home.to_owned(),
        server: settings.name.clone(),
    });
    Ok(manager)
}

fn here(settings: &ServerSettings, detail: &str) -> McpError {
    McpError::Unreachable {
        server: settings.name.clone(),
        detail: talaria_redact::redact_own(detail).into_owned(),
    }
}

/// What renews the token of a login; nothing when there is none.
pub(super) async fn manager(
    home: &Path,
    settings: &ServerSettings,
) -> Result<Option<AuthorizationManager>, McpError> {
    if !file(home, &settings.name).is_file() {
        return Ok(None);
    }
    let mut manager = fresh(home, settings).await?;
    let found = manager.initialize_from_store().await;
    if !found.map_err(|error| here(settings, &error.to_string()))? {
        return Ok(None);
    }
    if let Door::Http {
        oauth:
            Some(OAuth {
                client_id: Some(id),
                client_secret: Some(secret),
                ..
            }),
        ..
    } = &settings.door
    {
        let config = OAuthClientConfig::new(id, "http://127.0.0.1").with_client_secret(secret);
        manager
            .configure_client(config)
            .map_err(|error| here(settings, &error.to_string()))?;
    }
    Ok(Some(manager))
}

/// A login that was begun.
pub struct Login {
    session: AuthorizationSession,
    listener: TcpListener,
    settings: ServerSettings,
    back: String,
}

impl Login {
    /// Finds out where one logs in to a server, registers this program there if need be, and waits for nobody yet.
    ///
    /// # Errors
    /// When the server has no logins, or cannot be reached.
    pub async fn begin(home: &Path, settings: &ServerSettings) -> Result<Self, McpError> {
        let own = match &settings.door {
            Door::Http { oauth, .. } => oauth.clone().unwrap_or_default(),
            Door::Stdio { .. } => return Err(here(settings, "a program needs no login")),
        };
        let port = own.redirect_port.unwrap_or(0);
        let bound = TcpListener::bind(("127.0.0.1", port)).await;
        let listener = bound.map_err(|error| here(settings, &format!("port {port}: {error}")))?;
        let port = listener.local_addr().map_or(port, |address| address.port());
        let back = format!("http://127.0.0.1:{port}{PATH}");
        let manager = fresh(home, settings).await?;
        let mut request = AuthorizationRequest::new(&back).with_scopes(&own.scope);
        request.client_name = Some(own.client_name.unwrap_or_else(|| "talaria".to_owned()));
        request.client_id = own.client_id;
        request.client_secret = own.client_secret;
        let session = AuthorizationSession::new(manager, request).await;
        let session =
            session.map_err(|(_, error)| here(settings, &format!("the login cannot begin: {error}")))?;
        Ok(Self {
            session,
            listener,
            settings: settings.clone(),
            back,
        })
    }

    /// Where the person logs in.
    pub fn url(&self) -> &str {
        self.session.get_authorization_url()
    }

    /// Waits for the browser to come back.
    ///
    /// # Errors
    /// When it does not, or the login was refused.
    pub async fn wait(&self) -> Result<(), McpError> {
        let came = tokio::time::timeout(PATIENCE, self.came_back()).await;
        let query = came.map_err(|_| here(&self.settings, "nobody logged in within ten minutes"))??;
        self.finish(&query).await
    }

    /// Takes the address the browser was sent to, as the person copied it.
    ///
    /// # Errors
    /// When it is none, or the login was refused.
    pub async fn finish(&self, address: &str) -> Result<(), McpError> {
        let query = address
            .trim()
            .split_once('?')
            .map_or(address.trim(), |(_, query)| query);
        let url = format!("{}?{query}", self.back);
        let parsed = url::Url::parse(&url).map_err(|error| here(&self.settings, &error.to_string()))?;
        let value = |key: &str| {
            parsed
                .query_pairs()
                .find(|(name, _)| name == key)
                .map(|(_, value)| value.into_owned())
        };
        if let Some(error) = value("error") {
            let more = value("error_description")
                .map(|more| format!(": {more}"))
                .unwrap_or_default();
            return Err(here(
                &self.settings,
                &format!("the login was refused ({error}{more})"),
            ));
        }
        let done = self.session.handle_callback_url(&url).await;
        done.map(drop)
            .map_err(|error| here(&self.settings, &format!("the login failed: {error}")))
    }

    /// The query of the first request that is the way back.
    async fn came_back(&self) -> Result<String, McpError> {
        loop {
            let accepted = self.listener.accept().await;
            let (mut stream, _) = accepted.map_err(|error| here(&self.settings, &error.to_string()))?;
            let mut read = Vec::new();
            let mut chunk = [0; 2048];
            while !read.windows(4).any(|end| end == b"\r\n\r\n") && read.len() < REQUEST {
                match tokio::time::timeout(Duration::from_secs(5), stream.read(&mut chunk)).await {
                    Ok(Ok(count)) if count > 0 => read.extend_from_slice(&chunk[..count]),
                    _ => break,
                }
            }
            let text = String::from_utf8_lossy(&read);
            let target = text.split_whitespace().nth(1).unwrap_or_default();
            let query = target.strip_prefix(PATH).and_then(|rest| rest.strip_prefix('?'));
            let (status, page) = if query.is_some() {
                ("200 OK", SEEN)
            } else {
                ("404 Not Found", "")
            };
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-type: text/html\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{page}",
                page.len()
            );
            let _ = stream.write_all(answer.as_bytes()).await;
            if let Some(query) = query {
                return Ok(query.to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_login_of_hermes_is_read_and_ours_is_kept_from_others() {
        let home = tempfile::tempdir().unwrap();
        let files = Files {
            home: home.path().to_owned(),
            server: "s".to_owned(),
        };
        assert!(files.read().is_none());
        std::fs::create_dir(home.path().join("mcp-tokens")).unwrap();
        let token = json!({"access_token": "at", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "rt",
            "scope": "a b", "expires_at": 1_700_003_600.5});
        std::fs::write(file(home.path(), "s"), token.to_string()).unwrap();
        std::fs::write(
            client_file(home.path(), "s"),
            json!({"client_id": "c1"}).to_string(),
        )
        .unwrap();
        let read = files.read().unwrap();
        assert_eq!(
            (read.client_id.as_str(), read.token_received_at),
            ("c1", Some(1_700_000_000))
        );
        assert_eq!(read.granted_scopes, ["a", "b"]);
        files.write(&read).unwrap();
        let written: Value = serde_json::from_slice(&std::fs::read(file(home.path(), "s")).unwrap()).unwrap();
        assert_eq!(
            (&written["access_token"], &written["refresh_token"]),
            (&json!("at"), &json!("rt"))
        );
        assert_eq!(written["expires_at"], json!(1_700_003_600));
        let mode = file(home.path(), "s").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(forget(home.path(), "s").unwrap() && !forget(home.path(), "s").unwrap());
    }
}
