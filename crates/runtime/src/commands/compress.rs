//! `/compress`

use talaria_types::Trigger;
use tokio_util::sync::CancellationToken;

use super::{Command, CommandError};
use crate::compaction::Order;
use crate::session::Session;

pub(super) const COMMAND: Command = Command {
    names: &["compress", "compact"],
    args: "[FOCUS | here [N] | --preview]",
    help: "hide the older part of the conversation behind a summary",
    run: |session, args| Box::pin(compress(session, args)),
};

/// Exchanges that `/compress here` keeps.
const HERE: usize = 2;

/// The number behind `here`.
fn kept_exchanges(count: Option<&str>, more: Option<&str>) -> Result<usize, CommandError> {
    let Some(count) = count else {
        return Ok(HERE);
    };
    match (count.parse(), more) {
        (Ok(count @ 1..=100), None) => Ok(count),
        _ => Err(CommandError::Refused(
            "`/compress here` takes how many exchanges to keep, 1 to 100, as in `/compress here 3`; nothing was changed"
                .to_owned(),
        )),
    }
}

async fn compress(session: &mut Session, args: &str) -> Result<String, CommandError> {
    if !session.stored {
        return Err(CommandError::Refused(
            "there is nothing to compress yet".to_owned(),
        ));
    }
    let mut order = Order {
        trigger: Trigger::Command,
        focus: None,
        keep_exchanges: None,
    };
    let preview = args == "--preview" || args == "--dry-run";
    let mut words = args.split_whitespace();
    if words.next() == Some("here") {
        order.keep_exchanges = Some(kept_exchanges(words.next(), words.next())?);
    } else if !preview && !args.is_empty() {
        order.focus = Some(args.to_owned());
    }
    let report = if preview {
        session.preview(&order).await?
    } else {
        session.compact(&order, &CancellationToken::new()).await?.1
    };
    if preview {
        return Ok(match report.reason {
            Some(why) => format!("nothing would be compressed: {why}"),
            None => format!(
                "{} messages would be hidden, about {} → {} tokens; nothing was changed",
                report.messages_hidden, report.tokens_before, report.tokens_after
            ),
        });
    }
    if !report.compressed {
        return Ok(format!(
            "nothing was compressed: {}",
            report.reason.unwrap_or_default()
        ));
    }
    let bill = report
        .bill_in_words()
        .map_or_else(String::new, |bill| format!("\n{bill}"));
    Ok(format!(
        "{} messages hidden, about {} → {} tokens, kept {} of {} anchors; /uncompress undoes it{bill}",
        report.messages_hidden,
        report.tokens_before,
        report.tokens_after,
        report.anchors.kept,
        report.anchors.total
    ))
}
