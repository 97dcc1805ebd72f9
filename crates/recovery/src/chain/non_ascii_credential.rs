//! A key copied from a web page may carry a typographic dash or an invisible
//! space. It cannot be put into a header, and taking the letter out makes
//! another key of it: only another credential helps, or the person.

use super::{Recoverer, UNICODE, switch};
use crate::described::described;
use crate::{Budget, ErrorKind, Failure, Ledger, Remedy, Situation};

described! {
    /// Takes another credential when a key or header holds letters that no header can carry.
    pub(super) struct NonAsciiCredential;
}

impl Recoverer for NonAsciiCredential {
    fn name(&self) -> &'static str {
        "non_ascii_credential"
    }

    fn kinds(&self) -> &'static [ErrorKind] {
        &[ErrorKind::NonAsciiCredential]
    }

    fn budget(&self) -> Budget {
        UNICODE
    }

    fn propose(&self, _: &Failure, situation: &Situation, _: &Ledger) -> Option<Remedy> {
        if situation.can_rotate {
            return Some(Remedy::RotateCredential);
        }
        Some(switch(situation).unwrap_or(Remedy::GiveUp))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{asked, failure, with_fallback};
    use super::*;

    #[test]
    fn a_key_that_no_header_can_carry_is_not_mended_but_replaced() {
        let failure = failure(ErrorKind::NonAsciiCredential);
        let pool = Situation {
            can_rotate: true,
            ..with_fallback()
        };
        assert_eq!(
            asked(&NonAsciiCredential, &failure, &pool),
            Some(Remedy::RotateCredential)
        );
        assert_eq!(
            asked(&NonAsciiCredential, &failure, &with_fallback()),
            Some(Remedy::SwitchProvider)
        );
        assert_eq!(
            asked(&NonAsciiCredential, &failure, &Situation::default()),
            Some(Remedy::GiveUp)
        );
    }
}
