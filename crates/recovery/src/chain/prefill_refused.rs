//! A thought is handed back to a silent model as the beginning of its answer.
//! Newer models take no such beginning; they are asked by a user message.

use super::{Recoverer, first_new};
use crate::described::described;
use crate::{Budget, ErrorKind, Failure, Ledger, Remedy, Rewrite, Situation, Symptom};

described! {
    /// Ends the request with a user message where no assistant message may be the last.
    pub(super) struct PrefillRefused;
}

impl Recoverer for PrefillRefused {
    fn name(&self) -> &'static str {
        "prefill_refused"
    }

    fn kinds(&self) -> &'static [ErrorKind] {
        &[ErrorKind::FormatError]
    }

    fn budget(&self) -> Budget {
        Budget::PerCall(1)
    }

    fn propose(&self, failure: &Failure, situation: &Situation, _: &Ledger) -> Option<Remedy> {
        let ours = failure.symptom == Some(Symptom::PrefillRefused);
        ours.then(|| first_new(situation, [Rewrite::NoPrefill])).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{asked, failure};
    use super::*;

    #[test]
    fn a_refused_prefill_becomes_a_user_message() {
        let mut refused = failure(ErrorKind::FormatError);
        assert_eq!(asked(&PrefillRefused, &refused, &Situation::default()), None);
        refused.symptom = Some(Symptom::PrefillRefused);
        let remedy = Some(Remedy::Rewrite(Rewrite::NoPrefill));
        assert_eq!(asked(&PrefillRefused, &refused, &Situation::default()), remedy);
    }
}
