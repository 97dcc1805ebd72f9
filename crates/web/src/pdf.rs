//! The text of a PDF, read by a process of its own.
//!
//! PDF readers fail in the ways of what they read: they panic, never end, or take all memory. The process
//! that [`serve`] runs in has bounds on time and memory, no environment, and nothing to lose; [`read`]
//! starts it and takes what it says.

use std::io::{Read, Write};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::WebError;

/// The argument that makes the program read a PDF.
pub const ARGUMENT: &str = "__read-pdf";
/// What the program says first, so that another program is not taken for it.
const GREETING: &[u8] = b"talaria-pdf 1\n";
/// The longest the program may work, in seconds.
const PATIENCE: u64 = 30;
/// The most bytes of text.
const MOST: u64 = 8_000_000;
/// The most memory of the program, in bytes.
const MEMORY: u64 = 2 * 1024 * 1024 * 1024;
/// The stack of its reading thread, in bytes.
const STACK: usize = 256 * 1024 * 1024;

/// Reads a PDF from standard input and writes its text to standard output; the work of the program.
///
/// # Errors
/// When there is no text in it; the message says why.
pub fn serve() -> Result<(), String> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let bound = |most| Rlimit {
        current: Some(most),
        maximum: Some(most),
    };
    // Where a bound cannot be set, the one who waits still has his own.
    let _ = setrlimit(Resource::As, bound(MEMORY));
    let _ = setrlimit(Resource::Cpu, bound(PATIENCE));
    let _ = setrlimit(Resource::Core, bound(0));
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .read_to_end(&mut bytes)
        .map_err(|error| error.to_string())?;
    // The library writes what it wonders about to standard output, which is ours.
    let text = extracted(bytes)?;
    let mut out = std::io::stdout().lock();
    out.write_all(GREETING)
        .and_then(|()| out.write_all(text.as_bytes()))
        .and_then(|()| out.flush())
        .map_err(|error| error.to_string())
}

/// The text of a PDF, on a thread with room; a panic is an error.
fn extracted(bytes: Vec<u8>) -> Result<String, String> {
    std::panic::set_hook(Box::new(|_| {}));
    let reader = std::thread::Builder::new()
        .stack_size(STACK)
        .spawn(move || pdf_extract::extract_text_from_mem(&bytes).map_err(|error| error.to_string()));
    reader
        .map_err(|error| error.to_string())?
        .join()
        .map_err(|_| "it is damaged, or made in a way the reader does not know".to_owned())?
}

/// The text of a PDF as `program` reads it.
///
/// # Errors
/// When there is no program, it does not end in time, or the PDF gives no text.
pub async fn read(program: Option<&Path>, bytes: Vec<u8>) -> Result<String, WebError> {
    let program = program.ok_or_else(|| WebError::Pdf("there is no program to read it with".to_owned()))?;
    let text = within(Duration::from_secs(PATIENCE), answer_of(program, bytes)).await?;
    if text.trim().is_empty() {
        return Err(WebError::Pdf(
            "it holds no text; it may be made of pictures".to_owned(),
        ));
    }
    Ok(text)
}

/// What the program says, if it says it in time; it is killed otherwise.
async fn within(
    patience: Duration,
    work: impl Future<Output = Result<String, WebError>>,
) -> Result<String, WebError> {
    let late = || WebError::Pdf(format!("the reader did not end within {} s", patience.as_secs()));
    tokio::time::timeout(patience, work).await.map_err(|_| late())?
}

async fn answer_of(program: &Path, bytes: Vec<u8>) -> Result<String, WebError> {
    let failed = |error: std::io::Error| WebError::Pdf(error.to_string());
    let mut child = tokio::process::Command::new(program)
        .arg(ARGUMENT)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(failed)?;
    let input = child.stdin.take();
    let (output, errors) = (child.stdout.take(), child.stderr.take());
    let feed = async move {
        if let Some(mut input) = input {
            // A program that does not read to the end says why itself.
            let _ = input.write_all(&bytes).await;
        }
    };
    let (mut said, mut complained) = (Vec::new(), Vec::new());
    let hear = async {
        if let Some(output) = output {
            output.take(MOST).read_to_end(&mut said).await?;
        }
        Ok::<(), std::io::Error>(())
    };
    let listen = async {
        if let Some(errors) = errors {
            errors.take(2_000).read_to_end(&mut complained).await?;
        }
        Ok::<(), std::io::Error>(())
    };
    let (_, heard, listened) = tokio::join!(feed, hear, listen);
    heard.and(listened).map_err(failed)?;
    let place = said.windows(GREETING.len()).position(|window| window == GREETING);
    let Some(place) = place else {
        let why = String::from_utf8_lossy(&complained);
        let why = why.trim().lines().last().unwrap_or("the reader gave up");
        return Err(WebError::Pdf(why.chars().take(200).collect()));
    };
    Ok(String::from_utf8_lossy(&said[place + GREETING.len()..]).into_owned())
}

#[cfg(test)]
mod tests;
