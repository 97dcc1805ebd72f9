//! llama.cpp turns tool schemas into a grammar and cannot do so for every
//! regular expression and format.

use super::Recoverer;
use crate::described::described;
use crate::{Budget, ErrorKind, Failure, Ledger, Remedy, Rewrite, Situation};

described! {
    /// Removes `pattern` and `format` from the tool schemas and calls again.
    pub(super) struct GrammarPattern;
}

impl Recoverer for GrammarPattern {
    fn name(&self) -> &'static str {
        "grammar_pattern"
    }

    fn kinds(&self) -> &'static [ErrorKind] {
        &[ErrorKind::LlamaCppGrammarPattern]
    }

    fn budget(&self) -> Budget {
        Budget::PerCall(1)
    }

    fn propose(&self, failure: &Failure, _: &Situation, _: &Ledger) -> Option<Remedy> {
        failure
            .request
            .schema_patterns
            .then_some(Remedy::Rewrite(Rewrite::SimplifyToolSchemas))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{asked, failure};
    use super::*;

    #[test]
    fn schemas_are_simplified_only_if_they_hold_what_is_removed() {
        let mut failure = failure(ErrorKind::LlamaCppGrammarPattern);
        let simplify = Some(Remedy::Rewrite(Rewrite::SimplifyToolSchemas));
        assert_eq!(asked(&GrammarPattern, &failure, &Situation::default()), simplify);
        failure.request.schema_patterns = false;
        assert_eq!(asked(&GrammarPattern, &failure, &Situation::default()), None);
    }
}
