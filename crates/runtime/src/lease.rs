//! One turn of a session at a time, over all processes.

use std::time::Duration;

use talaria_store::{LeaseOutcome, SessionStore, StoreError};
use talaria_types::SessionId;
use tokio_util::sync::CancellationToken;

use crate::clock;

/// How long a second process waits for the first one's turn.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often it looks.
const INTERVAL: Duration = Duration::from_millis(100);

/// The right to run a turn; given back when dropped.
pub(crate) struct Lease<'a> {
    store: &'a dyn SessionStore,
    session: SessionId,
    holder: String,
}

/// Why there is no lease.
pub(crate) enum NoLease {
    /// Another process runs a turn and does not end.
    Busy(String),
    /// The person would not wait.
    Interrupted,
    /// The store failed.
    Store(StoreError),
}

impl<'a> Lease<'a> {
    /// Waits for the lease on `session`.
    pub(crate) async fn take(
        store: &'a dyn SessionStore,
        session: &SessionId,
        cancel: &CancellationToken,
        waiting: impl Fn(&str),
    ) -> Result<Self, NoLease> {
        let holder = holder();
        let deadline = tokio::time::Instant::now() + PATIENCE;
        let mut told = false;
        loop {
            let outcome = store.acquire_lease(session, &holder, clock::now());
            match outcome.map_err(NoLease::Store)? {
                LeaseOutcome::Held => {
                    return Ok(Self {
                        store,
                        session: session.clone(),
                        holder,
                    });
                }
                LeaseOutcome::Busy { holder: other } if tokio::time::Instant::now() >= deadline => {
                    return Err(NoLease::Busy(other));
                }
                LeaseOutcome::Busy { holder: other } => {
                    if !std::mem::replace(&mut told, true) {
                        waiting(&other);
                    }
                }
            }
            tokio::select! {
                () = tokio::time::sleep(INTERVAL) => {}
                () = cancel.cancelled() => return Err(NoLease::Interrupted),
            }
        }
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.store.release_lease(&self.session, &self.holder) {
            // A lease of a dead process is void, so nobody waits for it for ever.
            tracing::warn!(%error, "the session's lease could not be given back");
        }
    }
}

/// `pid:start:nonce`: a holder that died, or whose number another process got, shows.
fn holder() -> String {
    let pid = std::process::id();
    let start = process_start(pid).unwrap_or_default();
    format!("{pid}:{start}:{:08x}", clock::entropy() as u32)
}

/// When a process started, in the kernel's ticks; nothing where `/proc` is not.
fn process_start(pid: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command's name may hold spaces and parentheses; the fields begin after its last one.
    let fields = stat.rsplit_once(')')?.1;
    fields.split_whitespace().nth(19).map(str::to_owned)
}
