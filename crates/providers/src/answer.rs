//! Reads what a server answers, as the bytes arrive.
//!
//! Content types lie, so the first byte tells whether it is a stream or a
//! document. A stream is believed once its answer is complete, however its line
//! ends; before that, every end is a failure with what had arrived.

use std::time::{Duration, Instant};

use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use talaria_llm::sse::{Event, Framer, Sniff, sniff};
use talaria_recovery::{Phase, RawFailure, Transport};
use talaria_types::{Completion, Delta};

use crate::cloud::eventstream::{self, Unframer};
use crate::debug::Exchange;
use crate::failure::{self, BODY_LIMIT, Context};
use crate::wire::{Decoder, WireError};

/// After the answer's last word the line should end; a server that keeps it open is not waited for.
const TAIL_TIMEOUT: Duration = Duration::from_millis(250);
/// After its reason to end a server may still count tokens.
const USAGE_TIMEOUT: Duration = Duration::from_secs(5);
/// The rest of a refusal's body is of no use if it takes longer.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(10);
/// The most white space before anything else.
const BLANK_LIMIT: usize = 1 << 20;

/// An answer of one document may be this large, not larger.
const DOCUMENT_LIMIT: usize = 64 * 1024 * 1024;

/// Everything one call needs to be told about its failure.
pub(crate) struct Call<'a> {
    pub(crate) context: Context<'a>,
    pub(crate) started: Instant,
    pub(crate) sink: &'a (dyn Fn(Delta) + Send + Sync),
    /// Without a byte for this long the line is given up.
    pub(crate) patience: Duration,
}

/// What a server answers, as the bytes of a stream or a document, and the record it goes into,
/// where calls are written down.
pub(crate) struct Answer<'a> {
    pub(crate) response: Response,
    exchange: Option<&'a Exchange<'a>>,
    /// Takes the frames off, where a cloud puts its events into some.
    unframer: Option<Unframer>,
}

impl<'a> Answer<'a> {
    /// An answer that has begun.
    pub(crate) fn new(response: Response, exchange: Option<&'a Exchange<'a>>) -> Self {
        let content = response
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok());
        let framed = content.is_some_and(|content| content.starts_with(eventstream::CONTENT_TYPE));
        Self {
            unframer: framed.then(Unframer::default),
            response,
            exchange,
        }
    }

    async fn chunk(&mut self) -> reqwest::Result<Option<bytes::Bytes>> {
        loop {
            let chunk = self.response.chunk().await?;
            let chunk = match (&mut self.unframer, chunk) {
                (Some(unframer), Some(bytes)) => {
                    let events = unframer.push(&bytes);
                    // Half a frame says nothing yet.
                    if events.is_empty() {
                        continue;
                    }
                    Some(bytes::Bytes::from(events))
                }
                (_, chunk) => chunk,
            };
            if let (Some(exchange), Some(bytes)) = (self.exchange, &chunk) {
                exchange.chunk(bytes);
            }
            return Ok(chunk);
        }
    }
}

/// A call's failure, before it has a kind.
pub(crate) type Broken = Box<RawFailure>;

/// How reading an answer ended.
enum Ended {
    /// The line ended, properly or because nothing more was needed.
    Whole,
    /// It broke.
    Broken(Broken),
}

/// The server said nothing for too long.
pub(crate) fn silence(phase: Phase, transport: Transport, patience: Duration) -> Broken {
    let text = format!("the server said nothing for {} s", patience.as_secs());
    Box::new(RawFailure::transport(phase, transport, text))
}

/// Reads why a server said no.
pub(crate) async fn refusal(mut answer: Answer<'_>) -> Broken {
    let status = answer.response.status().as_u16();
    let headers: Vec<(String, String)> = answer
        .response
        .headers()
        .iter()
        .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())))
        .collect();
    let mut body = Vec::new();
    let read = async {
        while let Ok(Some(chunk)) = answer.chunk().await {
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

/// Reads the answer of a server that said yes: a stream, a document, or neither.
pub(crate) async fn read_answer(
    mut answer: Answer<'_>,
    decoder: &mut dyn Decoder,
    call: &Call<'_>,
) -> Result<Completion, Broken> {
    let mut start = Vec::new();
    let (kind, more) = loop {
        match next_chunk(&mut answer, call.patience).await {
            Ok(Some(chunk)) => start.extend_from_slice(&chunk),
            Ok(None) => break (sniff(&start), false),
            Err(raw) => return Err(raw),
        }
        match sniff(&start) {
            Sniff::Unknown if start.len() > BLANK_LIMIT => {
                return Err(Box::new(RawFailure::invalid(
                    "the answer is blank without an end",
                    "",
                )));
            }
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
            let ended = stream.read(&start, more.then_some(&mut answer), call).await;
            stream.conclude(ended, call)
        }
        Sniff::Json | Sniff::Markup => {
            if more {
                read_rest(&mut answer, &mut start, call.patience).await?;
            }
            document(&start, kind, decoder, call)
        }
    }
}

async fn next_chunk(answer: &mut Answer<'_>, patience: Duration) -> Result<Option<bytes::Bytes>, Broken> {
    match tokio::time::timeout(patience, answer.chunk()).await {
        Err(_) => Err(silence(Phase::Body, Transport::Stalled, patience)),
        Ok(Err(error)) => Err(failure::of_transport(Phase::Body, error)),
        Ok(Ok(chunk)) => Ok(chunk),
    }
}

async fn read_rest(answer: &mut Answer<'_>, whole: &mut Vec<u8>, patience: Duration) -> Result<(), Broken> {
    while let Some(chunk) = next_chunk(answer, patience).await? {
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
    async fn read(&mut self, start: &[u8], answer: Option<&mut Answer<'_>>, call: &Call<'_>) -> Ended {
        self.push(start, call);
        let Some(answer) = answer else {
            return Ended::Whole;
        };
        while self.failed.is_none() {
            if self.framer.overflowed() {
                let text = "the server sent an event of more than 32 MiB without an end";
                return Ended::Broken(Box::new(RawFailure::invalid(text, "")));
            }
            // Reading on to the line's end lets the connection be used again.
            let patience = match (self.decoder.is_over(), self.decoder.is_complete()) {
                (true, _) => TAIL_TIMEOUT.min(call.patience),
                (false, true) => USAGE_TIMEOUT.min(call.patience),
                (false, false) => call.patience,
            };
            match next_chunk(answer, patience).await {
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
