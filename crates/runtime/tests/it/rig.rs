//! An engine, a server and a home, and a turn written down.

use std::fmt::Write;

use serde_json::Value;
use talaria_config::{Home, Overrides};
use talaria_runtime::{Engine, EngineOptions, Events, Open, SessionHandle};
use talaria_testkit::{MockServer, Scenario, TempHome};
use talaria_types::{Envelope, Event, Op, TurnResult};

/// Everything a turn needs.
pub(crate) struct Rig {
    pub(crate) server: MockServer,
    pub(crate) home: TempHome,
}

impl Rig {
    /// A server that answers with these steps (a JSON array), and a home that points at it.
    #[allow(
        clippy::needless_pass_by_value,
        reason = "steps are written where they are used"
    )]
    pub(crate) fn new(steps: Value) -> Self {
        Self::with_config(&steps, "")
    }

    /// The same with more lines in `config.yaml`.
    pub(crate) fn with_config(steps: &Value, more: &str) -> Self {
        Self::with_scenario(&serde_json::json!({ "steps": steps }), more)
    }

    /// A server that plays a whole scenario.
    pub(crate) fn with_scenario(scenario: &Value, more: &str) -> Self {
        let scenario = Scenario::from_value(scenario.clone()).unwrap();
        let server = MockServer::start(scenario).unwrap();
        let home = TempHome::pointing_at(&server).unwrap();
        let path = home.path().join("config.yaml");
        let config = std::fs::read_to_string(&path).unwrap();
        std::fs::write(path, format!("{config}approvals:\n  mode: \"off\"\n{more}")).unwrap();
        Self { server, home }
    }

    /// An engine on the home.
    pub(crate) fn engine(&self) -> Engine {
        self.engine_with(&Overrides::default())
    }

    /// The same with a person at it.
    pub(crate) fn interactive_engine(&self) -> Engine {
        self.engine_for(&Overrides::default(), true)
    }

    /// Changes the database behind the program's back.
    pub(crate) fn sql(&self, statements: &str) {
        let connection = rusqlite::Connection::open(self.home.database()).unwrap();
        connection.execute_batch(statements).unwrap();
    }

    pub(crate) fn engine_with(&self, overrides: &Overrides) -> Engine {
        self.engine_for(overrides, false)
    }

    fn engine_for(&self, overrides: &Overrides, interactive: bool) -> Engine {
        let loaded = talaria_config::load(Home::at(self.home.path()), &self.home.work(), overrides).unwrap();
        let options = EngineOptions {
            cwd: self.home.work(),
            source: "cli".to_owned(),
            yolo: false,
            ignore_rules: false,
            skills: Vec::new(),
            interactive,
        };
        Engine::open(loaded, options).unwrap()
    }
}

/// A session and its events.
pub(crate) struct Talk {
    pub(crate) handle: SessionHandle,
    events: Events,
}

impl Talk {
    pub(crate) async fn open(engine: &Engine, open: Open) -> Self {
        let mut handle = engine.session(open).await.unwrap();
        let events = handle.events().unwrap();
        Self { handle, events }
    }

    /// Runs one turn; gives its events and its result.
    pub(crate) async fn turn(&mut self, prompt: &str) -> (Vec<Event>, TurnResult) {
        self.handle.send(Op::Prompt {
            content: prompt.into(),
        });
        self.rest().await
    }

    /// Waits for an event.
    pub(crate) async fn until(&mut self, wanted: impl Fn(&Event) -> bool) -> Event {
        loop {
            let Envelope { event, .. } = self.events.recv().await.unwrap();
            if wanted(&event) {
                return event;
            }
        }
    }

    /// Waits until the session's actor has ended.
    pub(crate) async fn ended(&mut self) {
        while self.events.recv().await.is_some() {}
    }

    /// The events up to the turn's end.
    pub(crate) async fn rest(&mut self) -> (Vec<Event>, TurnResult) {
        let mut seen = Vec::new();
        loop {
            let Envelope { event, .. } = self.events.recv().await.unwrap();
            if let Event::TurnFinished { result } = &event {
                let result = TurnResult::clone(result);
                seen.push(event);
                return (seen, result);
            }
            seen.push(event);
        }
    }
}

/// A turn as lines: events, then what was sent, then what is stored.
pub(crate) async fn trace(rig: &Rig, prompt: &str) -> String {
    let engine = rig.engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    let (events, result) = talk.turn(prompt).await;
    let mut lines = String::new();
    for event in &events {
        line(&mut lines, event);
    }
    for (number, request) in rig.server.main_requests().iter().enumerate() {
        let roles: Vec<&str> = request
            .messages()
            .iter()
            .filter_map(|message| message["role"].as_str())
            .collect();
        writeln!(lines, "request {}: {}", number + 1, roles.join(" ")).unwrap();
    }
    for row in engine.store().all(&result.session_id).unwrap() {
        let text: String = row.message.content.text().chars().take(60).collect();
        writeln!(lines, "row {}: {text:?}", row.message.role.as_str()).unwrap();
    }
    lines
}

/// One event, without what differs from run to run. Deltas are joined.
fn line(lines: &mut String, event: &Event) {
    let text = match event {
        // What a request weighs depends on the folder's name.
        Event::Usage { .. } => return,
        Event::TurnStarted { prompt } => format!("turn started: {prompt:?}"),
        Event::MessageDelta { text } => {
            if let Some(stripped) = lines.strip_suffix("\"\n")
                && stripped
                    .rsplit('\n')
                    .next()
                    .is_some_and(|last| last.starts_with("says"))
            {
                *lines = format!("{stripped}{text}\"\n");
                return;
            }
            format!("says \"{text}\"")
        }
        Event::ReasoningDelta { .. } => "thinks".to_owned(),
        Event::ToolStarted { name, args, .. } => format!("tool {name} {args}"),
        Event::ToolFinished { ok, brief, .. } => format!("  ok={ok} {brief}"),
        Event::Recovery {
            row, attempt, limit, ..
        } => format!("recovery {row} {attempt}/{limit}"),
        Event::Warning { text } => format!("warning: {text}"),
        Event::Status { text } => format!("status: {text}"),
        Event::TurnFinished { result } => format!(
            "turn finished: {:?} calls={} final={:?} error={:?}",
            result.exit_reason,
            result.api_calls,
            result.final_response,
            result.error.as_ref().map(|error| error.kind),
        ),
        other => format!("{other:?}"),
    };
    lines.push_str(&text);
    lines.push('\n');
}
