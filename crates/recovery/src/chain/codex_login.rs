//! The tokens of a ChatGPT or Grok subscription live for an hour or so; a 401
//! most often means that the hour is over.

use super::Recoverer;
use crate::described::described;
use crate::{Budget, ErrorKind, Failure, Ledger, Login, Remedy, Situation};

described! {
    /// Refreshes a ChatGPT or Grok login and calls again.
    pub(super) struct CodexLogin;
}

impl Recoverer for CodexLogin {
    fn name(&self) -> &'static str {
        "codex_login"
    }

    fn kinds(&self) -> &'static [ErrorKind] {
        &[ErrorKind::Auth]
    }

    fn budget(&self) -> Budget {
        Budget::PerCredential(1)
    }

    fn propose(&self, failure: &Failure, situation: &Situation, _: &Ledger) -> Option<Remedy> {
        let ours = matches!(failure.request.login, Login::Codex | Login::Xai) && situation.can_refresh;
        ours.then_some(Remedy::RefreshCredential)
    }
}

#[cfg(test)]
mod tests {
    use super::super::decide;
    use super::super::testing::failure;
    use super::*;

    #[test]
    fn a_token_that_is_refused_after_its_refresh_is_not_refreshed_again() {
        let mut refused = failure(ErrorKind::Auth);
        refused.request.login = Login::Codex;
        let situation = Situation {
            can_refresh: true,
            ..Situation::default()
        };
        let mut ledger = Ledger::default();
        let first = decide(&refused, &situation, &mut ledger);
        assert_eq!(
            (first.row.as_str(), first.remedy),
            ("codex_login", Remedy::RefreshCredential)
        );
        ledger.call_succeeded();
        assert_eq!(decide(&refused, &situation, &mut ledger).remedy, Remedy::GiveUp);
    }
}
