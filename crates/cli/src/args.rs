//! What can be typed.
//!
//! The flags of a turn stand both before and after `chat`; the later one wins.
//! Subcommands define their own arguments, in their own files.

use std::path::PathBuf;

use clap::{Args, Command, FromArgMatches, Parser};
use talaria_config::Overrides;

use crate::commands::COMMANDS;
use crate::exit::Failure;

/// An agent that keeps long conversations going.
///
/// Without a command it talks: an interactive session on a terminal, one prompt from standard input
/// otherwise.
#[derive(Debug, Parser)]
#[command(
    name = "talaria",
    version,
    disable_help_subcommand = true,
    max_term_width = 100
)]
pub(crate) struct Root {
    /// The home folder (else $TALARIA_HOME, $HERMES_HOME, ~/.hermes).
    #[arg(long, global = true, value_name = "DIR", display_order = 900)]
    pub(crate) home: Option<String>,

    /// Run one turn and print the final text only.
    #[arg(short = 'z', long = "oneshot", value_name = "TEXT")]
    pub(crate) oneshot: Option<String>,

    /// The same as `chat -q TEXT`.
    #[arg(short, long, value_name = "TEXT", conflicts_with = "oneshot")]
    pub(crate) query: Option<String>,

    #[command(flatten)]
    pub(crate) turn: TurnFlags,
}

impl Root {
    /// The prompt that was given before any command.
    pub(crate) fn prompt(&self) -> Option<&str> {
        self.oneshot.as_deref().or(self.query.as_deref())
    }
}

/// How a turn is run.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct TurnFlags {
    /// Go on with a session, by id, unique prefix or title.
    #[arg(short, long, value_name = "ID|TITLE", conflicts_with = "continue")]
    pub(crate) resume: Option<String>,

    /// Go on with the newest session, or with the one of this title.
    #[arg(short, long, value_name = "TITLE", num_args = 0..=1)]
    pub(crate) r#continue: Option<Option<String>>,

    /// With --resume: the segment as it was; the first turn there starts a branch.
    #[arg(long)]
    pub(crate) exact: bool,

    /// The model.
    #[arg(short, long)]
    pub(crate) model: Option<String>,

    /// The provider.
    #[arg(long)]
    pub(crate) provider: Option<String>,

    /// The address of the provider's API.
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,

    /// Toolsets to offer, separated by commas.
    #[arg(short, long, value_name = "TOOLSETS", value_delimiter = ',')]
    pub(crate) toolsets: Vec<String>,

    /// Skills that stand in the prompt, separated by commas.
    #[arg(short, long, value_name = "SKILLS", value_delimiter = ',')]
    pub(crate) skills: Vec<String>,

    /// Attach an image to the prompt.
    #[arg(long, value_name = "FILE")]
    pub(crate) image: Vec<PathBuf>,

    /// Model calls of one turn at most.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_turns: Option<u32>,

    /// US dollars of one turn at most.
    #[arg(long, value_name = "USD", value_parser = dollars)]
    pub(crate) max_cost: Option<f64>,

    /// Write the model calls down in this file, with secrets masked.
    #[arg(long, value_name = "FILE")]
    pub(crate) debug_http: Option<PathBuf>,

    /// Run dangerous commands without asking.
    #[arg(long)]
    pub(crate) yolo: bool,

    /// The folder to work in.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,

    /// Leave project context files, project hooks and memory out.
    #[arg(long)]
    pub(crate) ignore_rules: bool,

    /// Take the hooks of config.yaml as allowed without asking.
    #[arg(long)]
    pub(crate) accept_hooks: bool,

    /// The source recorded with a new session; `tool` keeps it out of listings.
    #[arg(long, value_name = "S")]
    pub(crate) source: Option<String>,

    /// Print one JSON object: the result of the turn.
    #[arg(long, conflicts_with = "stream_json")]
    pub(crate) json: bool,

    /// With --json: add the messages the next request would start from.
    #[arg(long, requires = "json")]
    pub(crate) messages: bool,

    /// Print events as they happen, one JSON object a line.
    #[arg(long)]
    pub(crate) stream_json: bool,
}

fn dollars(text: &str) -> Result<f64, String> {
    let amount = text.trim_start_matches('$').parse::<f64>().ok();
    amount
        .filter(|amount| amount.is_finite() && *amount >= 0.0)
        .ok_or_else(|| "expected an amount of US dollars".to_owned())
}

impl TurnFlags {
    /// These flags, and those of `before` where these say nothing.
    pub(crate) fn over(self, before: Self) -> Self {
        let list = |own: Vec<String>, other| if own.is_empty() { other } else { own };
        Self {
            resume: self.resume.or(before.resume),
            r#continue: self.r#continue.or(before.r#continue),
            exact: self.exact || before.exact,
            model: self.model.or(before.model),
            provider: self.provider.or(before.provider),
            base_url: self.base_url.or(before.base_url),
            toolsets: list(self.toolsets, before.toolsets),
            skills: list(self.skills, before.skills),
            image: if self.image.is_empty() {
                before.image
            } else {
                self.image
            },
            max_turns: self.max_turns.or(before.max_turns),
            max_cost: self.max_cost.or(before.max_cost),
            debug_http: self.debug_http.or(before.debug_http),
            yolo: self.yolo || before.yolo,
            cwd: self.cwd.or(before.cwd),
            ignore_rules: self.ignore_rules || before.ignore_rules,
            accept_hooks: self.accept_hooks || before.accept_hooks,
            source: self.source.or(before.source),
            json: self.json || before.json,
            messages: self.messages || before.messages,
            stream_json: self.stream_json || before.stream_json,
        }
    }

    /// What they override of the configuration.
    pub(crate) fn overrides(&self) -> Overrides {
        Overrides {
            model: self.model.clone(),
            provider: self.provider.clone(),
            base_url: self.base_url.clone(),
            max_turns: self.max_turns,
            max_cost: self.max_cost,
            toolsets: self.toolsets.clone(),
            debug_http: self.debug_http.clone(),
        }
    }
}

/// The whole grammar, commands of the table included.
pub(crate) fn grammar() -> Command {
    use clap::CommandFactory;
    let root = Root::command()
        .subcommand_required(false)
        .subcommand_value_name("COMMAND");
    COMMANDS.iter().fold(root, |root, row| {
        root.subcommand(Command::new(row.name).about(row.about).defer(row.define))
    })
}

/// The arguments of a command, as its struct.
pub(crate) fn read<T: FromArgMatches>(matches: &clap::ArgMatches) -> Result<T, Failure> {
    T::from_arg_matches(matches).map_err(|error| Failure::usage(error.to_string()))
}
