//! The one HTTP driver, the same for every protocol.
//!
//! It owns the connections, the time-outs and the framing. One call is one
//! request: what to do about a failure is decided elsewhere, from the facts that
//! go into the [`Failure`]. Streamed pieces go to the sink as the bytes arrive.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, RequestBuilder, Response};
use secrecy::ExposeSecret;
use talaria_llm::sse::{Event, Framer, Sniff, sniff};
use talaria_llm::{Provider, Window};
use talaria_recovery::{Failure, Phase, RawFailure, RequestFacts, Transport};
use talaria_types::{Completion, Delta, ModelIdentity, ModelRequest};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::endpoint::Endpoint;
use crate::failure::{self, BODY_LIMIT, Context};
use crate::images::ImageFolder;
use crate::wire::{Adapter, Decoder, Encoded, WireError};
use crate::{tls, window};

/// After the answer's last word the line should end; a server that keeps it open is not waited for.
const TAIL_TIMEOUT: Duration = Duration::from_millis(250);
/// After its reason to end a server may still count tokens.
const USAGE_TIMEOUT: Duration = Duration::from_secs(5);
/// The rest of a refusal's body is of no use if it takes longer.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(10);
/// An answer of one document may be this large, not larger.
const DOCUMENT_LIMIT: usize = 64 * 1024 * 1024;

/// A provider behind an HTTP address.
pub(crate) struct HttpProvider {
    endpoint: Endpoint,
    adapter: Box<dyn Adapter>,
    images: ImageFolder,
    client: Mutex<Option<Client>>,
    window: OnceCell<Window>,
}

/// Everything one call needs to be told about its failure.
struct Call<'a> {
    context: Context<'a>,
    started: Instant,
    sink: &'a (dyn Fn(Delta) + Send + Sync),
    /// Without a byte for this long the line is given up.
    patience: Duration,
}

/// A call's failure, before it has a kind.
type Broken = Box<RawFailure>;

/// How reading an answer ended.
enum Ended {
    /// The line ended, properly or because nothing more was needed.
    Whole,
    /// It broke.
    Broken(Broken),
}

impl HttpProvider {
    /// A provider for an endpoint; opens no connection.
    pub(crate) fn new(endpoint: Endpoint, adapter: Box<dyn Adapter>) -> Self {
        let images = ImageFolder(endpoint.images.clone());
        Self {
            endpoint,
            adapter,
            images,
            client: Mutex::new(None),
            window: OnceCell::new(),
        }
    }

    fn client(&self) -> Result<Client, tls::ClientError> {
        let mut kept = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = &*kept {
            return Ok(client.clone());
        }
        let client = tls::client(
            &self.endpoint.identity.base_url,
            self.endpoint.ca_bundle.as_deref(),
        )?;
        *kept = Some(client.clone());
        Ok(client)
    }

    async fn call(
        &self,
        request: &ModelRequest,
        sink: &(dyn Fn(Delta) + Send + Sync),
        cancel: &CancellationToken,
    ) -> Result<Completion, Failure> {
        let started = Instant::now();
        let mut encoded = self.adapter.encode(request, &self.images);
        encoded.facts.window = self.window.get().map_or(0, |window| window.tokens);
        encoded.facts.oauth = self.endpoint.has_oauth_key();
        encoded.facts.login = self.endpoint.login();
        let patience = patience(&self.endpoint, &encoded.facts);
        let context = Context {
            facts: encoded.facts,
            key: self.endpoint.api_key.as_ref(),
        };
        let call = Call {
            context,
            started,
            sink,
            patience,
        };
        let mut decoder = self.adapter.decoder(request);
        let outcome = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(cancelled()),
            outcome = self.exchange(encoded, &mut *decoder, &call) => outcome,
        };
        outcome.map_err(|raw| {
            let partial = (raw.phase == Phase::Body).then(|| decoder.partial());
            call.context.classify(*raw, partial, call.started.elapsed())
        })
    }

    async fn exchange(
        &self,
        encoded: Encoded,
        decoder: &mut dyn Decoder,
        call: &Call<'_>,
    ) -> Result<Completion, Broken> {
        let prepared = self.prepare(encoded)?;
        let response = match tokio::time::timeout(call.patience, prepared.send()).await {
            Err(_) => return Err(silence(Phase::Connect, Transport::ReadTimeout, call.patience)),
            Ok(Err(error)) => return Err(failure::of_transport(Phase::Connect, error)),
            Ok(Ok(response)) => response,
        };
        if !response.status().is_success() {
            return Err(refusal(response).await);
        }
        read_answer(response, decoder, call).await
    }

    fn prepare(&self, encoded: Encoded) -> Result<RequestBuilder, Broken> {
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
        if let Some(key) = &self.endpoint.api_key {
            let (name, value) = self.adapter.credential(key.expose_secret());
            let mut value = header_value(name, &value)?;
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(name), value);
        }
        let url = format!("{}{}", self.endpoint.identity.base_url, encoded.path);
        Ok(client.post(url).headers(headers).body(encoded.body))
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
            let server = || {
                let client = self.client().ok()?;
                let key = self.endpoint.api_key.as_ref();
                let credential = key.map(|key| self.adapter.credential(key.expose_secret()));
                Some(window::Server {
                    endpoint: &self.endpoint,
                    client,
                    credential,
                })
            };
            *self
                .window
                .get_or_init(|| window::discover(&self.endpoint, server))
                .await
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

fn silence(phase: Phase, transport: Transport, patience: Duration) -> Broken {
    let text = format!("the server said nothing for {} s", patience.as_secs());
    Box::new(RawFailure::transport(phase, transport, text))
}

/// Reads why a server said no.
async fn refusal(mut response: Response) -> Broken {
    let status = response.status().as_u16();
    let headers: Vec<(String, String)> = response
        .headers()
        .iter()
        .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())))
        .collect();
    let mut body = Vec::new();
    let read = async {
        while let Ok(Some(chunk)) = response.chunk().await {
            body.extend_from_slice(&chunk);
            if body.len() >= BODY_LIMIT {
                break;
            }
        }
    };
    // Whatever has come by then is what there is to say.
    let _ = tokio::time::timeout(REFUSAL_TIMEOUT, read).await;
    body.truncate(BODY_LIMIT);
    let location = headers
        .iter()
        .find(|(name, _)| name == "location")
        .filter(|_| (300..400).contains(&status));
    let text = location
        .map(|(_, to)| format!("the server answered {status} and points to {to}; is model.base_url right?"));
    Box::new(RawFailure {
        text: text.unwrap_or_default(),
        ..RawFailure::status(status, headers, String::from_utf8_lossy(&body))
    })
}

async fn read_answer(
    mut response: Response,
    decoder: &mut dyn Decoder,
    call: &Call<'_>,
) -> Result<Completion, Broken> {
    let mut start = Vec::new();
    let (kind, more) = loop {
        match next_chunk(&mut response, call.patience).await {
            Ok(Some(chunk)) => start.extend_from_slice(&chunk),
            Ok(None) => break (sniff(&start), false),
            Err(raw) => return Err(raw),
        }
        match sniff(&start) {
            Sniff::Unknown => {}
            kind => break (kind, true),
        }
    };
    match kind {
        Sniff::Unknown => Err(Box::new(RawFailure::invalid("the answer is empty", ""))),
        Sniff::Lines => {
            let mut stream = Stream {
                framer: Framer::default(),
                decoder,
                out: Vec::new(),
                failed: None,
            };
            let ended = stream.read(&start, more.then_some(&mut response), call).await;
            stream.conclude(ended, call)
        }
        Sniff::Json | Sniff::Markup => {
            if more {
                read_rest(&mut response, &mut start, call.patience).await?;
            }
            document(&start, kind, decoder, call)
        }
    }
}

async fn next_chunk(response: &mut Response, patience: Duration) -> Result<Option<bytes::Bytes>, Broken> {
    match tokio::time::timeout(patience, response.chunk()).await {
        Err(_) => Err(silence(Phase::Body, Transport::Stalled, patience)),
        Ok(Err(error)) => Err(failure::of_transport(Phase::Body, error)),
        Ok(Ok(chunk)) => Ok(chunk),
    }
}

async fn read_rest(response: &mut Response, whole: &mut Vec<u8>, patience: Duration) -> Result<(), Broken> {
    while let Some(chunk) = next_chunk(response, patience).await? {
        whole.extend_from_slice(&chunk);
        if whole.len() > DOCUMENT_LIMIT {
            return Err(Box::new(RawFailure::invalid(
                "the answer is larger than 64 MiB",
                "",
            )));
        }
    }
    Ok(())
}

fn document(
    bytes: &[u8],
    kind: Sniff,
    decoder: &mut dyn Decoder,
    call: &Call<'_>,
) -> Result<Completion, Broken> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches('\u{feff}').trim();
    if kind == Sniff::Markup {
        return Err(Box::new(RawFailure::invalid("the answer is a web page", text)));
    }
    let mut out = Vec::new();
    let result = decoder
        .document(text, &mut out)
        .and_then(|()| decoder.finish(&mut out));
    out.into_iter().for_each(call.sink);
    result.map_err(failure::of_wire)
}

/// An answer that is being streamed.
struct Stream<'a> {
    framer: Framer,
    decoder: &'a mut dyn Decoder,
    out: Vec<Delta>,
    failed: Option<WireError>,
}

impl Stream<'_> {
    async fn read(&mut self, start: &[u8], response: Option<&mut Response>, call: &Call<'_>) -> Ended {
        self.push(start, call);
        let Some(response) = response else {
            return Ended::Whole;
        };
        while self.failed.is_none() {
            // Reading on to the line's end lets the connection be used again.
            let patience = match (self.decoder.is_over(), self.decoder.is_complete()) {
                (true, _) => TAIL_TIMEOUT.min(call.patience),
                (false, true) => USAGE_TIMEOUT.min(call.patience),
                (false, false) => call.patience,
            };
            match next_chunk(response, patience).await {
                Ok(Some(chunk)) => self.push(&chunk, call),
                Ok(None) => break,
                // The answer is all there; how the line ended is of no interest.
                Err(_) if self.decoder.is_complete() => break,
                Err(raw) => return Ended::Broken(raw),
            }
        }
        Ended::Whole
    }

    fn push(&mut self, bytes: &[u8], call: &Call<'_>) {
        let Self {
            framer,
            decoder,
            out,
            failed,
        } = self;
        framer.push(bytes, &mut |event| take(&mut **decoder, event, out, failed));
        self.show(call);
    }

    fn conclude(mut self, ended: Ended, call: &Call<'_>) -> Result<Completion, Broken> {
        if let Some(error) = self.failed.take() {
            return Err(failure::of_wire(error));
        }
        match ended {
            Ended::Broken(raw) if !self.decoder.is_complete() => return Err(raw),
            Ended::Broken(_) => {}
            Ended::Whole => self.last_event(),
        }
        let result = match self.failed.take() {
            // Half an event is the trace of a cut, not an answer of a broken server.
            Some(WireError::Invalid { .. }) => Err(WireError::Cut),
            Some(error) => Err(error),
            None => self.decoder.finish(&mut self.out),
        };
        self.show(call);
        result.map_err(|error| self.explain(error))
    }

    /// The last event may lack its blank line.
    fn last_event(&mut self) {
        let Self {
            framer,
            decoder,
            out,
            failed,
        } = self;
        framer.finish(&mut |event| take(&mut **decoder, event, out, failed));
    }

    /// An answer that is none may have been an error body without framing.
    fn explain(&self, error: WireError) -> Broken {
        let stray = self.framer.stray();
        let stray = stray.trim();
        match error {
            WireError::Refused { .. } | WireError::Invalid { .. } => failure::of_wire(error),
            WireError::Cut if stray.is_empty() => failure::of_wire(WireError::Cut),
            WireError::Cut if sniff(stray.as_bytes()) == Sniff::Json => Box::new(RawFailure::in_body(stray)),
            WireError::Cut if *self.decoder.partial().text == *"" && !self.decoder.is_complete() => {
                Box::new(RawFailure::invalid("the answer is no event stream", stray))
            }
            WireError::Cut => failure::of_wire(WireError::Cut),
        }
    }

    fn show(&mut self, call: &Call<'_>) {
        self.out.drain(..).for_each(call.sink);
    }
}

fn take(decoder: &mut dyn Decoder, event: Event<'_>, out: &mut Vec<Delta>, failed: &mut Option<WireError>) {
    if failed.is_none() {
        *failed = decoder.event(event, out).err();
    }
}

/// The provider of an endpoint, as everyone else sees it.
pub(crate) fn provider(endpoint: Endpoint, adapter: Box<dyn Adapter>) -> Arc<dyn Provider> {
    install_once();
    Arc::new(HttpProvider::new(endpoint, adapter))
}

/// The TLS library insists on one process-wide choice wherever a part of it was not told its own.
fn install_once() {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        // Someone else's choice is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}
