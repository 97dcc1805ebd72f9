//! `/new`

use std::sync::Arc;

use super::{Command, CommandError};
use crate::boundary::Boundary;
use crate::clock;
use crate::session::Session;

pub(super) const COMMAND: Command = Command {
    names: &["new", "reset", "clear"],
    args: "[TITLE]",
    help: "end this session and start another",
    run: |session, args| Box::pin(start(session, args)),
};

async fn start(session: &mut Session, title: &str) -> Result<String, CommandError> {
    let from = session.id.clone();
    session.leave(Boundary::New).await?;
    session.id = clock::fresh_session_id();
    session.root = session.id.clone();
    session.started_at = clock::now();
    session.stored = false;
    session.system = None;
    session.history.clear();
    session.nudges.hydrate(&[]);
    session.gauge.meter.change_model();
    session.title = (!title.is_empty()).then(|| title.to_owned());
    session.executor.session().hydrate(&Vec::<Arc<_>>::new());
    session.executor.session().rename(session.id.as_str());
    session.arrived(&from, Boundary::New);
    Ok(format!("a new session: {}", session.id))
}
