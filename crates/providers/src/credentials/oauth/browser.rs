//! A login in the browser: it sends its code to this machine, or shows it to the person.

use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::pkce::{Proof, random};
use super::renew::first;
use super::rows::{Browser, LoginRow};
use super::tokens::{LoginError, TokenServer};
use crate::credentials::NewCredential;

/// As long as the person has.
const LIFE: Duration = Duration::from_secs(600);
/// The longest request line a browser may send.
const HEAD: usize = 16 * 1024;
const PAGE: &str =
    "<!doctype html><meta charset=utf-8><title>talaria</title><p>Logged in. This page can be closed.";

/// A login that waits for the browser.
#[derive(Debug)]
pub struct BrowserLogin {
    server: TokenServer,
    /// What the browser opens.
    pub url: String,
    listener: Option<TcpListener>,
    path: &'static str,
    redirect: String,
    state: String,
    verifier: String,
}

impl BrowserLogin {
    /// Prepares a login; with `page` its code is shown in the browser instead of sent to this machine.
    ///
    /// # Errors
    /// When there is no such way, or the port is taken.
    pub async fn begin(
        row: &'static LoginRow,
        portal: Option<&str>,
        bundle: Option<&Path>,
        page: bool,
    ) -> Result<Self, LoginError> {
        let none = || LoginError::Here(format!("one does not log in to {} in that way", row.provider));
        let browser = row.browser.ok_or_else(none)?;
        let server = TokenServer::new(row, portal, bundle)?;
        let (listener, redirect) = if page {
            (
                None,
                Some(browser.page.to_owned())
                    .filter(|page| !page.is_empty())
                    .ok_or_else(none)?,
            )
        } else {
            let listener = TcpListener::bind(("127.0.0.1", browser.port))
                .await
                .map_err(|error| {
                    LoginError::Here(format!(
                        "port {} of this machine cannot be listened on: {error}",
                        browser.port
                    ))
                })?;
            let port = listener
                .local_addr()
                .map_or(browser.port, |address| address.port());
            (Some(listener), format!("http://localhost:{port}{}", browser.path))
        };
        let (proof, state) = (Proof::new()?, random()?);
        Ok(Self {
            url: authorize(&server, &browser, [&redirect, &state, &proof.challenge]),
            server,
            listener,
            path: browser.path,
            redirect,
            state,
            verifier: proof.verifier,
        })
    }

    /// Waits until the browser has sent its code to this machine.
    ///
    /// # Errors
    /// When the person said no, or the time is over.
    pub async fn wait(self) -> Result<NewCredential, LoginError> {
        let Some(listener) = &self.listener else {
            return Err(LoginError::Here("the code is to be typed in".to_owned()));
        };
        let code = tokio::time::timeout(LIFE, self.receive(listener)).await;
        let code = code.map_err(|_| LoginError::NotCompleted("the time is over".to_owned()))??;
        self.exchange(&code).await
    }

    /// Takes the code the person has copied from the browser.
    ///
    /// # Errors
    /// When it is not the code of this login.
    pub async fn finish(self, typed: &str) -> Result<NewCredential, LoginError> {
        let (code, state) = typed
            .trim()
            .split_once('#')
            .unwrap_or((typed.trim(), &self.state));
        if state != self.state {
            return Err(LoginError::NotCompleted(
                "this code belongs to another login".to_owned(),
            ));
        }
        let code = code.to_owned();
        self.exchange(&code).await
    }

    async fn receive(&self, listener: &TcpListener) -> Result<String, LoginError> {
        loop {
            let Ok((mut stream, _)) = listener.accept().await else {
                continue;
            };
            let Some(found) = self.read(&mut stream).await else {
                let _ = stream
                    .write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
                    .await;
                continue;
            };
            let answer = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{PAGE}",
                PAGE.len()
            );
            let _ = stream.write_all(answer.as_bytes()).await;
            let _ = stream.shutdown().await;
            return found;
        }
    }

    /// What the browser brings; nothing when it asks for something else, such as an icon.
    async fn read(&self, stream: &mut TcpStream) -> Option<Result<String, LoginError>> {
        let mut head = Vec::new();
        let mut chunk = [0; 2048];
        while !head.windows(2).any(|bytes| bytes == b"\r\n") && head.len() < HEAD {
            let count = stream.read(&mut chunk).await.ok().filter(|count| *count > 0)?;
            head.extend_from_slice(chunk.get(..count)?);
        }
        let line = String::from_utf8_lossy(&head);
        let target = line.lines().next()?.strip_prefix("GET ")?.split(' ').next()?;
        let url = url::Url::parse("http://localhost").ok()?.join(target).ok()?;
        if url.path() != self.path {
            return None;
        }
        let value = |name: &str| {
            url.query_pairs()
                .find(|(known, _)| known == name)
                .map(|(_, value)| value.into_owned())
        };
        if value("state").as_deref() != Some(&self.state) {
            return Some(Err(LoginError::NotCompleted(
                "the answer belongs to another login".to_owned(),
            )));
        }
        let why = || {
            value("error_description")
                .or_else(|| value("error"))
                .unwrap_or_else(|| "no code came".to_owned())
        };
        Some(value("code").ok_or_else(|| LoginError::NotCompleted(why())))
    }

    async fn exchange(&self, code: &str) -> Result<NewCredential, LoginError> {
        let words = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("state", self.state.as_str()),
            ("redirect_uri", self.redirect.as_str()),
            ("code_verifier", self.verifier.as_str()),
        ];
        // The state is no part of the standard's exchange; only the servers that take JSON want it.
        let words = words
            .into_iter()
            .filter(|(name, _)| self.server.row.json || *name != "state");
        let members = first(self.server.token(&words.collect::<Vec<_>>()).await?)?;
        Ok(credential(&self.server, "pkce", members))
    }
}

fn authorize(server: &TokenServer, browser: &Browser, [redirect, state, challenge]: [&str; 3]) -> String {
    let own = [
        ("response_type", "code"),
        ("client_id", server.row.client_id),
        ("redirect_uri", redirect),
        ("scope", server.row.scope),
        ("code_challenge", challenge),
        ("code_challenge_method", "S256"),
        ("state", state),
    ];
    let query = url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs(browser.extra.iter().copied().chain(own))
        .finish();
    format!("{}?{query}", server.at(browser.authorize_url))
}

/// A new login as a credential to be added.
pub(super) fn credential(server: &TokenServer, how: &str, mut members: Map<String, Value>) -> NewCredential {
    members.insert("auth_type".to_owned(), "oauth".into());
    members.extend(
        server
            .portal
            .clone()
            .map(|portal| ("portal_base_url".to_owned(), portal.into())),
    );
    NewCredential {
        label: format!("{} login", server.row.provider),
        source: format!("manual:{how}"),
        secret: None,
        members,
    }
}
