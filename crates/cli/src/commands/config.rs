//! `config`: what is set, by whom, and changing it.

use clap::{ArgMatches, Args, Subcommand};
use serde_json::{Map, Value, json};
use talaria_config::{ConfigError, Loaded, Origin, Overrides};

use super::Row;
use crate::args;
use crate::exit::{DONE, FAILED, Failure, Outcome};
use crate::output;
use crate::place::Place;

pub(super) const ROW: Row = Row {
    name: "config",
    about: "Show and change settings",
    define: Config::augment_args,
    run: |place, _, matches| run(place, matches),
};

#[derive(Args, Debug)]
struct Config {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Print every value, one a line.
    Show {
        /// Say where each value comes from.
        #[arg(long)]
        origin: bool,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Print one value, or the values of a section.
    Get {
        /// A dotted key.
        key: String,
    },
    /// Set a value in config.yaml; an UPPER_CASE name goes to .env.
    Set {
        /// A dotted key, or the name of a variable.
        key: String,
        /// The value; lists as `[a, b]` or `a, b`.
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Take a value away, so that its default counts again.
    Unset {
        /// A dotted key, or the name of a variable.
        key: String,
    },
    /// Print where config.yaml is.
    Path,
    /// Read the configuration and say what is wrong with it.
    Check,
    /// Open config.yaml in an editor.
    Edit,
}

fn run(place: &Place, matches: &ArgMatches) -> Outcome {
    let config: Config = args::read(matches)?;
    match config.action {
        Action::Show { origin, json } => show(&load(place)?, origin, json),
        Action::Get { key } => get(place, &key),
        Action::Set { key, value } => set(place, &key, &value),
        Action::Unset { key } => unset(place, &key),
        Action::Path => {
            output::line(&place.home.config_file().display().to_string());
            Ok(DONE)
        }
        Action::Check => check(place),
        Action::Edit => edit(place),
    }
}

fn load(place: &Place) -> Result<Loaded, Failure> {
    let cwd = place.cwd(None)?;
    let loaded = place.config(&cwd, &Overrides::default())?;
    for warning in &loaded.warnings {
        output::note(&format!("warning: {warning}"));
    }
    Ok(loaded)
}

fn show(loaded: &Loaded, origin: bool, json: bool) -> Outcome {
    if json {
        let value = |(key, value): (&String, &String)| {
            (
                key.clone(),
                json!({"value": value, "origin": loaded.origin(key).to_string()}),
            )
        };
        let values: Map<String, Value> = loaded.shown.iter().map(value).collect();
        output::json(&values);
        return Ok(DONE);
    }
    for (key, value) in &loaded.shown {
        let told = if origin {
            format!("  # {}", loaded.origin(key))
        } else {
            String::new()
        };
        output::line(&format!("{key} = {}{told}", value.replace('\n', "\\n")));
    }
    Ok(DONE)
}

fn get(place: &Place, key: &str) -> Outcome {
    let loaded = load(place)?;
    if let Some(value) = loaded.shown.get(key) {
        output::line(value);
        return Ok(DONE);
    }
    let section = format!("{key}.");
    let mut inside = loaded
        .shown
        .range(section.clone()..)
        .take_while(|(name, _)| name.starts_with(&section))
        .peekable();
    if inside.peek().is_some() {
        inside.for_each(|(name, value)| output::line(&format!("{name} = {value}")));
        return Ok(DONE);
    }
    if let Some(value) = talaria_config::raw(&place.home, key)? {
        output::line(&value);
        return Ok(DONE);
    }
    if talaria_config::is_known(key) {
        output::line("");
        return Ok(DONE);
    }
    Err(Failure::usage(format!("there is no setting {key:?}")).hint(similar(key)))
}

fn set(place: &Place, key: &str, value: &str) -> Outcome {
    talaria_config::set(&place.home, key, value)?;
    if !key.starts_with(|letter: char| letter.is_ascii_uppercase()) && !talaria_config::is_known(key) {
        output::note(&format!(
            "note: nothing reads {key}; it is kept. {}",
            similar(key)
        ));
    }
    Ok(DONE)
}

fn unset(place: &Place, key: &str) -> Outcome {
    if talaria_config::unset(&place.home, key)? {
        return Ok(DONE);
    }
    output::note(&format!("{key} is not set"));
    Ok(FAILED)
}

/// The key that was probably meant.
fn similar(key: &str) -> String {
    let last = key.rsplit('.').next().unwrap_or(key);
    let names = talaria_config::known_keys();
    let same_end = names.iter().find(|name| name.rsplit('.').next() == Some(last));
    let near = || {
        names
            .iter()
            .min_by_key(|name| distance(name, key))
            .filter(|name| distance(name, key) <= 3)
    };
    match same_end.or_else(near) {
        Some(name) => format!("did you mean {name}?"),
        None => "`talaria config show` lists what there is".to_owned(),
    }
}

/// How many letters differ (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut corner = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.chars().enumerate() {
            let change = corner + usize::from(x != y);
            corner = row[j + 1];
            row[j + 1] = change.min(corner + 1).min(row[j] + 1);
        }
    }
    row.last().copied().unwrap_or(0)
}

fn check(place: &Place) -> Outcome {
    let loaded = load(place)?;
    for (key, line) in talaria_config::unknown_keys(&place.home)? {
        output::note(&format!(
            "note: config.yaml:{line}: {key} is not read by this program; it is kept"
        ));
    }
    let from_files = loaded
        .origins
        .values()
        .filter(|origin| matches!(origin, Origin::File { .. }))
        .count();
    let file = place.home.config_file();
    output::line(&format!(
        "{}: {} read, {}",
        file.display(),
        crate::text::count(from_files, "value"),
        crate::text::count(loaded.warnings.len(), "warning")
    ));
    Ok(DONE)
}

fn edit(place: &Place) -> Outcome {
    let file = place.home.config_file();
    place.home.ensure()?;
    if !file.exists() {
        std::fs::write(
            &file,
            "# Settings of Talaria; `talaria config show` lists what can be set.\n",
        )
        .map_err(|source| ConfigError::File {
            path: file.clone(),
            source,
        })?;
    }
    crate::editor::open(place, &file)?;
    check(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_key_is_recognised() {
        assert_eq!(similar("agent.max_turn"), "did you mean agent.max_turns?");
        assert_eq!(
            similar("compresion.threshold"),
            "did you mean compression.threshold?"
        );
        assert_eq!(similar("max_turns"), "did you mean agent.max_turns?");
        assert_eq!(
            similar("quite.another.thing"),
            "`talaria config show` lists what there is"
        );
    }
}
