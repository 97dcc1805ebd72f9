//! `skills`: what there is, where it comes from, and what has become of it.

use clap::{ArgMatches, Args, Subcommand};
use serde_json::{Value, json};
use talaria_config::Overrides;
use talaria_skills::{CuratorSettings, Kind, Library, SkillError, Source, Verdict, scan_folder, verdict};

use super::Row;
use crate::args;
use crate::exit::{DONE, FAILED, Failure, Outcome};
use crate::output;
use crate::place::Place;
use crate::text;

pub(super) const ROW: Row = Row {
    name: "skills",
    about: "List, show, install, check, archive and take back skills",
    define: SkillsArgs::augment_args,
    run: |place, _, matches| run(place, matches),
};

#[derive(Args, Debug)]
struct SkillsArgs {
    #[command(subcommand)]
    action: Option<Action>,

    /// Print one JSON object.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the skills.
    List {
        /// Only this category.
        category: Option<String>,
    },
    /// Print a skill, or one of its files.
    Show {
        /// Its name, or category/name.
        name: String,
        /// One of its files.
        file: Option<String>,
    },
    /// Install the skills of a folder, an archive (.tar, .tar.gz) or a git repository.
    Install {
        /// Path or address.
        source: String,
        /// The category they go into.
        #[arg(long)]
        category: Option<String>,
        /// Also what looks dangerous.
        #[arg(long)]
        force: bool,
    },
    /// Look for what could do harm: exit code 1 when something is dangerous.
    Audit {
        /// Only this one.
        name: Option<String>,
    },
    /// Keep the curator's hands off a skill, and let nobody delete it.
    Pin {
        /// Its name.
        name: String,
        /// Let it go again.
        #[arg(long)]
        off: bool,
    },
    /// Put a skill away.
    Archive {
        /// Its name.
        name: String,
    },
    /// Take a skill out of the archive; without a name, list what is there.
    Restore {
        /// Its name in the archive.
        name: Option<String>,
    },
    /// Show what a skill has become since a copy of it, the newest as a rule.
    Diff {
        /// Its name.
        name: String,
        /// The copy.
        copy: Option<String>,
    },
    /// Put a copy in a skill's place; without one, the newest. `--list` lists them.
    Rollback {
        /// Its name.
        name: String,
        /// The copy.
        copy: Option<String>,
        /// List the copies.
        #[arg(long)]
        list: bool,
    },
    /// Put away what the agent made itself and nobody uses.
    Curate {
        /// Only say what would be done.
        #[arg(long)]
        dry_run: bool,
    },
}

impl From<SkillError> for Failure {
    fn from(error: SkillError) -> Self {
        match &error {
            SkillError::NotFound { available, .. } => {
                Self::usage(error.to_string()).hint(format!("there is: {}", available.join(", ")))
            }
            SkillError::Ambiguous { matches, .. } => {
                Self::usage(error.to_string()).hint(format!("there is: {}", matches.join(", ")))
            }
            SkillError::NoFile { available, .. } => {
                Self::usage(error.to_string()).hint(format!("it has: {}", available.join(", ")))
            }
            SkillError::Invalid(_) => Self::usage(error.to_string()),
            SkillError::NoMatch { .. }
            | SkillError::Refused(_)
            | SkillError::Dangerous(_)
            | SkillError::Failed(_)
            | SkillError::File { .. } => Self::failed(error.to_string()),
        }
    }
}

/// The library, and when the curator puts things away.
fn library(place: &Place) -> Result<(Library, CuratorSettings), Failure> {
    let cwd = place.cwd(None)?;
    let loaded = place.config(&cwd, &Overrides::default())?;
    let settings = talaria_runtime::curator_settings(&loaded.config.curator);
    let roots = talaria_runtime::roots_of_skills(&loaded, Some(cwd));
    Ok((Library::new(roots), settings))
}

fn run(place: &Place, matches: &ArgMatches) -> Outcome {
    let asked: SkillsArgs = args::read(matches)?;
    let (library, settings) = library(place)?;
    let shown = Shown { json: asked.json };
    let now = text::now();
    match asked.action.unwrap_or(Action::List { category: None }) {
        Action::List { category } => list(&library, category.as_deref(), asked.json),
        Action::Show { name, file } => {
            let view = library.view(&name, file.as_deref(), "")?;
            shown.done(&view.told, &view.content)
        }
        Action::Install {
            source,
            category,
            force,
        } => {
            place.home.ensure()?;
            let source = Source::parse(&source)?;
            let installed = library.install(&source, category.as_deref(), force, now)?;
            let lines: Vec<String> = installed
                .iter()
                .map(|one| {
                    format!(
                        "{} in {} ({} findings)",
                        one.name,
                        one.path.display(),
                        one.findings.len()
                    )
                })
                .collect();
            shown.done(&json!({"installed": installed}), &lines.join("\n"))
        }
        Action::Audit { name } => audit(&library, name.as_deref(), asked.json),
        Action::Pin { name, off } => {
            library.pin(&name, !off)?;
            shown.done(
                &json!({"name": name, "pinned": !off}),
                if off { "unpinned" } else { "pinned" },
            )
        }
        Action::Archive { name } => {
            let put = library.archive(&name, now)?;
            shown.done(
                &json!({"archived": put}),
                &format!("put away; `talaria skills restore {put}` takes it out again"),
            )
        }
        Action::Restore { name: None } => {
            let archived = library.archived();
            shown.done(&json!({"archived": archived}), &archived.join("\n"))
        }
        Action::Restore { name: Some(name) } => {
            let folder = library.restore(&name)?;
            shown.done(&json!({"restored": folder}), &folder.display().to_string())
        }
        Action::Diff { name, copy } => {
            let diff = library.diff(&name, copy.as_deref())?;
            shown.done(&json!({"diff": diff}), diff.trim_end())
        }
        Action::Rollback { name, list: true, .. } => copies(&library, &name, &shown),
        Action::Rollback { name, copy, .. } => {
            let copy = library.rollback(&name, copy.as_deref(), now)?;
            let told = format!("as it was on {} (before: {})", text::moment(copy.at), copy.why);
            shown.done(&copy, &told)
        }
        Action::Curate { dry_run } => curate(&library, &settings, dry_run, &shown),
    }
}

/// How results are shown.
struct Shown {
    json: bool,
}

impl Shown {
    fn done(&self, value: &impl serde::Serialize, told: &str) -> Outcome {
        if self.json {
            output::json(value);
        } else if !told.is_empty() {
            output::line(told);
        }
        Ok(DONE)
    }
}

fn list(library: &Library, category: Option<&str>, json: bool) -> Outcome {
    let usage = library.usage();
    let all = library.all();
    let found = all
        .iter()
        .filter(|entry| category.is_none_or(|category| category == entry.category));
    if json {
        let skills: Vec<Value> = found
            .map(|entry| {
                json!({
                    "name": entry.name, "category": entry.category, "description": entry.description,
                    "kind": entry.kind, "path": entry.folder, "usage": usage.get(&entry.name),
                })
            })
            .collect();
        output::json(&json!({"skills": skills, "archived": library.archived()}));
        return Ok(DONE);
    }
    let mut rows: Vec<Vec<String>> = found
        .map(|entry| {
            let record = usage.get(&entry.name);
            let state = record.and_then(|record| record.state.clone()).unwrap_or_default();
            let pinned = record.is_some_and(|record| record.pinned);
            vec![
                entry.path_name(),
                entry.kind.as_str().to_owned(),
                record.map_or(0, |record| record.use_count).to_string(),
                if pinned { "pinned".to_owned() } else { state },
                entry.description.clone(),
            ]
        })
        .collect();
    rows.sort();
    let head = [
        ("skill", 34),
        ("from", 9),
        ("used", 5),
        ("state", 8),
        ("what for", 60),
    ];
    output::write(&text::table(&head, &rows));
    Ok(DONE)
}

fn audit(library: &Library, name: Option<&str>, json: bool) -> Outcome {
    let entries = match name {
        Some(name) => vec![library.find(name)?],
        None => library
            .all()
            .iter()
            .filter(|entry| entry.kind != Kind::Bundled)
            .cloned()
            .collect(),
    };
    let mut worst = Verdict::Safe;
    let mut reports = Vec::new();
    for entry in entries {
        let findings = scan_folder(&entry.folder);
        let verdict = verdict(&findings);
        if verdict == Verdict::Dangerous {
            worst = verdict;
        }
        if !json {
            let said = match verdict {
                Verdict::Safe => "safe",
                Verdict::Caution => "look at it",
                Verdict::Dangerous => "dangerous",
            };
            output::line(&format!("{}: {said}", entry.path_name()));
            findings
                .iter()
                .for_each(|finding| output::line(&format!("  {finding}")));
        }
        reports.push(json!({"name": entry.name, "verdict": verdict, "findings": findings}));
    }
    if json {
        output::json(&json!({"skills": reports, "installed": library.installed()}));
    }
    Ok(if worst == Verdict::Dangerous { FAILED } else { DONE })
}

fn copies(library: &Library, name: &str, shown: &Shown) -> Outcome {
    let copies = library.snapshots(name);
    let lines: Vec<String> = copies
        .iter()
        .rev()
        .map(|copy| format!("{}  {}  before: {}", copy.id, text::moment(copy.at), copy.why))
        .collect();
    shown.done(&json!({"copies": copies}), &lines.join("\n"))
}

fn curate(library: &Library, settings: &CuratorSettings, dry_run: bool, shown: &Shown) -> Outcome {
    let now = text::now();
    let (transitions, backup) = if dry_run {
        (library.due_transitions(now, settings), None)
    } else {
        let curated = library.curate(now, settings)?;
        (curated.transitions, curated.backup)
    };
    let mut lines: Vec<String> = transitions
        .iter()
        .map(|one| {
            let state = serde_json::to_value(one.to).unwrap_or_default();
            format!(
                "{}: {} (used last {})",
                one.name,
                state.as_str().unwrap_or_default(),
                one.last_used
            )
        })
        .collect();
    if lines.is_empty() {
        lines.push("nothing to do".to_owned());
    }
    let told = json!({"transitions": transitions, "backup": backup, "dry_run": dry_run});
    shown.done(&told, &lines.join("\n"))
}
