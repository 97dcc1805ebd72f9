//! The one HTTP driver, the same for every protocol.
//!
//! It owns the connections and the time-outs (reading what comes back: `answer`). One call is one
//! request: what to do about a failure is decided elsewhere, from the facts that
//! go into the [`Failure`]. Streamed pieces go to the sink as the bytes arrive.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Request};
use secrecy::{ExposeSecret, SecretString};
use talaria_llm::{Credentials, Provider, Window, WindowSource};
use talaria_recovery::{Failure, Login, Phase, RawFailure, RequestFacts, Transport};
use talaria_types::{Completion, Delta, ModelIdentity, ModelRequest};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::answer::{Answer, Broken, Call, read_answer, refusal, silence};
use crate::credentials::KeyState;
use crate::credentials::oauth::{self, LoginError};
use crate::debug::Exchange;
use crate::endpoint::{self, Endpoint};
use crate::failure::{self, Context};
use crate::images::ImageFolder;
use crate::wire::{Adapter, Decoder, Encoded};
use crate::{tls, window, window_file};

/// A provider behind an HTTP address.
pub(crate) struct HttpProvider {
    endpoint: Endpoint,
    images: ImageFolder,
    credential: Mutex<Credential>,
    client: Mutex<Option<Client>>,
    window: OnceCell<Window>,
    /// The window a refusal has told; zero when none has.
    learned: AtomicU64,
}

/// The credential in use. Another one of the pool may have another address, and a login is
/// spoken to in other words than a key.
#[derive(Clone)]
struct Credential {
    key: Option<SecretString>,
    entry: Option<String>,
    base_url: String,
    adapter: Arc<dyn Adapter>,
    state: KeyState,
}

impl HttpProvider {
    /// A provider for an endpoint; opens no connection.
    pub(crate) fn new(endpoint: Endpoint, adapter: Arc<dyn Adapter>) -> Self {
        let images = ImageFolder(endpoint.images.clone());
        let pooled = endpoint.pool.as_ref().zip(endpoint.pool_entry.as_deref());
        let credential = Credential {
            state: pooled.map(|(pool, id)| pool.key_state(id)).unwrap_or_default(),
            key: endpoint.api_key.clone(),
            entry: endpoint.pool_entry.clone(),
            base_url: endpoint.identity.base_url.clone(),
            adapter,
        };
        Self {
            endpoint,
            images,
            credential: Mutex::new(credential),
            client: Mutex::new(None),
            window: OnceCell::new(),
            learned: AtomicU64::new(0),
        }
    }

    fn client(&self) -> Result<Client, tls::ClientError> {
        let mut kept = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = &*kept {
            return Ok(client.clone());
        }
        let client = tls::client(&self.credential().base_url, self.endpoint.ca_bundle.as_deref())?;
        *kept = Some(client.clone());
        Ok(client)
    }

    fn credential(&self) -> Credential {
        self.credential
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn replace(&self, credential: Credential) {
        *self.credential.lock().unwrap_or_else(PoisonError::into_inner) = credential;
    }

    /// Gets a fresh key for the login in use; says whether there is one. A key that was `refused` is not taken again.
    async fn renew(&self, refused: Option<&SecretString>) -> bool {
        let current = self.credential();
        let (Some(pool), Some(id)) = (&self.endpoint.pool, current.entry.clone()) else {
            return false;
        };
        match pool.renew(&id, refused, self.endpoint.ca_bundle.as_deref()).await {
            Ok(renewed) => {
                let state = KeyState::fresh(&renewed);
                self.adopt(renewed.key, renewed.base_url, state, Some(id));
                true
            }
            Err(error) => {
                tracing::warn!(provider = %self.endpoint.identity.provider, "a login is not renewed: {error}");
                if let LoginError::Over(why) = &error {
                    pool.bury(&id, why);
                    self.replace(Credential {
                        state: KeyState::default(),
                        ..current
                    });
                }
                false
            }
        }
    }

    /// Takes a key into use.
    fn adopt(&self, key: SecretString, base_url: Option<String>, state: KeyState, entry: Option<String>) {
        let current = self.credential();
        let moved = base_url.filter(|_| !self.endpoint.pinned_address);
        let base_url = moved.unwrap_or_else(|| self.endpoint.identity.base_url.clone());
        let base_url = base_url.trim_end_matches('/').to_owned();
        let has_moved = base_url != current.base_url;
        self.replace(Credential {
            adapter: self.adapter_for(&current, &key),
            key: Some(key),
            entry,
            base_url,
            state,
        });
        if has_moved {
            self.rebuild_transport();
        }
    }

    /// The adapter in use, or another one where a login takes the place of a key or the other way round.
    fn adapter_for(&self, current: &Credential, key: &SecretString) -> Arc<dyn Adapter> {
        let same = self.endpoint.is_login(Some(key)) == self.endpoint.is_login(current.key.as_ref());
        if same {
            return Arc::clone(&current.adapter);
        }
        endpoint::adapter(&Endpoint {
            api_key: Some(key.clone()),
            ..self.endpoint.clone()
        })
    }

    fn as_learned(&self, found: Window) -> Window {
        match self.learned.load(Ordering::Relaxed) {
            0 => found,
            tokens if tokens < found.tokens => Window {
                tokens,
                source: WindowSource::Server,
                ..found
            },
            _ => found,
        }
    }

    async fn call(
        &self,
        request: &ModelRequest,
        sink: &(dyn Fn(Delta) + Send + Sync),
        cancel: &CancellationToken,
    ) -> Result<Completion, Failure> {
        let started = Instant::now();
        if self.credential().state.wants_renewal() {
            tokio::select! {
                _ = self.renew(None) => {}
                () = cancel.cancelled() => {}
            }
        }
        let credential = self.credential();
        let mut encoded = credential.adapter.encode(request, &self.images);
        encoded.facts.window = self
            .window
            .get()
            .map_or(0, |window| self.as_learned(*window).tokens);
        encoded.facts.oauth = self.endpoint.is_login(credential.key.as_ref());
        encoded.facts.login = self.endpoint.login(credential.key.as_ref());
        if let Some(cloud) = &self.endpoint.cloud {
            encoded = cloud.rewritten(encoded, &self.endpoint.identity);
            encoded.facts.login = Login::Other;
        }
        let patience = patience(&self.endpoint, &encoded.facts);
        let context = Context {
            facts: encoded.facts,
            key: credential.key.as_ref(),
        };
        let call = Call {
            context,
            started,
            sink,
            patience,
        };
        let mut decoder = credential.adapter.decoder(request);
        let outcome = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(cancelled()),
            outcome = self.exchange(encoded, &credential, &mut *decoder, &call) => outcome,
        };
        outcome.map_err(|raw| {
            let partial = (raw.phase == Phase::Body).then(|| decoder.partial());
            call.context.classify(*raw, partial, call.started.elapsed())
        })
    }

    async fn exchange(
        &self,
        encoded: Encoded,
        credential: &Credential,
        decoder: &mut dyn Decoder,
        call: &Call<'_>,
    ) -> Result<Completion, Broken> {
        let (client, mut prepared) = self.prepare(encoded, credential)?;
        if let Some(cloud) = &self.endpoint.cloud {
            // Without its proof a request is refused as one with a wrong key is.
            let refused = |why| {
                Box::new(RawFailure {
                    text: why,
                    ..RawFailure::status(401, Vec::new(), "")
                })
            };
            cloud.authorize(&mut prepared).await.map_err(refused)?;
        }
        let exchange = self.written_down(&prepared, credential);
        let sent = match tokio::time::timeout(call.patience, client.execute(prepared)).await {
            Err(_) => Err(silence(Phase::Connect, Transport::ReadTimeout, call.patience)),
            Ok(Err(error)) => Err(failure::of_transport(Phase::Connect, error)),
            Ok(Ok(response)) => Ok(response),
        };
        if let Some(exchange) = &exchange {
            match &sent {
                Ok(response) => exchange.response(response.status().as_u16(), response.headers()),
                Err(broken) => exchange.failed(&broken.text),
            }
        }
        let answer = Answer::new(sent?, exchange.as_ref());
        if !answer.response.status().is_success() {
            return Err(refusal(answer).await);
        }
        let answer = read_answer(answer, decoder, call).await;
        // The connection is free for the next call once its own task has seen the end of this one.
        tokio::task::yield_now().await;
        answer
    }

    /// The record of a request, where calls are written down.
    fn written_down(&self, request: &Request, credential: &Credential) -> Option<Exchange<'_>> {
        let log = self.endpoint.debug.as_deref()?;
        let body = request
            .body()
            .and_then(reqwest::Body::as_bytes)
            .unwrap_or_default();
        Some(log.request(
            request.url().as_str(),
            request.headers(),
            body,
            credential.key.as_ref(),
        ))
    }

    fn prepare(&self, encoded: Encoded, credential: &Credential) -> Result<(Client, Request), Broken> {
        let broken = |transport, text: String| Box::new(RawFailure::transport(Phase::Build, transport, text));
        let client = self
            .client()
            .map_err(|error| broken(Transport::Other, error.to_string()))?;
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let accept = if encoded.facts.streaming {
            "text/event-stream"
        } else {
            "application/json"
        };
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        for (name, value) in encoded.headers {
            headers.insert(HeaderName::from_static(name), header_value(name, &value)?);
        }
        if let Some(key) = &credential.key {
            let (name, value) = credential.adapter.credential(key.expose_secret());
            let mut value = header_value(name, &value)?;
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(name), value);
            if self.endpoint.is_login(Some(key)) {
                for (name, value) in oauth::headers(&self.endpoint.identity.provider, key) {
                    headers.insert(HeaderName::from_static(name), header_value(name, &value)?);
                }
            }
        }
        let url = format!("{}{}", credential.base_url, encoded.path);
        let request = client.post(url).headers(headers).body(encoded.body).build();
        let request = request.map_err(|error| failure::of_transport(Phase::Build, error))?;
        Ok((client, request))
    }
}

impl Provider for HttpProvider {
    fn identity(&self) -> &ModelIdentity {
        &self.endpoint.identity
    }

    fn complete<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a (dyn Fn(Delta) + Send + Sync),
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Completion, Failure>> {
        Box::pin(self.call(request, sink, cancel))
    }

    fn context_window(&self) -> BoxFuture<'_, Window> {
        Box::pin(async {
            if self.window.get().is_none() && self.credential().state.wants_renewal() {
                self.renew(None).await;
            }
            let server = || {
                // A cloud lists no models at the address where it serves them.
                if self.endpoint.cloud.is_some() {
                    return None;
                }
                let client = self.client().ok()?;
                let Credential { key, adapter, .. } = self.credential();
                let credential = key.map(|key| adapter.credential(key.expose_secret()));
                Some(window::Server {
                    endpoint: &self.endpoint,
                    client,
                    credential,
                })
            };
            let found = *self
                .window
                .get_or_init(|| window::discover(&self.endpoint, server))
                .await;
            self.as_learned(found)
        })
    }

    fn learn_window(&self, tokens: u64) {
        self.learned.store(tokens, Ordering::Relaxed);
        if let Some(file) = &self.endpoint.window_cache {
            window_file::write(file, &self.endpoint.identity, tokens);
        }
    }

    fn credentials(&self) -> Credentials {
        let entry = self.credential().entry;
        let can_rotate = match (&self.endpoint.pool, entry) {
            (Some(pool), Some(entry)) => pool.has_other(&entry),
            (Some(_) | None, _) => false,
        };
        Credentials {
            can_rotate,
            can_refresh: self.endpoint.cloud.is_some() || self.credential().state.can_renew,
        }
    }

    fn next_credential(&self, failure: &Failure) -> bool {
        let current = self.credential();
        let (Some(pool), Some(entry)) = (&self.endpoint.pool, current.entry.as_deref()) else {
            return false;
        };
        let Some(next) = pool.leave(entry, failure) else {
            return false;
        };
        self.adopt(next.key, next.base_url, pool.key_state(&next.id), Some(next.id));
        true
    }

    fn refresh_credential(&self) -> BoxFuture<'_, bool> {
        Box::pin(async {
            if let Some(cloud) = &self.endpoint.cloud {
                cloud.forget();
                return true;
            }
            let refused = self.credential().key;
            self.renew(refused.as_ref()).await
        })
    }

    fn rebuild_transport(&self) {
        *self.client.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// A local server may think for minutes before its first word; a far one is
/// given longer the more it has to read.
fn patience(endpoint: &Endpoint, facts: &RequestFacts) -> Duration {
    let configured = endpoint.stale_timeout;
    // Whoever set it below the usual means it.
    if configured < Duration::from_secs(180) {
        return configured;
    }
    let floor = match facts.prompt_tokens {
        0..=50_000 => 0,
        50_001..=100_000 => 240,
        _ => 300,
    };
    configured.max(Duration::from_secs(floor))
}

fn header_value(name: &str, value: &str) -> Result<HeaderValue, Broken> {
    let fail = || {
        let text = format!("the value of the header {name} is not ASCII text");
        Box::new(RawFailure::transport(
            Phase::Build,
            Transport::HeaderNotAscii,
            text,
        ))
    };
    if !value.is_ascii() {
        return Err(fail());
    }
    HeaderValue::from_str(value).map_err(|_| fail())
}

fn cancelled() -> Broken {
    Box::new(RawFailure::transport(
        Phase::Body,
        Transport::Cancelled,
        "interrupted",
    ))
}

/// The provider of an endpoint, as everyone else sees it.
pub(crate) fn provider(endpoint: Endpoint, adapter: Arc<dyn Adapter>) -> Arc<dyn Provider> {
    Arc::new(HttpProvider::new(endpoint, adapter))
}
