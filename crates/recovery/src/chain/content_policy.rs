//! A policy refused the content, or the model declined. The same provider says
//! the same again; another is asked once, not the whole chain one after another
//! with something all of them refuse.

use super::{Recoverer, switch};
use crate::described::described;
use crate::{Budget, ErrorKind, Failure, Ledger, Remedy, Situation};

described! {
    /// Asks one other provider when a content policy refused, else ends.
    pub(super) struct ContentPolicy;
}

impl Recoverer for ContentPolicy {
    fn name(&self) -> &'static str {
        "content_policy"
    }

    fn kinds(&self) -> &'static [ErrorKind] {
        &[ErrorKind::ContentPolicyBlocked, ErrorKind::Refused]
    }

    fn budget(&self) -> Budget {
        Budget::Fallbacks
    }

    fn propose(&self, _: &Failure, situation: &Situation, ledger: &Ledger) -> Option<Remedy> {
        let asked = ledger.in_turn(self.name()) > 0;
        Some(switch(situation).filter(|_| !asked).unwrap_or(Remedy::GiveUp))
    }
}

#[cfg(test)]
mod tests {
    use super::super::decide;
    use super::super::testing::failure;
    use super::*;

    #[test]
    fn a_refusal_is_taken_to_one_other_provider_and_no_further() {
        let situation = Situation {
            fallbacks_left: 3,
            ..Situation::default()
        };
        for kind in [ErrorKind::ContentPolicyBlocked, ErrorKind::Refused] {
            let mut ledger = Ledger::default();
            let remedies: Vec<Remedy> = (0..2)
                .map(|_| decide(&failure(kind), &situation, &mut ledger).remedy)
                .collect();
            assert_eq!(remedies, [Remedy::SwitchProvider, Remedy::GiveUp]);
        }
    }

    #[test]
    fn a_refusal_is_never_repeated() {
        let decision = decide(
            &failure(ErrorKind::Refused),
            &Situation::default(),
            &mut Ledger::default(),
        );
        assert_eq!(
            (decision.row.as_str(), decision.remedy),
            ("content_policy", Remedy::GiveUp)
        );
    }
}
