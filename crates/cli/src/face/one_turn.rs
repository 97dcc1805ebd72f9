//! One turn, then the end of the process.

use std::io::IsTerminal;
use std::time::Duration;

use talaria_config::{DisplayConfig, Loaded};
use talaria_runtime::{Engine, Events, SessionHandle};
use talaria_types::{Envelope, Op, SessionId, TurnResult};

use super::keyboard::Keyboard;
use super::signals::Signals;
use super::turn::{End, Turn, Watcher};
use super::view::View;
use super::{Asked, Manner, opening};
use crate::args::TurnFlags;
use crate::exit::{self, Failure, INTERRUPTED, Outcome};
use crate::output;
use crate::place::Place;

/// How long the process stays for the review of its turn; what is left then, the next one does.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs one turn and prints its answer.
pub(crate) fn one_turn(place: &Place, flags: &TurnFlags, asked: Asked) -> Outcome {
    let terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let interactive = terminal && asked.manner == Manner::Chat && !flags.stream_json;
    let open = opening::session(flags)?;
    let (engine, loaded): (Engine, Loaded) = opening::engine(place, flags, interactive)?;
    if asked.manner == Manner::Quiet {
        // A script waits for the process rather than for the answer.
        engine.review_later();
    }
    let content = opening::content(place, asked.prompt, &flags.image)?;
    let runtime = opening::runtime_for_one_turn()?;
    let mut signals = Signals::apart()?;
    let outcome = runtime.block_on(async {
        let opened = tokio::select! {
            opened = engine.session(open) => opened?,
            () = signals.next() => return Err(interrupted()),
        };
        let mut show = Show::new(place, flags, asked.manner, &loaded.config.display);
        let mut keyboard = interactive.then(Keyboard::open);
        let (end, session, mut events) = show
            .run(opened, &mut signals, keyboard.as_mut(), Op::Prompt { content })
            .await?;
        drop(keyboard);
        let outcome = show.result(&engine, flags, end);
        // The answer is there; what looks back at it may take its time.
        tokio::select! {
            () = session.settled() => {}
            () = tokio::time::sleep(PATIENCE) => {}
            () = signals.next() => {}
        }
        let hooks = session.hooks_done();
        farewell(session, &mut events, &mut show).await;
        tokio::select! {
            () = hooks => {}
            () = signals.next() => {}
        }
        outcome
    });
    // A tool that hangs must not keep the process.
    runtime.shutdown_background();
    outcome
}

fn interrupted() -> Failure {
    Failure {
        code: INTERRUPTED,
        message: "interrupted".to_owned(),
        hint: None,
    }
}

/// What is shown of the turn, and how.
struct Show {
    view: View,
    stream_json: bool,
    /// Where the conversation is now.
    session: Option<SessionId>,
}

impl Watcher for Show {
    fn event(&mut self, envelope: &Envelope) {
        self.session = Some(envelope.session_id.clone());
        if self.stream_json {
            output::line(&serde_json::to_string(envelope).unwrap_or_default());
        }
        self.view.event(&envelope.event);
    }

    fn view(&mut self) -> Option<&mut View> {
        Some(&mut self.view)
    }
}

impl Show {
    fn new(place: &Place, flags: &TurnFlags, manner: Manner, display: &DisplayConfig) -> Self {
        let structured = flags.json || flags.stream_json;
        let (out, err) = (place.stdout(), place.stderr());
        let live = out.terminal && !structured && manner == Manner::Chat;
        // Events say it all; a second account on stderr would only double the output.
        let manner = if flags.stream_json { Manner::Quiet } else { manner };
        Self {
            view: View::new(manner, out, err, live).set(display),
            stream_json: flags.stream_json,
            session: None,
        }
    }

    async fn run(
        &mut self,
        mut session: SessionHandle,
        signals: &mut Signals,
        keyboard: Option<&mut Keyboard>,
        op: Op,
    ) -> Result<(End, SessionHandle, Events), Failure> {
        let Some(mut events) = session.events() else {
            return Err(Failure::failed("the session gives no events"));
        };
        self.session = Some(session.id().clone());
        let turn = Turn {
            session: &session,
            events: &mut events,
            signals,
            watcher: self,
            keyboard,
            later: None,
            leaving: true,
        };
        let end = turn.run(Some(op)).await;
        Ok((end, session, events))
    }

    /// Prints the result and gives its exit code.
    fn result(&mut self, engine: &Engine, flags: &TurnFlags, end: End) -> Outcome {
        match end {
            End::Finished(result) => self.finished(engine, flags, &result),
            End::Left => {
                let mut result = interrupted().as_result();
                let id = serde_json::to_value(&self.session).unwrap_or_default();
                result["session_id"] = id;
                if flags.json {
                    output::json(&result);
                }
                output::note("interrupted; what was done so far is kept in the session");
                Ok(INTERRUPTED)
            }
            End::Answered | End::Gone => Err(Failure::failed("the session ended without a result")
                .hint("logs/errors.log in the home folder says more")),
        }
    }

    fn finished(&mut self, engine: &Engine, flags: &TurnFlags, result: &TurnResult) -> Outcome {
        let answer = result
            .final_response
            .as_deref()
            .filter(|answer| !answer.is_empty());
        if flags.json {
            let mut value = serde_json::to_value(result).unwrap_or_default();
            if flags.messages {
                let live = engine.store().live(&result.session_id)?;
                value["messages"] = live.iter().map(crate::shapes::message).collect();
            }
            output::json(&value);
        } else if let Some(answer) = answer.filter(|_| !flags.stream_json && !self.view.has_streamed()) {
            output::line(answer);
        }
        if let Some(error) = &result.error {
            self.view.error(error);
        }
        let id = &result.session_id;
        if super::is_stored(engine, id) {
            self.view
                .progress(&format!("session {id}  (go on with: talaria -r {id})"));
        }
        Ok(exit::of_turn(result))
    }
}

/// Ends the session: its children end with it.
async fn farewell(session: SessionHandle, events: &mut Events, show: &mut Show) {
    let within = session.ends_within();
    session.send(Op::Shutdown);
    drop(session);
    let last = async {
        while let Some(envelope) = events.recv().await {
            // The end of the turn is the last line of a stream of events.
            show.view.event(&envelope.event);
        }
    };
    let _ = tokio::time::timeout(within, last).await;
}
