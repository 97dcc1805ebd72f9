//! The servers of a process: what they bring to its sessions, and how they end.
//!
//! A server whose tools are remembered is not started until one of them is called (a person's session starts
//! it beside, because a person types slower than it starts). One that is not known yet is asked at once, all of
//! them side by side and within bounds; what is not there by then comes to be known later.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::join_all;
use talaria_tools::{Executor, Registry};
use talaria_types::ToolSpec;

use crate::sampling::Sampler;
use crate::server::Server;
use crate::wire::{oauth, serve};
use crate::{McpError, Offer, ServerSettings, Source, naming, tool};

/// How long the first session waits for servers that nothing is known of.
const DISCOVERY: Duration = Duration::from_secs(10);
/// How long servers may take to end when the process does.
const FAREWELL: Duration = Duration::from_millis(700);

/// What servers need of the process they are used by.
#[derive(Clone)]
pub struct Surroundings {
    /// The home folder.
    pub home: PathBuf,
    /// The folder the agent works in; servers start there and are told of it.
    pub cwd: PathBuf,
    /// Asks a model in a server's name.
    pub sampler: Option<Sampler>,
}

/// The servers of a process.
#[derive(Default)]
pub struct Servers {
    servers: Vec<Arc<Server>>,
}

/// One server, for listings.
#[derive(Clone, Debug)]
pub struct ServerState {
    /// Its settings.
    pub settings: ServerSettings,
    /// What it offers, as far as is known.
    pub offer: Option<Offer>,
    /// It is connected now.
    pub connected: bool,
    /// There is a login, where one is wanted.
    pub logged_in: bool,
}

impl Servers {
    /// Those of `settings` that are enabled. Starts nothing.
    pub fn new(settings: Vec<ServerSettings>, around: &Surroundings) -> Self {
        let enabled = settings.into_iter().filter(|settings| settings.enabled);
        let servers = enabled.map(|settings| {
            Server::new(
                settings,
                around.home.clone(),
                around.cwd.clone(),
                around.sampler.clone(),
            )
        });
        Self {
            servers: servers.collect(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// Finds out what servers offer that nothing is known of, within a few seconds. The others are not
    /// started, or beside everything else where a person types.
    ///
    /// What could not be had is told as warnings.
    pub async fn discover(&self, interactive: bool) -> Vec<String> {
        let (known, unknown): (Vec<_>, Vec<_>) = self
            .servers
            .iter()
            .partition(|server| server.core.offer().is_some());
        if interactive {
            for server in known {
                let server = server.clone();
                tokio::spawn(async move {
                    if let Err(error) = server.discover().await {
                        tracing::warn!(%error, "an MCP server is not there");
                    }
                });
            }
        }
        let asked = unknown.into_iter().map(|server| async move {
            let task = tokio::spawn({
                let server = server.clone();
                async move { server.discover().await }
            });
            // A server that is slower goes on starting, and is known to the next session.
            match tokio::time::timeout(DISCOVERY, task).await {
                Ok(Ok(Ok(_))) => None,
                Ok(Ok(Err(error))) => Some(error.to_string()),
                Ok(Err(error)) => Some(format!("the MCP server {:?}: {error}", server.name())),
                Err(_) => Some(format!(
                    "the MCP server {:?} is not ready after {} s; the next session has its tools",
                    server.name(),
                    DISCOVERY.as_secs()
                )),
            }
        });
        join_all(asked).await.into_iter().flatten().collect()
    }

    /// Adds the tools to `registry`.
    pub fn add_to(&self, registry: &mut Registry) {
        for server in &self.servers {
            let toolset = naming::toolset(server.name());
            registry.announce(&toolset);
            for tool in tool::all(server) {
                registry.add(toolset.clone(), tool);
            }
        }
    }

    /// Adds the tools to `registry` while sessions run.
    pub fn enter(&self, registry: &Registry) {
        for server in &self.servers {
            for tool in tool::all(server) {
                registry.arrive(naming::toolset(server.name()), tool);
            }
        }
    }

    /// From now on tools that servers come to have are added to `registry`.
    pub fn follow(&self, registry: &Arc<Registry>) {
        for server in &self.servers {
            let (registry, weak) = (Arc::downgrade(registry), Arc::downgrade(server));
            server.listen(Arc::new(move |_| arrive(&registry, &weak)));
        }
    }

    /// Takes the tools of these servers out of `registry`.
    pub fn leave(&self, registry: &Registry) {
        for server in &self.servers {
            registry.leave(&naming::toolset(server.name()));
        }
    }

    /// How they are.
    pub fn states(&self) -> Vec<ServerState> {
        let state = |server: &Arc<Server>| ServerState {
            settings: server.core.settings.clone(),
            offer: server.core.offer().map(|offer| (*offer).clone()),
            connected: server.is_connected(),
            logged_in: oauth::file(&server.core.home, server.name()).is_file(),
        };
        self.servers.iter().map(state).collect()
    }

    /// Connects to the server `name` now and says what it has.
    ///
    /// # Errors
    /// When there is no such server, or it cannot be used.
    pub async fn test(&self, name: &str) -> Result<Offer, McpError> {
        let found = self.servers.iter().find(|server| server.name() == name);
        let server = found.ok_or_else(|| McpError::Here(format!("there is no MCP server {name:?}")))?;
        server.discover().await.map(|offer| (*offer).clone())
    }

    /// Ends them all, and the programs behind them.
    pub async fn close(&self) {
        let ends = join_all(self.servers.iter().map(|server| server.close()));
        let _ = tokio::time::timeout(FAREWELL, ends).await;
    }
}

/// Adds the tools that a server has and `registry` has not.
fn arrive(registry: &Weak<Registry>, server: &Weak<Server>) {
    let (Some(registry), Some(server)) = (registry.upgrade(), server.upgrade()) else {
        return;
    };
    for tool in tool::all(&server) {
        if registry.get(&tool.spec().name).is_none() {
            registry.arrive(naming::toolset(server.name()), tool);
        }
    }
}

/// What is remembered and logged in of a server, for listings that start nothing.
pub fn known(home: &Path, settings: &ServerSettings) -> ServerState {
    ServerState {
        settings: settings.clone(),
        offer: Offer::remembered(home, settings),
        connected: false,
        logged_in: oauth::file(home, &settings.name).is_file(),
    }
}

/// Forgets the login of a server.
///
/// # Errors
/// When its files cannot be removed. Whether there was one is told.
pub fn logout(home: &Path, server: &str) -> Result<bool, McpError> {
    oauth::forget(home, server).map_err(|error| McpError::Here(format!("the login of {server}: {error}")))
}

/// Forgets all that is kept of a server: its login, and what it offered.
///
/// # Errors
/// When its files cannot be removed.
pub fn forget(home: &Path, server: &str) -> Result<(), McpError> {
    Offer::forget(home, server);
    logout(home, server).map(drop)
}

/// Serves these tools, which must only read, on stdin and stdout until the client hangs up.
///
/// # Errors
/// When the client says nothing that makes sense.
pub async fn serve_stdio(executor: Executor, specs: Arc<[ToolSpec]>) -> Result<(), McpError> {
    serve::run(executor, specs).await
}

/// Reads what is written about servers: the person's own first, then those of a trusted project that have
/// other names. What makes no sense is told as warnings.
pub fn read<'a>(
    own: impl IntoIterator<Item = (&'a String, &'a serde_json::Value)>,
    project: Option<&'a crate::ProjectFile>,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> (Vec<ServerSettings>, Vec<String>) {
    let (mut all, mut warnings) = (Vec::<ServerSettings>::new(), Vec::new());
    let project = project.map(|file| file.servers().iter()).into_iter().flatten();
    let own = own
        .into_iter()
        .map(|(name, written)| (name, written, Source::Config));
    for (name, written, source) in own.chain(project.map(|(name, written)| (name, written, Source::Project)))
    {
        if all.iter().any(|known| known.name == *name) {
            continue;
        }
        match ServerSettings::read(name, written, source, lookup) {
            Ok(settings) => all.push(settings),
            Err(error) => warnings.push(error.to_string()),
        }
    }
    (all, warnings)
}
