//! `memory`: what is remembered, what waits, and what is taken back.

pub(super) mod providers;

use clap::{ArgMatches, Args, Subcommand};
use serde_json::{Value, json};
use talaria_config::Overrides;
use talaria_memory::{Author, HistoryEntry, Limits, Memory, MemoryError, Origin, Pending, Target};

use super::Row;
use crate::args;
use crate::exit::{DONE, Failure, Outcome};
use crate::output;
use crate::place::Place;
use crate::{editor, text};

pub(super) const ROW: Row = Row {
    name: "memory",
    about: "Show, edit and take back what is remembered; decide about what waits",
    define: MemoryArgs::augment_args,
    run: |place, _, matches| run(place, matches),
};

#[derive(Args, Debug)]
struct MemoryArgs {
    #[command(subcommand)]
    action: Option<Action>,

    /// Print one JSON object.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show both files, each entry with who wrote it.
    List,
    /// Open a file in $EDITOR.
    Edit {
        /// memory or user.
        #[arg(default_value = "memory")]
        target: String,
    },
    /// List what may remember beside the two files.
    Providers,
    /// Choose a provider and write down what it needs; "none" for none.
    Setup {
        /// Its name.
        name: String,
        /// What it needs, as KEY=VALUE; what is missing is asked for.
        settings: Vec<String>,
    },
    /// Say whether the provider is there.
    Status,
    /// List the writes that wait for consent.
    Pending,
    /// Write what waits.
    Approve {
        /// Its id, or a unique beginning of it.
        #[arg(required = true)]
        ids: Vec<String>,
    },
    /// Forget what waits.
    Reject {
        /// Its id, or a unique beginning of it.
        #[arg(required = true)]
        ids: Vec<String>,
    },
    /// List the writes, newest first.
    History {
        /// This many at most.
        #[arg(short = 'n', long, default_value_t = 20)]
        limit: usize,
    },
    /// Take a write back: the newest, or the one of this id. What was written since stays.
    Undo {
        /// The write's id, from the history.
        id: Option<String>,
    },
}

fn run(place: &Place, matches: &ArgMatches) -> Outcome {
    let asked: MemoryArgs = args::read(matches)?;
    let cwd = place.cwd(None)?;
    let config = place.config(&cwd, &Overrides::default())?.config.memory;
    let limits = Limits {
        memory: config.memory_char_limit,
        user: config.user_char_limit,
    };
    let memory = Memory::of_home(place.home.root(), limits);
    let json = asked.json;
    match asked.action.unwrap_or(Action::List) {
        Action::List => list(&memory, json),
        Action::Edit { target } => edit(place, &memory, target.parse()?),
        Action::Providers => providers::list(place, json),
        Action::Setup { name, settings } => providers::set_up(place, &name, &settings),
        Action::Status => providers::status(place, json),
        Action::Pending => pending(&memory.pending(), json),
        Action::Approve { ids } => decide(&ids, json, |id| memory.approve(id).map(|(pending, _)| pending)),
        Action::Reject { ids } => decide(&ids, json, |id| memory.reject(id)),
        Action::History { limit } => history(&memory.history(), limit, json),
        Action::Undo { id } => {
            let undone = memory.undo(id.as_deref(), &person())?;
            if json {
                output::json(&record(&undone));
            } else {
                output::line(&format!(
                    "taken back: {}, {}",
                    undone.target.as_str(),
                    undone.summary
                ));
            }
            Ok(DONE)
        }
    }
}

impl From<MemoryError> for Failure {
    fn from(error: MemoryError) -> Self {
        match &error {
            MemoryError::Invalid(_) => Self::usage(error.to_string()),
            _ => Self::failed(error.to_string()),
        }
    }
}

fn person() -> Author {
    Author {
        origin: Origin::Person,
        session: String::new(),
        source: None,
        at: text::now(),
    }
}

fn list(memory: &Memory, json: bool) -> Outcome {
    let mut files = Vec::new();
    for target in Target::ALL {
        let usage = memory.usage(target)?;
        let entries = memory.described(target)?;
        if json {
            let entries: Vec<Value> = entries
                .iter()
                .map(|(text, author)| json!({"text": text, "provenance": author}))
                .collect();
            files.push(
                json!({"target": target, "path": memory.path(target), "usage": usage, "entries": entries}),
            );
            continue;
        }
        output::line(&format!("{} [{usage}]", target.file_name()));
        for (entry, author) in entries {
            output::line(&format!("  • {}", entry.replace('\n', "\n    ")));
            if let Some(author) = author {
                output::line(&format!("      {}", written_by(&author)));
            }
        }
    }
    let waiting = memory.pending().len();
    if json {
        output::json(&json!({"files": files, "pending": waiting}));
    } else if waiting > 0 {
        output::note(&format!("{waiting} waiting for you: `talaria memory pending`"));
    }
    Ok(DONE)
}

/// Who wrote an entry, in words.
fn written_by(author: &Author) -> String {
    let session = match author.session.as_str() {
        "" => String::new(),
        session => format!(", session {session}"),
    };
    let source = author
        .source
        .as_deref()
        .map(|tool| format!(", taken from {tool}"));
    format!(
        "{}, {}{session}{}",
        author.origin.as_str().replace('_', " "),
        text::moment(author.at),
        source.unwrap_or_default()
    )
}

fn edit(place: &Place, memory: &Memory, target: Target) -> Outcome {
    place.home.ensure()?;
    let separator = "\n§\n";
    let before = memory.entries(target)?.join(separator);
    let text = editor::edited(place, target.file_name(), &before)?;
    let entries = memory.rewrite(target, &text, &person())?;
    let usage = memory.usage(target)?;
    output::note(&format!(
        "{}: {} entries [{usage}]",
        target.file_name(),
        entries.len()
    ));
    output::note("new sessions see it at once, running ones after their next compression");
    Ok(DONE)
}

fn pending(waiting: &[Pending], json: bool) -> Outcome {
    if json {
        output::json(&json!({"pending": waiting}));
        return Ok(DONE);
    }
    for one in waiting {
        output::line(&format!("{}  {}", one.id, one.summary()));
        output::line(&format!("          {}; {}", one.reason, written_by(&one.author)));
    }
    if waiting.is_empty() {
        output::note("nothing waits");
    }
    Ok(DONE)
}

fn decide(ids: &[String], json: bool, mut what: impl FnMut(&str) -> Result<Pending, MemoryError>) -> Outcome {
    let mut done = Vec::new();
    for id in ids {
        done.push(what(id)?);
    }
    if json {
        output::json(&json!({"done": done}));
    } else {
        done.iter()
            .for_each(|one| output::line(&format!("{}  {}", one.id, one.summary())));
    }
    Ok(DONE)
}

fn history(records: &[HistoryEntry], limit: usize, json: bool) -> Outcome {
    let newest = records.iter().rev().take(limit);
    if json {
        output::json(&json!({"history": newest.map(record).collect::<Vec<_>>()}));
        return Ok(DONE);
    }
    for one in newest {
        let undone = records.iter().any(|other| other.undoes.as_ref() == Some(&one.id));
        let mark = if undone { "  (taken back)" } else { "" };
        output::line(&format!(
            "{}  {}, {}{mark}",
            one.id,
            one.target.as_str(),
            one.summary
        ));
        output::line(&format!("          {}", written_by(&one.author)));
    }
    Ok(DONE)
}

fn record(one: &HistoryEntry) -> Value {
    json!({
        "id": one.id, "target": one.target, "summary": one.summary, "author": one.author, "undoes": one.undoes,
        "added": one.added(), "removed": one.removed(),
    })
}
