//! What reaches a session while it is busy.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use talaria_types::{ApprovalAnswer, Op};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// What `/background` is given by the session itself, to take in what has come.
pub(crate) const COLLECT: &str = "collect";

/// Does a command that needs no turn's end; whether it was one.
pub(crate) type Aside = Arc<dyn Fn(&str, &str) -> bool + Send + Sync>;

/// What reaches a session while a turn runs: guidance, answers, the wish to stop.
#[derive(Default)]
pub(crate) struct Inbox {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// Stops the turn that runs, or the next one that is queued.
    turn: CancellationToken,
    /// Turns that run or are queued.
    turns: u32,
    steer: Vec<String>,
    work: Option<mpsc::UnboundedSender<Op>>,
    aside: Option<Aside>,
    approvals: HashMap<String, oneshot::Sender<ApprovalAnswer>>,
    replies: HashMap<String, oneshot::Sender<Option<String>>>,
}

impl Inbox {
    /// The token that stops the turn that begins now.
    pub(crate) fn begin_turn(&self) -> CancellationToken {
        self.lock().turn.clone()
    }

    /// The turn is over; what stopped it must not stop the next one.
    pub(crate) fn end_turn(&self) {
        let mut inner = self.lock();
        inner.turns = inner.turns.saturating_sub(1);
        inner.turn = CancellationToken::new();
    }

    /// Whether another turn is queued or runs.
    pub(crate) fn goes_on(&self) -> bool {
        self.lock().turns > 0
    }

    /// Where prompts of the session itself go.
    pub(crate) fn work_into(&self, work: mpsc::UnboundedSender<Op>) {
        self.lock().work = Some(work);
    }

    /// Stops the turn that runs.
    pub(crate) fn interrupt(&self) {
        self.lock().turn.cancel();
    }

    /// Work that went on beside the conversation has brought something: the session takes it in as soon as it is free.
    pub(crate) fn wake(&self) {
        let work = self.lock().work.clone();
        if let Some(work) = work {
            self.expect_turn();
            let _ = work.send(Op::Command {
                name: "background".to_owned(),
                args: COLLECT.to_owned(),
            });
        }
    }

    /// Commands of this kind are done at once, even while a turn runs.
    pub(crate) fn set_aside(&self, aside: Aside) {
        self.lock().aside = Some(aside);
    }

    /// The session has ended: nothing of it is held on to.
    pub(crate) fn close(&self) {
        let aside = self.lock().aside.take();
        drop(aside);
    }

    /// Makes a prompt of what the person said.
    pub(crate) fn ask_next(&self, text: String) {
        let work = self.lock().work.clone();
        if let Some(work) = work {
            self.expect_turn();
            let _ = work.send(Op::Prompt { content: text.into() });
        }
    }

    /// A prompt has arrived. An interrupt from now on is meant for its turn; one
    /// that came while nothing ran was meant for nothing.
    pub(crate) fn expect_turn(&self) {
        let mut inner = self.lock();
        if inner.turns == 0 {
            inner.turn = CancellationToken::new();
        }
        inner.turns += 1;
    }

    /// Guidance that has not reached the model yet.
    pub(crate) fn take_steer(&self) -> Option<String> {
        let steer = std::mem::take(&mut self.lock().steer);
        (!steer.is_empty()).then(|| steer.join("\n"))
    }

    /// Waits for the answer to an approval request.
    pub(crate) fn expect_approval(&self, id: &str) -> oneshot::Receiver<ApprovalAnswer> {
        let (sender, receiver) = oneshot::channel();
        self.lock().approvals.insert(id.to_owned(), sender);
        receiver
    }

    /// Waits for the answer to a question.
    pub(crate) fn expect_reply(&self, id: &str) -> oneshot::Receiver<Option<String>> {
        let (sender, receiver) = oneshot::channel();
        self.lock().replies.insert(id.to_owned(), sender);
        receiver
    }

    /// Sorts what arrives: what concerns the running turn takes effect at once,
    /// everything else waits its turn in `work`.
    pub(crate) async fn sort(
        self: Arc<Self>,
        mut ops: mpsc::UnboundedReceiver<Op>,
        work: mpsc::UnboundedSender<Op>,
    ) {
        while let Some(op) = ops.recv().await {
            match op {
                Op::Steer { text } => self.lock().steer.push(text),
                Op::Interrupt => self.lock().turn.cancel(),
                Op::Approve { id, answer } => {
                    let waiting = self.lock().approvals.remove(&id);
                    waiting.map(|sender| sender.send(answer));
                }
                Op::Reply { id, text } => {
                    let waiting = self.lock().replies.remove(&id);
                    waiting.map(|sender| sender.send(text));
                }
                Op::Shutdown => {
                    self.lock().turn.cancel();
                    let _ = work.send(Op::Shutdown);
                }
                Op::Prompt { .. } => {
                    self.expect_turn();
                    let _ = work.send(op);
                }
                Op::Command { ref name, ref args } => {
                    // Without a turn it is one of the session's commands like any other.
                    let busy = self.goes_on();
                    let aside = self.lock().aside.clone().filter(|_| busy);
                    if !aside.is_some_and(|aside| aside(name, args)) {
                        let _ = work.send(op);
                    }
                }
            }
        }
        // The face is gone: nobody can answer or wants the rest.
        self.lock().turn.cancel();
        let _ = work.send(Op::Shutdown);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
