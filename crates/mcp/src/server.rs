//! One server: connected when it is first needed, again after it died, and left alone when it keeps failing.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use serde_json::Value;
use talaria_tools::Host;
use talaria_types::Question;
use tokio_util::sync::CancellationToken;

use crate::breaker::Breaker;
use crate::desk::{Ask, Desk};
use crate::sampling::{Quota, Sampler};
use crate::wire::{Link, Wish};
use crate::{McpError, Offer, ServerSettings};

/// A server that was just asked what it has may say a moment later that it has more.
const SETTLES: Duration = Duration::from_millis(150);
/// How often that is waited for.
const SETTLING: usize = 3;

/// What a connection needs to know, and what is learnt through it.
pub(crate) struct Core {
    pub(crate) settings: ServerSettings,
    pub(crate) home: PathBuf,
    pub(crate) cwd: PathBuf,
    pub(crate) quota: Quota,
    pub(crate) sampler: Option<Sampler>,
    pub(crate) desk: Desk,
    offer: RwLock<Option<Arc<Offer>>>,
    learnt: AtomicU64,
    listener: Mutex<Option<Listener>>,
}

/// Told when a server has other tools.
type Listener = Arc<dyn Fn(&Offer) + Send + Sync>;

impl Core {
    /// What it offers, as far as is known.
    pub(crate) fn offer(&self) -> Option<Arc<Offer>> {
        self.offer.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// It offers this now.
    pub(crate) fn learn(&self, offer: Offer) {
        offer.remember(&self.home, &self.settings);
        let offer = Arc::new(offer);
        *self.offer.write().unwrap_or_else(PoisonError::into_inner) = Some(offer.clone());
        self.learnt.fetch_add(1, Ordering::SeqCst);
        let listener = self
            .listener
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if let Some(listener) = listener {
            listener(&offer);
        }
    }
}

/// One server.
pub(crate) struct Server {
    pub(crate) core: Arc<Core>,
    state: tokio::sync::Mutex<State>,
}

#[derive(Default)]
struct State {
    link: Option<Arc<Link>>,
    breaker: Breaker,
}

/// Whoever runs a call.
pub(crate) struct Caller<'a> {
    pub(crate) host: &'a dyn Host,
    pub(crate) cancel: &'a CancellationToken,
    pub(crate) call: &'a str,
}

impl Server {
    pub(crate) fn new(
        settings: ServerSettings,
        home: PathBuf,
        cwd: PathBuf,
        sampler: Option<Sampler>,
    ) -> Arc<Self> {
        let offer = Offer::remembered(&home, &settings).map(Arc::new);
        let core = Core {
            quota: Quota::new(settings.sampling.clone()),
            home,
            cwd,
            sampler,
            desk: Desk::default(),
            offer: RwLock::new(offer),
            learnt: AtomicU64::new(0),
            listener: Mutex::new(None),
            settings,
        };
        Arc::new(Self {
            core: Arc::new(core),
            state: tokio::sync::Mutex::default(),
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.core.settings.name
    }

    /// Who is told when its tools change.
    pub(crate) fn listen(&self, listener: Listener) {
        *self.core.listener.lock().unwrap_or_else(PoisonError::into_inner) = Some(listener);
    }

    /// Connects and says what it has, after it had a moment to make up its mind.
    pub(crate) async fn discover(&self) -> Result<Arc<Offer>, McpError> {
        self.link().await?;
        for _ in 0..SETTLING {
            let before = self.core.learnt.load(Ordering::SeqCst);
            if !self.core.offer().is_some_and(|offer| offer.may_change) {
                break;
            }
            tokio::time::sleep(SETTLES).await;
            if self.core.learnt.load(Ordering::SeqCst) == before {
                break;
            }
        }
        Ok(self.core.offer().unwrap_or_default())
    }

    /// The connection; made when there is none, tried a few times, and not at all while the server is left alone.
    async fn link(&self) -> Result<Arc<Link>, McpError> {
        let mut state = self.state.lock().await;
        if let Some(link) = state.link.as_ref().filter(|link| !link.is_closed()) {
            return Ok(link.clone());
        }
        if let Some(dead) = state.link.take() {
            dead.close().await;
        }
        loop {
            state
                .breaker
                .check(Instant::now())
                .map_err(|rests| McpError::Resting {
                    server: self.name().to_owned(),
                    failures: rests.failures,
                    wait: rests.wait,
                    last: rests.last,
                })?;
            match Link::open(&self.core).await {
                Ok(link) => {
                    let link = Arc::new(link);
                    state.link = Some(link.clone());
                    return Ok(link);
                }
                // Trying again gives no login.
                Err(error @ McpError::NeedsLogin { .. }) => return Err(error),
                Err(error) => {
                    tracing::info!(server = %self.name(), %error, "an MCP server cannot be reached");
                    state.breaker.failed(&error.to_string(), Instant::now());
                    match state.breaker.wait() {
                        Some(wait) => tokio::time::sleep(wait).await,
                        None => return Err(error),
                    }
                }
            }
        }
    }

    /// Asks for `wish`; what the server wants to know meanwhile is asked through the caller.
    pub(crate) async fn call(&self, wish: &Wish, caller: &Caller<'_>) -> Result<Value, McpError> {
        let link = tokio::select! {
            link = self.link() => link?,
            () = caller.cancel.cancelled() => return Err(McpError::Interrupted),
        };
        let mut seat = self.core.desk.sit();
        let stop = caller.cancel.child_token();
        let work = link.fulfil(wish, self.core.settings.timeout, &stop);
        tokio::pin!(work);
        let done = loop {
            tokio::select! {
                biased;
                done = &mut work => break done,
                Some(ask) = seat.asks.recv() => answer(ask, caller).await,
            }
        };
        let mut state = self.state.lock().await;
        match &done {
            Err(error @ (McpError::Timeout { .. } | McpError::Gone { .. })) => {
                state.breaker.failed(&error.to_string(), Instant::now());
            }
            Ok(_) => state.breaker.worked(),
            Err(_) => {}
        }
        done
    }

    /// Ends the connection, and the program behind it.
    pub(crate) async fn close(&self) {
        if let Some(link) = self.state.lock().await.link.take() {
            link.close().await;
        }
    }

    /// Whether it is connected now.
    pub(crate) fn is_connected(&self) -> bool {
        let state = self.state.try_lock();
        state.is_ok_and(|state| state.link.as_ref().is_some_and(|link| !link.is_closed()))
    }
}

/// Puts a question to the person. The call it belongs to waits, as the server does.
async fn answer(ask: Ask, caller: &Caller<'_>) {
    static QUESTIONS: AtomicU64 = AtomicU64::new(1);
    if !caller.host.can_ask() {
        let _ = ask.answer.send(None);
        return;
    }
    let question = Question {
        id: format!("{}_mcp{}", caller.call, QUESTIONS.fetch_add(1, Ordering::Relaxed)),
        text: ask.text,
        choices: ask.choices,
    };
    let said = tokio::select! {
        said = caller.host.ask(question) => said,
        () = caller.cancel.cancelled() => None,
    };
    let _ = ask.answer.send(said);
}
