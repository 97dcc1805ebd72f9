//! The end of the chain, and the words that say why it is reached.

use super::{COMPRESSION, Recoverer};
use crate::described::described;
use crate::{Budget, ErrorKind, Failure, Ledger, Remedy, Situation, backoff};

described! {
    /// Ends the turn with the server's own words and what to do about them.
    pub(super) struct GiveUp;
}

impl Recoverer for GiveUp {
    fn name(&self) -> &'static str {
        "give_up"
    }

    fn kinds(&self) -> &'static [ErrorKind] {
        &[]
    }

    fn budget(&self) -> Budget {
        Budget::Final
    }

    fn propose(&self, _: &Failure, _: &Situation, _: &Ledger) -> Option<Remedy> {
        Some(Remedy::GiveUp)
    }
}

/// Why nothing more is tried, when the failure's own words do not say it.
pub(super) fn why(failure: &Failure, situation: &Situation, ledger: &Ledger) -> Option<String> {
    too_large(failure, situation, ledger)
        .or_else(|| too_long(failure, situation))
        .or_else(|| tried(failure, ledger))
}

fn too_large(failure: &Failure, situation: &Situation, ledger: &Ledger) -> Option<String> {
    let large = matches!(
        failure.kind,
        ErrorKind::ContextOverflow | ErrorKind::PayloadTooLarge | ErrorKind::LongContextTier
    );
    if !large {
        return None;
    }
    let times = ledger.spent("", COMPRESSION);
    Some(if !situation.may_compact {
        "compression is switched off (compression.enabled: false), so the conversation cannot be made smaller; switch \
         it on, start a new session, or take a model with a larger window"
            .to_owned()
    } else if times > 0 {
        format!(
            "made smaller {times} times in this turn and still refused; start a new session, or take a model with a \
             larger window"
        )
    } else {
        return None;
    })
}

/// A wait that is not begun.
fn too_long(failure: &Failure, situation: &Situation) -> Option<String> {
    let asked = failure.retry_after_ms?;
    let most = backoff::SERVER_CAP_MS.min(situation.patience_ms);
    (asked > most).then(|| {
        format!(
            "the server asks to wait {}; {} are waited for at most",
            span(asked),
            span(most)
        )
    })
}

fn tried(failure: &Failure, ledger: &Ledger) -> Option<String> {
    // One attempt needs no number.
    let times = ledger.failures();
    (times > 1 && failure.kind != ErrorKind::Interrupted).then(|| format!("tried {times} times"))
}

/// Milliseconds as a person says them.
fn span(ms: u64) -> String {
    let seconds = ms.div_ceil(1_000);
    let (hours, minutes, rest) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let parts = [(hours, "h"), (minutes, "min"), (rest, "s")];
    let said: Vec<String> = parts
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .take(2)
        .map(|(n, unit)| format!("{n} {unit}"))
        .collect();
    if said.is_empty() {
        "0 s".to_owned()
    } else {
        said.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::super::decide;
    use super::super::testing::failure;
    use super::*;

    #[test]
    fn spans_are_said_in_their_two_largest_units() {
        for (ms, said) in [
            (0, "0 s"),
            (999, "1 s"),
            (133_000, "2 min 13 s"),
            (36_000_000, "10 h"),
            (3_661_000, "1 h 1 min"),
        ] {
            assert_eq!(span(ms), said);
        }
    }

    #[test]
    fn how_often_was_tried_is_said() {
        let mut ledger = Ledger::default();
        let situation = Situation {
            max_retries: 2,
            ..Situation::default()
        };
        let broken = failure(ErrorKind::ServerError);
        let notes: Vec<Option<String>> = (0..3)
            .map(|_| decide(&broken, &situation, &mut ledger).note)
            .collect();
        assert_eq!(notes, [None, None, Some("tried 3 times".into())]);
    }
}
