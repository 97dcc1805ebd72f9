//! Slash commands, one file each; the table is the list.

mod background;
mod branch;
mod compress;
mod context;
mod goal;
mod help;
mod hooks;
mod mcp;
mod memory;
mod model;
mod new;
mod plugins;
mod reload_mcp;
mod resume;
mod retry;
mod skills;
mod status;
mod title;
mod uncompress;
mod undo;
mod yolo;

use futures_util::future::BoxFuture;

use crate::session::Session;
use crate::skill_turns;

/// One slash command.
pub(crate) struct Command {
    /// Its names, the first one shown.
    pub(crate) names: &'static [&'static str],
    /// What follows the name, for help.
    pub(crate) args: &'static str,
    /// What it does, in one line.
    pub(crate) help: &'static str,
    /// Does it; what it gives is told to the person.
    pub(crate) run: for<'a> fn(&'a mut Session, &'a str) -> BoxFuture<'a, Result<String, CommandError>>,
}

/// Why a command did nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    /// It cannot be done now, or not like this.
    #[error("{0}")]
    Refused(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] talaria_store::StoreError),
    /// The memory could not be changed.
    #[error(transparent)]
    Memory(#[from] talaria_memory::MemoryError),
    /// A skill could not be changed.
    #[error(transparent)]
    Skill(#[from] talaria_skills::SkillError),
}

/// Every command of the engine, as help lists them. Faces have a few of their own.
pub(crate) const COMMANDS: &[Command] = &[
    help::COMMAND,
    new::COMMAND,
    resume::COMMAND,
    branch::COMMAND,
    title::COMMAND,
    goal::COMMAND,
    background::COMMAND,
    context::COMMAND,
    compress::COMMAND,
    uncompress::COMMAND,
    undo::COMMAND,
    retry::COMMAND,
    memory::COMMAND,
    skills::COMMAND,
    hooks::COMMAND,
    plugins::COMMAND,
    mcp::COMMAND,
    reload_mcp::COMMAND,
    status::COMMAND,
    model::COMMAND,
    yolo::COMMAND,
];

pub(crate) use background::aside;

/// Runs a command and tells what came of it.
pub(crate) async fn run(session: &mut Session, name: &str, args: &str) {
    let known = COMMANDS.iter().find(|command| command.names.contains(&name));
    let Some(command) = known else {
        if let Some(said) = plugins::brought(session, name, args.trim()).await {
            match said {
                Ok(text) => session.sink.status(text),
                Err(error) => session.sink.warn(format!("/{name}: {error}")),
            }
            return;
        }
        let library = session.shared.library.clone();
        if let Some(text) = skill_turns::invoked(&library, name, args, session.id.as_str()) {
            session.inbox.expect_turn();
            session.turn(text.into()).await;
            session.sink.status(String::new());
            return;
        }
        session
            .sink
            .warn(format!("there is no command /{name}; /help lists them"));
        return;
    };
    match (command.run)(session, args.trim()).await {
        Ok(text) => session.sink.status(text),
        Err(error) => session.sink.warn(format!("/{name}: {error}")),
    }
}
