//! A connection pool can be what is broken: dead sockets behind a router that
//! forgot them, a proxy that changed. After the ordinary retries all of it is
//! thrown away once.

use super::{Recoverer, has_usable_text};
use crate::described::described;
use crate::{Budget, ErrorKind, Failure, Ledger, Remedy, Situation};

described! {
    /// Drops all connections once when the retries of a broken line are used up.
    pub(super) struct TransportRebuild;
}

impl Recoverer for TransportRebuild {
    fn name(&self) -> &'static str {
        "transport_rebuild"
    }

    fn kinds(&self) -> &'static [ErrorKind] {
        &[ErrorKind::Timeout, ErrorKind::IncompleteStream]
    }

    fn budget(&self) -> Budget {
        Budget::PerCall(1)
    }

    fn propose(&self, failure: &Failure, situation: &Situation, ledger: &Ledger) -> Option<Remedy> {
        // An answer that said no is no fault of the line.
        let line = failure.status.is_none()
            && !(failure.kind == ErrorKind::IncompleteStream && has_usable_text(failure));
        let spent = ledger.retries() >= situation.max_retries;
        let wait_ms = u64::from(ledger.retries().saturating_add(3).min(8)) * 1_000;
        (line && spent && wait_ms <= situation.patience_ms).then_some(Remedy::RebuildTransport { wait_ms })
    }
}

#[cfg(test)]
mod tests {
    use super::super::decide;
    use super::super::testing::failure;
    use super::*;

    #[test]
    fn connections_are_rebuilt_once_after_the_retries() {
        let mut ledger = Ledger::default();
        let broken = failure(ErrorKind::Timeout);
        let decisions: Vec<_> = (0..5)
            .map(|_| decide(&broken, &Situation::default(), &mut ledger))
            .collect();
        let rows: Vec<&str> = decisions.iter().map(|decision| decision.row.as_str()).collect();
        assert_eq!(
            rows,
            ["back_off", "back_off", "back_off", "transport_rebuild", "give_up"]
        );
        assert_eq!(decisions[3].remedy, Remedy::RebuildTransport { wait_ms: 6_000 });
    }

    #[test]
    fn a_time_out_that_the_server_reports_is_no_fault_of_the_line() {
        let mut slow = failure(ErrorKind::Timeout);
        slow.status = Some(408);
        let situation = Situation {
            max_retries: 0,
            ..Situation::default()
        };
        assert_eq!(
            TransportRebuild.propose(&slow, &situation, &Ledger::default()),
            None
        );
    }
}
