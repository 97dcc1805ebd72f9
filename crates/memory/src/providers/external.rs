//! The one external provider of a process, as the engine holds it: nothing here fails, blocks or leaks.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use talaria_redact::redact_own;
use talaria_types::ToolSpec;
use tokio::sync::{mpsc, oneshot, watch};

use super::queue::{Job, work};
use super::{
    Delegation, Exchange, MemoryProvider, MemoryWrite, Opening, ProviderError, Said, Switch, ToolUse, fence,
};

/// Jobs that may wait; a provider that is so far behind has lost the thread anyway.
const WAITING: usize = 256;
/// Characters of the block in the system prompt at most.
const BLOCK: usize = 4_000;
/// Characters of what a summary is given.
const ADVICE: usize = 8_000;

/// Tells the person.
pub type Teller = Arc<dyn Fn(String) + Send + Sync>;

/// How long a provider may take.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// For `connect`, before the first session opens.
    pub connect: Duration,
    /// For `on_turn_start` and `prefetch` together: the person waits.
    pub prefetch: Duration,
    /// For each job of the queue.
    pub job: Duration,
    /// For a tool's call.
    pub tool: Duration,
    /// For what still waits when the last session ends.
    pub drain: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(8),
            prefetch: Duration::from_secs(8),
            job: Duration::from_secs(60),
            tool: Duration::from_secs(60),
            drain: Duration::from_secs(5),
        }
    }
}

/// A connected provider behind its queue.
pub struct External {
    inner: Arc<Inner>,
    queue: mpsc::Sender<Job>,
    bounds: Bounds,
}

/// What the worker shares.
pub(crate) struct Inner {
    pub(crate) provider: Arc<dyn MemoryProvider>,
    /// What was said to the person already, by call.
    told: Mutex<HashSet<&'static str>>,
    /// Who hears of trouble, by the session; the newest hears it.
    tellers: Mutex<Vec<(u64, Teller)>>,
    recalling: AtomicBool,
    /// Sessions whose `initialize` is not done.
    opening: watch::Sender<usize>,
    sessions: AtomicUsize,
}

impl std::fmt::Debug for External {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("External")
            .field("provider", &self.name())
            .finish_non_exhaustive()
    }
}

impl External {
    /// Connects a provider and starts its worker.
    ///
    /// # Errors
    /// When it does not get ready in time; a text for the person.
    pub async fn connect(provider: Arc<dyn MemoryProvider>, bounds: Bounds) -> Result<Self, String> {
        let connecting = provider.clone();
        let mut ready = tokio::spawn(async move { connecting.connect().await });
        let outcome = tokio::time::timeout(bounds.connect, &mut ready).await;
        ready.abort();
        let failed = |why: String| format!("the memory provider {} is not used: {why}", provider.name());
        match outcome {
            Ok(Ok(Ok(()))) => {}
            Ok(Ok(Err(error))) => return Err(failed(error.to_string())),
            Ok(Err(_)) => return Err(failed("it crashed".to_owned())),
            Err(_) => return Err(failed(format!("not ready within {} s", bounds.connect.as_secs()))),
        }
        let inner = Arc::new(Inner {
            provider,
            told: Mutex::default(),
            tellers: Mutex::default(),
            recalling: AtomicBool::new(false),
            opening: watch::Sender::new(0),
            sessions: AtomicUsize::new(0),
        });
        let (queue, jobs) = mpsc::channel(WAITING);
        tokio::spawn(work(inner.clone(), jobs, bounds.job));
        Ok(Self { inner, queue, bounds })
    }

    /// The provider's name.
    pub fn name(&self) -> &str {
        self.inner.provider.name()
    }

    /// Its tools.
    pub fn tools(&self) -> Vec<ToolSpec> {
        self.inner.provider.tool_schemas()
    }

    /// Whether what its tools give may be a stranger's words.
    pub fn is_outside(&self) -> bool {
        self.inner.provider.is_outside()
    }

    /// Its block of the system prompt, without frames and cut to size; the same for the whole process.
    pub fn block(&self) -> Option<String> {
        let block = fence::sanitized(&self.inner.provider.system_prompt_block());
        let block = fence::cut(block.trim(), BLOCK);
        (!block.is_empty()).then(|| block.into_owned())
    }

    /// A session begins; `teller` hears what goes wrong until it ends.
    pub fn open(self: &Arc<Self>, opening: Opening, teller: Teller) -> Introduced {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        lock(&self.inner.tellers).push((number, teller));
        self.inner.sessions.fetch_add(1, Ordering::SeqCst);
        self.inner.opening.send_modify(|count| *count += 1);
        if !self.enqueue(Job::Initialize(opening)) {
            self.inner.opened();
        }
        Introduced {
            external: self.clone(),
            number,
        }
    }

    /// A turn begins: what is recalled about `query`, fenced; nothing when it takes too long.
    pub async fn recall(&self, number: u64, query: &str, session: &str) -> Option<String> {
        const WHAT: &str = "prefetch";
        let inner = self.inner.clone();
        if inner.recalling.swap(true, Ordering::SeqCst) {
            inner.complain(WHAT, "the recall before is still running; this one is skipped");
            return None;
        }
        let (query, session) = (redact_own(query).into_owned(), session.to_owned());
        let running = Recalling(inner.clone());
        let recall = tokio::spawn(async move {
            let inner = &running.0;
            let mut opening = inner.opening.subscribe();
            let _ = opening.wait_for(|count| *count == 0).await;
            let provider = &inner.provider;
            match provider.on_turn_start(number, &query, &session).await {
                Ok(()) => inner.mended("on_turn_start"),
                Err(error) => inner.complain("on_turn_start", &error.to_string()),
            }
            provider.prefetch(&query, &session).await
        });
        match tokio::time::timeout(self.bounds.prefetch, recall).await {
            Ok(Ok(Ok(text))) => {
                inner.mended(WHAT);
                fence::fenced(&text)
            }
            Ok(Ok(Err(error))) => {
                inner.complain(WHAT, &error.to_string());
                None
            }
            Ok(Err(_)) => {
                inner.complain(WHAT, "it crashed");
                None
            }
            // It goes on, and until it ends no other is begun.
            Err(_) => {
                let seconds = self.bounds.prefetch.as_secs_f32();
                inner.complain(WHAT, &format!("nothing was recalled within {seconds} s"));
                None
            }
        }
    }

    /// A turn ended by itself. Nothing is said about one in which a side said nothing.
    pub fn turn_ended(&self, turn: &Exchange, query: &str) {
        if turn.user.trim().is_empty() || turn.assistant.trim().is_empty() {
            return;
        }
        let exchange = Exchange {
            session_id: turn.session_id.clone(),
            user: redact_own(&turn.user).into_owned(),
            assistant: redact_own(&fence::scrubbed(&turn.assistant)).into_owned(),
        };
        self.enqueue(Job::SyncTurn(exchange));
        if !query.trim().is_empty() {
            let query = redact_own(query).into_owned();
            let session = turn.session_id.clone();
            self.enqueue(Job::QueuePrefetch { query, session });
        }
    }

    /// A session ends under this id.
    pub fn session_ends(&self, session: &str, messages: Vec<Said>) {
        let session = session.to_owned();
        let messages = masked_messages(messages);
        self.enqueue(Job::SessionEnd { session, messages });
    }

    /// The conversation goes on under another id.
    pub fn session_switches(&self, switch: Switch) {
        self.enqueue(Job::SessionSwitch(switch));
    }

    /// The curated memory was changed.
    pub fn memory_written(&self, mut write: MemoryWrite) {
        write.content = redact_own(&write.content).into_owned();
        write.metadata = masked(write.metadata);
        self.enqueue(Job::MemoryWrite(write));
    }

    /// Work that was handed on has come back.
    pub fn delegated(&self, mut delegation: Delegation) {
        delegation.task = redact_own(&delegation.task).into_owned();
        delegation.result = redact_own(&delegation.result).into_owned();
        self.enqueue(Job::Delegation(delegation));
    }

    /// What the provider wants remembered of a conversation that is about to be compressed.
    pub async fn before_compression(&self, session: &str, messages: Vec<Said>) -> Option<String> {
        const WHAT: &str = "on_pre_compress";
        let (inner, session, messages) = (self.inner.clone(), session.to_owned(), masked_messages(messages));
        let mut running =
            tokio::spawn(async move { inner.provider.on_pre_compress(&session, &messages).await });
        let outcome = tokio::time::timeout(self.bounds.prefetch, &mut running).await;
        running.abort();
        match outcome {
            Ok(Ok(Ok(text))) => {
                let text = fence::sanitized(&text);
                let text = fence::cut(text.trim(), ADVICE);
                return (!text.is_empty()).then(|| text.into_owned());
            }
            Ok(Ok(Err(error))) => self.inner.complain(WHAT, &error.to_string()),
            Ok(Err(_)) => self.inner.complain(WHAT, "it crashed"),
            Err(_) => self.inner.complain(WHAT, "no answer in time"),
        }
        None
    }

    /// Answers a call of one of the provider's tools.
    ///
    /// # Errors
    /// When it fails or takes too long; a text for the model.
    pub async fn call_tool(&self, mut call: ToolUse) -> Result<Value, String> {
        call.arguments = masked(call.arguments);
        let inner = self.inner.clone();
        let mut running = tokio::spawn(async move { inner.provider.handle_tool_call(&call).await });
        let outcome = tokio::time::timeout(self.bounds.tool, &mut running).await;
        running.abort();
        match outcome {
            Ok(Ok(result)) => result.map_err(|error: ProviderError| error.to_string()),
            Ok(Err(_)) => Err(format!("the memory provider {} crashed", self.name())),
            Err(_) => Err(format!(
                "the memory provider {} did not answer within {} s",
                self.name(),
                self.bounds.tool.as_secs()
            )),
        }
    }

    /// Waits until everything so far was told, at most so long; whether it was.
    pub async fn caught_up(&self, within: Duration) -> bool {
        let (done, told) = oneshot::channel();
        let wait = async { self.queue.send(Job::Flush(done)).await.is_ok() && told.await.is_ok() };
        tokio::time::timeout(within, wait).await.unwrap_or(false)
    }

    /// Puts a job into the queue without waiting; whether it found room.
    fn enqueue(&self, job: Job) -> bool {
        match self.queue.try_send(job) {
            Ok(()) => true,
            Err(error) => {
                let job = error.into_inner();
                self.inner.complain(job.name(), "too much waits for it already");
                false
            }
        }
    }
}

/// A session's part in the provider. Dropped without [`close`](Self::close), it only stops listening.
#[derive(Debug)]
pub struct Introduced {
    external: Arc<External>,
    number: u64,
}

impl Introduced {
    /// The session has ended: what waits is told, within the bound; after the last one the provider is shut down.
    pub async fn close(self) {
        let inner = &self.external.inner;
        if !self.external.caught_up(self.external.bounds.drain).await {
            inner.complain("drain", "what was said last may not have reached it");
        }
        if inner.sessions.fetch_sub(1, Ordering::SeqCst) == 1 {
            let _ = tokio::time::timeout(Duration::from_secs(1), inner.provider.shutdown()).await;
        }
    }
}

impl std::ops::Deref for Introduced {
    type Target = External;

    fn deref(&self) -> &External {
        &self.external
    }
}

impl Drop for Introduced {
    fn drop(&mut self) {
        let tellers = &self.external.inner.tellers;
        lock(tellers).retain(|(number, _)| *number != self.number);
    }
}

impl Inner {
    /// Tells the person once, until the call works again.
    pub(crate) fn complain(&self, call: &'static str, why: &str) {
        tracing::warn!(provider = self.provider.name(), call, "{why}");
        if !lock(&self.told).insert(call) {
            return;
        }
        let teller = lock(&self.tellers).last().map(|(_, teller)| teller.clone());
        if let Some(tell) = teller {
            tell(format!("memory provider {}, {call}: {why}", self.provider.name()));
        }
    }

    /// The call works.
    pub(crate) fn mended(&self, call: &'static str) {
        lock(&self.told).remove(call);
    }

    /// A session's `initialize` is done, well or not.
    pub(crate) fn opened(&self) {
        self.opening.send_modify(|count| *count = count.saturating_sub(1));
    }
}

/// A recall that runs.
struct Recalling(Arc<Inner>);

impl Drop for Recalling {
    fn drop(&mut self) {
        self.0.recalling.store(false, Ordering::SeqCst);
    }
}

fn masked_messages(messages: Vec<Said>) -> Vec<Said> {
    let masked = messages.into_iter().map(|said| Said {
        content: redact_own(&said.content).into_owned(),
        role: said.role,
    });
    masked.collect()
}

/// Every text of a value, secrets masked.
fn masked(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(redact_own(&text).into_owned()),
        Value::Array(items) => items.into_iter().map(masked).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| (name, masked(value)))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "external_tests.rs"]
mod tests;
