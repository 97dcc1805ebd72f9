//! Searches the web by the service that the person has.
//!
//! Each service is a row of [`BACKENDS`]: how it is called in the configuration, which variable holds its key
//! or address, and two functions, one that makes the request and one that reads the answer.

mod brave;
mod exa;
mod searxng;
mod tavily;

use std::time::Duration;

use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, RequestBuilder, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use serde_json::Value;

use crate::fetch::{bounded, connection};
use crate::{Tls, WebError};

/// The longest a search takes.
const PATIENCE: Duration = Duration::from_secs(30);
/// The most bytes of an answer.
const MOST: u64 = 5_000_000;
/// The most characters of a description.
const DESCRIPTION: usize = 600;

/// One result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hit {
    /// The page's title.
    pub title: String,
    /// Its address.
    pub url: String,
    /// What it says about what was searched for.
    pub description: String,
    /// Its place, from 1.
    pub position: usize,
}

/// A search service.
struct Backend {
    /// Its name in `web.search_backend`.
    name: &'static str,
    /// Other names it is known by.
    also: &'static [&'static str],
    /// The variable that holds its key, or its address.
    variable: &'static str,
    /// Where it is; empty when the variable says so.
    base: &'static str,
    /// The most results it gives at once.
    most: usize,
    ask: fn(&Client, &Asked<'_>) -> RequestBuilder,
    read: fn(&Value) -> Vec<Found>,
}

/// What is asked.
struct Asked<'a> {
    base: &'a str,
    secret: &'a str,
    query: &'a str,
    limit: usize,
}

impl Asked<'_> {
    /// `path` of the service, with these words behind it.
    fn url(&self, path: &str, words: &[(&str, &str)]) -> String {
        let mut line = url::form_urlencoded::Serializer::new(String::new());
        line.extend_pairs(words);
        format!("{}{path}?{}", self.base, line.finish())
    }
}

/// A request that carries JSON.
fn carrying(request: RequestBuilder, body: &Value) -> RequestBuilder {
    request
        .header(CONTENT_TYPE, "application/json")
        .body(body.to_string())
}

/// One result as a service words it.
struct Found {
    title: String,
    url: String,
    description: String,
}

/// Every service, in the order in which they are taken when none is chosen.
static BACKENDS: &[Backend] = &[tavily::ROW, exa::ROW, searxng::ROW, brave::ROW];

/// The service in use, with its key.
pub struct Search {
    backend: &'static Backend,
    base: String,
    secret: SecretString,
    tls: Tls,
}

impl Search {
    /// The service that is chosen by name, or the first one that has what it needs.
    ///
    /// # Errors
    /// When the chosen one is unknown or lacks its key; the message says what to do.
    pub fn choose(
        chosen: &str,
        lookup: impl Fn(&str) -> Option<String>,
        tls: Tls,
    ) -> Result<Option<Self>, String> {
        let chosen = chosen.trim();
        let has = |backend: &Backend| lookup(backend.variable).filter(|value| !value.trim().is_empty());
        if chosen.is_empty() {
            let found = BACKENDS.iter().find_map(|backend| Some((backend, has(backend)?)));
            return Ok(found.map(|(backend, value)| Self::with(backend, &value, tls)));
        }
        let named = |backend: &&Backend| backend.name == chosen || backend.also.contains(&chosen);
        let Some(backend) = BACKENDS.iter().find(named) else {
            let known: Vec<&str> = BACKENDS.iter().map(|backend| backend.name).collect();
            return Err(format!(
                "there is no search service {chosen:?} here; there are {}",
                known.join(", ")
            ));
        };
        match has(backend) {
            Some(value) => Ok(Some(Self::with(backend, &value, tls))),
            None => Err(format!(
                "{chosen} is chosen for searching, and {} is not set",
                backend.variable
            )),
        }
    }

    fn with(backend: &'static Backend, value: &str, tls: Tls) -> Self {
        let value = value.trim();
        let (base, secret) = if backend.base.is_empty() {
            (value, "")
        } else {
            (backend.base, value)
        };
        Self {
            backend,
            base: base.trim_end_matches('/').to_owned(),
            secret: SecretString::from(secret),
            tls,
        }
    }

    /// The same service somewhere else, such as behind a gateway.
    #[must_use]
    pub fn at(mut self, base: &str) -> Self {
        base.trim_end_matches('/').clone_into(&mut self.base);
        self
    }

    /// The service's name.
    pub fn name(&self) -> &'static str {
        self.backend.name
    }

    /// Searches; the service's order is kept, addresses that are no web pages are left out.
    ///
    /// # Errors
    /// When the service cannot be reached, refuses, or answers what makes no sense.
    pub async fn search(&self, query: &str, limit: usize) -> Result<Vec<Hit>, WebError> {
        let client = Client::builder()
            .tls_backend_preconfigured((self.tls)().map_err(WebError::Connection)?)
            .user_agent(concat!("talaria/", env!("CARGO_PKG_VERSION")))
            .timeout(PATIENCE)
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(connection)?;
        let asked = Asked {
            base: &self.base,
            secret: self.secret.expose_secret(),
            query,
            limit: limit.clamp(1, self.backend.most),
        };
        let answer = (self.backend.ask)(&client, &asked)
            .send()
            .await
            .map_err(connection)?;
        let status = answer.status();
        let body = bounded(answer, MOST).await?;
        let value: Option<Value> = serde_json::from_slice(&body).ok();
        match value.filter(|_| status.is_success()) {
            Some(value) => Ok(hits((self.backend.read)(&value), limit)),
            None => Err(WebError::Search {
                backend: self.backend.name,
                why: refusal(status, &body, self.backend.variable),
            }),
        }
    }
}

fn hits(found: Vec<Found>, limit: usize) -> Vec<Hit> {
    let pages = found
        .into_iter()
        .filter(|found| found.url.starts_with("http://") || found.url.starts_with("https://"));
    pages
        .take(limit)
        .enumerate()
        .map(|(place, found)| Hit {
            title: plain(&found.title),
            url: found.url,
            description: plain(&found.description).chars().take(DESCRIPTION).collect(),
            position: place + 1,
        })
        .collect()
}

/// What a refusal means; the service's own words where it has some, without the key it may repeat.
fn refusal(status: StatusCode, body: &[u8], variable: &str) -> String {
    let said = String::from_utf8_lossy(body);
    let said: String = talaria_redact::redact(said.trim()).chars().take(200).collect();
    match status.as_u16() {
        401 | 403 => format!("it refuses the key or the request ({status}); check {variable}. {said}"),
        402 | 429 | 432 | 433 => format!("its limit is reached ({status}); wait or search less. {said}"),
        _ if status.is_success() => {
            "its answer is no JSON; a SearXNG server must allow the format json".to_owned()
        }
        _ => format!("it answered {status}. {said}"),
    }
}

/// Text without the marks that services put around the words that were searched for.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        out.push_str(&rest[..at]);
        let end = rest[at..].find('>').filter(|end| *end < 40);
        let Some(end) = end else {
            out.push('<');
            rest = &rest[at + 1..];
            continue;
        };
        rest = &rest[at + end + 1..];
    }
    out.push_str(rest);
    let words: Vec<&str> = out.split_whitespace().collect();
    let text = words.join(" ");
    [
        ("&amp;", "&"),
        ("&quot;", "\""),
        ("&#x27;", "'"),
        ("&#39;", "'"),
        ("&lt;", "<"),
        ("&gt;", ">"),
    ]
    .iter()
    .fold(text, |text, (escaped, meant)| text.replace(escaped, meant))
}

/// The objects of the list at `pointer`, made results by three names.
fn listed(answer: &Value, pointer: &str, description: fn(&Value) -> String) -> Vec<Found> {
    let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let list = answer.pointer(pointer).and_then(Value::as_array);
    let found = list.into_iter().flatten().map(|one| Found {
        title: text(one, "title"),
        url: text(one, "url"),
        description: description(one),
    });
    found.collect()
}

#[cfg(test)]
mod tests;
