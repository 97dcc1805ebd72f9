//! `write_file`: a whole file, exactly as given.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use talaria_types::Effect;

use super::{blocking, io_text};
use crate::files::shown::{self, Numbered};
use crate::files::text::{Encoding, Text, is_binary};
use crate::files::{atomic, guard, lint};
use crate::session::Stamp;
use crate::tool::Parallel;
use crate::{Tool, ToolContext, ToolError, ToolOutput, ToolSession};

/// See the module.
pub(crate) struct WriteFile;

/// Arguments.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// File path; missing folders are made
    #[serde(alias = "file_path", alias = "filename")]
    path: String,
    /// The whole new content
    #[serde(alias = "contents", alias = "text")]
    content: String,
}

/// What the model reads.
#[derive(Serialize)]
struct Written {
    bytes_written: usize,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    dirs_created: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    line_endings: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lint: Option<lint::Finding>,
    #[serde(rename = "_warning", skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

impl Tool for WriteFile {
    const NAME: &'static str = "write_file";
    const DESCRIPTION: &'static str = "Write a whole file, replacing what was there. Use patch to change parts of an \
        existing file";
    const EFFECT: Effect = Effect::Write;
    type Args = Args;

    fn run<'a>(
        &'a self,
        args: Args,
        cx: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        let session = Arc::clone(cx.session);
        Box::pin(blocking(move || write(&session, &args)))
    }

    fn parallel(&self, args: &Value) -> Parallel {
        args["path"]
            .as_str()
            .map_or(Parallel::Never, |path| Parallel::Path(PathBuf::from(path)))
    }
}

fn write(session: &ToolSession, args: &Args) -> Result<ToolOutput, ToolError> {
    if args.path.trim().is_empty() {
        return Err(ToolError::BadArguments("path is empty".to_owned()));
    }
    let path = session.absolute(Path::new(&args.path));
    if let Some(why) = guard::write_refusal(session, &path) {
        return Err(ToolError::Denied(why));
    }
    let old = Old::of(session, &path)?;
    if let Some(why) = copied_from_view(session, &path, old.text.as_ref(), &args.content) {
        return Err(ToolError::BadArguments(why));
    }
    let kept = old.keep(&args.content);
    let dirs_created = path.parent().is_some_and(|folder| !folder.exists());
    atomic::replace(&path, &kept.bytes).map_err(|error| {
        ToolError::Failed(format!("cannot write {}: {}", path.display(), io_text(&error)))
    })?;
    session.reads().written(
        &path,
        std::fs::metadata(&path).ok().map(|metadata| Stamp::of(&metadata)),
    );
    let before = old.text.as_ref().map(|text| text.text.as_str());
    let written = Written {
        bytes_written: kept.bytes.len(),
        dirs_created,
        line_endings: kept.line_endings,
        lint: lint::new_fault(&path, before, &args.content),
        warning: old.stale.then(|| {
            "the file had been changed by something else since it was last read here; those changes are overwritten"
                .to_owned()
        }),
    };
    let lines = args.content.lines().count();
    Ok(ToolOutput::json(
        &written,
        format!("[write_file] wrote to {} ({lines} lines)", args.path),
    ))
}

/// What is replaced.
struct Old {
    /// Nothing for a new file and for one that is no text.
    text: Option<Text>,
    stale: bool,
}

/// What goes to the disk.
struct Kept {
    bytes: Vec<u8>,
    line_endings: Option<&'static str>,
}

/// A larger file is replaced without a look at what it was.
const LOOKED_AT: u64 = 16 << 20;

impl Old {
    fn of(session: &ToolSession, path: &Path) -> Result<Self, ToolError> {
        let Ok(metadata) = std::fs::metadata(path) else {
            return Ok(Self {
                text: None,
                stale: false,
            });
        };
        if metadata.is_dir() {
            return Err(ToolError::BadArguments(format!(
                "cannot write {}: it is a folder",
                path.display()
            )));
        }
        let stale = session.reads().stale(path, Stamp::of(&metadata));
        let bytes = if metadata.is_file() && metadata.len() <= LOOKED_AT {
            std::fs::read(path).ok()
        } else {
            None
        };
        let text = bytes
            .filter(|bytes| !is_binary(path, bytes))
            .map(|bytes| Text::decode(&bytes));
        Ok(Self { text, stale })
    }

    /// `content` with the byte order mark, the encoding and the line endings of the file it replaces.
    fn keep(&self, content: &str) -> Kept {
        let plain = || Kept {
            bytes: content.as_bytes().to_vec(),
            line_endings: None,
        };
        let Some(old) = &self.text else { return plain() };
        let crlf = old.is_crlf() && content.contains('\n') && !content.contains('\r');
        let ended = if crlf {
            content.replace('\n', "\r\n")
        } else {
            content.to_owned()
        };
        let encoding = if content.starts_with('\u{feff}') {
            Encoding::Utf8
        } else {
            old.encoding
        };
        let bytes = Text::encode(&ended, encoding).unwrap_or_else(|| ended.into_bytes());
        Kept {
            bytes,
            line_endings: crlf.then_some("kept as CRLF"),
        }
    }
}

/// Why `content` is a copy of what was shown of a file rather than of the file.
fn copied_from_view(session: &ToolSession, path: &Path, old: Option<&Text>, content: &str) -> Option<String> {
    let before = old.map_or("", |old| old.text.as_str());
    if let Some(why) = shown::copied_cut(before, content) {
        return Some(why);
    }
    let numbers = match shown::numbers(content) {
        Numbered::No => false,
        Numbered::Padded => shown::numbers(before) == Numbered::No,
        // Such a file may well be meant, unless it takes the place of one without numbers.
        Numbered::Bare => old.is_some() && !before.is_empty() && shown::numbers(before) == Numbered::No,
    };
    if numbers {
        return Some(
            "every line of the content begins with a line number prefix (\"1|…\") as read_file shows it; the numbers \
             are not part of the file. Nothing was written. Send the content without the prefixes"
                .to_owned(),
        );
    }
    let line = shown::copied_mask(before, content, |text| session.mask().file(path, text))?;
    Some(format!(
        "line {line} of the file holds a secret that is masked when shown; the content has the mask in its place and \
         would destroy the secret. Nothing was written. Use patch for the other lines"
    ))
}

#[cfg(test)]
mod tests;
