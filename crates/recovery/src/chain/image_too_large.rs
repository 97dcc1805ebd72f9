//! Providers take images up to a size of their own, counted after base64. The
//! same image is fine for another one, so only the copy that is sent shrinks.

use super::{Recoverer, first_new};
use crate::described::described;
use crate::{Budget, ErrorKind, Failure, Ledger, Remedy, Rewrite, Situation};

described! {
    /// Shrinks images, else leaves the oldest out, and calls again.
    pub(super) struct ImageTooLarge;
}

/// Below the smallest limit that is known (5 MB) with base64 counted in.
const BYTES: u64 = 3_700_000;

impl Recoverer for ImageTooLarge {
    fn name(&self) -> &'static str {
        "image_too_large"
    }

    fn kinds(&self) -> &'static [ErrorKind] {
        &[ErrorKind::ImageTooLarge]
    }

    fn budget(&self) -> Budget {
        Budget::PerCall(2)
    }

    fn propose(&self, failure: &Failure, situation: &Situation, _: &Ledger) -> Option<Remedy> {
        if failure.request.images == 0 {
            return None;
        }
        // The limit is one on base64, which is a third longer than the bytes.
        let stated = failure.limits.bytes.map(|bytes| bytes / 4 * 3);
        let bytes = stated.unwrap_or(BYTES).min(BYTES);
        first_new(
            situation,
            [Rewrite::ShrinkImages(bytes), Rewrite::DropOldestImages],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{asked, failure};
    use super::*;

    #[test]
    fn a_stated_limit_is_used_and_the_oldest_go_when_shrinking_was_not_enough() {
        let mut failure = failure(ErrorKind::ImageTooLarge);
        failure.limits.bytes = Some(1_000_000);
        let shrink = Rewrite::ShrinkImages(750_000);
        let mut situation = Situation::default();
        assert_eq!(
            asked(&ImageTooLarge, &failure, &situation),
            Some(Remedy::Rewrite(shrink.clone()))
        );
        situation.applied.push(shrink);
        let drop = Some(Remedy::Rewrite(Rewrite::DropOldestImages));
        assert_eq!(asked(&ImageTooLarge, &failure, &situation), drop);
        failure.request.images = 0;
        assert_eq!(asked(&ImageTooLarge, &failure, &situation), None);
    }
}
