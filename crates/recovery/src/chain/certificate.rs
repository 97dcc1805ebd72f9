//! A certificate that cannot be verified stays so: a company's proxy, a wrong
//! clock, an attack. Retrying is of no use and going elsewhere would hide it.

use super::Recoverer;
use crate::described::described;
use crate::{Budget, ErrorKind, Failure, Ledger, Remedy, Situation};

described! {
    /// Ends at once when the server's certificate cannot be verified.
    pub(super) struct Certificate;
}

impl Recoverer for Certificate {
    fn name(&self) -> &'static str {
        "certificate"
    }

    fn kinds(&self) -> &'static [ErrorKind] {
        &[ErrorKind::SslCertVerification]
    }

    fn budget(&self) -> Budget {
        Budget::Final
    }

    fn propose(&self, _: &Failure, _: &Situation, _: &Ledger) -> Option<Remedy> {
        Some(Remedy::GiveUp)
    }
}

#[cfg(test)]
mod tests {
    use super::super::decide;
    use super::super::testing::{failure, with_fallback};
    use super::*;

    #[test]
    fn an_unverified_certificate_is_never_walked_around() {
        let decision = decide(
            &failure(ErrorKind::SslCertVerification),
            &with_fallback(),
            &mut Ledger::default(),
        );
        assert_eq!(
            (decision.row.as_str(), decision.remedy),
            ("certificate", Remedy::GiveUp)
        );
    }
}
