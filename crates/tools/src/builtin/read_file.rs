//! `read_file`: a page of a text file with line numbers.

use std::fs::{File, Metadata};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use talaria_types::Effect;
use tokio_util::sync::CancellationToken;

use super::{blocking, io_text, thousands};
use crate::files::text::{Text, is_binary, is_image};
use crate::files::{guard, nearby, shown};
use crate::mask::Mask;
use crate::session::{Repeat, Stamp};
use crate::tool::Parallel;
use crate::{Tool, ToolContext, ToolError, ToolOutput, ToolSession, executor, untrusted};

/// Lines of a page when none are asked for, and at most.
const PAGE: u64 = 500;
const PAGE_MOST: u64 = 2_000;

/// Bytes of a file that is read without leaving the thread.
const AT_ONCE: u64 = 64 << 10;

/// A larger file is not read whole: its pages are streamed and its lines not counted.
const WHOLE: u64 = 32 << 20;

/// Files up to this size are searched for secrets as a whole.
const MASKED_WHOLE: usize = 1 << 20;

/// A longer line of a streamed file is not kept in memory.
const STREAMED_LINE: u64 = 64 << 10;

/// See the module.
pub(crate) struct ReadFile;

/// Arguments.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// File path: absolute, relative to the working folder, or ~/…
    #[serde(alias = "file_path", alias = "filename")]
    path: String,
    /// First line to read, from 1 (default 1)
    #[serde(default)]
    offset: Option<i64>,
    /// Number of lines (default 500, at most 2000)
    #[serde(default)]
    limit: Option<i64>,
}

/// What the model reads.
#[derive(Default, Serialize)]
struct Page {
    content: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_lines: Option<u64>,
    file_size: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<&'static str>,
}

/// What the model reads when there is nothing to show.
#[derive(Default, Serialize)]
struct Refusal {
    error: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_binary: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_image: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_size: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    similar_files: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    entries: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    already_read: Option<u32>,
}

/// What the model reads when it has the page already.
#[derive(Serialize)]
struct Unchanged {
    status: &'static str,
    message: &'static str,
    path: String,
    dedup: bool,
    content_returned: bool,
}

impl Tool for ReadFile {
    const NAME: &'static str = "read_file";
    const DESCRIPTION: &'static str = "Read a text file with line numbers (LINE|text). Use it instead of cat, head or \
        tail; page through long files with offset and limit. The numbers are not part of the file. Binary files and \
        images cannot be read";
    const EFFECT: Effect = Effect::Read;
    type Args = Args;

    fn run<'a>(
        &'a self,
        args: Args,
        cx: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        let session = Arc::clone(cx.session);
        let cancel = cx.cancel.clone();
        if is_small(&session, &args) {
            return Box::pin(async move { read(&session, &args, &cancel) });
        }
        Box::pin(blocking(move || read(&session, &args, &cancel)))
    }

    fn parallel(&self, args: &Value) -> Parallel {
        args["path"]
            .as_str()
            .map_or(Parallel::Never, |path| Parallel::Path(PathBuf::from(path)))
    }

    fn keeps_whole_results(&self) -> bool {
        true
    }

    fn masks_secrets(&self) -> bool {
        true
    }
}

/// Whether reading the file takes less time than waking another thread for it.
fn is_small(session: &ToolSession, args: &Args) -> bool {
    let metadata = std::fs::metadata(session.absolute(Path::new(&args.path)));
    metadata.is_ok_and(|metadata| metadata.is_file() && metadata.len() <= AT_ONCE)
}

fn read(session: &ToolSession, args: &Args, cancel: &CancellationToken) -> Result<ToolOutput, ToolError> {
    if args.path.trim().is_empty() {
        return Err(ToolError::BadArguments("path is empty".to_owned()));
    }
    let first = u64::try_from(args.offset.unwrap_or(1).max(1)).unwrap_or(1);
    let lines = args.limit.map_or(PAGE, |limit| {
        u64::try_from(limit.max(1)).unwrap_or(1).min(PAGE_MOST)
    });
    let mut path = session.absolute(Path::new(&args.path));
    if let Some(why) =
        guard::read_refusal(session, &path).or_else(|| guard::read_refusal(session, &guard::resolved(&path)))
    {
        return Err(ToolError::Denied(why));
    }
    let metadata = match std::fs::metadata(&path) {
        Ok(metadata) => metadata,
        Err(error) => match nearby::by_shown_name(&path).and_then(|real| Some((real.metadata().ok()?, real)))
        {
            Some((metadata, real)) => {
                path = real;
                metadata
            }
            None => return Ok(refuse(args, &missing(session, &path, &error))),
        },
    };
    if metadata.is_dir() {
        return Ok(refuse(args, &folder(&path)));
    }
    if !metadata.is_file() {
        let error = format!("{} is no regular file and cannot be read", path.display());
        return Ok(refuse(
            args,
            &Refusal {
                error,
                ..Refusal::default()
            },
        ));
    }
    let settings = session.settings();
    let view = View {
        first,
        lines,
        most: settings
            .read_max_chars
            .min(executor::result_chars(settings.window)),
        cancel,
    };
    page(session, args, &path, &metadata, &view)
}

fn page(
    session: &ToolSession,
    args: &Args,
    path: &Path,
    metadata: &Metadata,
    view: &View<'_>,
) -> Result<ToolOutput, ToolError> {
    let stamp = Stamp::of(metadata);
    match session.reads().repeat(path, view.first, view.lines, stamp) {
        Repeat::No => {}
        Repeat::Unchanged => return Ok(unchanged(args)),
        Repeat::Blocked => {
            let error = "BLOCKED: this page was read before and the file has not changed; its content is further up \
                         in this conversation. Go on with what you have";
            let refusal = Refusal {
                error: error.to_owned(),
                already_read: Some(3),
                ..Refusal::default()
            };
            return Ok(refuse(args, &refusal));
        }
    }
    let failed =
        |error: std::io::Error| ToolError::Failed(format!("{}: {}", path.display(), io_text(&error)));
    let seen = if metadata.len() > WHOLE {
        stream(session.mask(), path, view).map_err(failed)?
    } else {
        let bytes = std::fs::read(path).map_err(failed)?;
        (!is_binary(path, &bytes)).then(|| whole(session.mask(), path, &bytes, view))
    };
    let Some(mut seen) = seen else {
        return Ok(refuse(args, &binary(path, metadata)));
    };
    seen.file_size = metadata.len();
    seen.content = untrusted::marked(&args.path, seen.content);
    session.reads().viewed(path, view.first, view.lines, stamp);
    let content = crate::tool::json_text(&seen);
    let brief = brief(args, &content);
    Ok(ToolOutput {
        content: content.into(),
        brief,
        ok: true,
    })
}

/// Which part of a file is shown.
struct View<'c> {
    /// From 1.
    first: u64,
    lines: u64,
    /// Characters at most.
    most: usize,
    cancel: &'c CancellationToken,
}

impl View<'_> {
    /// As many of `lines`, which begin at the first line of the view, as fit.
    fn fill<'t>(&self, lines: impl Iterator<Item = &'t str>) -> (String, u64) {
        let mut content = String::new();
        let mut chars = 0;
        let mut count = 0;
        for (number, line) in (self.first..).zip(lines) {
            let line = shown::numbered(number, line);
            chars += line.chars().count() + 1;
            if count >= self.lines || (count > 0 && chars > self.most) {
                break;
            }
            if count > 0 {
                content.push('\n');
            }
            content.push_str(&line);
            count += 1;
        }
        (content, count)
    }

    /// The page for `content`, which shows `count` lines of `total`, or of a number that is not known.
    fn page(&self, content: String, count: u64, total: Option<u64>) -> Page {
        let last = self.first + count - u64::from(count > 0);
        let of = total.map_or_else(|| "a very large file".to_owned(), |total| total.to_string());
        let more = total.is_none_or(|total| last < total);
        let hint = match total {
            Some(total) if count == 0 && total > 0 => Some(format!(
                "offset {} is past the end; the file has {total} lines",
                self.first
            )),
            _ if more && count > 0 => Some(format!(
                "lines {}-{last} of {of}; go on with offset={}",
                self.first,
                last + 1
            )),
            _ => None,
        };
        Page {
            content,
            total_lines: total,
            truncated: more && count > 0,
            hint,
            ..Page::default()
        }
    }
}

/// The page of a file that is held in memory.
fn whole(mask: &Mask, path: &Path, bytes: &[u8], view: &View<'_>) -> Page {
    let decoded = Text::decode(bytes);
    let lines: Vec<&str> = decoded.text.lines().collect();
    let start = usize::try_from(view.first - 1)
        .unwrap_or(usize::MAX)
        .min(lines.len());
    let wanted = usize::try_from(view.lines).unwrap_or(usize::MAX);
    let end = start.saturating_add(wanted).min(lines.len());
    // A secret of several lines is only seen when they are looked at together, but
    // looking at all of a large file for every page would take too long.
    let shown: Vec<String> = if bytes.len() <= MASKED_WHOLE {
        mask.lines(path, &lines).drain(start..end).collect()
    } else {
        mask.lines(path, &lines[start..end])
    };
    let (content, count) = view.fill(shown.iter().map(String::as_str));
    let mut page = view.page(content, count, u64::try_from(lines.len()).ok());
    page.encoding = decoded.encoding.label();
    page
}

/// The page of a file that is too large for memory; nothing when it is no text.
fn stream(mask: &Mask, path: &Path, view: &View<'_>) -> std::io::Result<Option<Page>> {
    let mut reader = BufReader::with_capacity(1 << 16, File::open(path)?);
    if is_binary(path, reader.fill_buf()?) {
        return Ok(None);
    }
    let mut lines: Vec<String> = Vec::new();
    let mut number = 0;
    while number < view.first + view.lines {
        if view.cancel.is_cancelled() {
            return Err(std::io::Error::other("interrupted"));
        }
        let Some(line) = next_line(&mut reader)? else {
            break;
        };
        number += 1;
        if number >= view.first {
            lines.push(line);
        }
    }
    let ended = number < view.first + view.lines;
    lines.truncate(usize::try_from(view.lines).unwrap_or(usize::MAX));
    let borrowed: Vec<&str> = lines.iter().map(String::as_str).collect();
    let masked = mask.lines(path, &borrowed);
    let (content, count) = view.fill(masked.iter().map(String::as_str));
    Ok(Some(view.page(content, count, ended.then_some(number))))
}

/// The next line, of which only the beginning is kept when it is very long.
fn next_line(reader: &mut impl BufRead) -> std::io::Result<Option<String>> {
    let mut line = Vec::new();
    let read = reader.by_ref().take(STREAMED_LINE).read_until(b'\n', &mut line)?;
    if read == 0 {
        return Ok(None);
    }
    if line.last() != Some(&b'\n') {
        reader.skip_until(b'\n')?;
    }
    let text = String::from_utf8_lossy(&line);
    Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()))
}

fn refuse(args: &Args, refusal: &Refusal) -> ToolOutput {
    let content = crate::tool::json_text(refusal);
    let brief = brief(args, &content);
    ToolOutput {
        content: content.into(),
        brief,
        ok: false,
    }
}

fn brief(args: &Args, content: &str) -> String {
    let (path, offset) = (&args.path, args.offset.unwrap_or(1));
    format!(
        "[read_file] read {path} from line {offset} ({} chars)",
        thousands(content.chars().count())
    )
}

fn unchanged(args: &Args) -> ToolOutput {
    let told = Unchanged {
        status: "unchanged",
        message: "the file has not changed since this page was read; its content is further up in this conversation",
        path: args.path.clone(),
        dedup: true,
        content_returned: false,
    };
    let content = crate::tool::json_text(&told);
    let brief = brief(args, &content);
    ToolOutput {
        content: content.into(),
        brief,
        ok: true,
    }
}

fn missing(session: &ToolSession, path: &Path, error: &std::io::Error) -> Refusal {
    Refusal {
        error: format!("cannot read {}: {}", path.display(), io_text(error)),
        similar_files: nearby::similar_names(path)
            .iter()
            .map(|path| session.shown(path))
            .collect(),
        ..Refusal::default()
    }
}

fn folder(path: &Path) -> Refusal {
    const LISTED: usize = 30;
    let entries = path.read_dir().into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| {
            let slash = if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                "/"
            } else {
                ""
            };
            format!("{}{slash}", entry.file_name().to_string_lossy())
        })
        .collect();
    names.sort();
    let more = names.len().saturating_sub(LISTED);
    names.truncate(LISTED);
    if more > 0 {
        names.push(format!("… and {more} more"));
    }
    Refusal {
        error: format!(
            "{} is a folder, not a file; list it with search_files (target \"files\")",
            path.display()
        ),
        entries: names,
        ..Refusal::default()
    }
}

fn binary(path: &Path, metadata: &Metadata) -> Refusal {
    let image = is_image(path);
    let kind = if image { "an image" } else { "a binary file" };
    Refusal {
        error: format!("{} is {kind} and cannot be shown as text", path.display()),
        is_binary: true,
        is_image: image,
        file_size: Some(metadata.len()),
        ..Refusal::default()
    }
}

#[cfg(test)]
mod tests;
