//! Changes single values of `config.yaml` and `.env`, keeping everything else as it is.

use std::io::Write;
use std::path::Path;

use crate::edit::{self, Refusal};
use crate::keys::{KEYS, Key, RECORDS};
use crate::records::{AUXILIARY, FALLBACK, Field, PROVIDER};
use crate::slot::{Rule, Slot, Unfit, truth};
use crate::yaml::{self, Node, Value};
use crate::{Config, ConfigError, Environment, Home, dotenv, env, load};

/// Sets `key` to `value`: an UPPER_CASE name in `.env` (mode 0600), a dotted key in `config.yaml`,
/// with comments, order and unknown keys kept.
///
/// # Errors
/// When the value has the wrong type for a known key, or a file cannot be written.
pub fn set(home: &Home, key: &str, value: &str) -> Result<(), ConfigError> {
    may_write(home)?;
    if is_variable(key) {
        home.ensure()?;
        let _lock = Lock::take(home)?;
        let text = load::read(&home.env_file())?.unwrap_or_default();
        return write(&home.env_file(), &dotenv::with(&text, key, value), Mode::Private);
    }
    check_name(key)?;
    let written = written(key, value)?;
    home.ensure()?;
    let _lock = Lock::take(home)?;
    let file = home.config_file();
    let text = load::read(&file)?.unwrap_or_default();
    keeps_section(key, &written, &text)?;
    let changed = edit::set(&text, key, &written).map_err(|refusal| refused(&file, key, refusal))?;
    write(&file, &changed, Mode::AsItWas)
}

/// Takes `key` away; gives whether it was there.
///
/// # Errors
/// When a file cannot be written.
pub fn unset(home: &Home, key: &str) -> Result<bool, ConfigError> {
    may_write(home)?;
    let (file, mode) = if is_variable(key) {
        (home.env_file(), Mode::Private)
    } else {
        (home.config_file(), Mode::AsItWas)
    };
    if !file.exists() {
        return Ok(false);
    }
    let _lock = Lock::take(home)?;
    let Some(text) = load::read(&file)? else {
        return Ok(false);
    };
    let changed = if is_variable(key) {
        dotenv::without(&text, key)
    } else {
        edit::unset(&text, key).map_err(|refusal| refused(&file, key, refusal))?
    };
    changed.map_or(Ok(false), |text| write(&file, &text, mode).map(|()| true))
}

/// What `config.yaml` itself says at `key`, known or not; a value whose name says it is secret is `***`.
///
/// # Errors
/// When the file cannot be read.
pub fn raw(home: &Home, key: &str) -> Result<Option<String>, ConfigError> {
    let Some(root) = load::tree(&home.config_file())? else {
        return Ok(None);
    };
    let last = key.rsplit('.').next().unwrap_or(key).to_ascii_lowercase();
    let hidden = ["key", "token", "secret", "password"]
        .iter()
        .any(|end| last.ends_with(end));
    Ok(root.at(key).map(|node| match &node.value {
        Value::Scalar { .. } if hidden => "***".to_owned(),
        Value::Scalar { text, .. } => talaria_redact::redact_url(text).into_owned(),
        Value::Null => String::new(),
        Value::List(items) => format!("[{} values]", items.len()),
        Value::Map(entries) => format!("{{{} keys}}", entries.len()),
    }))
}

/// Keys of `config.yaml` that this program does not read, with their lines. They are kept and ignored.
///
/// # Errors
/// When the file cannot be read.
pub fn unknown_keys(home: &Home) -> Result<Vec<(String, u64)>, ConfigError> {
    Ok(load::tree(&home.config_file())?
        .map(|root| crate::layer::unknown(&root))
        .unwrap_or_default())
}

/// Whether this program reads a key of that name.
pub fn is_known(key: &str) -> bool {
    crate::keys::find(key).is_some() || RECORDS.iter().any(|record| in_section(key, record).is_some())
}

/// Every fixed key, sorted.
pub fn known_keys() -> Vec<&'static str> {
    let mut names: Vec<_> = KEYS.iter().map(|key| key.name).collect();
    names.sort_unstable();
    names
}

fn in_section<'k>(key: &'k str, section: &str) -> Option<&'k str> {
    key.strip_prefix(section)?.strip_prefix('.')
}

fn is_variable(key: &str) -> bool {
    let valid = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    key.starts_with(|c: char| c.is_ascii_uppercase()) && key.chars().all(valid)
}

fn check_name(key: &str) -> Result<(), ConfigError> {
    let fits = |part: &str| !part.is_empty() && !part.contains(|c: char| c.is_whitespace() || c.is_control());
    if key.split('.').all(fits) {
        return Ok(());
    }
    Err(ConfigError::Value {
        place: "config".to_owned(),
        key: key.to_owned(),
        expected: "a dotted key such as agent.max_turns, or an UPPER_CASE name".to_owned(),
        found: format!("{key:?}"),
    })
}

/// A section must not be overwritten by a single value, which could not be read back.
fn keeps_section(key: &str, written: &str, text: &str) -> Result<(), ConfigError> {
    let holds = |name: &str| in_section(name, key).is_some();
    let mut names = KEYS
        .iter()
        .flat_map(|known| known.also.iter().chain([&known.name]));
    let is_list = ["custom_providers", "fallback_providers", "fallback_model"].contains(&key);
    let is_entry = ["providers", "auxiliary"]
        .iter()
        .any(|record| in_section(key, record).is_some_and(|rest| !rest.contains('.')));
    let is_section = crate::keys::find(key).is_none() && names.any(|name| holds(name));
    if !(is_section || is_list || is_entry || RECORDS.contains(&key)) {
        return Ok(());
    }
    let fits = match yaml::parse(written).ok().flatten().map(|node| node.value) {
        Some(Value::Map(_)) => true,
        Some(Value::List(_)) => is_list,
        // `model: NAME` is the short form of `model.default`.
        Some(Value::Scalar { .. }) if key == "model" => {
            let old = yaml::parse(text).ok().flatten();
            !old.is_some_and(|root| matches!(root.at(key).map(|node| &node.value), Some(Value::Map(_))))
        }
        Some(Value::Scalar { .. } | Value::Null) | None => false,
    };
    if fits {
        return Ok(());
    }
    Err(ConfigError::Value {
        place: "config set".to_owned(),
        key: key.to_owned(),
        expected: format!("one of the keys in it ({key}.…), because it is a section"),
        found: "a value for the whole section".to_owned(),
    })
}

fn may_write(home: &Home) -> Result<(), ConfigError> {
    let managed =
        home.root().join(".managed").exists() || Environment::of_process().is_on(env::HERMES_MANAGED);
    if managed {
        Err(ConfigError::Managed {
            path: home.config_file(),
        })
    } else {
        Ok(())
    }
}

/// `value` as it is written for `key`, after it was found to fit there.
fn written(key: &str, value: &str) -> Result<String, ConfigError> {
    if let Some(known) = crate::keys::find(key) {
        let Key { slot, rule, .. } = known;
        let mut scratch = Config::default();
        return fitting(
            key,
            value,
            slot(&mut scratch),
            &slot(&mut Config::default()),
            *rule,
        );
    }
    let name = key.rsplit('.').next().unwrap_or(key);
    if in_section(key, "providers").is_some_and(|rest| rest.split('.').count() == 2) {
        return of_record(PROVIDER, key, name, value);
    }
    if in_section(key, "fallback_providers").is_some() {
        return of_record(FALLBACK, key, name, value);
    }
    if in_section(key, "auxiliary").is_some_and(|rest| rest.split('.').count() == 2) {
        return of_record(AUXILIARY, key, name, value);
    }
    Ok(guessed(value))
}

fn of_record<T: Default>(
    fields: &[Field<T>],
    key: &str,
    name: &str,
    value: &str,
) -> Result<String, ConfigError> {
    let Some(field) = fields.iter().find(|field| field.names.contains(&name)) else {
        return Ok(guessed(value));
    };
    fitting(
        key,
        value,
        (field.slot)(&mut T::default()),
        &(field.slot)(&mut T::default()),
        field.rule,
    )
}

/// Tries `value` in `trial`; `kind` is the same place again, to ask for its type.
fn fitting(
    key: &str,
    value: &str,
    trial: Slot<'_>,
    kind: &Slot<'_>,
    rule: Rule,
) -> Result<String, ConfigError> {
    let node = if kind.is_list() {
        listed(value)
    } else {
        scalar_node(value)
    };
    trial.put(&node, rule).map_err(|unfit| {
        let (Unfit::Type(expected) | Unfit::Range(expected)) = unfit;
        let found = if kind.is_secret() {
            "something else".to_owned()
        } else {
            node.described()
        };
        ConfigError::Value {
            place: "config set".to_owned(),
            key: key.to_owned(),
            expected,
            found,
        }
    })?;
    Ok(match &node.value {
        Value::List(items) => flow(items),
        _ if kind.is_text() => edit::scalar(value),
        _ => guessed(value),
    })
}

fn scalar_node(value: &str) -> Node {
    Node {
        line: 0,
        value: Value::Scalar {
            text: value.to_owned(),
            plain: true,
        },
    }
}

/// `[a, b]`, `a, b` or `a` as a list.
fn listed(value: &str) -> Node {
    if let Ok(Some(node)) = yaml::parse(value)
        && matches!(node.value, Value::List(_) | Value::Map(_))
    {
        return node;
    }
    let words = value.split(',').map(str::trim).filter(|word| !word.is_empty());
    Node {
        line: 0,
        value: Value::List(words.map(scalar_node).collect()),
    }
}

fn flow(items: &[Node]) -> String {
    let words = items.iter().map(|item| match &item.value {
        Value::Scalar { text, .. } => edit::scalar(text),
        Value::Null | Value::List(_) | Value::Map(_) => "null".to_owned(),
    });
    format!("[{}]", words.collect::<Vec<_>>().join(", "))
}

/// A value of unknown type: a truth value, a number or a flow collection stays one, the rest is text.
fn guessed(value: &str) -> String {
    if let Some(truth) = truth(value) {
        return truth.to_string();
    }
    let number =
        value.parse::<f64>().is_ok_and(f64::is_finite) && !value.contains(|c: char| c.is_alphabetic());
    let collection = value.starts_with(['[', '{']) && matches!(yaml::parse(value), Ok(Some(_)));
    if number || collection {
        value.to_owned()
    } else {
        edit::scalar(value)
    }
}

fn refused(file: &Path, key: &str, refusal: Refusal) -> ConfigError {
    match refusal {
        Refusal::Broken(line, detail) => ConfigError::Syntax {
            path: file.to_owned(),
            line,
            detail,
        },
        Refusal::NotASection(line) => ConfigError::Value {
            place: format!("{}:{line}", file.display()),
            key: key.to_owned(),
            expected: "a section to put it into".to_owned(),
            found: "a single value or a list".to_owned(),
        },
        Refusal::Unsafe => ConfigError::CannotEdit {
            path: file.to_owned(),
            key: key.to_owned(),
        },
    }
}

/// The exclusive right to change the files of a home, until dropped. A change reads the whole file and
/// puts another in its place; two at the same time would lose one of them.
struct Lock {
    _file: std::fs::File,
}

impl Lock {
    /// Takes the lock file beside the files; waits as long as another process holds it.
    fn take(home: &Home) -> Result<Self, ConfigError> {
        use std::os::unix::fs::OpenOptionsExt;
        let path = home.root().join(".config.lock");
        let failed = |source| ConfigError::File {
            path: path.clone(),
            source,
        };
        let file = std::fs::File::options()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&path)
            .map_err(failed)?;
        loop {
            match rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive) {
                Ok(()) => return Ok(Self { _file: file }),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(failed(error.into())),
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Private,
    AsItWas,
}

/// Writes the whole file at once, through its links, so that a crash leaves the old or the new one.
fn write(path: &Path, text: &str, mode: Mode) -> Result<(), ConfigError> {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let failed = |source| ConfigError::File {
        path: path.to_owned(),
        source,
    };
    let folder = target.parent().unwrap_or(Path::new("."));
    let name = target
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or("config");
    let fresh = folder.join(format!(".{name}.{}", std::process::id()));
    let result = write_beside(&fresh, text, &target, mode).and_then(|()| std::fs::rename(&fresh, &target));
    if result.is_err() {
        let _ = std::fs::remove_file(&fresh);
    }
    result.map_err(failed)
}

fn write_beside(fresh: &Path, text: &str, target: &Path, mode: Mode) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(fresh)?;
    if mode == Mode::AsItWas
        && let Ok(old) = target.metadata()
    {
        file.set_permissions(old.permissions())?;
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests;
