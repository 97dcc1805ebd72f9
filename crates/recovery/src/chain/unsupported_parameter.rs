//! Models refuse parameters that their predecessors took, one at a time: the
//! second refusal only shows once the first is repaired.

use super::Recoverer;
use crate::described::described;
use crate::{Budget, ErrorKind, Failure, Ledger, Remedy, Rewrite, Situation};

described! {
    /// Renames or leaves out the parameter that is refused and calls again.
    pub(super) struct UnsupportedParameter;
}

impl Recoverer for UnsupportedParameter {
    fn name(&self) -> &'static str {
        "unsupported_parameter"
    }

    fn kinds(&self) -> &'static [ErrorKind] {
        &[ErrorKind::UnsupportedParameter]
    }

    fn budget(&self) -> Budget {
        Budget::PerCall(8)
    }

    fn propose(&self, failure: &Failure, _: &Situation, _: &Ledger) -> Option<Remedy> {
        let from = failure.parameter.clone()?;
        Some(Remedy::Rewrite(match failure.replacement.clone() {
            Some(to) => Rewrite::RenameParameter { from, to },
            None => Rewrite::DropParameter(from),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::decide;
    use super::super::testing::failure;
    use super::*;

    #[test]
    fn refused_parameters_are_dropped_or_renamed_one_after_another() {
        let mut situation = Situation::default();
        let mut ledger = Ledger::default();
        let mut refused = failure(ErrorKind::UnsupportedParameter);
        for (from, to) in [
            ("temperature", None),
            ("max_tokens", Some("max_completion_tokens")),
            ("top_p", None),
        ] {
            refused.parameter = Some(from.to_owned());
            refused.replacement = to.map(str::to_owned);
            let want = match to {
                Some(to) => Rewrite::RenameParameter {
                    from: from.to_owned(),
                    to: to.to_owned(),
                },
                None => Rewrite::DropParameter(from.to_owned()),
            };
            assert_eq!(
                decide(&refused, &situation, &mut ledger).remedy,
                Remedy::Rewrite(want.clone())
            );
            situation.applied.push(want);
        }
        assert_eq!(
            decide(&refused, &situation, &mut ledger).remedy,
            Remedy::GiveUp,
            "a second refusal of one"
        );
    }
}
