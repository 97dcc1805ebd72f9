//! Lines typed while a turn runs.
//!
//! The line editor owns the terminal between turns; while one runs the terminal
//! stays in its ordinary mode, where a line is handed over whole. It is only read
//! once it is there, so that nothing is taken from the editor's next line.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::sync::mpsc;

/// How long the reader sleeps at most before it looks whether it is still wanted.
const NAP: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};

/// Lines of standard input, as long as this exists.
pub(crate) struct Keyboard {
    lines: mpsc::UnboundedReceiver<String>,
    over: Arc<AtomicBool>,
    reader: Option<std::thread::JoinHandle<()>>,
}

impl Keyboard {
    /// Begins to read.
    pub(crate) fn open() -> Self {
        let (sender, lines) = mpsc::unbounded_channel();
        let over = Arc::new(AtomicBool::new(false));
        let stop = over.clone();
        let reader = std::thread::spawn(move || read(&sender, &stop));
        Self {
            lines,
            over,
            reader: Some(reader),
        }
    }

    /// The next line, without its end; nothing when the input has ended.
    pub(crate) async fn line(&mut self) -> Option<String> {
        self.lines.recv().await
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

fn read(lines: &mpsc::UnboundedSender<String>, over: &AtomicBool) {
    let stdin = std::io::stdin();
    while !over.load(Ordering::Relaxed) {
        let fd = stdin.as_fd();
        let mut fds = [PollFd::new(&fd, PollFlags::IN)];
        match poll(&mut fds, Some(&NAP)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            Ok(_) => {}
            Err(_) => return,
        }
        let mut line = String::new();
        match stdin.read_line(&mut line) {
            Ok(0) | Err(_) => return,
            Ok(_)
                if lines
                    .send(line.trim_end_matches(['\n', '\r']).to_owned())
                    .is_err() =>
            {
                return;
            }
            Ok(_) => {}
        }
    }
}
