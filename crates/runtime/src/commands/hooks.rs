//! `/hooks`

use super::Command;
use crate::session::Session;

pub(super) const COMMAND: Command = Command {
    names: &["hooks"],
    args: "",
    help: "list the commands that are told what happens here",
    run: |session, _| Box::pin(std::future::ready(Ok(list(session)))),
};

fn list(session: &mut Session) -> String {
    let lines: Vec<String> = session
        .hooks
        .shell()
        .map(|hook| {
            let spec = hook.spec();
            format!(
                "{}  {}  {}\n          {}",
                &hook.sha256()[..8],
                hook.standing().as_str(),
                hook.told(),
                spec.origin.told()
            )
        })
        .collect();
    if lines.is_empty() {
        return "there are no hooks; docs/hooks.md says how to write one".to_owned();
    }
    format!(
        "{}\n`talaria hooks enable ID` and `disable ID` decide about them",
        lines.join("\n")
    )
}
