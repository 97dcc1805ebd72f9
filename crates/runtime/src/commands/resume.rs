//! `/resume`

use talaria_store::ListFilter;

use super::{Command, CommandError};
use crate::boundary::Boundary;
use crate::session::Session;

pub(super) const COMMAND: Command = Command {
    names: &["resume", "sessions"],
    args: "[ID|TITLE]",
    help: "go on with another session; without a name, list the newest",
    run: |session, args| Box::pin(resume(session, args)),
};

async fn resume(session: &mut Session, name: &str) -> Result<String, CommandError> {
    if name.is_empty() {
        return list(session);
    }
    let found = session.store().resolve(name)?;
    let tip = session.store().tip(&found)?;
    if tip == session.id {
        return Ok("this is that session".to_owned());
    }
    let from = session.id.clone();
    session.leave(Boundary::Resumed).await?;
    session.open(&tip)?;
    session.arrived(&from, Boundary::Resumed);
    Ok(format!(
        "going on with {} ({} messages)",
        session.id,
        session.history.len()
    ))
}

fn list(session: &Session) -> Result<String, CommandError> {
    let filter = ListFilter {
        limit: Some(10),
        ..ListFilter::default()
    };
    let listed = session.store().list(&filter)?;
    let lines = listed.iter().map(|entry| {
        let name = entry.title.as_deref().unwrap_or(&entry.preview);
        format!("  {}  {name}", entry.id)
    });
    Ok(lines.collect::<Vec<_>>().join("\n"))
}
