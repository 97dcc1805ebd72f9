//! Nothing at all is most often a hiccup of the server. It gets a moment, longer
//! each time: a huge context sent again and again without a pause costs money
//! and angers limits.

use super::{EmptyAnswer, EmptyRemedy, EmptyRow};
use crate::described::described;
use crate::{Budget, Ledger};

described! {
    /// Asks again, unchanged, after a pause.
    pub(super) struct PlainRetry;
}

/// The first pause, in milliseconds.
const BASE_MS: u64 = 500;

impl EmptyRow for PlainRetry {
    fn name(&self) -> &'static str {
        "empty_plain_retry"
    }

    fn budget(&self) -> Budget {
        Budget::PerCall(3)
    }

    fn propose(&self, _: &EmptyAnswer, _: &Ledger) -> Option<EmptyRemedy> {
        Some(EmptyRemedy::Retry)
    }

    fn wait_ms(&self, attempt: u32) -> u64 {
        BASE_MS << attempt.saturating_sub(1).min(6)
    }
}
