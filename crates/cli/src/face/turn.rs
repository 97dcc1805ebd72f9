//! One turn from the face's side: events are shown, lines and signals passed on.

use std::collections::VecDeque;
use std::time::Duration;

use talaria_runtime::{Events, SessionHandle};
use talaria_types::{Envelope, Event, Op, TurnResult};
use tokio::time::Instant;

use super::keyboard::Keyboard;
use super::questions::Pending;
use super::signals::Signals;
use super::view::View;
use crate::output;

/// How long an interrupted turn may take to close its books before the program ends without it.
const GRACE: Duration = Duration::from_millis(250);
/// How often the view may show that time passes.
const TICK: Duration = Duration::from_millis(120);

/// Who takes part in a turn.
pub(super) struct Turn<'a> {
    pub(super) session: &'a SessionHandle,
    pub(super) events: &'a mut Events,
    pub(super) signals: &'a mut Signals,
    pub(super) watcher: &'a mut dyn Watcher,
    /// Somebody can type.
    pub(super) keyboard: Option<&'a mut Keyboard>,
    /// Where slash commands wait for the turn's end; nowhere when nothing comes after this turn.
    pub(super) later: Option<&'a mut VecDeque<String>>,
    /// An interrupted turn that does not end is left behind after a moment, because the process ends too.
    pub(super) leaving: bool,
}

/// Sees every event.
pub(super) trait Watcher {
    /// One event.
    fn event(&mut self, envelope: &Envelope);
    /// The view of a person, when there is one.
    fn view(&mut self) -> Option<&mut View>;
}

impl Watcher for View {
    fn event(&mut self, envelope: &Envelope) {
        View::event(self, &envelope.event);
    }
    fn view(&mut self) -> Option<&mut View> {
        Some(self)
    }
}

/// How it ended.
pub(super) enum End {
    /// With a result.
    Finished(Box<TurnResult>),
    /// A slash command was answered.
    Answered,
    /// It was stopped and did not end in time, or was stopped twice.
    Left,
    /// The session's actor is gone.
    Gone,
}

impl Turn<'_> {
    /// Asks `op` of the session and stays until it is done; without one, stays for the
    /// turn that the session runs by itself.
    pub(super) async fn run(mut self, op: Option<Op>) -> End {
        let is_command = matches!(op, Some(Op::Command { .. }));
        op.into_iter().for_each(|op| self.session.send(op));
        let mut running = !is_command;
        let mut pending: Vec<Pending> = Vec::new();
        let mut deadline: Option<Instant> = None;
        let mut ticks = tokio::time::interval(TICK);
        loop {
            tokio::select! {
                biased;
                () = self.signals.next() => {
                    if deadline.is_some() {
                        return End::Left;
                    }
                    self.session.send(Op::Interrupt);
                    let patience = if self.leaving { GRACE } else { Duration::from_secs(3_600) };
                    deadline = Some(Instant::now() + patience);
                }
                () = until(deadline) => return End::Left,
                received = self.events.recv() => {
                    let Some(envelope) = received else { return End::Gone };
                    self.watcher.event(&envelope);
                    match envelope.event {
                        Event::TurnStarted { .. } => running = true,
                        Event::TurnFinished { result } if !is_command => return End::Finished(result),
                        Event::TurnFinished { .. } => running = false,
                        Event::ApprovalRequested(request) => self.ask(&mut pending, Pending::Approval(request)),
                        Event::QuestionAsked(question) => self.ask(&mut pending, Pending::Question(question)),
                        Event::ApprovalAnswered { id, .. } => pending.retain(|asked| asked.id() != id),
                        Event::Status { .. } | Event::Warning { .. } if is_command && !running => {
                            return End::Answered;
                        }
                        _ => {}
                    }
                }
                line = typed(&mut self.keyboard) => {
                    let asked_to_leave = line.as_deref().is_some_and(is_farewell);
                    self.line(&mut pending, line);
                    if asked_to_leave {
                        deadline.get_or_insert(Instant::now() + GRACE);
                    }
                }
                _ = ticks.tick() => {
                    if pending.is_empty() && let Some(view) = self.watcher.view() {
                        view.tick();
                    }
                }
            }
        }
    }

    fn ask(&mut self, pending: &mut Vec<Pending>, asked: Pending) {
        if self.keyboard.is_none() {
            self.session.send(asked.declined());
            return;
        }
        if pending.is_empty() {
            self.show(&asked);
        }
        pending.push(asked);
    }

    fn show(&mut self, asked: &Pending) {
        if let Some(view) = self.watcher.view() {
            view.clear();
        }
        let style = self.watcher.view().map(|view| view.style()).unwrap_or_default();
        output::notes(&asked.shown(style));
    }

    /// A line: the answer to what is asked, else guidance for the turn.
    fn line(&mut self, pending: &mut Vec<Pending>, line: Option<String>) {
        let Some(line) = line else {
            // Nobody can type any more.
            self.keyboard = None;
            for asked in pending.drain(..) {
                self.session.send(asked.declined());
            }
            return;
        };
        if is_farewell(&line) {
            self.session.send(Op::Interrupt);
            if let Some(later) = &mut self.later {
                later.clear();
                later.push_back(line);
            }
            return;
        }
        if let Some(asked) = pending.first() {
            match asked.answer(&line) {
                Some(op) => {
                    self.session.send(op);
                    pending.remove(0);
                }
                None => output::note("  please answer with one of the letters"),
            }
            if let Some(next) = pending.first() {
                let style = self.watcher.view().map(|view| view.style()).unwrap_or_default();
                output::notes(&next.shown(style));
            }
            return;
        }
        match line.trim() {
            "" => {}
            "/stop" => self.session.send(Op::Interrupt),
            command if is_beside(command) => self.session.send(beside(command)),
            command if command_of(command).is_some() => self.postpone(command),
            text => {
                self.session.send(Op::Steer {
                    text: text.to_owned(),
                });
                if let Some(view) = self.watcher.view() {
                    view.progress("⏩ the model will see this after the next tool result");
                }
            }
        }
    }

    /// A command is not for the model: it is done after the turn, and the person is told so.
    fn postpone(&mut self, command: &str) {
        if let Some(view) = self.watcher.view() {
            view.clear();
        }
        match &mut self.later {
            Some(later) => {
                later.push_back(command.to_owned());
                output::note(&format!(
                    "{command} waits until this turn has ended (/stop ends it now)"
                ));
            }
            None => output::note("commands need an interactive session; /stop ends this turn"),
        }
    }
}

/// The command that a line is; a line that begins with a path is none.
pub(super) fn command_of(line: &str) -> Option<&str> {
    let command = line.strip_prefix('/')?;
    let name = command.split_whitespace().next().unwrap_or_default();
    (!name.contains('/')).then_some(command)
}

/// Whether a line says that the person leaves.
pub(super) fn is_farewell(line: &str) -> bool {
    matches!(line.trim(), "/quit" | "/exit" | "/q")
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

async fn typed(keyboard: &mut Option<&mut Keyboard>) -> Option<String> {
    match keyboard {
        Some(keyboard) => keyboard.line().await,
        None => std::future::pending().await,
    }
}

/// Commands about what goes on beside the conversation need not wait for a turn.
fn is_beside(line: &str) -> bool {
    let name = command_of(line).and_then(|line| line.split_whitespace().next());
    matches!(name, Some("background" | "bg" | "btw" | "agents" | "tasks"))
}

fn beside(line: &str) -> Op {
    let line = command_of(line).unwrap_or_default();
    let (name, args) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    Op::Command {
        name: name.to_owned(),
        args: args.trim().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{command_of, is_farewell};

    #[test]
    fn a_line_that_begins_with_a_path_is_no_command() {
        assert_eq!(command_of("/undo 2"), Some("undo 2"));
        assert_eq!(command_of("/tmp/foo is broken"), None);
        assert_eq!(command_of("undo"), None);
    }

    #[test]
    fn quit_typed_while_a_turn_runs_is_a_farewell_and_a_path_is_not() {
        assert!(is_farewell("/quit") && is_farewell(" /exit ") && is_farewell("/q"));
        assert!(!is_farewell("/quiet") && !is_farewell("quit") && !is_farewell("/usr/bin/q"));
    }
}
