//! What waits for a provider, in the order in which it happened, and the one worker that carries it there.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use super::external::Inner;
use super::{Delegation, Exchange, MemoryWrite, Opening, ProviderError, Said, Switch};

/// One thing a provider is told.
#[derive(Debug)]
pub(crate) enum Job {
    Initialize(Opening),
    SyncTurn(Exchange),
    QueuePrefetch {
        query: String,
        session: String,
    },
    SessionEnd {
        session: String,
        messages: Vec<Said>,
    },
    SessionSwitch(Switch),
    MemoryWrite(MemoryWrite),
    Delegation(Delegation),
    /// Answers when all before it is done.
    Flush(oneshot::Sender<()>),
}

impl Job {
    /// The call's name, for the person.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Initialize(_) => "initialize",
            Self::SyncTurn(_) => "sync_turn",
            Self::QueuePrefetch { .. } => "queue_prefetch",
            Self::SessionEnd { .. } => "on_session_end",
            Self::SessionSwitch(_) => "on_session_switch",
            Self::MemoryWrite(_) => "on_memory_write",
            Self::Delegation(_) => "on_delegation",
            Self::Flush(_) => "flush",
        }
    }
}

/// Carries jobs until nobody can send any more.
pub(crate) async fn work(inner: Arc<Inner>, mut jobs: mpsc::Receiver<Job>, most: Duration) {
    while let Some(job) = jobs.recv().await {
        let name = job.name();
        let opens = matches!(job, Job::Initialize(_));
        if let Job::Flush(done) = job {
            let _ = done.send(());
            continue;
        }
        let provider = inner.clone();
        // A task of its own: a panic in a provider is one more way to fail.
        let mut running = tokio::spawn(async move { carry(&provider, job).await });
        let outcome = tokio::time::timeout(most, &mut running).await;
        running.abort();
        match outcome {
            Ok(Ok(Ok(()))) => inner.mended(name),
            Ok(Ok(Err(error))) => inner.complain(name, &error.to_string()),
            Ok(Err(_)) => inner.complain(name, "it crashed"),
            Err(_) => inner.complain(name, &format!("no answer within {} s", most.as_secs())),
        }
        if opens {
            inner.opened();
        }
    }
}

async fn carry(inner: &Inner, job: Job) -> Result<(), ProviderError> {
    let provider = &inner.provider;
    match job {
        Job::Initialize(opening) => provider.initialize(&opening).await,
        Job::SyncTurn(turn) => provider.sync_turn(&turn).await,
        Job::QueuePrefetch { query, session } => provider.queue_prefetch(&query, &session).await,
        Job::SessionEnd { session, messages } => provider.on_session_end(&session, &messages).await,
        Job::SessionSwitch(switch) => provider.on_session_switch(&switch).await,
        Job::MemoryWrite(write) => provider.on_memory_write(&write).await,
        Job::Delegation(delegation) => provider.on_delegation(&delegation).await,
        Job::Flush(_) => Ok(()),
    }
}
