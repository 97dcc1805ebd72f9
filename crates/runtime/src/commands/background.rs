//! `/background`

use std::sync::Arc;

use futures_util::future::BoxFuture;
use talaria_tools::ToolSession;

use super::{Command, CommandError};
use crate::delegate::{Desk, GO_ON};
use crate::inbox::{Aside, COLLECT};
use crate::session::Session;

pub(super) const COMMAND: Command = Command {
    names: &["background", "bg", "btw", "agents", "tasks"],
    args: "[PROMPT | stop [ID]]",
    help: "run a prompt in a session of its own beside this one; without one, list what runs",
    run: background,
};

fn background<'a>(session: &'a mut Session, args: &'a str) -> BoxFuture<'a, Result<String, CommandError>> {
    Box::pin(async move {
        if args == COLLECT {
            collect(session).await;
            return Ok(String::new());
        }
        if !session.interactive() {
            let text = "there is nobody to tell when it is done; run it as a session of its own".to_owned();
            return Err(CommandError::Refused(text));
        }
        Ok(answered(&session.desk, session.executor.session(), args))
    })
}

/// Lets the model go on with what has come, unless a turn has taken it in already.
async fn collect(session: &mut Session) {
    if session.has_results() {
        session.turn(GO_ON.into()).await;
    } else {
        session.inbox.end_turn();
    }
}

fn answered(desk: &Arc<Desk>, tools: &Arc<ToolSession>, args: &str) -> String {
    let (word, rest) = args.split_once(char::is_whitespace).unwrap_or((args, ""));
    match word {
        "" | "list" | "status" if rest.is_empty() => desk.listed(),
        // A prompt may begin with the word.
        "stop" | "cancel" if !rest.trim().contains(char::is_whitespace) => desk.end(rest.trim()),
        _ => desk.run_beside(args, tools.clone()),
    }
}

/// Does the command while a turn runs.
pub(crate) fn aside(session: &Session) -> Aside {
    // The inbox is held by the desk, so it must not hold it.
    let desk = Arc::downgrade(&session.desk);
    let tools = Arc::downgrade(session.executor.session());
    let interactive = session.interactive();
    Arc::new(move |name, args| {
        let is_ours = COMMAND.names.contains(&name) && args != COLLECT && interactive;
        match (desk.upgrade(), tools.upgrade()) {
            (Some(desk), Some(tools)) if is_ours => {
                desk.sink.status(answered(&desk, &tools, args.trim()));
                true
            }
            _ => false,
        }
    })
}
