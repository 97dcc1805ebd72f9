//! The end of an interactive session that nobody asked for: the terminal has gone, or the process is told to end.
//!
//! The line editor neither looks at signals nor ends on a terminal that is gone: it reads "nothing"
//! from it for ever. So this watches beside it. It asks the editor to return first, and ends the
//! process itself when that does not happen in time.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};

use crate::exit::{Failure, INTERRUPTED};

/// How often the terminal is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// How long the session may take to close its books before the process ends without it.
const GRACE: Duration = Duration::from_secs(2);

/// What the watcher and the line editor tell each other.
#[derive(Clone, Default)]
pub(super) struct Departure {
    /// The session is over.
    pub(super) over: Arc<AtomicBool>,
    /// The line editor is to return: the session is over, or something was heard.
    pub(super) call: Arc<AtomicBool>,
    /// A line is awaited, so that an interrupt from outside means the session and no turn.
    pub(super) at_prompt: Arc<AtomicBool>,
}

/// Watches until the runtime ends.
pub(super) fn watch(runtime: &Runtime) -> Result<Departure, Failure> {
    let departure = Departure::default();
    let Departure {
        over,
        call,
        at_prompt,
    } = departure.clone();
    let _entered = runtime.enter();
    let listen = |kind| signal(kind).map_err(|error| Failure::failed(format!("signals: {error}")));
    let mut terminate = listen(SignalKind::terminate())?;
    let mut hangup = listen(SignalKind::hangup())?;
    let mut interrupt = listen(SignalKind::interrupt())?;
    let interrupted = async move {
        loop {
            interrupt.recv().await;
            // The editor reads Ctrl+C as a key; a signal comes from another program.
            if at_prompt.load(Ordering::Relaxed) {
                return;
            }
        }
    };
    runtime.spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
            () = interrupted => {}
            () = terminal_gone() => {}
        }
        over.store(true, Ordering::Relaxed);
        call.store(true, Ordering::Relaxed);
        tokio::time::sleep(GRACE).await;
        std::process::exit(i32::from(INTERRUPTED));
    });
    Ok(departure)
}

async fn terminal_gone() {
    let mut ticks = tokio::time::interval(LOOK);
    loop {
        ticks.tick().await;
        if has_hung_up(&std::io::stdin()) {
            return;
        }
    }
}

/// Whether nobody is at the other end of `input`; nothing is read from it.
fn has_hung_up(input: &impl AsFd) -> bool {
    const NOW: Timespec = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let mut fds = [PollFd::new(input, PollFlags::empty())];
    let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    poll(&mut fds, Some(&NOW)).is_ok_and(|ready| ready > 0) && fds[0].revents().intersects(gone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_whose_other_end_is_closed_has_hung_up() {
        let (reader, writer) = std::io::pipe().unwrap();
        assert!(!has_hung_up(&reader));
        drop(writer);
        assert!(has_hung_up(&reader));
    }
}
