//! A body has a limit in bytes that has nothing to do with the window. Images
//! are most of such a body, and no summary makes them smaller.

use super::{COMPRESSION, Recoverer, first_new};
use crate::described::described;
use crate::{Budget, ErrorKind, Failure, Ledger, Remedy, Rewrite, Situation};

described! {
    /// Leaves the oldest images out, else compresses, and calls again.
    pub(super) struct PayloadTooLarge;
}

impl Recoverer for PayloadTooLarge {
    fn name(&self) -> &'static str {
        "payload_too_large"
    }

    fn kinds(&self) -> &'static [ErrorKind] {
        &[ErrorKind::PayloadTooLarge]
    }

    fn budget(&self) -> Budget {
        COMPRESSION
    }

    fn propose(&self, failure: &Failure, situation: &Situation, _: &Ledger) -> Option<Remedy> {
        let images = (failure.request.images > 0)
            .then(|| first_new(situation, [Rewrite::DropOldestImages]))
            .flatten();
        images.or(situation.may_compact.then_some(Remedy::Compact { window: None }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{asked, failure};
    use super::*;

    #[test]
    fn the_oldest_images_go_before_any_text() {
        let large = failure(ErrorKind::PayloadTooLarge);
        let mut situation = Situation::default();
        let drop = Some(Remedy::Rewrite(Rewrite::DropOldestImages));
        assert_eq!(asked(&PayloadTooLarge, &large, &situation), drop);
        situation.applied.push(Rewrite::DropOldestImages);
        assert_eq!(
            asked(&PayloadTooLarge, &large, &situation),
            Some(Remedy::Compact { window: None })
        );
    }

    #[test]
    fn a_limit_in_bytes_never_becomes_the_window() {
        let mut large = failure(ErrorKind::PayloadTooLarge);
        large.request.images = 0;
        large.limits.bytes = Some(2_097_152);
        let remedy = asked(&PayloadTooLarge, &large, &Situation::default());
        assert_eq!(remedy, Some(Remedy::Compact { window: None }));
    }
}
