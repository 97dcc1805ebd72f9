//! What a person sees of a turn: the answer on stdout, progress on stderr.

use std::time::{Duration, Instant};

use talaria_config::DisplayConfig;
use talaria_types::{CompactionReport, Event, SessionId, TurnError};

use super::Manner;
use super::markdown::Markdown;
use super::preview::{Preview, Size};
use crate::output::{self, Style};
use crate::text;

/// After this long without a sign of life the person is told what is waited for.
const PATIENCE: Duration = Duration::from_secs(1);
/// On a stderr that is no terminal a line cannot be taken back, so it comes later and once.
const PATIENCE_OF_A_LOG: Duration = Duration::from_secs(10);
/// Pictures of the spinner.
const SPINNER: [char; 8] = ['⠋', '⠙', '⠹', '⠸', '⠴', '⠦', '⠧', '⠇'];
/// The widest line of progress.
const WIDTH: usize = 96;

/// Shows events.
pub(crate) struct View {
    /// The model's thinking is shown.
    reasoning: bool,
    /// The last line on stderr is a thought that is not ended.
    thinking: bool,
    /// The terminal rings when a turn ends.
    bell: bool,
    manner: Manner,
    err: Style,
    /// The answer as it streams, when stdout is a terminal.
    live: Option<Markdown>,
    /// Its line that is not whole yet.
    preview: Preview,
    /// Something of the answer has been shown.
    streamed: bool,
    /// The last line on the terminal is not ended.
    open_line: bool,
    waiting_for: String,
    since: Instant,
    spinner: Option<usize>,
    told_waiting: bool,
    /// Where the conversation is now, once it has moved or a turn has ended.
    session: Option<SessionId>,
}

impl View {
    /// A view for this manner; `live` shows the answer as it streams.
    pub(crate) fn new(manner: Manner, out: Style, err: Style, live: bool) -> Self {
        Self {
            reasoning: false,
            thinking: false,
            bell: false,
            manner,
            err,
            live: live.then(|| Markdown::new(out)),
            preview: Preview::default(),
            streamed: false,
            open_line: false,
            waiting_for: "thinking".to_owned(),
            since: Instant::now(),
            spinner: None,
            told_waiting: false,
            session: None,
        }
    }

    /// With what the person set for showing.
    pub(crate) fn set(mut self, display: &DisplayConfig) -> Self {
        self.reasoning = display.show_reasoning;
        self.bell = display.bell_on_complete && self.err.terminal;
        if !display.streaming {
            self.live = None;
        }
        self
    }

    /// Where the conversation is now; nothing while it is where it was opened.
    pub(crate) fn session(&self) -> Option<&SessionId> {
        self.session.as_ref()
    }

    /// Whether the answer has been shown already.
    pub(crate) fn has_streamed(&self) -> bool {
        self.streamed
    }

    /// How stderr is written to.
    pub(crate) fn style(&self) -> Style {
        self.err
    }

    /// Shows one event.
    pub(crate) fn event(&mut self, event: &Event) {
        self.alive();
        if !matches!(event, Event::MessageDelta { .. }) {
            self.hide_preview();
        }
        if self.thinking && !matches!(event, Event::ReasoningDelta { .. } | Event::Usage { .. }) {
            self.thinking = false;
            output::note("");
        }
        match event {
            Event::TurnStarted { .. } => self.begin(),
            Event::MessageDelta { text } => self.delta(text),
            Event::ToolStarted { name, args, .. } => {
                self.waiting_for = format!("{name} {}", argument(args));
            }
            Event::ToolFinished {
                name,
                ok,
                duration_ms,
                brief,
                ..
            } => self.tool(name, *ok, *duration_ms, brief),
            Event::Recovery {
                row,
                attempt,
                limit,
                remedy,
                wait_ms,
            } => {
                let told = match *wait_ms {
                    0 => remedy.clone(),
                    // What is waited in the end, chance included.
                    wait if remedy.starts_with("waiting") => format!("waiting {}", text::seconds(wait)),
                    wait => format!("{remedy} in {}", text::seconds(wait)),
                };
                let line = format!("↻ {row}: {told} ({attempt} of {limit})");
                self.progress(&self.err.dim(&line));
                self.waiting_for = format!("{row}: {told}");
            }
            Event::CompactionFinished(report) => self.compacted(report),
            Event::SessionRotated { to, .. } => {
                self.session = Some(to.clone());
                self.progress(&self.err.dim(&format!("the session goes on as {to}")));
            }
            Event::Warning { text } => {
                self.end_answer();
                output::note(&self.err.warn(&format!("warning: {text}")));
            }
            Event::Status { text } => self.status(text),
            Event::TurnFinished { result } => {
                self.session = Some(result.session_id.clone());
                self.end_answer();
                if self.bell {
                    output::control("\x07");
                }
            }
            Event::ReasoningDelta { text } => self.thought(text),
            // The engine says it in words, with a status.
            Event::CompactionStarted { .. }
            | Event::ApprovalRequested(_)
            | Event::ApprovalAnswered { .. }
            | Event::QuestionAsked(_)
            | Event::Usage { .. } => {}
        }
    }

    /// Shows why a turn failed, in the server's own words, with what to do.
    pub(crate) fn error(&mut self, error: &TurnError) {
        self.end_answer();
        let status = error
            .status
            .map(|status| format!(" (HTTP {status})"))
            .unwrap_or_default();
        output::note(&self.err.bad(&format!("error: {}{status}", error.message)));
        if let Some(hint) = &error.hint {
            output::note(&format!("  {hint}"));
        }
    }

    /// What is going on; a caution is for everybody.
    fn status(&mut self, text: &str) {
        if self.manner == Manner::Quiet && text.starts_with('⚠') {
            output::note(text);
        }
        self.progress(text);
    }

    /// A piece of the model's thinking, for those who asked to see it.
    fn thought(&mut self, text: &str) {
        if self.reasoning && self.manner == Manner::Chat {
            self.thinking = true;
            output::notes(&self.err.dim(text));
        }
    }

    /// A line of progress.
    pub(crate) fn progress(&mut self, line: &str) {
        if self.manner == Manner::Chat {
            self.end_answer();
            output::note(line);
        }
    }

    /// Time has passed: shows that something is still going on.
    pub(crate) fn tick(&mut self) {
        let waited = self.since.elapsed();
        if self.manner == Manner::Quiet || self.open_line || self.thinking {
            return;
        }
        if !self.err.terminal {
            if waited >= PATIENCE_OF_A_LOG && !std::mem::replace(&mut self.told_waiting, true) {
                output::note(&format!("… {}", text::clipped(&self.waiting_for, WIDTH)));
            }
            return;
        }
        if waited >= PATIENCE {
            let turn = self.spinner.map_or(0, |turn| turn + 1);
            self.spinner = Some(turn);
            let picture = SPINNER.get(turn % SPINNER.len()).copied().unwrap_or('·');
            let what = text::clipped(&self.waiting_for, 60);
            let line = format!("{picture} {what} {}", text::seconds(waited.as_millis() as u64));
            output::control("\r\x1b[K");
            output::notes(&self.err.dim(&line));
        }
    }

    /// Makes room for a line of somebody else's.
    pub(crate) fn clear(&mut self) {
        self.alive();
        self.end_answer();
    }

    fn begin(&mut self) {
        "thinking".clone_into(&mut self.waiting_for);
        self.streamed = false;
    }

    fn alive(&mut self) {
        self.since = Instant::now();
        self.told_waiting = false;
        if self.spinner.take().is_some() {
            output::control("\r\x1b[K");
        }
    }

    fn delta(&mut self, text: &str) {
        "answering".clone_into(&mut self.waiting_for);
        let Some(live) = &mut self.live else { return };
        let shown = live.push(text);
        self.streamed |= !text.is_empty();
        if !shown.is_empty() {
            self.hide_preview();
            self.open_line = !shown.ends_with('\n');
            output::write(&shown);
        }
        self.show_preview();
    }

    fn show_preview(&mut self) {
        let line = self.live.as_ref().map_or("", Markdown::pending);
        if line.is_empty() {
            return;
        }
        let more = self.preview.grow(line, Size::of_terminal());
        output::steer(&more);
        self.open_line = true;
    }

    /// Makes room for what is not part of the line, or for the finished line.
    fn hide_preview(&mut self) {
        let gone = self.preview.clear(Size::of_terminal());
        if !gone.is_empty() {
            output::steer(&gone);
            self.open_line = false;
        }
    }

    /// Ends the answer's last line, so that what follows begins a new one.
    fn end_answer(&mut self) {
        self.hide_preview();
        if let Some(live) = &mut self.live {
            let rest = live.finish();
            if !rest.is_empty() {
                output::write(&rest);
            }
        }
        self.open_line = false;
    }

    fn tool(&mut self, name: &str, ok: bool, duration_ms: u64, brief: &str) {
        "thinking".clone_into(&mut self.waiting_for);
        let mark = if ok {
            self.err.good("┊")
        } else {
            self.err.bad("┊ ✗")
        };
        let brief = brief.strip_prefix(&format!("[{name}] ")).unwrap_or(brief);
        let what = text::clipped(&format!("{name}: {brief}"), WIDTH);
        let took = self.err.dim(&text::seconds(duration_ms));
        self.progress(&format!("{mark} {what}  {took}"));
    }

    fn compacted(&mut self, report: &CompactionReport) {
        let line = if report.compressed {
            let bill = report
                .bill_in_words()
                .map_or_else(String::new, |bill| format!("; {bill}"));
            format!(
                "compacted: {} → {} tokens, kept {} of {} anchors{bill}",
                report.tokens_before, report.tokens_after, report.anchors.kept, report.anchors.total
            )
        } else {
            format!(
                "not compacted: {}",
                report.reason.as_deref().unwrap_or("nothing to gain")
            )
        };
        self.progress(&self.err.dim(&line));
    }
}

/// The argument that says most about a call.
fn argument(args: &serde_json::Value) -> String {
    const TELLING: [&str; 7] = ["command", "path", "pattern", "query", "url", "name", "action"];
    let told = TELLING.iter().find_map(|name| args.get(name)?.as_str());
    told.map(|text| text::clipped(text, 50)).unwrap_or_default()
}
