//! A conversation on a terminal: a line editor between turns, the turn's events while one runs.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Instant;

use reedline::{
    DefaultCompleter, DefaultHinter, FileBackedHistory, Prompt, PromptEditMode, PromptHistorySearch,
    Reedline, Signal, ValidationResult, Validator,
};
use talaria_runtime::{Engine, Events, SessionHandle};
use talaria_types::{Content, Event, Op, SessionId};
use tokio::runtime::Runtime;

use super::departure::Departure;
use super::keyboard::Keyboard;
use super::signals::Signals;
use super::turn::{End, Turn, command_of, is_farewell};
use super::view::View;
use super::{Manner, departure, opening};
use crate::args::TurnFlags;
use crate::exit::{DONE, Failure, INTERRUPTED, Outcome};
use crate::output;
use crate::place::Place;

/// Lines of history that are kept.
const HISTORY: usize = 5_000;
/// Commands of this face; the engine has others.
const OWN: [(&str, &str); 3] = [
    ("quit", "leave (also /exit, Ctrl+D)"),
    ("clear", "clear the screen"),
    ("stop", "while a turn runs: stop it (also Ctrl+C)"),
];
/// Commands of the engine, for completion; `/help` has the whole list.
const ENGINES: [&str; 15] = [
    "help",
    "new",
    "resume",
    "branch",
    "title",
    "goal",
    "background",
    "context",
    "compress",
    "uncompress",
    "undo",
    "retry",
    "memory",
    "status",
    "yolo",
];

/// Talks until the person leaves.
pub(crate) fn converse(place: &Place, flags: &TurnFlags) -> Outcome {
    let open = opening::session(flags)?;
    let (engine, loaded) = opening::engine(place, flags, true)?;
    let resumed = open != talaria_runtime::Open::New;
    let runtime = opening::runtime()?;
    let (mut session, signals) = runtime.block_on(async {
        let signals = Signals::listen()?;
        Ok::<_, Failure>((engine.session(open).await?, signals))
    })?;
    let events = session
        .events()
        .ok_or_else(|| Failure::failed("the session gives no events"))?;
    let (out, err) = (place.stdout(), place.stderr());
    let view = View::new(Manner::Chat, out, err, true).set(&loaded.config.display);
    let id = session.id().clone();
    let mut talk = Talk {
        runtime: &runtime,
        session,
        events,
        signals,
        view,
        id,
        turns: 0,
        later: VecDeque::new(),
        began: Instant::now(),
    };
    let outcome = talk.run(place, &engine, flags, resumed);
    talk.leave(&engine);
    runtime.shutdown_background();
    outcome
}

struct Talk<'a> {
    runtime: &'a Runtime,
    session: SessionHandle,
    events: Events,
    signals: Signals,
    view: View,
    id: SessionId,
    turns: u32,
    /// Commands that were typed while a turn ran.
    later: VecDeque<String>,
    began: Instant,
}

impl Talk<'_> {
    fn run(&mut self, place: &Place, engine: &Engine, flags: &TurnFlags, resumed: bool) -> Outcome {
        let departure = departure::watch(self.runtime)?;
        let mut editor = editor(place).with_break_signal(departure.call.clone());
        self.listen(&departure);
        self.greet(engine, resumed);
        let mut images = flags.image.clone();
        let mut warned = false;
        loop {
            // The editor may have taken the flag's word already; a turn that ran meanwhile has not.
            if departure.over.load(Ordering::Relaxed) {
                return Ok(INTERRUPTED);
            }
            let typed = match self.later.pop_front() {
                Some(command) => Ok(Signal::Success(command)),
                None => {
                    departure.at_prompt.store(true, Ordering::Relaxed);
                    if !self.events.is_empty()
                        && let Some(code) = self.news()
                    {
                        return Ok(code);
                    }
                    let typed = editor.read_line(&Question);
                    departure.at_prompt.store(false, Ordering::Relaxed);
                    typed
                }
            };
            match typed {
                Ok(Signal::Success(line)) => {
                    warned = false;
                    let line = line.trim();
                    if line == "/clear" {
                        let _ = editor.clear_screen();
                    } else if let Some(code) = self.line(place, line, &mut images) {
                        return Ok(code);
                    }
                }
                Ok(Signal::CtrlC) if !warned => {
                    warned = true;
                    output::note("(Ctrl+C again, Ctrl+D or /quit to leave)");
                }
                Ok(Signal::ExternalBreak(_)) if departure.over.load(Ordering::Relaxed) => {
                    return Ok(INTERRUPTED);
                }
                // What was typed so far stays in the editor.
                Ok(Signal::ExternalBreak(_)) => {
                    if let Some(code) = self.news() {
                        return Ok(code);
                    }
                }
                Ok(_) => return Ok(DONE),
                Err(error) => return Err(unreadable(&error)),
            }
        }
    }

    /// Has the line editor return when something is heard that the person should know of now: work beside the
    /// conversation has ended, or the session goes on by itself.
    fn listen(&mut self, departure: &Departure) {
        let (forward, heard) = tokio::sync::mpsc::unbounded_channel();
        let mut events = std::mem::replace(&mut self.events, heard);
        let Departure { call, at_prompt, .. } = departure.clone();
        self.runtime.spawn(async move {
            while let Some(envelope) = events.recv().await {
                let is_news = matches!(
                    envelope.event,
                    Event::Status { .. } | Event::Warning { .. } | Event::TurnStarted { .. }
                );
                if forward.send(envelope).is_err() {
                    return;
                }
                if is_news && at_prompt.load(Ordering::Relaxed) {
                    call.store(true, Ordering::Relaxed);
                }
            }
        });
    }

    /// Tells what has come while the person typed, and stays with a turn that has begun; an exit code when the
    /// person leaves.
    fn news(&mut self) -> Option<u8> {
        while let Ok(envelope) = self.events.try_recv() {
            self.view.event(&envelope.event);
            if let Event::TurnFinished { result } = envelope.event
                && let Some(code) = self.settle(End::Finished(result))
            {
                return Some(code);
            }
        }
        self.follow()
    }

    /// Does what a line asks for; an exit code when the person leaves.
    fn line(&mut self, place: &Place, line: &str, images: &mut Vec<PathBuf>) -> Option<u8> {
        if line.is_empty() {
            return None;
        }
        if is_farewell(line) {
            return Some(DONE);
        }
        if let Some(command) = command_of(line) {
            return self.command(command);
        }
        match opening::content(place, line.to_owned(), &std::mem::take(images)) {
            Ok(content) => self.turn(content),
            Err(failure) => {
                output::note(&failure.to_string());
                None
            }
        }
    }

    fn greet(&self, engine: &Engine, resumed: bool) {
        let style = self.view.style();
        output::note(&style.bold(concat!("Talaria ", env!("CARGO_PKG_VERSION"))));
        if resumed {
            let title = engine
                .store()
                .session(&self.id)
                .ok()
                .flatten()
                .and_then(|row| row.title);
            let name = title.map(|title| format!(" “{title}”")).unwrap_or_default();
            output::note(&style.dim(&format!("↻ resumed {}{name}", self.id)));
        }
        output::note(
            &style.dim("/help lists the commands; Alt+Enter begins a new line; Ctrl+C stops a turn"),
        );
    }

    /// Runs a turn; an exit code when the person leaves.
    fn turn(&mut self, content: Content) -> Option<u8> {
        self.turns += 1;
        let end = self.ask(Some(Op::Prompt { content }));
        self.settle(end).or_else(|| self.follow())
    }

    /// Stays with a session that goes on by itself.
    fn follow(&mut self) -> Option<u8> {
        while self.session.goes_on() {
            self.turns += 1;
            let end = self.ask(None);
            if let Some(code) = self.settle(end) {
                return Some(code);
            }
        }
        None
    }

    fn command(&mut self, line: &str) -> Option<u8> {
        let (name, args) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let end = self.ask(Some(Op::Command {
            name: name.to_owned(),
            args: args.trim().to_owned(),
        }));
        if matches!(name, "help" | "commands") {
            for (name, help) in OWN {
                output::note(&format!("  /{name:<18} {help}"));
            }
        }
        self.settle(end).or_else(|| self.follow())
    }

    fn ask(&mut self, op: Option<Op>) -> End {
        // What came while the person typed is told first, and is no answer to what they ask now.
        while let Ok(envelope) = self.events.try_recv() {
            self.view.event(&envelope.event);
        }
        let mut keyboard = Keyboard::open();
        let turn = Turn {
            session: &self.session,
            events: &mut self.events,
            signals: &mut self.signals,
            watcher: &mut self.view,
            keyboard: Some(&mut keyboard),
            later: Some(&mut self.later),
            leaving: false,
        };
        self.runtime.block_on(turn.run(op))
    }

    fn settle(&mut self, end: End) -> Option<u8> {
        match end {
            End::Finished(result) => {
                if !self.view.has_streamed()
                    && let Some(answer) = &result.final_response
                {
                    output::line(answer);
                }
                match &result.error {
                    Some(_) if result.interrupted => output::note("stopped"),
                    Some(error) => self.view.error(error),
                    None => {}
                }
                None
            }
            End::Answered => None,
            End::Left if self.later.iter().any(|line| is_farewell(line)) => Some(DONE),
            End::Left => Some(INTERRUPTED),
            End::Gone => {
                output::note("error: the session has ended; logs/errors.log in the home folder says why");
                Some(crate::exit::FAILED)
            }
        }
    }

    fn leave(&mut self, engine: &Engine) {
        let id = self.view.session().unwrap_or(&self.id).clone();
        let within = self.session.ends_within();
        self.session.send(Op::Shutdown);
        let hooks = self.session.hooks_done();
        let events = &mut self.events;
        let last = async { while events.recv().await.is_some() {} };
        let _ = self
            .runtime
            .block_on(async { tokio::time::timeout(within, last).await });
        let signals = &mut self.signals;
        self.runtime.block_on(async {
            tokio::select! {
                () = hooks => {}
                () = signals.next() => {}
            }
        });
        if self.turns > 0 && super::is_stored(engine, &id) {
            let minutes = crate::text::seconds(self.began.elapsed().as_millis() as u64);
            output::note(&format!(
                "{} in {minutes}; go on with: talaria -r {id}",
                crate::text::count(self.turns, "turn")
            ));
        }
    }
}

/// Without a terminal there is no session.
fn unreadable(error: &std::io::Error) -> Failure {
    Failure {
        code: INTERRUPTED,
        message: format!("the terminal cannot be read: {error}"),
        hint: None,
    }
}

fn editor(place: &Place) -> Reedline {
    let names = ENGINES.into_iter().chain(OWN.into_iter().map(|(name, _)| name));
    let words: Vec<String> = names.map(|name| format!("/{name}")).collect();
    let mut completer = DefaultCompleter::with_inclusions(&['/']);
    completer.insert(words);
    let editor = Reedline::create()
        .with_completer(Box::new(completer))
        .with_validator(Box::new(Unfinished))
        .use_bracketed_paste(true);
    let editor = if place.stdout().colour {
        editor.with_hinter(Box::new(DefaultHinter::default()))
    } else {
        editor.with_ansi_colors(false)
    };
    // Without a history file the editor still edits.
    match FileBackedHistory::with_file(HISTORY, place.home.history()) {
        Ok(history) => editor.with_history(Box::new(history)),
        Err(_) => editor,
    }
}

/// A line that goes on: it ends with a backslash, or a code block in it is open.
struct Unfinished;

impl Validator for Unfinished {
    fn validate(&self, line: &str) -> ValidationResult {
        let open_code = line.matches("```").count() % 2 == 1;
        if line.ends_with('\\') || open_code {
            ValidationResult::Incomplete
        } else {
            ValidationResult::Complete
        }
    }
}

/// The prompt.
struct Question;

impl Prompt for Question {
    fn render_prompt_left(&self) -> std::borrow::Cow<'_, str> {
        "".into()
    }
    fn render_prompt_right(&self) -> std::borrow::Cow<'_, str> {
        "".into()
    }
    fn render_prompt_indicator(&self, _: PromptEditMode) -> std::borrow::Cow<'_, str> {
        "❯ ".into()
    }
    fn render_prompt_multiline_indicator(&self) -> std::borrow::Cow<'_, str> {
        "· ".into()
    }
    fn render_prompt_history_search_indicator(
        &self,
        search: PromptHistorySearch,
    ) -> std::borrow::Cow<'_, str> {
        format!("(history: {}) ", search.term).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_on_after_a_backslash_and_inside_a_code_block() {
        let complete = |line| matches!(Unfinished.validate(line), ValidationResult::Complete);
        assert!(complete("hello"));
        assert!(!complete("hello \\"));
        assert!(!complete("look:\n```rust\nfn"));
        assert!(complete("look:\n```rust\nfn\n```"));
    }
}
