//! Gets what stands at an address, within bounds.
//!
//! Every hop is checked and pinned anew (see the guard); redirects are followed here and not by the library.
//! No proxy is used: what a proxy resolves could not be checked. The bytes are counted after they are
//! unpacked, so that a small answer cannot grow without end.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::{Client, Response, StatusCode};
use url::Url;

use crate::guard::{Guard, Pinned, Resolver, system_resolver};
use crate::{Blocklist, WebError};

/// The most redirects of one fetch.
const REDIRECTS: usize = 10;
const MEGABYTE: u64 = 1_000_000;
/// The most bytes of a page.
const PAGE: u64 = 10 * MEGABYTE;
/// The most bytes of a PDF.
const PDF: u64 = 30 * MEGABYTE;
/// The most bytes of an image.
const IMAGE: u64 = 50 * MEGABYTE;
const CONNECT: Duration = Duration::from_secs(10);
const PAGE_KINDS: &str = "text/markdown,text/html,application/xhtml+xml,application/pdf,text/plain,application/json;q=0.9,*/*;q=0.5";

/// Makes the TLS settings, once, when the first fetch needs them.
pub type Tls = Arc<dyn Fn() -> Result<rustls::ClientConfig, String> + Send + Sync>;

/// How things are fetched.
#[derive(Clone)]
pub struct Settings {
    /// Private networks may be read (`security.allow_private_urls`); metadata services never.
    pub allow_private: bool,
    /// Private addresses that may be read one by one.
    pub trusted: Vec<SocketAddr>,
    /// Sites that are not fetched.
    pub blocklist: Blocklist,
    /// How names become addresses.
    pub resolver: Resolver,
    /// How servers are verified.
    pub tls: Tls,
    /// The longest a fetch takes with all its redirects.
    pub patience: Duration,
}

impl Settings {
    /// The strictest settings: the public network only.
    pub fn new(tls: Tls) -> Self {
        Self {
            allow_private: false,
            trusted: Vec::new(),
            blocklist: Blocklist::default(),
            resolver: system_resolver(),
            tls,
            patience: Duration::from_secs(30),
        }
    }
}

/// What stood at an address.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// Where it was in the end.
    pub url: Url,
    /// Its media type in lower case, without parameters; empty when the server named none.
    pub media_type: String,
    /// The character set that the server named.
    pub charset: Option<String>,
    /// Its bytes.
    pub body: Vec<u8>,
}

/// Gets what stands at addresses. Opens nothing until it is asked.
pub struct Fetcher {
    guard: Guard,
    tls: Tls,
    made: Mutex<Option<rustls::ClientConfig>>,
    patience: Duration,
}

impl Fetcher {
    /// A fetcher.
    pub fn new(settings: Settings) -> Self {
        Self {
            guard: Guard {
                allow_private: settings.allow_private,
                trusted: settings.trusted,
                blocklist: settings.blocklist,
                resolver: settings.resolver,
            },
            tls: settings.tls,
            made: Mutex::new(None),
            patience: settings.patience,
        }
    }

    /// Gets a page, a document or a text: 10 MB at most, a PDF 30 MB.
    ///
    /// # Errors
    /// When the address may not be fetched, or what stands there cannot be had within the bounds.
    pub async fn page(&self, url: &str) -> Result<Fetched, WebError> {
        self.get(url, PAGE_KINDS, |media_type| {
            if media_type == "application/pdf" {
                PDF
            } else {
                PAGE
            }
        })
        .await
    }

    /// Gets an image: 50 MB at most. What its bytes are is for the caller to see.
    ///
    /// # Errors
    /// As [`Self::page`].
    pub async fn image(&self, url: &str) -> Result<Fetched, WebError> {
        self.get(url, "image/*", |_| IMAGE).await
    }

    async fn get(&self, url: &str, accept: &str, most: fn(&str) -> u64) -> Result<Fetched, WebError> {
        if carries_a_secret(url) {
            return Err(WebError::Secret);
        }
        tokio::time::timeout(self.patience, self.follow(url, accept, most))
            .await
            .unwrap_or(Err(WebError::Slow(self.patience.as_secs())))
    }

    async fn follow(&self, url: &str, accept: &str, most: fn(&str) -> u64) -> Result<Fetched, WebError> {
        let mut next = url.to_owned();
        for _ in 0..=REDIRECTS {
            let pinned = self.guard.pin(&next).await?;
            let answer = self.ask(&pinned, accept).await?;
            match redirected(&answer, &pinned.url)? {
                Some(target) => next = target.into(),
                None => return taken(answer, pinned.url, most).await,
            }
        }
        Err(WebError::Redirects(REDIRECTS))
    }

    async fn ask(&self, pinned: &Pinned, accept: &str) -> Result<Response, WebError> {
        let client = self.client(pinned)?;
        let request = client.get(pinned.url.clone()).header(ACCEPT, accept);
        request.send().await.map_err(connection)
    }

    /// A client that knows no address but the pinned ones.
    fn client(&self, pinned: &Pinned) -> Result<Client, WebError> {
        let mut builder = Client::builder()
            .tls_backend_preconfigured(self.tls()?)
            .user_agent(concat!(
                "Mozilla/5.0 (compatible; talaria/",
                env!("CARGO_PKG_VERSION"),
                ")"
            ))
            .connect_timeout(CONNECT)
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .no_proxy();
        if let Some(name) = &pinned.name {
            builder = builder.resolve_to_addrs(name, &pinned.addresses);
        }
        builder.build().map_err(connection)
    }

    fn tls(&self) -> Result<rustls::ClientConfig, WebError> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(config) = &*made {
            return Ok(config.clone());
        }
        let config = (self.tls)().map_err(WebError::Connection)?;
        Ok(made.insert(config).clone())
    }
}

/// Whether an address holds what has the shape of a key or a password, also behind percent signs.
fn carries_a_secret(url: &str) -> bool {
    let own = |text: &str| talaria_redact::redact_own(text) != talaria_redact::redact(text);
    // By shape only: `page_token=next` is no secret.
    let holds = |text: &str| talaria_redact::redact_code(text) != text || own(text);
    let login = Url::parse(url.trim()).is_ok_and(|url| url.password().is_some());
    login || holds(url) || holds(&unescaped(url))
}

/// `%41` is `A`.
fn unescaped(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escaped = (bytes[at] == b'%')
            .then(|| text.get(at + 1..at + 3))
            .flatten()
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        out.push(escaped.unwrap_or(bytes[at]));
        at += if escaped.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Where an answer sends on to.
fn redirected(answer: &Response, from: &Url) -> Result<Option<Url>, WebError> {
    let moved = [
        StatusCode::MOVED_PERMANENTLY,
        StatusCode::FOUND,
        StatusCode::SEE_OTHER,
        StatusCode::TEMPORARY_REDIRECT,
        StatusCode::PERMANENT_REDIRECT,
    ];
    let target = answer.headers().get(LOCATION);
    let Some(target) = target.filter(|_| moved.contains(&answer.status())) else {
        return Ok(None);
    };
    let target = String::from_utf8_lossy(target.as_bytes());
    from.join(&target)
        .map(Some)
        .map_err(|_| WebError::Connection(format!("it redirects to {target:?}, which is no URL")))
}

async fn taken(answer: Response, url: Url, most: fn(&str) -> u64) -> Result<Fetched, WebError> {
    if !answer.status().is_success() {
        return Err(WebError::Status(answer.status().to_string()));
    }
    let (media_type, charset) = kind(answer.headers());
    let most = most(&media_type);
    let body = bounded(answer, most).await?;
    Ok(Fetched {
        url,
        media_type,
        charset,
        body,
    })
}

/// The body of an answer, unless it is larger.
pub(crate) async fn bounded(answer: Response, most: u64) -> Result<Vec<u8>, WebError> {
    let large = || WebError::Large(most / MEGABYTE);
    if answer.content_length().is_some_and(|length| length > most) {
        return Err(large());
    }
    let mut body = Vec::new();
    let mut pieces = answer.bytes_stream();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(connection)?;
        if (body.len() + piece.len()) as u64 > most {
            return Err(large());
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

/// Media type and character set of an answer.
fn kind(headers: &HeaderMap) -> (String, Option<String>) {
    let text = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let mut parts = text.unwrap_or_default().split(';');
    let media_type = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
    let charset = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']);
        name.trim()
            .eq_ignore_ascii_case("charset")
            .then(|| value.to_owned())
    });
    (media_type, charset)
}

/// What a library error says at its root; it never holds the address, which may be long.
#[allow(clippy::needless_pass_by_value, reason = "used as a function of `map_err`")]
pub(crate) fn connection(error: reqwest::Error) -> WebError {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(deeper) = cause {
        text = deeper.to_string();
        cause = deeper.source();
    }
    WebError::Connection(text)
}

#[cfg(test)]
pub(crate) mod tests;
