//! `/title`

use super::{Command, CommandError};
use crate::session::Session;

pub(super) const COMMAND: Command = Command {
    names: &["title", "rename"],
    args: "[TITLE]",
    help: "give the session a title, or show it",
    run: |session, args| Box::pin(std::future::ready(title(session, args))),
};

fn title(session: &mut Session, title: &str) -> Result<String, CommandError> {
    if title.is_empty() {
        let row = session.store().session(&session.id)?;
        let title = row.and_then(|row| row.title).or_else(|| session.title.clone());
        return Ok(title.unwrap_or_else(|| "no title yet".to_owned()));
    }
    if session.stored {
        session.store().set_title(&session.id, Some(title))?;
    } else {
        session.title = Some(title.to_owned());
    }
    Ok(format!("title: {title}"))
}
