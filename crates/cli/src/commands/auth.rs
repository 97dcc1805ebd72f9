//! `auth`: the keys and logins of each provider, and which of them are good now.
//!
//! They stand in `auth.json`; nothing here prints one.

mod add;
mod login;

pub(super) use login::open as open_browser;

pub(super) use add::typed;
use clap::{ArgMatches, Args, Subcommand};
use serde_json::{Value, json};
use talaria_config::{Loaded, Overrides};
use talaria_providers::catalogue::providers;
use talaria_providers::{CredentialPool, Listed, PoolError, Strategy};
use talaria_types::Timestamp;

use super::Row;
use crate::args;
use crate::exit::{DONE, FAILED, Failure, Outcome};
use crate::output;
use crate::place::Place;
use crate::text;

pub(super) const ROW: Row = Row {
    name: "auth",
    about: "Add, list, remove and reset the keys and logins of providers",
    define: Auth::augment_args,
    run: |place, _, matches| run(place, matches),
};

#[derive(Args, Debug)]
struct Auth {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Add a key, or log in.
    Add(add::Add),
    /// List the credentials of every provider, or of one.
    List(Which),
    /// Remove a credential by its id, its label or its place in the list.
    Remove(Remove),
    /// Forget that credentials of a provider rest or are dead.
    Reset(Reset),
    /// Say which credential the next turn would use.
    Status(Which),
}

/// Arguments of `list` and `status`.
#[derive(Args, Debug)]
struct Which {
    /// One provider.
    provider: Option<String>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Arguments of `remove`.
#[derive(Args, Debug)]
struct Remove {
    /// The provider.
    provider: String,
    /// Id, label, or place counted from 1.
    target: String,
}

/// Arguments of `reset`.
#[derive(Args, Debug)]
struct Reset {
    /// The provider.
    provider: String,
}

fn run(place: &Place, matches: &ArgMatches) -> Outcome {
    let auth: Auth = args::read(matches)?;
    let loaded = place.config(&place.cwd(None)?, &Overrides::default())?;
    match auth.action {
        Action::Add(add) => add.run(place, &loaded),
        Action::List(which) => list(&loaded, &which),
        Action::Remove(Remove { provider, target }) => {
            let provider = known(&loaded, &provider)?;
            pool(&loaded, &provider).remove(&target)?;
            output::note(&format!("{provider}: {target} is removed"));
            Ok(DONE)
        }
        Action::Reset(Reset { provider }) => {
            let provider = known(&loaded, &provider)?;
            pool(&loaded, &provider).reset()?;
            output::note(&format!("{provider}: every credential counts as good again"));
            Ok(DONE)
        }
        Action::Status(which) => status(&loaded, &which),
    }
}

/// The provider that is meant: one of the table, or one the configuration names.
fn known(loaded: &Loaded, name: &str) -> Result<String, Failure> {
    let own = name.strip_prefix("custom:").unwrap_or(name);
    match providers::row(name) {
        Some(row) => Ok(row.id.to_owned()),
        None if loaded.config.providers.contains_key(own) => Ok(name.to_owned()),
        None => Err(Failure::usage(format!("{name:?} is no known provider"))
            .hint("a server of your own is `custom`, or has a name under `providers` in config.yaml")),
    }
}

/// The credentials of a provider, those of the environment included.
fn pool(loaded: &Loaded, provider: &str) -> CredentialPool {
    let keys = providers::row(provider).into_iter().flat_map(|row| row.keys);
    let keys = keys.filter_map(|name| Some(((*name).to_owned(), loaded.variable(name)?.to_owned().into())));
    let strategy = loaded.config.credential_pool_strategies.get(provider);
    let strategy: Strategy = strategy.and_then(|name| name.parse().ok()).unwrap_or_default();
    CredentialPool::new(loaded.home.auth_file(), provider, strategy).with_environment(keys.collect())
}

/// The providers to speak of: the one that was asked for, else all that have a credential.
fn chosen(loaded: &Loaded, which: &Which) -> Result<Vec<(String, Vec<Listed>)>, Failure> {
    let names = match &which.provider {
        Some(name) => vec![known(loaded, name)?],
        None => {
            let mut names: Vec<String> = providers::PROVIDERS.iter().map(|row| row.id.to_owned()).collect();
            let filed = CredentialPool::providers(loaded.home.auth_file())?;
            names.extend(filed.into_iter().filter(|name| providers::row(name).is_none()));
            names
        }
    };
    let mut found = Vec::new();
    for name in names {
        let entries = pool(loaded, &name).list()?;
        if !entries.is_empty() {
            found.push((name, entries));
        }
    }
    Ok(found)
}

fn list(loaded: &Loaded, which: &Which) -> Outcome {
    let found = chosen(loaded, which)?;
    if which.json {
        let all: Vec<Value> = found
            .iter()
            .flat_map(|(provider, entries)| entries.iter().map(|entry| as_json(provider, entry)))
            .collect();
        output::json(&json!({"credentials": all}));
        return Ok(DONE);
    }
    if found.is_empty() {
        output::note("there are no credentials yet; `talaria auth add PROVIDER` adds one");
    }
    for (provider, entries) in found {
        output::line(&provider);
        for (place, entry) in entries.iter().enumerate() {
            let name = if entry.label.is_empty() {
                &entry.id
            } else {
                &entry.label
            };
            output::line(&format!(
                "  {}  {}  {}  {}  {}",
                place + 1,
                text::padded(name, 24),
                text::padded(&entry.auth_type, 7),
                text::padded(&entry.source, 24),
                state(entry),
            ));
        }
    }
    Ok(DONE)
}

fn as_json(provider: &str, entry: &Listed) -> Value {
    json!({
        "provider": provider, "id": entry.id, "label": entry.label, "type": entry.auth_type,
        "source": entry.source, "status": entry.status, "rests_until": entry.rests_until, "why": entry.why,
    })
}

/// How it is, in words.
fn state(entry: &Listed) -> String {
    let why = entry
        .why
        .as_ref()
        .map(|why| format!(": {}", text::clipped(why, 80)));
    let why = why.unwrap_or_default();
    match entry.rests_until {
        Some(until) => format!("rests until {}{why}", text::moment(Timestamp(until))),
        None if entry.status == "dead" => format!("dead{why}; log in again or remove it"),
        None => "ok".to_owned(),
    }
}

/// What the next turn would use of each provider.
fn status(loaded: &Loaded, which: &Which) -> Outcome {
    let found = chosen(loaded, which)?;
    if which.json {
        let all: Vec<Value> = found
            .iter()
            .map(|(provider, entries)| {
                let next = next(entries);
                json!({
                    "provider": provider, "good": good(entries), "total": entries.len(),
                    "next": next.map(|entry| as_json(provider, entry)),
                })
            })
            .collect();
        output::json(&json!({"providers": all}));
    } else {
        for (provider, entries) in &found {
            let told = match next(entries) {
                Some(entry) => format!("{} ({}), {}", entry.label, entry.source, state(entry)),
                None => "nothing that could be used".to_owned(),
            };
            output::line(&format!(
                "{provider}: {} of {} good; next: {told}",
                good(entries),
                entries.len()
            ));
        }
    }
    if which.provider.is_some() && found.iter().all(|(_, entries)| next(entries).is_none()) {
        output::note("no credential; `talaria auth add PROVIDER` adds one");
        return Ok(FAILED);
    }
    Ok(DONE)
}

fn good(entries: &[Listed]) -> usize {
    entries.iter().filter(|entry| entry.status == "ok").count()
}

/// The first good one; else one that only rests.
fn next(entries: &[Listed]) -> Option<&Listed> {
    let of = |status: &str| entries.iter().find(|entry| entry.status == status);
    of("ok").or_else(|| of("exhausted"))
}

impl From<PoolError> for Failure {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::NoEntry { .. } | PoolError::InEnvironment { .. } => Self::usage(error.to_string()),
            PoolError::File { .. } | PoolError::Shape { .. } | PoolError::Keyring { .. } => {
                Self::failed(error.to_string())
            }
        }
    }
}
