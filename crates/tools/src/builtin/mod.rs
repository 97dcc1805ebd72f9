//! The built-in tools, one file or folder each.

mod clarify;
mod execute_code;
mod patch;
pub mod process;
mod read_file;
mod search_files;
pub mod terminal;
mod todo;
mod write_file;

use std::sync::Arc;

use crate::AnyTool;
use crate::tool::erase;

/// Every built-in tool with its toolset: one line each.
pub(crate) fn all() -> Vec<(&'static str, Arc<dyn AnyTool>)> {
    vec![
        ("clarify", erase(clarify::Clarify)),
        ("code_execution", erase(execute_code::ExecuteCode)),
        ("file", erase(patch::Patch)),
        ("file", erase(read_file::ReadFile)),
        ("file", erase(search_files::SearchFiles)),
        ("file", erase(write_file::WriteFile)),
        ("terminal", erase(process::Process)),
        ("terminal", erase(terminal::Terminal)),
        ("todo", erase(todo::Todo)),
    ]
}

/// `number` with separators, as briefs write it.
fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Runs `work`, which blocks on the disk, beside the other tasks.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, crate::ToolError> + Send + 'static,
) -> Result<T, crate::ToolError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(crate::ToolError::Interrupted),
    }
}

/// What the system said, in words that do not change with the system.
fn io_text(error: &std::io::Error) -> String {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::NotFound => "it does not exist".to_owned(),
        ErrorKind::PermissionDenied => format!("permission denied ({error})"),
        ErrorKind::IsADirectory => "it is a folder".to_owned(),
        ErrorKind::NotADirectory => "a part of the path is a file, not a folder".to_owned(),
        ErrorKind::StorageFull => "the disk is full".to_owned(),
        ErrorKind::ReadOnlyFilesystem => "the file system is read-only".to_owned(),
        _ => error.to_string(),
    }
}
