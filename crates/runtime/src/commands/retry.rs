//! `/retry`

use talaria_types::Role;

use super::{Command, CommandError, undo};
use crate::session::Session;

pub(super) const COMMAND: Command = Command {
    names: &["retry"],
    args: "",
    help: "take the newest turn back and ask the same again",
    run: |session, _| Box::pin(retry(session)),
};

async fn retry(session: &mut Session) -> Result<String, CommandError> {
    let asked = session
        .history
        .iter()
        .rev()
        .find(|(_, message)| message.role == Role::User);
    let Some(content) = asked.map(|(_, message)| message.content.clone()) else {
        return Err(CommandError::Refused("nothing was asked yet".to_owned()));
    };
    undo::rewind(session, 1)?;
    session.turn(content).await;
    Ok(String::new())
}
