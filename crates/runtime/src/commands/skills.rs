//! `/skills`

use super::{Command, CommandError};
use crate::pending_skills;
use crate::session::Session;

pub(super) const COMMAND: Command = Command {
    names: &["skills"],
    args: "[pending|approve ID|reject ID]",
    help: "list the skills, each a command of its own; decide about what waits",
    run: |session, args| Box::pin(std::future::ready(skills(session, args))),
};

fn skills(session: &mut Session, args: &str) -> Result<String, CommandError> {
    let library = &session.shared.library;
    let (action, id) = args.split_once(char::is_whitespace).unwrap_or((args, ""));
    match (action, id.trim()) {
        ("" | "list", _) => {
            let all = library.all();
            let lines = all.iter().map(|entry| {
                format!(
                    "  /{:<24} {}  ({})",
                    entry.slug(),
                    entry.description,
                    entry.kind.as_str()
                )
            });
            Ok(lines.collect::<Vec<_>>().join("\n"))
        }
        ("pending", _) => {
            let waiting = pending_skills::list(library.home());
            let lines = waiting
                .iter()
                .map(|one| format!("  {}  {} {}", one.id, one.change.action(), one.change.name()));
            let lines: Vec<String> = lines.collect();
            Ok(if lines.is_empty() {
                "nothing waits".to_owned()
            } else {
                lines.join("\n")
            })
        }
        ("approve" | "reject", "") => Err(CommandError::Refused(
            "which one? /skills pending lists them".to_owned(),
        )),
        ("approve", id) => Ok(pending_skills::approve(library, id)?.message),
        ("reject", id) => {
            let change = pending_skills::reject(library.home(), id)?;
            Ok(format!("forgotten: {} {}", change.action(), change.name()))
        }
        (other, _) => Err(CommandError::Refused(format!(
            "there is no /skills {other}; try {}",
            COMMAND.args
        ))),
    }
}
