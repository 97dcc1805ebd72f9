//! The log: `logs/agent.log` and, from warnings on, `logs/errors.log`.
//!
//! Every line carries session and turn (tasks inherit them), has its secrets
//! masked, and is written whole. Files are opened at the first line and turned
//! over at their size, so a command that logs nothing makes no file.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use talaria_config::LoggingConfig;
use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;

/// Sends this process's log to a home's `logs` folder. The first call counts.
pub fn init(folder: &Path, config: &LoggingConfig) {
    let level = config.level.parse().unwrap_or(Level::INFO);
    let logs = Logs {
        agent: Rotating::new(folder.join("agent.log"), config),
        errors: Rotating::new(folder.join("errors.log"), config),
    };
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_ansi(false)
        .with_timer(LocalTime)
        .with_writer(logs)
        .finish();
    // A second engine in one process keeps the first one's log.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

struct LocalTime;

impl tracing_subscriber::fmt::time::FormatTime for LocalTime {
    fn format_time(&self, w: &mut tracing_subscriber::fmt::format::Writer<'_>) -> std::fmt::Result {
        write!(
            w,
            "{}",
            jiff::ZonedDateTime::now().strftime("%Y-%m-%d %H:%M:%S%.3f")
        )
    }
}

struct Logs {
    agent: Rotating,
    errors: Rotating,
}

/// One line on its way to the files it belongs in.
struct Line<'a> {
    logs: &'a Logs,
    serious: bool,
    text: Vec<u8>,
}

impl<'a> MakeWriter<'a> for Logs {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line {
            logs: self,
            serious: false,
            text: Vec::new(),
        }
    }

    fn make_writer_for(&'a self, meta: &Metadata<'_>) -> Line<'a> {
        Line {
            logs: self,
            serious: *meta.level() <= Level::WARN,
            text: Vec::new(),
        }
    }
}

impl Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Drop for Line<'_> {
    fn drop(&mut self) {
        let text = String::from_utf8_lossy(&self.text);
        let masked = talaria_redact::redact_own(&text);
        self.logs.agent.write(&masked);
        if self.serious {
            self.logs.errors.write(&masked);
        }
    }
}

/// A file that is turned over at its size: `agent.log`, `agent.log.1`, …
struct Rotating {
    path: PathBuf,
    most: u64,
    keep: u32,
    file: Mutex<Option<(File, u64)>>,
}

impl Rotating {
    fn new(path: PathBuf, config: &LoggingConfig) -> Self {
        Self {
            path,
            most: config.max_size_mb.saturating_mul(1024 * 1024).max(1024),
            keep: config.backup_count,
            file: Mutex::new(None),
        }
    }

    /// Writes a line; a log that cannot be written must not stop a turn.
    fn write(&self, line: &str) {
        let mut slot = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if slot
            .as_ref()
            .is_some_and(|(_, size)| *size + line.len() as u64 > self.most)
        {
            *slot = None;
            self.turn_over();
        }
        if slot.is_none() {
            *slot = open(&self.path);
        }
        if let Some((file, size)) = slot.as_mut()
            && file.write_all(line.as_bytes()).is_ok()
        {
            *size += line.len() as u64;
        }
    }

    fn turn_over(&self) {
        for number in (1..self.keep).rev() {
            let _ = std::fs::rename(numbered(&self.path, number), numbered(&self.path, number + 1));
        }
        if self.keep > 0 {
            let _ = std::fs::rename(&self.path, numbered(&self.path, 1));
        } else {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn open(path: &Path) -> Option<(File, u64)> {
    std::fs::create_dir_all(path.parent()?).ok()?;
    let file = OpenOptions::new().create(true).append(true).open(path).ok()?;
    let size = file.metadata().map_or(0, |metadata| metadata.len());
    Some((file, size))
}

fn numbered(path: &Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_reaches_its_size_is_turned_over_and_the_oldest_goes() {
        let folder = tempfile::tempdir().unwrap();
        let log = Rotating {
            path: folder.path().join("logs/agent.log"),
            most: 1024,
            keep: 2,
            file: Mutex::new(None),
        };
        for number in 0..100 {
            log.write(&format!("line {number:03} {}\n", "x".repeat(90)));
        }
        let read = |name: &str| std::fs::read_to_string(folder.path().join("logs").join(name)).unwrap();
        assert!(read("agent.log").contains("line 099"));
        assert!(read("agent.log.2").lines().count() <= 10);
        assert!(!folder.path().join("logs/agent.log.3").exists());
    }
}
