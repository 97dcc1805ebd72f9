//! A pool holds several credentials of one provider. A spent or refused one is
//! left at once; a limited one is given one more chance, since most limits are
//! over within seconds and a rotated key loses the provider's prompt cache.

use super::{Recoverer, anthropic_login, codex_login, copilot_token, nous_key};
use crate::described::described;
use crate::{Budget, ErrorKind, Failure, Ledger, Login, Remedy, Situation, Symptom, backoff};

described! {
    /// Refreshes or leaves the credential in use for the next one of the pool.
    pub(super) struct CredentialPool;
}

/// A limit longer than this is not waited for while another key is at hand.
const SHORT_LIMIT_MS: u64 = 10_000;

impl Recoverer for CredentialPool {
    fn name(&self) -> &'static str {
        "credential_pool"
    }

    fn kinds(&self) -> &'static [ErrorKind] {
        &[
            ErrorKind::Billing,
            ErrorKind::RateLimit,
            ErrorKind::Auth,
            ErrorKind::AuthPermanent,
        ]
    }

    fn budget(&self) -> Budget {
        Budget::PerCall(16)
    }

    fn propose(&self, failure: &Failure, situation: &Situation, ledger: &Ledger) -> Option<Remedy> {
        let rotate = situation.can_rotate.then_some(Remedy::RotateCredential);
        if failure.kind == ErrorKind::RateLimit {
            return rotate.filter(|_| is_lasting(failure) || ledger.in_call("rate_limited") > 0);
        }
        if failure.kind != ErrorKind::Auth || !situation.can_refresh {
            return rotate;
        }
        match own_row(failure.request.login) {
            // Its row stands further down; here it is only left once that was in vain.
            Some(row) if ledger.for_credential(row) == 0 => None,
            None if ledger.for_credential(self.name()) == 0 => Some(Remedy::RefreshCredential),
            Some(_) | None => rotate,
        }
    }
}

fn is_lasting(failure: &Failure) -> bool {
    matches!(failure.symptom, Some(Symptom::QuotaSpent | Symptom::BucketEmpty))
        || failure
            .retry_after_ms
            .is_some_and(|ms| ms > SHORT_LIMIT_MS.min(backoff::SERVER_CAP_MS))
}

/// The row that refreshes this kind of login in its own way.
fn own_row(login: Login) -> Option<&'static str> {
    match login {
        Login::Codex | Login::Xai => Some(codex_login::CodexLogin.name()),
        Login::Nous => Some(nous_key::NousKey.name()),
        Login::Copilot => Some(copilot_token::CopilotToken.name()),
        Login::Anthropic => Some(anthropic_login::AnthropicLogin.name()),
        Login::ApiKey | Login::Other => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::decide;
    use super::super::testing::{asked, failure};
    use super::*;

    fn pool() -> Situation {
        Situation {
            can_rotate: true,
            ..Situation::default()
        }
    }

    #[test]
    fn a_spent_or_refused_key_is_left_at_once() {
        for kind in [ErrorKind::Billing, ErrorKind::Auth, ErrorKind::AuthPermanent] {
            assert_eq!(
                asked(&CredentialPool, &failure(kind), &pool()),
                Some(Remedy::RotateCredential),
                "{kind:?}"
            );
            assert_eq!(
                asked(&CredentialPool, &failure(kind), &Situation::default()),
                None,
                "{kind:?}"
            );
        }
    }

    #[test]
    fn a_second_limit_on_one_key_rotates_to_the_other() {
        let mut ledger = Ledger::default();
        let limited = failure(ErrorKind::RateLimit);
        assert!(matches!(
            decide(&limited, &pool(), &mut ledger).remedy,
            Remedy::Wait { .. }
        ));
        assert_eq!(
            decide(&limited, &pool(), &mut ledger).remedy,
            Remedy::RotateCredential
        );
    }

    #[test]
    fn a_long_limit_rotates_at_the_first_hit() {
        let mut limited = failure(ErrorKind::RateLimit);
        limited.retry_after_ms = Some(36_000_000);
        assert_eq!(
            asked(&CredentialPool, &limited, &pool()),
            Some(Remedy::RotateCredential)
        );
    }

    #[test]
    fn a_token_is_refreshed_once_and_then_left() {
        let situation = Situation {
            can_refresh: true,
            ..pool()
        };
        let mut refused = failure(ErrorKind::Auth);
        refused.request.login = Login::Other;
        let mut ledger = Ledger::default();
        let remedies: Vec<Remedy> = (0..2)
            .map(|_| decide(&refused, &situation, &mut ledger).remedy)
            .collect();
        assert_eq!(remedies, [Remedy::RefreshCredential, Remedy::RotateCredential]);
    }
}
