//! `/context`

use super::{Command, CommandError};
use crate::session::Session;

pub(super) const COMMAND: Command = Command {
    names: &["context"],
    args: "",
    help: "show what fills the window, and how far the next compression is",
    run: |session, _| Box::pin(context(session)),
};

async fn context(session: &mut Session) -> Result<String, CommandError> {
    Ok(session.context().await?.render())
}
