//! Nous mints short-lived agent keys from a login; a refused one is replaced by
//! minting the next.

use super::Recoverer;
use crate::described::described;
use crate::{Budget, ErrorKind, Failure, Ledger, Login, Remedy, Situation};

described! {
    /// Mints a new Nous agent key and calls again.
    pub(super) struct NousKey;
}

impl Recoverer for NousKey {
    fn name(&self) -> &'static str {
        "nous_key"
    }

    fn kinds(&self) -> &'static [ErrorKind] {
        &[ErrorKind::Auth]
    }

    fn budget(&self) -> Budget {
        Budget::PerCredential(1)
    }

    fn propose(&self, failure: &Failure, situation: &Situation, _: &Ledger) -> Option<Remedy> {
        (failure.request.login == Login::Nous && situation.can_refresh).then_some(Remedy::RefreshCredential)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{asked, failure};
    use super::*;

    #[test]
    fn only_a_nous_login_is_minted_anew() {
        let situation = Situation {
            can_refresh: true,
            ..Situation::default()
        };
        let mut failure = failure(ErrorKind::Auth);
        assert_eq!(asked(&NousKey, &failure, &situation), None);
        failure.request.login = Login::Nous;
        assert_eq!(
            asked(&NousKey, &failure, &situation),
            Some(Remedy::RefreshCredential)
        );
    }
}
