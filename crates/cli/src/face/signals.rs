//! The wishes to stop: SIGINT, SIGTERM, SIGHUP.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use crate::exit::{Failure, INTERRUPTED};

/// How long the turn's thread may take to hear of a signal before the process ends without it.
const HEARING: Duration = Duration::from_millis(400);

/// The signals that stop a turn. While this exists they do not end the process.
pub(crate) enum Signals {
    /// Listened to in the runtime of the turn.
    Here(Three),
    /// Passed on by a thread of their own.
    Apart {
        /// One item a signal.
        signals: mpsc::UnboundedReceiver<()>,
        /// Whether the last one was taken.
        heard: Arc<AtomicBool>,
    },
}

impl Signals {
    /// Begins to listen. Must be called inside a runtime that has threads to spare.
    pub(crate) fn listen() -> Result<Self, Failure> {
        Ok(Self::Here(Three::listen()?))
    }

    /// Begins to listen on a thread of its own, for a runtime that has one thread only. When that one does not
    /// hear of a signal, because it waits for the disk or for another program's lock, the process ends without it.
    pub(crate) fn apart() -> Result<Self, Failure> {
        let heard = Arc::new(AtomicBool::new(false));
        let told = heard.clone();
        let (sender, signals) = mpsc::unbounded_channel();
        let (runtime, three) = runtime_and_signals()?;
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || runtime.block_on(watch(three, &sender, &told)))
            .map_err(|error| Failure::failed(format!("signals cannot be watched: {error}")))?;
        Ok(Self::Apart { signals, heard })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) {
        match self {
            Self::Here(three) => three.next().await,
            Self::Apart { signals, heard } => match signals.recv().await {
                Some(()) => heard.store(true, Ordering::Release),
                // The thread that watches is gone, so none comes any more.
                None => std::future::pending().await,
            },
        }
    }
}

fn runtime_and_signals() -> Result<(Runtime, Three), Failure> {
    let built = Builder::new_current_thread().enable_all().build();
    let runtime = built.map_err(|error| Failure::failed(format!("signals: {error}")))?;
    let three = {
        let _inside = runtime.enter();
        Three::listen()?
    };
    Ok((runtime, three))
}

/// Passes signals on until nobody listens any more.
async fn watch(mut signals: Three, to: &mpsc::UnboundedSender<()>, heard: &AtomicBool) {
    signals.next().await;
    loop {
        heard.store(false, Ordering::Release);
        if to.send(()).is_err() {
            return;
        }
        if tokio::time::timeout(HEARING, signals.next()).await.is_ok() {
            continue;
        }
        if !heard.load(Ordering::Acquire) && !to.is_closed() {
            std::process::exit(i32::from(INTERRUPTED));
        }
        signals.next().await;
    }
}

/// The three signals.
pub(crate) struct Three {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Three {
    fn listen() -> Result<Self, Failure> {
        let listen = |kind| signal(kind).map_err(|error| Failure::failed(format!("signals: {error}")));
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}
