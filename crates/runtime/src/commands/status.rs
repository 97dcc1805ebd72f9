//! `/status`

use super::{Command, CommandError};
use crate::session::Session;

pub(super) const COMMAND: Command = Command {
    names: &["status", "usage"],
    args: "",
    help: "say which session and model this is, and what it has used",
    run: |session, _| Box::pin(std::future::ready(status(session))),
};

fn status(session: &mut Session) -> Result<String, CommandError> {
    let identity = session.models.current().provider.identity();
    let totals = session.store().totals(&session.id)?;
    let usage = totals.usage;
    Ok(format!(
        "session {}\nmodel   {} of {}\ncalls   {}\ntokens  {} in ({} cached), {} out\nsize    {} tokens at the last call",
        session.id,
        identity.model,
        identity.provider,
        totals.api_calls,
        usage.prompt_tokens,
        usage.cache_read_tokens,
        usage.completion_tokens,
        session.gauge.meter.last_reported().unwrap_or_default(),
    ))
}
