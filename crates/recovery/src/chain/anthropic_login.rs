//! A Claude subscription's token is refreshed by other programs, too; a 401 may
//! only mean that ours is the older one.

use super::Recoverer;
use crate::described::described;
use crate::{Budget, ErrorKind, Failure, Ledger, Login, Remedy, Situation};

described! {
    /// Refreshes a Claude login and calls again.
    pub(super) struct AnthropicLogin;
}

impl Recoverer for AnthropicLogin {
    fn name(&self) -> &'static str {
        "anthropic_login"
    }

    fn kinds(&self) -> &'static [ErrorKind] {
        &[ErrorKind::Auth]
    }

    fn budget(&self) -> Budget {
        Budget::PerCredential(1)
    }

    fn propose(&self, failure: &Failure, situation: &Situation, _: &Ledger) -> Option<Remedy> {
        (failure.request.login == Login::Anthropic && situation.can_refresh)
            .then_some(Remedy::RefreshCredential)
    }
}

#[cfg(test)]
mod tests {
    use super::super::decide;
    use super::super::testing::failure;
    use super::*;

    #[test]
    fn the_next_credential_of_the_pool_gets_its_own_refresh() {
        let mut refused = failure(ErrorKind::Auth);
        refused.request.login = Login::Anthropic;
        let situation = Situation {
            can_refresh: true,
            can_rotate: true,
            ..Situation::default()
        };
        let mut ledger = Ledger::default();
        let rows: Vec<String> = (0..3)
            .map(|_| decide(&refused, &situation, &mut ledger).row)
            .collect();
        assert_eq!(rows, ["anthropic_login", "credential_pool", "anthropic_login"]);
    }
}
