//! `todo`: the model's own list of what is to be done.

use std::future::ready;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use talaria_types::Effect;

use crate::session::{Entry, TodoSummary};
use crate::{Tool, ToolContext, ToolError, ToolOutput};

/// See the module.
pub(crate) struct Todo;

/// Arguments.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// The entries; leave out to read the list
    #[serde(default)]
    todos: Option<Vec<Entry>>,
    /// Update entries by id and add new ones, instead of replacing the list
    #[serde(default)]
    merge: Option<bool>,
}

/// What the model reads.
#[derive(Serialize)]
struct List<'a> {
    todos: &'a [Entry],
    summary: TodoSummary,
}

impl Tool for Todo {
    const NAME: &'static str = "todo";
    const DESCRIPTION: &'static str = "Keep a task list for work of three or more steps. Exactly one entry is \
        in_progress; mark it completed as soon as it is done. Returns the whole list; without todos it only reads it";
    const EFFECT: Effect = Effect::Write;
    type Args = Args;

    fn run<'a>(
        &'a self,
        args: Args,
        cx: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        let mut list = cx.session.todo();
        match args.todos {
            Some(entries) if args.merge.unwrap_or(false) => list.merge(entries),
            Some(entries) => list.replace(entries),
            None => {}
        }
        let told = List {
            todos: list.entries(),
            summary: list.summary(),
        };
        let output = ToolOutput::json(&told, "[todo] updated task list".to_owned());
        Box::pin(ready(Ok(output)))
    }
}
