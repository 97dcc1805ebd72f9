//! `/uncompress`

use super::{Command, CommandError};
use crate::EngineError;
use crate::boundary::Boundary;
use crate::session::Session;

pub(super) const COMMAND: Command = Command {
    names: &["uncompress"],
    args: "[N]",
    help: "undo the newest compression (or N of them): go on with the originals",
    run: |session, args| Box::pin(uncompress(session, args)),
};

async fn uncompress(session: &mut Session, args: &str) -> Result<String, CommandError> {
    let steps = match args {
        "" => 1,
        number => match number.parse() {
            Ok(steps) if steps > 0 => steps,
            _ => {
                return Err(CommandError::Refused(format!(
                    "{number:?} is no number of compressions"
                )));
            }
        },
    };
    let undone = session.uncompress(steps).await.map_err(|error| match error {
        EngineError::Store(error) => CommandError::Store(error),
        EngineError::NoProvider(text)
        | EngineError::Usage(text)
        | EngineError::TooLarge(text)
        | EngineError::Busy(text) => CommandError::Refused(text),
    })?;
    let from = session.id.clone();
    session.leave(Boundary::Uncompressed).await?;
    session.open(&undone.session_id)?;
    session.arrived(&from, Boundary::Uncompressed);
    Ok(format!(
        "{} messages, about {} tokens: {}",
        undone.messages, undone.tokens, undone.session_id
    ))
}
