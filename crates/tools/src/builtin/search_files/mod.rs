//! `search_files`: finds text in files, or files by name.
//!
//! [`walk`] decides which files are looked at, [`content`] searches in them. Both
//! are ripgrep's libraries, so hidden files, binary files and what `.gitignore`
//! names are left out.

mod content;
mod walk;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use talaria_types::Effect;
use tokio_util::sync::CancellationToken;

use super::blocking;
use crate::files::{guard, nearby};
use crate::tool::Parallel;
use crate::{Tool, ToolContext, ToolError, ToolOutput, ToolSession};

/// Results of a page when none are asked for, and at most.
const PAGE: usize = 50;
const PAGE_MOST: usize = 500;

/// Lines around a match at most.
const CONTEXT_MOST: usize = 20;

/// How long a search may take.
const TIME: Duration = Duration::from_secs(60);

/// The same search in a row: from here the model is told, and from there it is refused.
const REPEATS_TOLD: u32 = 3;
const REPEATS_REFUSED: u32 = 4;

/// See the module.
pub(crate) struct SearchFiles;

/// Arguments.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// content: a regular expression (Rust syntax). files: a file name glob such as *.rs, or a part of a name
    pattern: String,
    /// content (default): search in files. files: find files by name, newest first
    #[serde(default)]
    #[schemars(extend("enum" = ["content", "files"]))]
    target: Option<String>,
    /// Folder or file to search (default: working folder)
    #[serde(default)]
    path: Option<String>,
    /// Only files that match this glob, such as *.py
    #[serde(default, alias = "glob", alias = "include")]
    file_glob: Option<String>,
    /// Results per page (default 50)
    #[serde(default)]
    limit: Option<i64>,
    /// Results to skip (default 0)
    #[serde(default)]
    offset: Option<i64>,
    /// content (default): matching lines; files_only: paths; count: matches per file
    #[serde(default)]
    #[schemars(extend("enum" = ["content", "files_only", "count"]))]
    output_mode: Option<String>,
    /// Lines to show around each match (default 0)
    #[serde(default)]
    context: Option<i64>,
}

/// What the model reads.
#[derive(Debug, Default, Serialize)]
struct Found {
    total_count: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    matches_text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    counts: Option<BTreeMap<String, usize>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    #[serde(rename = "_warning", skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

/// What the model reads when the place does not exist.
#[derive(Serialize)]
struct Missing {
    error: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    similar_paths: Vec<String>,
}

/// One search, with everything it needs away from the runtime.
struct Search {
    session: Arc<ToolSession>,
    args: Args,
    cancel: CancellationToken,
    until: Instant,
}

/// Which results are wanted.
#[derive(Clone, Copy, Debug)]
struct Window {
    offset: usize,
    limit: usize,
}

impl Tool for SearchFiles {
    const NAME: &'static str = "search_files";
    const DESCRIPTION: &'static str = "Search file contents by regular expression, or find files by name. Use it \
        instead of grep, rg, find or ls. Hidden files and what .gitignore names are skipped";
    const EFFECT: Effect = Effect::Read;
    type Args = Args;

    fn run<'a>(
        &'a self,
        args: Args,
        cx: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        let search = Search {
            session: Arc::clone(cx.session),
            args,
            cancel: cx.cancel.clone(),
            until: Instant::now() + TIME,
        };
        Box::pin(blocking(move || search.run()))
    }

    fn parallel(&self, args: &Value) -> Parallel {
        Parallel::Path(PathBuf::from(args["path"].as_str().unwrap_or(".")))
    }

    fn masks_secrets(&self) -> bool {
        true
    }
}

impl Search {
    fn run(&self) -> Result<ToolOutput, ToolError> {
        if self.args.pattern.is_empty() {
            return Err(ToolError::BadArguments("pattern is empty".to_owned()));
        }
        let root = self
            .session
            .absolute(Path::new(self.args.path.as_deref().unwrap_or(".")));
        if let Some(why) = guard::read_refusal(&self.session, &root) {
            return Err(ToolError::Denied(why));
        }
        if !root.exists() {
            return Ok(self.missing(&root));
        }
        let key = format!("{:?}", self.args);
        let repeats = self.session.reads().searched(key);
        if repeats >= REPEATS_REFUSED {
            return Err(ToolError::Failed(format!(
                "BLOCKED: the same search was made {repeats} times in a row; its results are further up in this \
                 conversation. Search for something else or go on with what you have"
            )));
        }
        let mut found = match self.target() {
            Target::Files => self.files(&root)?,
            Target::Content => content::search(self, &root)?,
        };
        if repeats >= REPEATS_TOLD {
            found.warning = Some(format!("the same search was made {repeats} times in a row"));
        }
        let brief = self.brief(found.total_count);
        Ok(ToolOutput::json(&found, brief))
    }

    fn target(&self) -> Target {
        match self.args.target.as_deref() {
            Some("files" | "find" | "file") => Target::Files,
            _ => Target::Content,
        }
    }

    fn window(&self) -> Window {
        let number = |value: Option<i64>, default: usize| {
            value.map_or(default, |value| usize::try_from(value.max(0)).unwrap_or(default))
        };
        Window {
            offset: number(self.args.offset, 0),
            limit: number(self.args.limit, PAGE).clamp(1, PAGE_MOST),
        }
    }

    fn context(&self) -> usize {
        let wanted = usize::try_from(self.args.context.unwrap_or(0).max(0)).unwrap_or(0);
        wanted.min(CONTEXT_MOST)
    }

    /// Whether to go on: not stopped, and not out of time.
    fn goes_on(&self) -> Result<bool, ToolError> {
        if self.cancel.is_cancelled() {
            return Err(ToolError::Interrupted);
        }
        Ok(Instant::now() < self.until)
    }

    fn files(&self, root: &Path) -> Result<Found, ToolError> {
        let Window { offset, limit } = self.window();
        let (paths, complete) = walk::by_name(self, root)?;
        let total = paths.len();
        let page: Vec<String> = paths
            .iter()
            .skip(offset)
            .take(limit)
            .map(|path| self.session.shown(path))
            .collect();
        let mut found = Found {
            total_count: total,
            truncated: offset + page.len() < total || !complete,
            files: Some(page),
            ..Found::default()
        };
        found.hint = self.hint(&found, offset + limit, complete);
        Ok(found)
    }

    fn hint(&self, found: &Found, next: usize, complete: bool) -> Option<String> {
        if !complete {
            return Some(
                "the search was ended early; there may be more. Narrow path, file_glob or pattern".to_owned(),
            );
        }
        found
            .truncated
            .then(|| format!("more results; use offset={next}"))
    }

    fn missing(&self, root: &Path) -> ToolOutput {
        let missing = Missing {
            error: format!("cannot search {}: it does not exist", root.display()),
            similar_paths: nearby::similar_names(root)
                .iter()
                .map(|path| self.session.shown(path))
                .collect(),
        };
        ToolOutput::json(&missing, self.brief(0)).failed()
    }

    fn brief(&self, count: usize) -> String {
        let target = match self.target() {
            Target::Files => "files",
            Target::Content => "content",
        };
        let path = self.args.path.as_deref().unwrap_or(".");
        format!(
            "[search_files] {target} search for '{}' in {path} -> {count} matches",
            self.args.pattern
        )
    }
}

enum Target {
    Content,
    Files,
}

#[cfg(test)]
mod tests;
