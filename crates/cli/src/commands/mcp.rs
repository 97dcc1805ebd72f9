//! `mcp`: the servers whose tools sessions have, and this program as a server.

mod edit;
mod login;
mod serve;
mod show;

use clap::{ArgMatches, Args, Subcommand};
use talaria_config::{Loaded, Overrides};
use talaria_mcp::{McpError, ServerSettings};

use super::Row;
use crate::args;
use crate::exit::{Failure, Outcome};
use crate::output;
use crate::place::Place;

pub(super) const ROW: Row = Row {
    name: "mcp",
    about: "Add, list and test MCP servers; log in to them; serve sessions as one",
    define: Mcp::augment_args,
    run: |place, _, matches| run(place, matches),
};

#[derive(Args, Debug)]
struct Mcp {
    #[command(subcommand)]
    action: Option<Action>,

    /// Print one JSON object.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the servers. Starts none of them.
    #[command(alias = "ls")]
    List,
    /// Write a server into config.yaml.
    Add(edit::Add),
    /// Start a server, or all of them, and say what it has.
    Test {
        /// Its name.
        name: Option<String>,
    },
    /// Log in to a server in the browser, or by pasting the address it leads to.
    Login {
        /// Its name.
        name: String,
        /// Do not open a browser.
        #[arg(long)]
        no_browser: bool,
    },
    /// Forget the login of a server.
    Logout {
        /// Its name.
        name: String,
    },
    /// Take a server out of config.yaml, and forget what is known of it.
    #[command(alias = "rm")]
    Remove {
        /// Its name.
        name: String,
    },
    /// Use a server again.
    Enable {
        /// Its name.
        name: String,
    },
    /// Keep a server's settings, and do not use it.
    Disable {
        /// Its name.
        name: String,
    },
    /// Trust the servers of this project's .mcp.json, or do not.
    Trust {
        /// Do not use them, and do not ask.
        #[arg(long)]
        no: bool,
    },
    /// Be an MCP server on stdin and stdout: sessions to be listed, searched and read.
    Serve,
}

fn run(place: &Place, matches: &ArgMatches) -> Outcome {
    let asked: Mcp = args::read(matches)?;
    let json = asked.json;
    match asked.action.unwrap_or(Action::List) {
        Action::List => show::list(place, json),
        Action::Test { name } => show::test(place, name.as_deref(), json),
        Action::Add(add) => edit::add(place, &add, json),
        Action::Remove { name } => edit::remove(place, &name, json),
        Action::Enable { name } => edit::enable(place, &name, true, json),
        Action::Disable { name } => edit::enable(place, &name, false, json),
        Action::Trust { no } => edit::trust(place, !no, json),
        Action::Login { name, no_browser } => login::log_in(place, &name, no_browser, json),
        Action::Logout { name } => login::log_out(place, &name, json),
        Action::Serve => serve::serve(place),
    }
}

impl From<McpError> for Failure {
    fn from(error: McpError) -> Self {
        match &error {
            McpError::Settings { .. } => Self::usage(error.to_string()),
            _ => Self::failed(error.to_string()),
        }
    }
}

fn load(place: &Place) -> Result<Loaded, Failure> {
    let cwd = place.cwd(None)?;
    place.config(&cwd, &Overrides::default())
}

/// The servers of this place; what is wrong with others is told.
fn servers(place: &Place) -> Result<Vec<ServerSettings>, Failure> {
    let cwd = place.cwd(None)?;
    let (servers, warnings) = talaria_runtime::mcp_servers(&load(place)?, &cwd);
    for warning in warnings {
        output::note(&format!("warning: {warning}"));
    }
    Ok(servers)
}

fn find(place: &Place, name: &str) -> Result<ServerSettings, Failure> {
    let servers = servers(place)?;
    let known: Vec<String> = servers.iter().map(|server| server.name.clone()).collect();
    let found = servers.into_iter().find(|server| server.name == name);
    found.ok_or_else(|| unknown(name, &known))
}

fn unknown(name: &str, known: &[String]) -> Failure {
    let failure = Failure::usage(format!("there is no MCP server {name:?}"));
    if known.is_empty() {
        failure.hint("none is configured; `talaria mcp add` does it")
    } else {
        failure.hint(format!("there are: {}", known.join(", ")))
    }
}

/// A runtime for what waits for servers.
fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
    built.map_err(|error| Failure::failed(format!("the program cannot start its tasks: {error}")))
}
