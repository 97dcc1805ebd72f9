//! The output asked for is more than the model, the room beside the prompt or
//! the account allows. That is no overflow: a shorter history would not help.

use super::Recoverer;
use crate::described::described;
use crate::{Budget, ErrorKind, Failure, Ledger, Remedy, Rewrite, Situation};

described! {
    /// Asks for as much output as the server says it allows and calls again.
    pub(super) struct OutputCap;
}

impl Recoverer for OutputCap {
    fn name(&self) -> &'static str {
        "output_cap"
    }

    fn kinds(&self) -> &'static [ErrorKind] {
        &[ErrorKind::OutputCap]
    }

    fn budget(&self) -> Budget {
        Budget::PerCall(2)
    }

    fn propose(&self, failure: &Failure, situation: &Situation, _: &Ledger) -> Option<Remedy> {
        let Some(cap) = failure.limits.output else {
            // Nothing was stated: let the server take its own default.
            let name = failure
                .parameter
                .clone()
                .unwrap_or_else(|| "max_tokens".to_owned());
            return failure
                .request
                .max_output
                .map(|_| Remedy::Rewrite(Rewrite::DropParameter(name)));
        };
        let holds = |rewrite: &Rewrite| matches!(rewrite, Rewrite::CapOutput(most) if *most <= cap);
        // What was asked for was allowed already: the text means something else.
        let allowed = failure.request.max_output.is_some_and(|asked| asked <= cap);
        (!allowed && !situation.applied.iter().any(holds)).then_some(Remedy::Rewrite(Rewrite::CapOutput(cap)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{asked, failure};
    use super::*;

    #[test]
    fn a_stated_cap_is_asked_for_and_a_lower_one_is_not_raised() {
        let mut failure = failure(ErrorKind::OutputCap);
        failure.limits.output = Some(16_384);
        let mut situation = Situation::default();
        assert_eq!(
            asked(&OutputCap, &failure, &situation),
            Some(Remedy::Rewrite(Rewrite::CapOutput(16_384)))
        );
        situation.applied.push(Rewrite::CapOutput(8_000));
        assert_eq!(asked(&OutputCap, &failure, &situation), None);
    }

    #[test]
    fn without_a_number_the_parameter_is_left_out() {
        let mut failure = failure(ErrorKind::OutputCap);
        failure.parameter = Some("max_completion_tokens".into());
        let drop = Rewrite::DropParameter("max_completion_tokens".into());
        assert_eq!(
            asked(&OutputCap, &failure, &Situation::default()),
            Some(Remedy::Rewrite(drop))
        );
        failure.request.max_output = None;
        assert_eq!(asked(&OutputCap, &failure, &Situation::default()), None);
    }
}
