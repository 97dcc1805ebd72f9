//! `/branch`

use super::{Command, CommandError};
use crate::boundary::Boundary;
use crate::clock;
use crate::session::Session;

pub(super) const COMMAND: Command = Command {
    names: &["branch", "fork"],
    args: "[TITLE]",
    help: "go on in a copy; the original stays as it is",
    run: |session, args| Box::pin(branch(session, args)),
};

async fn branch(session: &mut Session, title: &str) -> Result<String, CommandError> {
    if !session.stored {
        return Err(CommandError::Refused(
            "there is nothing to branch from yet".to_owned(),
        ));
    }
    let from = session.id.clone();
    session.id = clock::fresh_session_id();
    session.title = (!title.is_empty()).then(|| title.to_owned());
    let mut new = session.new_row(Some(from.clone()));
    new.model_config["_branched_from"] = from.as_str().into();
    if let Err(error) = session.store().branch(&from, &new) {
        session.id = from;
        return Err(error.into());
    }
    let to = std::mem::replace(&mut session.id, from.clone());
    session.leave(Boundary::Branched).await?;
    session.open(&to)?;
    session.arrived(&from, Boundary::Branched);
    Ok(format!("branched from {from}: {}", session.id))
}
