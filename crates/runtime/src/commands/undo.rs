//! `/undo`

use super::{Command, CommandError};
use crate::prepare;
use crate::session::Session;

pub(super) const COMMAND: Command = Command {
    names: &["undo"],
    args: "[N]",
    help: "take the newest turn (or N turns) out of the conversation",
    run: |session, args| Box::pin(std::future::ready(undo(session, args))),
};

fn undo(session: &mut Session, args: &str) -> Result<String, CommandError> {
    let turns: u32 = match args {
        "" => 1,
        number => match number.parse() {
            Ok(turns) if turns > 0 => turns,
            _ => return Err(CommandError::Refused(format!("{number:?} is no number of turns"))),
        },
    };
    let rows = rewind(session, turns)?;
    Ok(format!("{rows} messages are no longer part of the conversation"))
}

/// Takes the newest turns out of what is sent.
pub(super) fn rewind(session: &mut Session, turns: u32) -> Result<u64, CommandError> {
    if !session.stored {
        return Err(CommandError::Refused("there is no turn to take back".to_owned()));
    }
    let rows = session.store().rewind(&session.id, turns)?;
    session.history = prepare::live(session)?;
    session.gauge.meter.change_model();
    session.executor.session().forget_reads();
    session.memory_rewound();
    Ok(rows)
}
