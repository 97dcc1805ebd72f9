//! `patch`: changes parts of files.
//!
//! In replace mode [`find`] looks for the old text, from exact to lax, [`adapt`] fits
//! the new text to what was found, and [`replace`] refuses what is not certain. In
//! patch mode [`v4a`] reads the patch and [`hunks`] applies it. Both work on
//! [`changes`], which reach the disk together or not at all.

mod adapt;
mod changes;
mod find;
mod hunks;
mod replace;
mod v4a;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use talaria_types::Effect;

use self::changes::Changes;
use self::replace::{Refused, Wanted};
use self::v4a::Operation;
use super::{blocking, thousands};
use crate::files::lint::Finding;
use crate::files::shown;
use crate::mask::Mask;
use crate::tool::Parallel;
use crate::{Tool, ToolContext, ToolError, ToolOutput, ToolSession};

/// See the module.
pub(crate) struct Patch;

/// Arguments.
#[derive(Default, Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// replace (default): old_string becomes new_string in path. patch: apply the text in patch
    #[serde(default)]
    #[schemars(extend("enum" = ["replace", "patch"]))]
    mode: Option<String>,
    /// File to change (replace)
    #[serde(default, alias = "file_path", alias = "filename")]
    path: Option<String>,
    /// Text to find, with enough lines around it to be unique (replace)
    #[serde(default, alias = "old_text", alias = "old_str")]
    old_string: Option<String>,
    /// Text to put there; empty deletes (replace)
    #[serde(default, alias = "new_text", alias = "new_str")]
    new_string: Option<String>,
    /// Change every occurrence (replace)
    #[serde(default)]
    replace_all: Option<bool>,
    /// V4A patch: *** Begin Patch, then *** Update File: p | *** Add File: p | *** Delete File: p | *** Move File: a
    /// -> b, hunks of @@ hint lines and ' ' / - / + lines, *** End Patch. All or nothing (patch)
    #[serde(default)]
    patch: Option<String>,
}

/// What the model reads.
#[derive(Default, Serialize)]
struct Report {
    success: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    diff: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files_modified: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files_created: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files_deleted: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lint: Vec<Finding>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(rename = "_warning", skip_serializing_if = "Option::is_none")]
    warning: Option<&'static str>,
    #[serde(rename = "_hint", skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl Tool for Patch {
    const NAME: &'static str = "patch";
    const DESCRIPTION: &'static str = "Change parts of files: replace old_string by new_string in one file, or apply a \
        V4A patch to several. Small slips in whitespace and quotes are forgiven; text that is not unique is refused. \
        Returns a diff";
    const EFFECT: Effect = Effect::Write;
    type Args = Args;

    fn run<'a>(
        &'a self,
        args: Args,
        cx: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        let session = Arc::clone(cx.session);
        Box::pin(blocking(move || Ok(patch(&session, &args))))
    }

    fn parallel(&self, args: &Value) -> Parallel {
        match (args["path"].as_str(), args["patch"].as_str()) {
            (Some(path), None) => Parallel::Path(PathBuf::from(path)),
            _ => Parallel::Never,
        }
    }

    fn masks_secrets(&self) -> bool {
        true
    }
}

fn patch(session: &ToolSession, args: &Args) -> ToolOutput {
    let by_patch = match args.mode.as_deref() {
        Some("patch") => true,
        Some("replace") => false,
        _ => args.old_string.is_none() && args.patch.is_some(),
    };
    let done = if by_patch {
        apply(session, args)
    } else {
        replace_in(session, args)
    };
    let (report, paths) = done.unwrap_or_else(|(error, paths)| {
        let report = Report {
            error: Some(error.to_string()),
            ..Report::default()
        };
        (report, paths)
    });
    let content = crate::tool::json_text(&report);
    let mode = if by_patch { "patch" } else { "replace" };
    ToolOutput {
        brief: format!(
            "[patch] {mode} in {paths} ({} chars result)",
            thousands(content.chars().count())
        ),
        ok: report.success,
        content: content.into(),
    }
}

/// A report, or what went wrong, with the paths it is about.
type Outcome = Result<(Report, String), (ToolError, String)>;

fn replace_in(session: &ToolSession, args: &Args) -> Outcome {
    let shown = args.path.clone().unwrap_or_else(|| "?".to_owned());
    let fail = |error: ToolError| (error, shown.clone());
    let bad = |text: &str| fail(ToolError::BadArguments(text.to_owned()));
    let path = args
        .path
        .as_deref()
        .filter(|path| !path.trim().is_empty())
        .ok_or_else(|| bad("path is missing"))?;
    let old = args
        .old_string
        .as_deref()
        .ok_or_else(|| bad("old_string is missing"))?;
    let new = args
        .new_string
        .as_deref()
        .ok_or_else(|| bad("new_string is missing; send an empty text to delete"))?;
    let path = session.absolute(Path::new(path));
    let mut changes = Changes::new(session);
    let mut hint = None;
    let wanted = Wanted {
        old,
        new,
        all: args.replace_all.unwrap_or(false),
    };
    let edited = changes.edit(&path, |text| {
        if let Some(why) = shown::copied_cut(text, old).filter(|_| !text.contains(old)) {
            return Err(ToolError::BadArguments(why));
        }
        let plain = (old.replace("\r\n", "\n"), new.replace("\r\n", "\n"));
        let wanted = Wanted {
            old: &plain.0,
            new: &plain.1,
            ..wanted
        };
        match replace::replace(text, wanted) {
            Ok(replaced) => {
                hint = replaced.hint;
                Ok(replaced.text)
            }
            Err(refused) => Err(refusal(session.mask(), &path, text, old, &refused)),
        }
    });
    let report = edited.and_then(|()| changes.commit()).map_err(fail)?;
    Ok((report.into_report(hint), shown))
}

/// The refusal with what may have been meant, secrets masked.
fn refusal(mask: &Mask, path: &Path, text: &str, old: &str, refused: &Refused) -> ToolError {
    let mut why = refused.why.clone();
    if !text.contains(old) && mask.file(path, text).contains(old) {
        why.push_str(". It contains a secret that is masked when shown; choose lines without it");
    } else if !refused.nearest.is_empty() {
        let sections = refused.nearest.join("\n---\n");
        why = format!(
            "{why}. Did you mean one of these sections?\n{}",
            mask.file(path, &sections)
        );
    }
    ToolError::Failed(why)
}

fn apply(session: &ToolSession, args: &Args) -> Outcome {
    let fail = |error: ToolError| (error, "?".to_owned());
    let text = args
        .patch
        .as_deref()
        .ok_or_else(|| fail(ToolError::BadArguments("patch is missing".to_owned())))?;
    let operations = v4a::parse(text)
        .map_err(|why| fail(ToolError::BadArguments(format!("the patch is malformed: {why}"))))?;
    let paths: Vec<&str> = operations.iter().map(Operation::path).collect();
    let paths = paths.join(", ");
    let mut changes = Changes::new(session);
    let mut run = || {
        operations
            .iter()
            .try_for_each(|operation| perform(session, &mut changes, operation))
    };
    let report = run().and_then(|()| changes.commit()).map_err(|error| {
        let text = format!("nothing was changed: {error}");
        (ToolError::Failed(text), paths.clone())
    })?;
    Ok((report.into_report(None), paths))
}

impl Operation {
    fn path(&self) -> &str {
        match self {
            Self::Add { path, .. } | Self::Update { path, .. } | Self::Delete { path } => path,
            Self::Move { from, .. } => from,
        }
    }
}

fn perform(session: &ToolSession, changes: &mut Changes<'_>, operation: &Operation) -> Result<(), ToolError> {
    let full = |path: &str| session.absolute(Path::new(path));
    match operation {
        Operation::Add { path, content } => changes.add(&full(path), content),
        Operation::Delete { path } => changes.delete(&full(path)),
        Operation::Move { from, to } => changes.rename(&full(from), &full(to)),
        Operation::Update { path, moved, hunks } => {
            if !hunks.is_empty() {
                changes.edit(&full(path), |text| {
                    hunks::apply(text, hunks).map_err(|why| ToolError::Failed(format!("{path}: {why}")))
                })?;
            }
            moved
                .as_ref()
                .map_or(Ok(()), |to| changes.rename(&full(path), &full(to)))
        }
    }
}

impl changes::Done {
    fn into_report(self, hint: Option<String>) -> Report {
        Report {
            success: true,
            diff: self.diff,
            files_modified: self.modified,
            files_created: self.created,
            files_deleted: self.deleted,
            lint: self.lint,
            error: None,
            warning: self.stale.then_some(
                "a file had been changed by something else since it was last read here; read it again before further edits",
            ),
            hint,
        }
    }
}

#[cfg(test)]
mod tests;
