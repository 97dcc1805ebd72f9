//! `auth add`: a key from a terminal, a pipe, a file, a command or the keyring.

use std::io::{BufRead, IsTerminal};
use std::path::PathBuf;

use clap::Args;
use serde_json::{Map, Value};
use talaria_config::Loaded;
use talaria_providers::catalogue::providers::{self, LoginMethod};
use talaria_providers::{LoginRow, NewCredential, SecretString, login_row};

use super::{known, login, pool};
use crate::exit::{DONE, Failure, Outcome};
use crate::output;
use crate::place::Place;

/// Arguments.
#[derive(Args, Debug)]
#[group(multiple = true)]
pub(super) struct Add {
    /// The provider.
    provider: String,

    /// What to call it.
    #[arg(long, value_name = "TEXT")]
    label: Option<String>,

    /// The key itself; better leave it out and type or pipe it in: other users see arguments.
    #[arg(long, value_name = "KEY", group = "secret")]
    api_key: Option<String>,

    /// Read the key from this file whenever it is needed.
    #[arg(long, value_name = "FILE", group = "secret")]
    file: Option<PathBuf>,

    /// Ask this shell command for the key whenever it is needed (a password manager).
    #[arg(long, value_name = "LINE", group = "secret")]
    command: Option<String>,

    /// Keep the key in the system's keyring.
    #[arg(long)]
    keyring: bool,

    /// Log in: in the browser, or with a code where the provider offers no other way.
    #[arg(long, conflicts_with_all = ["secret", "keyring"])]
    oauth: bool,

    /// Log in without a browser on this machine.
    #[arg(long)]
    no_browser: bool,

    /// Another login server in the place of the provider's own, such as a company's.
    #[arg(long, value_name = "URL")]
    portal_url: Option<String>,

    /// The address this key is good at, where it has one of its own.
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
}

impl Add {
    pub(super) fn run(self, place: &Place, loaded: &Loaded) -> Outcome {
        let provider = known(loaded, &self.provider)?;
        if providers::row(&provider).is_some_and(|row| row.login == LoginMethod::Cloud) {
            return Err(
                Failure::usage(format!("{provider} takes its cloud's own credentials"))
                    .hint("set them up as for the cloud's command line, or in its variables"),
            );
        }
        let mut new = match self.login(&provider) {
            Some(row) => login::log_in(loaded, row, self.no_browser, self.portal_url.as_deref())?,
            None if self.oauth => {
                return Err(Failure::usage(format!("one does not log in to {provider}"))
                    .hint(format!("it takes a key: talaria auth add {provider}")));
            }
            None => self.credential(&provider)?,
        };
        if let Some(label) = &self.label {
            new.label.clone_from(label);
        }
        if let Some(url) = &self.base_url {
            let url = url.trim_end_matches('/').to_owned();
            new.members.insert("base_url".to_owned(), Value::String(url));
        }
        place.home.ensure()?;
        let id = pool(loaded, &provider).add(&new)?;
        output::note(&format!("{provider}: added {} ({id})", new.label));
        Ok(DONE)
    }

    /// How one logs in, when a login is asked for: in words, or because this provider takes nothing else.
    fn login(&self, provider: &str) -> Option<&'static LoginRow> {
        let has_key = self.api_key.is_some() || self.file.is_some() || self.command.is_some() || self.keyring;
        let takes_logins = providers::row(provider).is_some_and(|row| row.login == LoginMethod::OAuth);
        login_row(provider).filter(|_| self.oauth || (takes_logins && !has_key))
    }

    fn credential(&self, provider: &str) -> Result<NewCredential, Failure> {
        let label = || self.label.clone().unwrap_or_else(|| format!("{provider} key"));
        let (source, secret) = if let Some(file) = &self.file {
            let full = file
                .canonicalize()
                .map_err(|error| Failure::usage(format!("--file {}: {error}", file.display())))?;
            (format!("file:{}", full.display()), None)
        } else if let Some(line) = &self.command {
            (format!("command:{line}"), None)
        } else {
            let key = match &self.api_key {
                Some(key) => key.clone(),
                None => typed(provider)?,
            };
            let source = if self.keyring {
                format!("keyring:{provider}/{}", label())
            } else {
                "manual".to_owned()
            };
            (source, Some(valid(&key)?))
        };
        Ok(NewCredential {
            label: label(),
            source,
            secret,
            members: Map::new(),
        })
    }
}

/// A key that could be sent.
fn valid(key: &str) -> Result<SecretString, Failure> {
    let key = key.trim();
    if key.is_empty() {
        return Err(Failure::usage("the key is empty"));
    }
    if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(
            Failure::usage("the key holds a space or a character that no header can carry")
                .hint("it may have been copied along from a web page; enter it again"),
        );
    }
    Ok(SecretString::from(key.to_owned()))
}

/// The key as it is typed, unseen, or piped in.
pub(in crate::commands) fn typed(provider: &str) -> Result<String, Failure> {
    let input = std::io::stdin();
    let unseen = if input.is_terminal() {
        output::notes(&format!("key for {provider} (it is not shown): "));
        Some(Unseen::begin()?)
    } else {
        None
    };
    let mut line = String::new();
    let read = input.lock().read_line(&mut line);
    if let Some(unseen) = unseen {
        drop(unseen);
        output::note("");
    }
    read.map_err(|error| Failure::failed(format!("the key cannot be read: {error}")))?;
    Ok(line)
}

/// A terminal that does not show what is typed, until this is dropped.
struct Unseen(rustix::termios::Termios);

impl Unseen {
    fn begin() -> Result<Self, Failure> {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let input = std::io::stdin();
        let failed = |error| Failure::failed(format!("the terminal cannot be switched: {error}"));
        let before = tcgetattr(&input).map_err(failed)?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO);
        tcsetattr(&input, OptionalActions::Now, &quiet).map_err(failed)?;
        Ok(Self(before))
    }
}

impl Drop for Unseen {
    fn drop(&mut self) {
        use rustix::termios::{OptionalActions, tcsetattr};
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.0);
    }
}
