//! `sessions export`: JSON lines or Markdown, secrets masked.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use talaria_redact::redact_own as redact;
use talaria_store::{ListFilter, SessionStore};
use talaria_types::{Role, SessionId, StoredMessage};

use crate::exit::{DONE, Failure, Outcome};
use crate::output;
use crate::place::Place;
use crate::shapes::{self, Gathered};
use crate::text;

/// Arguments of `export`.
#[derive(Args, Debug)]
pub(super) struct Export {
    /// Ids, unique prefixes or titles; every session when none is given.
    sessions: Vec<String>,
    /// The whole lineage with the originals of compacted parts, copies once.
    #[arg(long)]
    full: bool,
    /// How it is written.
    #[arg(long, value_enum, default_value_t = Format::Jsonl)]
    format: Format,
    /// Write to this file instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Only sessions of this source.
    #[arg(long, value_name = "S", conflicts_with = "sessions")]
    source: Option<String>,
    /// One JSON object a session, which is also the default.
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

/// How it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One JSON object a session, one a line.
    Jsonl,
    /// Markdown.
    #[value(alias = "markdown")]
    Md,
}

impl Export {
    pub(super) fn run(self, place: &Place) -> Outcome {
        let Some(store) = place.store()? else {
            return match self.sessions.first() {
                Some(name) => Err(talaria_store::StoreError::UnknownSession { name: name.clone() }.into()),
                None => Ok(DONE),
            };
        };
        let ids = self.ids(&store)?;
        let mut out: Box<dyn Write> = match &self.output {
            None => Box::new(std::io::stdout().lock()),
            Some(path) => Box::new(create(path)?),
        };
        for id in &ids {
            let gathered = shapes::gather(&store, id, self.full)?;
            let written = match self.format {
                Format::Jsonl => {
                    let shape = shapes::session(&gathered.row, &gathered.lineage, &gathered.messages)?;
                    writeln!(out, "{shape}")
                }
                Format::Md => out.write_all(markdown(&gathered).as_bytes()),
            };
            if let Err(error) = written.and_then(|()| out.flush()) {
                // A reader that has seen enough is content.
                if error.kind() == std::io::ErrorKind::BrokenPipe {
                    return Ok(DONE);
                }
                return Err(cannot_write(self.output.as_deref(), &error));
            }
        }
        if let Some(path) = &self.output {
            output::note(&format!(
                "{} in {}",
                text::count(ids.len(), "session"),
                path.display()
            ));
        }
        Ok(DONE)
    }

    fn ids(&self, store: &dyn SessionStore) -> Result<Vec<SessionId>, Failure> {
        if self.sessions.is_empty() {
            let filter = ListFilter {
                source: self.source.clone(),
                ..ListFilter::default()
            };
            return Ok(store.list(&filter)?.into_iter().map(|listed| listed.id).collect());
        }
        self.sessions
            .iter()
            .map(|name| Ok(store.resolve(name)?))
            .collect()
    }
}

/// An export may hold what nobody else should read.
fn create(path: &Path) -> Result<std::fs::File, Failure> {
    use std::os::unix::fs::OpenOptionsExt;
    let opened = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path);
    opened.map_err(|error| cannot_write(Some(path), &error))
}

fn cannot_write(path: Option<&Path>, error: &std::io::Error) -> Failure {
    let place = path.map_or_else(|| "standard output".to_owned(), |path| path.display().to_string());
    Failure::failed(format!("{place} cannot be written: {error}"))
}

fn markdown(gathered: &Gathered) -> String {
    let Gathered { row, messages, .. } = gathered;
    let title = row.title.as_deref().unwrap_or(row.id.as_str());
    let mut out = format!("# {title}\n\n");
    out.push_str(&format!(
        "- session: `{}`\n- started: {}\n",
        row.id,
        text::moment(row.started_at)
    ));
    if let Some(model) = &row.model {
        out.push_str(&format!("- model: `{model}`\n"));
    }
    out.push('\n');
    messages
        .iter()
        .for_each(|message| out.push_str(&section(message)));
    out
}

fn section(stored: &StoredMessage) -> String {
    let message = &*stored.message;
    let body = redact(&message.content.text()).into_owned();
    let mut out = match (message.role, &message.tool_name) {
        (Role::Tool, tool) => {
            let name = tool.as_deref().unwrap_or("tool");
            return format!(
                "<details><summary>{name}</summary>\n\n{}\n\n</details>\n\n",
                fenced(&body)
            );
        }
        (role, _) => format!("## {}\n\n", role.as_str()),
    };
    if !body.is_empty() {
        out.push_str(&format!("{body}\n\n"));
    }
    for call in &message.tool_calls {
        out.push_str(&format!(
            "`{}`\n\n{}\n\n",
            call.name,
            fenced(&redact(&call.arguments))
        ));
    }
    out
}

/// Text in a fence that is longer than any in the text.
fn fenced(text: &str) -> String {
    let longest = text
        .split(|letter| letter != '`')
        .map(str::len)
        .max()
        .unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{text}\n{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_in_the_text_does_not_end_the_fence_around_it() {
        assert_eq!(fenced("a"), "```\na\n```");
        assert_eq!(fenced("```\nx\n```"), "````\n```\nx\n```\n````");
    }
}
