//! Speaks to a token server.

use std::path::Path;
use std::time::Duration;

use reqwest::{Client, RequestBuilder};
use serde_json::{Map, Value, json};

use super::rows::{LoginRow, at};
use crate::tls;

/// A token server answers within this, or not at all.
const PATIENCE: Duration = Duration::from_secs(20);

/// Why there is no login, or no fresh token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    /// The login is over: only a new one helps.
    #[error("the login is over ({0}); log in again")]
    Over(String),
    /// The server cannot be asked, or failed.
    #[error("the login server could not be asked: {0}")]
    Unreachable(String),
    /// The person said no, or did nothing.
    #[error("the login was not completed: {0}")]
    NotCompleted(String),
    /// This machine cannot take part in it.
    #[error("{0}")]
    Here(String),
}

/// The answer of a token server.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Value,
}

/// A login server of one provider.
#[derive(Clone, Debug)]
pub(super) struct TokenServer {
    pub(super) row: &'static LoginRow,
    /// Another server that takes the place of the provider's own.
    pub(super) portal: Option<String>,
    client: Client,
}

impl TokenServer {
    pub(super) fn new(
        row: &'static LoginRow,
        portal: Option<&str>,
        bundle: Option<&Path>,
    ) -> Result<Self, LoginError> {
        let portal = portal.map(str::to_owned);
        let client = tls::client(&at(row.token_url, portal.as_deref()), bundle);
        Ok(Self {
            client: client.map_err(|error| LoginError::Here(error.to_string()))?,
            row,
            portal,
        })
    }

    /// One of the provider's addresses on this server.
    pub(super) fn at(&self, address: &str) -> String {
        at(address, self.portal.as_deref())
    }

    pub(super) fn get(&self, address: &str) -> RequestBuilder {
        self.client.get(self.at(address))
    }

    pub(super) fn post(&self, address: &str) -> RequestBuilder {
        self.client.post(self.at(address))
    }

    /// Asks for a token, with these words beside the client's id.
    pub(super) async fn token(&self, words: &[(&str, &str)]) -> Result<Answer, LoginError> {
        let id = ("client_id", self.row.client_id);
        let words = words.iter().copied().chain([id]);
        let request = self.post(self.row.token_url);
        let request = if self.row.json {
            let body: Map<String, Value> = words
                .map(|(name, value)| (name.to_owned(), json!(value)))
                .collect();
            with_json(request, &Value::Object(body))
        } else {
            with_form(request, words)
        };
        send(request).await
    }

    /// A fresh access token for a refresh token.
    pub(super) async fn refresh(&self, refresh_token: &str) -> Result<Value, LoginError> {
        let words = [("grant_type", "refresh_token"), ("refresh_token", refresh_token)];
        granted(self.token(&words).await?)
    }
}

/// A request with a form as its body.
pub(super) fn with_form<'a>(
    request: RequestBuilder,
    words: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> RequestBuilder {
    let body = url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs(words)
        .finish();
    request
        .header("content-type", "application/x-www-form-urlencoded")
        .body(body)
}

/// A request with JSON as its body.
pub(super) fn with_json(request: RequestBuilder, body: &Value) -> RequestBuilder {
    request
        .header("content-type", "application/json")
        .body(body.to_string())
}

/// Sends a request and reads the JSON that comes back; what is no JSON is nothing.
pub(super) async fn send(request: RequestBuilder) -> Result<Answer, LoginError> {
    let lost = |error: reqwest::Error| LoginError::Unreachable(error.without_url().to_string());
    let request = request.header("accept", "application/json").timeout(PATIENCE);
    let response = request.send().await.map_err(lost)?;
    let status = response.status().as_u16();
    let bytes = response.bytes().await.map_err(lost)?;
    Ok(Answer {
        status,
        body: serde_json::from_slice(&bytes).unwrap_or_default(),
    })
}

/// The answer of a server that has given a token; else why not.
pub(super) fn granted(answer: Answer) -> Result<Value, LoginError> {
    let has_token = answer.body["access_token"]
        .as_str()
        .is_some_and(|token| !token.is_empty());
    if answer.status < 300 && has_token {
        return Ok(answer.body);
    }
    Err(refused(&answer))
}

/// Why a server has given nothing. A refused grant is over; anything else may be over in a minute.
pub(super) fn refused(answer: &Answer) -> LoginError {
    let text = |name: &str| answer.body[name].as_str().map(str::to_owned);
    let nested = || answer.body["error"]["message"].as_str().map(str::to_owned);
    let words = text("error_description")
        .or_else(nested)
        .or_else(|| text("error"))
        .or_else(|| text("message"));
    let words = words.unwrap_or_else(|| format!("it answered {}", answer.status));
    let words = format!("{}: {words}", answer.status);
    match answer.status {
        400 | 401 | 403 => LoginError::Over(words),
        _ if text("error").is_some_and(|error| error == "invalid_grant") => LoginError::Over(words),
        _ => LoginError::Unreachable(words),
    }
}
