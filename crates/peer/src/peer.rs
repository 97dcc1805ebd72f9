//! The program as its caller holds it: started when needed, and again after it died.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::connection::Connection;
use crate::program::Program;
use crate::{Breaker, Handler, PeerError};

/// The first call after every start, before any other: a handshake.
#[derive(Clone, Debug)]
pub struct Opening {
    /// The method.
    pub method: String,
    /// Its parameters.
    pub params: Value,
    /// How long the program may take for it; a program that takes longer is ended.
    pub within: Duration,
}

/// A program that is called. Cheap to clone; the last clone that is dropped ends the process group.
#[derive(Clone)]
pub struct Peer {
    inner: Arc<Inner>,
}

struct Inner {
    program: Program,
    handler: Arc<dyn Handler>,
    opening: Mutex<Option<Opening>>,
    greeting: Mutex<Value>,
    stopped: AtomicBool,
    /// Held while it starts, so that it starts once.
    slot: tokio::sync::Mutex<Slot>,
    /// The running one, for what must not wait for a start.
    current: Mutex<Option<Arc<Connection>>>,
}

struct Slot {
    breaker: Breaker,
    last: String,
}

impl std::fmt::Debug for Peer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Peer")
            .field("program", &self.inner.program.name)
            .finish_non_exhaustive()
    }
}

impl Peer {
    /// A program that is started with the first call.
    pub fn new(program: Program, handler: impl Handler) -> Self {
        let slot = Slot {
            breaker: program.breaker(),
            last: String::new(),
        };
        Self {
            inner: Arc::new(Inner {
                program,
                handler: Arc::new(handler),
                opening: Mutex::new(None),
                greeting: Mutex::new(Value::Null),
                stopped: AtomicBool::new(false),
                slot: tokio::sync::Mutex::new(slot),
                current: Mutex::new(None),
            }),
        }
    }

    /// A program that is started now.
    pub async fn start(program: Program, handler: impl Handler) -> Result<Self, PeerError> {
        let peer = Self::new(program, handler);
        peer.connect().await?;
        Ok(peer)
    }

    /// Sets the handshake of every start from now on.
    pub fn opens_with(&self, opening: Opening) {
        *lock(&self.inner.opening) = Some(opening);
    }

    /// What the program answered to the last handshake; `null` before.
    pub fn greeting(&self) -> Value {
        lock(&self.inner.greeting).clone()
    }

    /// What errors call the program.
    pub fn name(&self) -> &str {
        &self.inner.program.name
    }

    /// Whether the program runs now.
    pub fn runs(&self) -> bool {
        lock(&self.inner.current)
            .as_ref()
            .is_some_and(|connection| connection.runs())
    }

    /// Starts the program if it does not run, handshake included. Bounded by the handshake's time.
    pub async fn connect(&self) -> Result<(), PeerError> {
        self.connection().await.map(drop)
    }

    /// Calls `method` and waits at most `within`, a start included.
    pub async fn call(&self, method: &str, params: Value, within: Duration) -> Result<Value, PeerError> {
        let work = async {
            let connection = self.connection().await?;
            connection.call(self.name(), method, &params).await
        };
        tokio::time::timeout(within, work).await.unwrap_or_else(|_| {
            Err(PeerError::Late {
                program: self.name().to_owned(),
                method: method.to_owned(),
                within,
            })
        })
    }

    /// Tells without waiting, behind what was called before. A program that does not run is not started.
    pub fn notify(&self, method: &str, params: &Value) -> Result<(), PeerError> {
        let current = lock(&self.inner.current).clone();
        match current {
            Some(connection) => connection.notify(self.name(), method, params),
            None => Err(PeerError::Died {
                program: self.name().to_owned(),
                how: "does not run".to_owned(),
            }),
        }
    }

    /// Closes the program's standard input, waits at most `grace` for its end, then ends its whole process
    /// group. It is not started again.
    pub async fn stop(&self, grace: Duration) {
        // A start that is under way sees it when it is done.
        self.inner.stopped.store(true, Ordering::SeqCst);
        let current = lock(&self.inner.current).take();
        if let Some(connection) = current {
            connection.stop(grace).await;
        }
    }

    /// Lets a program that is left alone be started again at once: a person asked for it.
    pub async fn forgive(&self) {
        self.inner.slot.lock().await.breaker.reset();
    }

    async fn connection(&self) -> Result<Arc<Connection>, PeerError> {
        let current = lock(&self.inner.current).clone();
        if let Some(connection) = current.filter(|connection| connection.runs()) {
            return Ok(connection);
        }
        let inner = self.inner.clone();
        // On its own: a caller that gives up must not end a program that is about to be ready.
        let started = tokio::spawn(async move { inner.started().await }).await;
        started.unwrap_or_else(|error| {
            Err(PeerError::Died {
                program: self.name().to_owned(),
                how: format!("could not be started ({error})"),
            })
        })
    }
}

impl Inner {
    async fn started(&self) -> Result<Arc<Connection>, PeerError> {
        let program = || self.program.name.clone();
        let mut slot = self.slot.lock().await;
        self.refuse_when_stopped()?;
        let before = lock(&self.current).take();
        if let Some(connection) = before {
            if let Some(end) = connection.end() {
                slot.last = end.to_string();
            } else {
                *lock(&self.current) = Some(connection.clone());
                return Ok(connection);
            }
        }
        if let Err(left) = slot.breaker.try_start(Instant::now()) {
            let last = slot.last.clone();
            return Err(PeerError::Resting {
                program: program(),
                left,
                last,
            });
        }
        let opened = Connection::open(&self.program, self.handler.clone());
        let connection = Arc::new(opened.map_err(|source| {
            slot.last = source.to_string();
            PeerError::Start {
                program: program(),
                source,
            }
        })?);
        let opening = lock(&self.opening).clone();
        if let Some(opening) = opening {
            let greeting = self.greet(&connection, &opening).await.inspect_err(|error| {
                slot.last = error.to_string();
            })?;
            *lock(&self.greeting) = greeting;
        }
        let mut current = lock(&self.current);
        self.refuse_when_stopped()?;
        *current = Some(connection.clone());
        Ok(connection)
    }

    fn refuse_when_stopped(&self) -> Result<(), PeerError> {
        if self.stopped.load(Ordering::SeqCst) {
            let program = self.program.name.clone();
            return Err(PeerError::Stopped { program });
        }
        Ok(())
    }

    async fn greet(&self, connection: &Connection, opening: &Opening) -> Result<Value, PeerError> {
        let name = &self.program.name;
        let call = connection.call(name, &opening.method, &opening.params);
        tokio::time::timeout(opening.within, call)
            .await
            .unwrap_or_else(|_| {
                Err(PeerError::Late {
                    program: name.clone(),
                    method: opening.method.clone(),
                    within: opening.within,
                })
            })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
