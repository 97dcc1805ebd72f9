//! `/help`

use super::{COMMANDS, Command};

pub(super) const COMMAND: Command = Command {
    names: &["help", "commands"],
    args: "",
    help: "list the commands",
    run: |_, _| Box::pin(std::future::ready(Ok(text()))),
};

fn text() -> String {
    let line = |command: &Command| {
        let name = command.names.first().copied().unwrap_or_default();
        format!("  /{:<18} {}", format!("{name} {}", command.args), command.help)
    };
    COMMANDS.iter().map(line).collect::<Vec<_>>().join("\n")
}
