//! Copilot's API takes a token that is exchanged for a GitHub one and lives for
//! half an hour.

use super::Recoverer;
use crate::described::described;
use crate::{Budget, ErrorKind, Failure, Ledger, Login, Remedy, Situation};

described! {
    /// Exchanges the GitHub token for a new Copilot one and calls again.
    pub(super) struct CopilotToken;
}

impl Recoverer for CopilotToken {
    fn name(&self) -> &'static str {
        "copilot_token"
    }

    fn kinds(&self) -> &'static [ErrorKind] {
        &[ErrorKind::Auth]
    }

    fn budget(&self) -> Budget {
        Budget::PerCredential(1)
    }

    fn propose(&self, failure: &Failure, situation: &Situation, _: &Ledger) -> Option<Remedy> {
        (failure.request.login == Login::Copilot && situation.can_refresh)
            .then_some(Remedy::RefreshCredential)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{asked, failure};
    use super::*;

    #[test]
    fn only_a_copilot_token_is_exchanged() {
        let situation = Situation {
            can_refresh: true,
            ..Situation::default()
        };
        let mut failure = failure(ErrorKind::Auth);
        assert_eq!(asked(&CopilotToken, &failure, &situation), None);
        failure.request.login = Login::Copilot;
        assert_eq!(
            asked(&CopilotToken, &failure, &situation),
            Some(Remedy::RefreshCredential)
        );
    }
}
