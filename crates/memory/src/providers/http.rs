//! Calls of a service over HTTP: JSON both ways, a bounded answer, and errors without keys.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::{Client, Method};
use serde_json::Value;
use talaria_redact::redact_own;
use url::Url;

use super::ProviderError;

/// Bytes of an answer at most.
const MOST: usize = 4 * 1024 * 1024;
/// Characters of an error's text that are told.
const TOLD: usize = 300;
/// A call that takes longer is given up, whoever waits for it.
const LONGEST: Duration = Duration::from_secs(60);

/// Makes a client for an address. Opens no connection.
pub type ClientMaker = Arc<dyn Fn(&str) -> Result<Client, String> + Send + Sync>;

/// A service at an address.
pub(crate) struct Service {
    name: &'static str,
    base: String,
    headers: Vec<(&'static str, String)>,
    maker: ClientMaker,
    client: Mutex<Option<Client>>,
}

impl Service {
    /// The service `name` at `base`; `headers` go with every call and may be secret.
    pub(crate) fn new(
        name: &'static str,
        base: &str,
        headers: Vec<(&'static str, String)>,
        maker: ClientMaker,
    ) -> Self {
        Self {
            name,
            base: base.trim_end_matches('/').to_owned(),
            headers,
            maker,
            client: Mutex::new(None),
        }
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Value, ProviderError> {
        self.call(Method::POST, path, &[], Some(body)).await
    }

    pub(crate) async fn get(&self, path: &str, query: &[(&str, &str)]) -> Result<Value, ProviderError> {
        self.call(Method::GET, path, query, None).await
    }

    /// One request; an empty answer is `null`.
    pub(crate) async fn call(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Result<Value, ProviderError> {
        let url = self.address(path, query)?;
        let mut request = self.client()?.request(method, url).timeout(LONGEST);
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        if let Some(body) = body {
            request = request
                .header("content-type", "application/json")
                .body(body.to_string());
        }
        let answer = request
            .send()
            .await
            .map_err(|error| self.failed(&error.without_url()))?;
        let status = answer.status();
        let bytes = self.read(answer).await?;
        if !status.is_success() {
            let text = String::from_utf8_lossy(&bytes);
            let text: String = redact_own(text.trim()).chars().take(TOLD).collect();
            return Err(ProviderError::Service(format!(
                "{} answered {status}: {text}",
                self.name
            )));
        }
        if bytes.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&bytes)
            .map_err(|error| ProviderError::Service(format!("{} gave no JSON: {error}", self.name)))
    }

    fn address(&self, path: &str, query: &[(&str, &str)]) -> Result<Url, ProviderError> {
        let mut url = Url::parse(&format!("{}{path}", self.base)).map_err(|error| {
            ProviderError::Unset(format!(
                "the address of {} is none ({error}): set memory.base_url",
                self.name
            ))
        })?;
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        Ok(url)
    }

    fn client(&self) -> Result<Client, ProviderError> {
        let mut kept = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = &*kept {
            return Ok(client.clone());
        }
        let client = (self.maker)(&self.base).map_err(ProviderError::Service)?;
        *kept = Some(client.clone());
        Ok(client)
    }

    async fn read(&self, mut answer: reqwest::Response) -> Result<Vec<u8>, ProviderError> {
        let mut bytes = Vec::new();
        while let Some(chunk) = answer
            .chunk()
            .await
            .map_err(|error| self.failed(&error.without_url()))?
        {
            if bytes.len() + chunk.len() > MOST {
                let text = format!("{} answered with more than {MOST} bytes", self.name);
                return Err(ProviderError::Service(text));
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }

    fn failed(&self, error: &reqwest::Error) -> ProviderError {
        use std::error::Error;
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            text = format!("{text}: {error}");
            cause = error.source();
        }
        ProviderError::Service(format!(
            "{} could not be reached: {}",
            self.name,
            redact_own(&text)
        ))
    }
}

/// An id as a path segment takes it.
pub(crate) fn segment(id: &str) -> String {
    let plain = |char: char| {
        if char.is_ascii_alphanumeric() || matches!(char, '_' | '-') {
            char
        } else {
            '-'
        }
    };
    let id: String = id.chars().map(plain).take(100).collect();
    if id.is_empty() { "none".to_owned() } else { id }
}
