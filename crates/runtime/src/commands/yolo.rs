//! `/yolo`

use super::{Command, CommandError};
use crate::session::Session;

pub(super) const COMMAND: Command = Command {
    names: &["yolo"],
    args: "[on|off]",
    help: "stop asking about dangerous commands in this session, or ask again",
    run: |session, args| Box::pin(std::future::ready(yolo(session, args))),
};

fn yolo(session: &mut Session, args: &str) -> Result<String, CommandError> {
    let on = match args {
        "" | "on" => true,
        "off" => false,
        other => return Err(CommandError::Refused(format!("/yolo is on or off, not {other}"))),
    };
    session.executor.session().grants().set_yolo(on);
    Ok(if on {
        "dangerous commands run without a question until /yolo off; the worst ones stay blocked".to_owned()
    } else {
        "dangerous commands are asked about".to_owned()
    })
}
