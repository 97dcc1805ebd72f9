//! The providers there are, what each needs, and how one is made.

use std::path::PathBuf;
use std::sync::Arc;

use talaria_peer::Program;

use super::honcho::{Honcho, Names};
pub use super::http::ClientMaker;
use super::local::Local;
use super::mem0::Mem0;
use super::process::Process;
use super::{MemoryProvider, Opening, ProviderError};

/// One provider.
#[derive(Debug)]
pub struct Row {
    /// Its name in `memory.provider`.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// What it is, in one line.
    pub about: &'static str,
    /// What it needs.
    pub settings: &'static [Setting],
    build: fn(&Place) -> Result<Arc<dyn MemoryProvider>, ProviderError>,
}

/// One thing a provider is told by the person.
#[derive(Debug)]
pub struct Setting {
    /// The key in `config.yaml`; the variable in `.env` for a secret.
    pub key: &'static str,
    /// What it is.
    pub description: &'static str,
    /// It belongs into `.env` and is never shown.
    pub secret: bool,
    /// Nothing works without it.
    pub required: bool,
    /// What holds when nothing is said.
    pub default: &'static str,
    /// Where it is had.
    pub url: &'static str,
}

const fn setting(key: &'static str, description: &'static str, default: &'static str) -> Setting {
    Setting {
        key,
        description,
        secret: false,
        required: false,
        default,
        url: "",
    }
}

/// Every provider.
pub const ROWS: &[Row] = &[
    Row {
        name: "local",
        aliases: &["holographic"],
        about: "facts in this home's own database; no service",
        settings: &[],
        build: |place| Ok(Arc::new(Local::new(place.home.join("facts.db")))),
    },
    Row {
        name: "process",
        aliases: &[],
        about: "any program that speaks JSON-RPC (docs/memory-providers.md)",
        settings: &[
            Setting {
                required: true,
                ..setting("memory.command", "the program and its arguments, as a list", "")
            },
            setting("memory.env_passthrough", "variables of yours that it may see", ""),
        ],
        build: process,
    },
    Row {
        name: "mem0",
        aliases: &[],
        about: "mem0.ai, or a server of that kind",
        settings: &[
            Setting {
                secret: true,
                required: true,
                url: "https://app.mem0.ai",
                ..setting("MEM0_API_KEY", "the key", "")
            },
            setting("memory.user_id", "whose memories", USER),
            setting("memory.agent_id", "who writes them", AGENT),
            setting("memory.base_url", "another address", MEM0),
        ],
        build: mem0,
    },
    Row {
        name: "honcho",
        aliases: &[],
        about: "honcho.dev, or your own server",
        settings: &[
            Setting {
                secret: true,
                url: "https://app.honcho.dev",
                ..setting("HONCHO_API_KEY", "the key; your own server may need none", "")
            },
            setting("memory.base_url", "another address", HONCHO),
            setting("memory.workspace", "the workspace", AGENT),
            setting("memory.user_id", "the person's peer", USER),
            setting("memory.agent_id", "the agent's peer", AGENT),
        ],
        build: honcho,
    },
];

// Those of Hermes, so that what it has remembered is found.
const USER: &str = "hermes-user";
const AGENT: &str = "hermes";
const MEM0: &str = "https://api.mem0.ai";
const HONCHO: &str = "https://api.honcho.dev";

/// Reads a variable by its name.
pub type Variables = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// What a provider is made from.
#[derive(Clone)]
pub struct Place {
    /// The home folder.
    pub home: PathBuf,
    /// The face.
    pub platform: String,
    /// `memory.command`.
    pub command: Vec<String>,
    /// `memory.env_passthrough`.
    pub env_passthrough: Vec<String>,
    /// `memory.user_id`.
    pub user_id: String,
    /// `memory.agent_id`.
    pub agent_id: String,
    /// `memory.workspace`.
    pub workspace: String,
    /// `memory.base_url`.
    pub base_url: String,
    /// Reads a variable of the environment or of `.env`.
    pub variable: Variables,
    /// Makes HTTP clients.
    pub client: ClientMaker,
}

impl std::fmt::Debug for Place {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Place")
            .field("home", &self.home)
            .finish_non_exhaustive()
    }
}

/// The provider of that name.
pub fn row(name: &str) -> Option<&'static Row> {
    ROWS.iter()
        .find(|row| row.name == name || row.aliases.contains(&name))
}

impl Row {
    /// Makes the provider; reaches for nothing yet.
    ///
    /// # Errors
    /// When something it needs is not configured.
    pub fn build(&self, place: &Place) -> Result<Arc<dyn MemoryProvider>, ProviderError> {
        (self.build)(place)
    }
}

impl Place {
    /// The first that says something: the configuration, then these variables, then the default.
    fn value(&self, configured: &str, variables: &[&str], default: &str) -> String {
        let set = |text: String| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        set(configured.to_owned())
            .or_else(|| variables.iter().find_map(|name| set((self.variable)(name)?)))
            .unwrap_or_else(|| default.to_owned())
    }

    fn key(&self, name: &str) -> Option<String> {
        Some(self.value("", &[name], "")).filter(|key| !key.is_empty())
    }
}

fn process(place: &Place) -> Result<Arc<dyn MemoryProvider>, ProviderError> {
    let Some((file, args)) = place.command.split_first() else {
        let text = "memory.command is not set: name the program and its arguments as a list";
        return Err(ProviderError::Unset(text.to_owned()));
    };
    let mut program = Program::new(file).args(args.to_vec()).folder(&place.home);
    for variable in &place.env_passthrough {
        program = match (place.variable)(variable) {
            Some(value) => program.env(variable, value),
            None => program.pass(variable),
        };
    }
    let opening = Opening {
        hermes_home: place.home.display().to_string(),
        platform: place.platform.clone(),
        agent_context: "primary".to_owned(),
        ..Opening::default()
    };
    Ok(Arc::new(Process::new(program, opening)))
}

fn mem0(place: &Place) -> Result<Arc<dyn MemoryProvider>, ProviderError> {
    let Some(key) = place.key("MEM0_API_KEY") else {
        let text = "MEM0_API_KEY is not set: `talaria memory setup mem0` asks for it (https://app.mem0.ai)";
        return Err(ProviderError::Unset(text.to_owned()));
    };
    let base = place.value(&place.base_url, &["MEM0_BASE_URL"], MEM0);
    let user = place.value(&place.user_id, &["MEM0_USER_ID"], USER);
    let agent = place.value(&place.agent_id, &["MEM0_AGENT_ID"], AGENT);
    Ok(Arc::new(Mem0::new(
        &base,
        &key,
        (user, agent),
        place.client.clone(),
    )))
}

fn honcho(place: &Place) -> Result<Arc<dyn MemoryProvider>, ProviderError> {
    let base = place.value(&place.base_url, &["HONCHO_BASE_URL", "HONCHO_URL"], HONCHO);
    let key = place.key("HONCHO_API_KEY");
    if key.is_none() && base == HONCHO {
        let text = "HONCHO_API_KEY is not set: `talaria memory setup honcho` asks for it, or set memory.base_url to \
                    your own server";
        return Err(ProviderError::Unset(text.to_owned()));
    }
    let names = Names {
        workspace: place.value(&place.workspace, &["HONCHO_WORKSPACE_ID"], AGENT),
        user: place.value(&place.user_id, &[], USER),
        agent: place.value(&place.agent_id, &[], AGENT),
    };
    Ok(Arc::new(Honcho::new(
        &base,
        key.as_deref(),
        &names,
        place.client.clone(),
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_there_once_and_every_description_says_something() {
        let mut names: Vec<&str> = ROWS
            .iter()
            .flat_map(|row| [row.name].into_iter().chain(row.aliases.iter().copied()))
            .collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(
            ROWS.iter()
                .all(|row| row.settings.iter().all(|setting| !setting.description.is_empty()))
        );
        assert_eq!(row("holographic").map(|row| row.name), Some("local"));
    }
}
