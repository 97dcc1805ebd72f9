//! Some servers take images from a person, but only text from a tool.

use super::Recoverer;
use crate::described::described;
use crate::{Budget, ErrorKind, Failure, Ledger, Remedy, Rewrite, Situation};

described! {
    /// Moves images out of tool results and calls again.
    pub(super) struct ToolContent;
}

impl Recoverer for ToolContent {
    fn name(&self) -> &'static str {
        "tool_content"
    }

    fn kinds(&self) -> &'static [ErrorKind] {
        &[ErrorKind::MultimodalToolContentUnsupported]
    }

    fn budget(&self) -> Budget {
        Budget::PerCall(1)
    }

    fn propose(&self, failure: &Failure, _: &Situation, _: &Ledger) -> Option<Remedy> {
        failure
            .request
            .tool_images
            .then_some(Remedy::Rewrite(Rewrite::PlainToolContent))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{asked, failure};
    use super::*;

    #[test]
    fn images_are_moved_only_where_a_tool_gave_some() {
        let mut failure = failure(ErrorKind::MultimodalToolContentUnsupported);
        let plain = Some(Remedy::Rewrite(Rewrite::PlainToolContent));
        assert_eq!(asked(&ToolContent, &failure, &Situation::default()), plain);
        failure.request.tool_images = false;
        assert_eq!(asked(&ToolContent, &failure, &Situation::default()), None);
    }
}
