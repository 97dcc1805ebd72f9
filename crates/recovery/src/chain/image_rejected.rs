//! Text-only models refuse a request that holds an image anywhere in its
//! history, so one picture in an old turn would end the session for them.

use super::Recoverer;
use crate::described::described;
use crate::{Budget, ErrorKind, Failure, Ledger, Remedy, Rewrite, Situation};

described! {
    /// Replaces images by notes for a model that takes none and calls again.
    pub(super) struct ImageRejected;
}

impl Recoverer for ImageRejected {
    fn name(&self) -> &'static str {
        "image_rejected"
    }

    fn kinds(&self) -> &'static [ErrorKind] {
        &[ErrorKind::ImageRejected]
    }

    fn budget(&self) -> Budget {
        Budget::PerTurn(1)
    }

    fn propose(&self, failure: &Failure, _: &Situation, _: &Ledger) -> Option<Remedy> {
        (failure.request.images > 0).then_some(Remedy::Rewrite(Rewrite::DropImages))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{asked, failure};
    use super::*;

    #[test]
    fn images_are_only_dropped_where_there_are_some() {
        let mut failure = failure(ErrorKind::ImageRejected);
        let drop = Some(Remedy::Rewrite(Rewrite::DropImages));
        assert_eq!(asked(&ImageRejected, &failure, &Situation::default()), drop);
        failure.request.images = 0;
        assert_eq!(asked(&ImageRejected, &failure, &Situation::default()), None);
    }
}
