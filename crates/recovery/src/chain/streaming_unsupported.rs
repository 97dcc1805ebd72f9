//! A few servers cannot stream, or only for verified customers. Only they are
//! asked without: a stream that merely broke says nothing about the next one.

use super::Recoverer;
use crate::described::described;
use crate::{Budget, ErrorKind, Failure, Ledger, Remedy, Rewrite, Situation};

described! {
    /// Asks without streaming a server that cannot stream.
    pub(super) struct StreamingUnsupported;
}

impl Recoverer for StreamingUnsupported {
    fn name(&self) -> &'static str {
        "streaming_unsupported"
    }

    fn kinds(&self) -> &'static [ErrorKind] {
        &[ErrorKind::StreamingUnsupported]
    }

    fn budget(&self) -> Budget {
        Budget::PerCall(1)
    }

    fn propose(&self, failure: &Failure, _: &Situation, _: &Ledger) -> Option<Remedy> {
        failure
            .request
            .streaming
            .then_some(Remedy::Rewrite(Rewrite::DoNotStream))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{asked, failure};
    use super::*;

    #[test]
    fn a_request_that_did_not_stream_is_not_changed() {
        let mut failure = failure(ErrorKind::StreamingUnsupported);
        let plain = Some(Remedy::Rewrite(Rewrite::DoNotStream));
        assert_eq!(
            asked(&StreamingUnsupported, &failure, &Situation::default()),
            plain
        );
        failure.request.streaming = false;
        assert_eq!(
            asked(&StreamingUnsupported, &failure, &Situation::default()),
            None
        );
    }
}
