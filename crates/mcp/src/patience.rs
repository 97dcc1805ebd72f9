//! The time a call has: the server's time only, not that in which a person thinks about its question.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How long something may still take.
pub(crate) struct Patience {
    given: Duration,
    until: Mutex<Instant>,
}

impl Patience {
    /// This long, from now on.
    pub(crate) fn of(given: Duration) -> Self {
        Self {
            given,
            until: Mutex::new(Instant::now() + given),
        }
    }

    /// How long it was at first.
    pub(crate) fn given(&self) -> Duration {
        self.given
    }

    /// Somebody else took so long.
    pub(crate) fn extend(&self, by: Duration) {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner) += by;
    }

    /// Waits until it is over.
    pub(crate) async fn over(&self) {
        loop {
            let until = *self.until.lock().unwrap_or_else(PoisonError::into_inner);
            if until <= Instant::now() {
                return;
            }
            tokio::time::sleep_until(until).await;
        }
    }
}
