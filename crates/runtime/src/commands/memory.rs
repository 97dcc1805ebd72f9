//! `/memory`

use jiff::tz::TimeZone;
use talaria_memory::{Author, HistoryEntry, Memory, Origin, Pending, Target};

use super::{Command, CommandError};
use crate::clock;
use crate::session::Session;

pub(super) const COMMAND: Command = Command {
    names: &["memory"],
    args: "[pending|approve ID|reject ID|history|undo [ID]]",
    help: "show what is remembered, decide about what waits, take a write back",
    run: |session, args| Box::pin(std::future::ready(memory(session, args))),
};

/// Writes that `history` shows.
const SHOWN: usize = 20;

fn memory(session: &mut Session, args: &str) -> Result<String, CommandError> {
    let Some(curated) = &session.shared.curated else {
        return refused("the memory is switched off (memory.memory_enabled)");
    };
    let memory = &curated.memory;
    let (action, id) = args.split_once(char::is_whitespace).unwrap_or((args, ""));
    let id = id.trim();
    match action {
        "" | "list" | "show" => list(memory),
        "pending" => Ok(pending(&memory.pending())),
        "approve" | "reject" if id.is_empty() => refused("which one? /memory pending lists them"),
        "approve" => Ok(format!("written: {}", memory.approve(id)?.0.summary())),
        "reject" => Ok(format!("forgotten: {}", memory.reject(id)?.summary())),
        "history" => Ok(history(&memory.history(), &session.shared.zone)),
        "undo" => {
            let author = Author {
                origin: Origin::Person,
                session: session.id.to_string(),
                source: None,
                at: clock::now(),
            };
            let undone = memory.undo((!id.is_empty()).then_some(id), &author)?;
            Ok(format!(
                "taken back: {} {}",
                undone.target.as_str(),
                undone.summary
            ))
        }
        other => refused(&format!("there is no /memory {other}; try {}", COMMAND.args)),
    }
}

fn refused(text: &str) -> Result<String, CommandError> {
    Err(CommandError::Refused(text.to_owned()))
}

fn list(memory: &Memory) -> Result<String, CommandError> {
    let mut lines = Vec::new();
    for target in Target::ALL {
        lines.push(format!("{} [{}]", target.file_name(), memory.usage(target)?));
        for (entry, author) in memory.described(target)? {
            let from = author
                .map(|author| format!("  ({})", author.origin.as_str()))
                .unwrap_or_default();
            lines.push(format!("  • {}{from}", entry.replace('\n', "\n    ")));
        }
    }
    let waiting = memory.pending().len();
    if waiting > 0 {
        lines.push(format!("{waiting} waiting for you: /memory pending"));
    }
    Ok(lines.join("\n"))
}

fn pending(waiting: &[Pending]) -> String {
    if waiting.is_empty() {
        return "nothing waits".to_owned();
    }
    let lines = waiting
        .iter()
        .map(|one| format!("  {}  {}\n            {}", one.id, one.summary(), one.reason));
    lines.collect::<Vec<_>>().join("\n")
}

fn history(records: &[HistoryEntry], zone: &TimeZone) -> String {
    if records.is_empty() {
        return "nothing was written yet".to_owned();
    }
    let lines = records.iter().rev().take(SHOWN).map(|record| {
        let at = clock::time_in_words(record.author.at, zone);
        let (id, who, what) = (&record.id, record.author.origin.as_str(), &record.summary);
        format!("  {id}  {at}  {who}  {} {what}", record.target.as_str())
    });
    lines.collect::<Vec<_>>().join("\n")
}
