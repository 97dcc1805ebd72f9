//! `db`: care for the database.

use std::path::PathBuf;

use clap::{ArgMatches, Args, Subcommand};
use serde::Serialize;
use serde_json::json;
use talaria_store::{StoreError, care};

use super::Row;
use crate::args;
use crate::exit::{DONE, FAILED, Failure, Outcome};
use crate::output;
use crate::place::Place;
use crate::text;

pub(super) const ROW: Row = Row {
    name: "db",
    about: "Check, back up, repair or shrink the database",
    define: Db::augment_args,
    run: |place, _, matches| run(place, matches),
};

#[derive(Args, Debug)]
struct Db {
    #[command(subcommand)]
    action: Action,

    /// Print one JSON object.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Say whether the database is sound: exit code 0 if so, 1 if it is damaged.
    Check,
    /// Copy the database, also while it is in use.
    Backup {
        /// Where the copy goes; an existing file is left alone.
        file: PathBuf,
    },
    /// Save what can be read and build the search index anew; a damaged file is kept beside.
    Repair {
        /// Accepted for scripts; nothing is asked, because nothing is thrown away.
        #[arg(short, long)]
        yes: bool,
    },
    /// Make the file as small as it can be.
    Vacuum,
}

fn run(place: &Place, matches: &ArgMatches) -> Outcome {
    let db: Db = args::read(matches)?;
    let file = place.home.database();
    if !place.has_database()? {
        return Err(
            Failure::usage(format!("there is no database yet: {}", file.display()))
                .hint("the first turn makes it; --home names another home"),
        );
    }
    let shown = Shown { json: db.json };
    match db.action {
        Action::Check => check(&file, &shown),
        Action::Backup { file: to } => {
            let bytes = care::backup(&file, &to).map_err(|error| not_copied(error, &to))?;
            let told = format!("{} in {}", text::bytes(bytes), to.display());
            shown.done(&json!({"file": to, "bytes": bytes}), &told)
        }
        Action::Repair { .. } => {
            let report = care::repair(&file).map_err(|error| beyond_repair(error, &file))?;
            let mut told = report.done.join("\n");
            if let Some(kept) = &report.kept {
                told.push_str(&format!("\nthe damaged file is kept as {}", kept.display()));
            }
            told.push_str(&format!(
                "\n{}, {}",
                text::count(report.sessions, "session"),
                text::count(report.messages, "message")
            ));
            shown.done(&report, told.trim_start())
        }
        Action::Vacuum => {
            let report = care::vacuum(&file)?;
            let told = format!("{} → {}", text::bytes(report.before), text::bytes(report.after));
            shown.done(&report, &told)
        }
    }
}

/// How results are shown.
struct Shown {
    json: bool,
}

impl Shown {
    fn done(&self, report: &impl Serialize, told: &str) -> Outcome {
        if self.json {
            output::json(report);
        } else {
            output::line(told);
        }
        Ok(DONE)
    }
}

fn check(file: &std::path::Path, shown: &Shown) -> Outcome {
    let report = care::check(file)?;
    let counts = format!(
        "{}, {}, {} in the search index",
        text::count(report.sessions, "session"),
        text::count(report.messages, "message"),
        report.indexed
    );
    if !shown.json {
        report.notes.iter().for_each(|text| output::note(text));
    }
    if report.sound {
        return shown.done(&report, &format!("{} is sound: {counts}", file.display()));
    }
    if shown.json {
        output::json(&report);
    }
    output::note(&format!("{} is damaged ({counts}):", file.display()));
    report
        .problems
        .iter()
        .for_each(|problem| output::note(&format!("  {problem}")));
    output::note("`talaria db repair` saves what can be read and keeps the damaged file");
    Ok(FAILED)
}

/// When even repair finds nothing, it is no advice any more.
fn beyond_repair(error: StoreError, file: &std::path::Path) -> Failure {
    let damaged = matches!(error, StoreError::Damaged { .. });
    let failure = Failure::from(error);
    if !damaged {
        return failure;
    }
    let told = file.display();
    failure.hint(format!(
        "nothing in it can be read: put a backup in its place, or begin anew with `mv {told} {told}.broken`"
    ))
}

fn not_copied(error: StoreError, to: &std::path::Path) -> Failure {
    match error {
        StoreError::File { source, .. } if source.kind() == std::io::ErrorKind::AlreadyExists => {
            Failure::usage(format!("{} is there already", to.display())).hint("name a new file")
        }
        other => other.into(),
    }
}
