//! What a tool is.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use talaria_types::{Content, Effect, ToolCall, ToolSpec};
use tokio_util::sync::CancellationToken;

use crate::{Executor, Host, ToolSession};

/// One tool, with typed arguments.
///
/// The doc comment of `Args` and of its fields is what the model reads.
pub trait Tool: Send + Sync + 'static {
    /// The name the model calls.
    const NAME: &'static str;
    /// What it does, for the model.
    const DESCRIPTION: &'static str;
    /// How far it reaches.
    const EFFECT: Effect;
    /// Its arguments.
    type Args: DeserializeOwned + JsonSchema + Send;

    /// Does it. An error is a result too: the model reads its text.
    fn run<'a>(
        &'a self,
        args: Self::Args,
        cx: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;

    /// Whether it may run beside the other calls of its batch with these arguments.
    fn parallel(&self, _args: &Value) -> Parallel {
        match Self::EFFECT {
            Effect::Read => Parallel::Always,
            Effect::Write | Effect::Execute | Effect::Ask => Parallel::Never,
        }
    }

    /// Whether the same arguments are expected to give the same result (loop guard-rails).
    fn idempotent(&self) -> bool {
        Self::EFFECT == Effect::Read
    }

    /// Whether its results stay whole, whatever the budget of the batch.
    fn keeps_whole_results(&self) -> bool {
        false
    }

    /// Whether it masks secrets in its results itself, because it knows more about
    /// them than the executor (which text is source code, which is not).
    fn masks_secrets(&self) -> bool {
        false
    }
}

/// Whether a call may run beside others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parallel {
    /// Beside anything.
    Always,
    /// Beside calls that touch neither this path nor one above or below it.
    Path(PathBuf),
    /// Alone.
    Never,
}

/// What a running tool has at hand.
pub struct ToolContext<'a> {
    /// The call it answers.
    pub call: &'a ToolCall,
    /// What the session remembers between calls: folder, todo list, processes, files read.
    pub session: &'a Arc<ToolSession>,
    /// The driver.
    pub host: &'a dyn Host,
    /// Runs other tools on this call's behalf; nothing where none may be.
    pub inner: Option<&'a Executor>,
    /// Fires when the person stops the turn; the tool ends its work and says what it has.
    pub cancel: &'a CancellationToken,
}

impl ToolContext<'_> {
    /// `path` as an absolute one, seen from the session's folder; `~` is the user's home.
    pub fn absolute(&self, path: impl AsRef<Path>) -> PathBuf {
        self.session.absolute(path.as_ref())
    }
}

/// What a tool gives back.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutput {
    /// What the model reads.
    pub content: Content,
    /// One line that may stand in for it later; cut to 200 characters by the executor.
    pub brief: String,
    /// Whether it did what it was asked.
    pub ok: bool,
}

impl ToolOutput {
    /// `value` as JSON text, which is what most tools answer with.
    pub fn json(value: &impl Serialize, brief: String) -> Self {
        Self {
            content: Content::Text(json_text(value)),
            brief,
            ok: true,
        }
    }

    /// The same, of a call that did not do what it was asked.
    #[must_use]
    pub fn failed(mut self) -> Self {
        self.ok = false;
        self
    }
}

/// `value` as compact JSON.
pub(crate) fn json_text(value: &impl Serialize) -> String {
    serde_json::to_string(value)
        .unwrap_or_else(|error| json!({"error": format!("the result is no JSON: {error}")}).to_string())
}

/// Why a tool could not do what it was asked; the model reads the text.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The arguments do not fit the schema; nothing ran.
    #[error("{0}")]
    Misfit(String),
    /// The arguments ask for something that cannot be.
    #[error("{0}")]
    BadArguments(String),
    /// It was refused: by the person, by a rule, or for want of anyone to ask.
    #[error("{0}")]
    Denied(String),
    /// The person stopped it.
    #[error("interrupted")]
    Interrupted,
    /// It failed.
    #[error("{0}")]
    Failed(String),
}

/// A [`Tool`] without its types, as the registry keeps it.
pub trait AnyTool: Send + Sync {
    /// Name, description and schema.
    fn spec(&self) -> &ToolSpec;
    /// How far it reaches.
    fn effect(&self) -> Effect;
    /// Runs it with arguments that are known to be a JSON object.
    fn run<'a>(
        &'a self,
        args: Value,
        cx: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;
    /// See [`Tool::parallel`].
    fn parallel(&self, args: &Value) -> Parallel;
    /// See [`Tool::idempotent`].
    fn idempotent(&self) -> bool;
    /// See [`Tool::keeps_whole_results`].
    fn keeps_whole_results(&self) -> bool;
    /// See [`Tool::masks_secrets`].
    fn masks_secrets(&self) -> bool {
        false
    }
    /// Whether it belongs to somebody else (a server, a plugin): its schema may be left out of
    /// requests and looked up, when there are many.
    fn is_outside(&self) -> bool {
        false
    }
    /// Whether whoever it belongs to may come to have other tools while a session runs.
    fn may_change(&self) -> bool {
        false
    }
}

/// Takes `tool`'s types away, for the registry.
pub fn erase<T: Tool>(tool: T) -> Arc<dyn AnyTool> {
    let spec = ToolSpec {
        name: T::NAME.to_owned(),
        description: T::DESCRIPTION.to_owned(),
        parameters: crate::schema::of::<T::Args>(),
    };
    Arc::new(Erased { tool, spec })
}

/// A tool beside what is said of it.
struct Erased<T> {
    tool: T,
    spec: ToolSpec,
}

impl<T: Tool> AnyTool for Erased<T> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self) -> Effect {
        T::EFFECT
    }

    fn run<'a>(
        &'a self,
        args: Value,
        cx: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        match serde_json::from_value(args) {
            Ok(args) => self.tool.run(args, cx),
            Err(error) => {
                let takes = crate::schema::summary(&self.spec.parameters);
                let text = format!(
                    "invalid arguments for {}: {error}. It takes {takes}. Nothing was run",
                    T::NAME
                );
                Box::pin(std::future::ready(Err(ToolError::Misfit(text))))
            }
        }
    }

    fn parallel(&self, args: &Value) -> Parallel {
        self.tool.parallel(args)
    }

    fn idempotent(&self) -> bool {
        self.tool.idempotent()
    }

    fn keeps_whole_results(&self) -> bool {
        self.tool.keeps_whole_results()
    }

    fn masks_secrets(&self) -> bool {
        self.tool.masks_secrets()
    }
}
