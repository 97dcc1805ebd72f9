//! The server: connections, routing, and the state that requests share.

use crate::mock::{
    check::{self, Prefixes, Sent},
    http::{Incoming, Reader},
    overflow,
    play::{Played, Player, Rendered, render},
    progress::Progress,
    record::{Recorded, Times},
    request::{ModelCall, TaskKind},
    scenario::Scenario,
    step::Step,
    template::Terms,
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs::File,
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Instant, SystemTime, UNIX_EPOCH},
};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

/// What all connections share.
pub(crate) struct Shared {
    state: Mutex<State>,
    log: Mutex<Option<File>>,
    connections: AtomicU64,
    /// Every request is checked and remembered; a server that nobody asks afterwards does neither.
    is_watching: bool,
    is_logging: bool,
    pub(crate) stop: CancellationToken,
}

/// What changes from request to request.
#[derive(Default)]
pub(crate) struct State {
    scenario: Option<Arc<Scenario>>,
    progress: Progress,
    seq: u64,
    main: u64,
    arrived: BTreeMap<&'static str, u64>,
    mark: String,
    prefixes: Prefixes,
    pub(crate) requests: Vec<Recorded>,
}

/// How one request is answered.
struct Plan {
    step: Step,
    kind: String,
    index: Option<usize>,
    terms: Terms,
    prompt: u64,
}

impl Shared {
    pub(crate) fn new(scenario: Scenario, log: Option<File>, is_watching: bool) -> Shared {
        let is_logging = log.is_some();
        let state = State {
            scenario: Some(Arc::new(scenario)),
            ..State::default()
        };
        Shared {
            state: Mutex::new(state),
            log: Mutex::new(log),
            connections: AtomicU64::new(0),
            is_watching,
            is_logging,
            stop: CancellationToken::new(),
        }
    }

    /// The shared state; a thread that panicked while it held the lock leaves it usable.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Accepts connections until the server is stopped.
    pub(crate) async fn run(self: Arc<Self>, listener: TcpListener) {
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = self.stop.cancelled() => return,
            };
            let Ok((socket, _)) = accepted else { continue };
            let shared = Arc::clone(&self);
            let number = self.connections.fetch_add(1, Ordering::Relaxed) + 1;
            tokio::spawn(async move {
                // A connection that breaks is the client's affair; its requests are in the record.
                let _ = shared.connection(socket, number).await;
            });
        }
    }

    async fn connection(&self, mut socket: TcpStream, number: u64) -> io::Result<()> {
        socket.set_nodelay(true)?;
        let (reading, mut writer) = socket.split();
        let mut reader = Reader::new(reading);
        for reused in 1.. {
            let Some(incoming) = reader.next(&mut writer).await? else {
                break;
            };
            let close = incoming.wants_close();
            let Some(exchange) = self.begin(incoming, (number, reused)) else {
                break;
            };
            let Exchange {
                rendered,
                step,
                record,
                id,
                api,
                started,
            } = exchange;
            let mut played = Played::default();
            let mut player = Player {
                socket: &mut writer,
                step: &step,
                id,
                api,
            };
            let gone = tokio::select! {
                biased;
                result = player.play(rendered, &mut played) => result.is_err(),
                () = reader.until_gone() => true,
                () = self.stop.cancelled() => true,
            };
            if let Some(at) = record {
                self.end(at, &played, started, gone);
            }
            if gone || played.close || close {
                break;
            }
        }
        Ok(())
    }

    /// Reads a request, decides its answer and records its arrival.
    fn begin(&self, incoming: Incoming, connection: (u64, u64)) -> Option<Exchange> {
        let started = Instant::now();
        let mut call = ModelCall::read(
            &incoming.method,
            &incoming.target,
            incoming.headers,
            incoming.body,
        );
        let mut state = self.state();
        if let Some(path) = call.path.strip_prefix("/__mock/") {
            let (status, body) = state.control(path, &call);
            if path == "quit" {
                self.stop.cancel();
                return None;
            }
            let step = Step {
                status: Some(status),
                body: Some(body),
                ..Step::default()
            };
            let rendered = render(&step, &call, &Terms::default(), 0, 0);
            return Some(Exchange {
                rendered,
                step,
                record: None,
                id: 0,
                api: None,
                started,
            });
        }
        let scenario = Arc::clone(state.scenario.as_ref()?);
        if scenario.toolless_main && matches!(call.task, TaskKind::Title | TaskKind::Side) {
            call.task = TaskKind::Main;
        }
        state.seq += 1;
        let watched = self
            .is_watching
            .then(|| Recorded::of(&call, state.seq, &state.mark, connection));
        Some(state.answer(&scenario, &call, watched, started))
    }

    fn end(&self, at: usize, played: &Played, started: Instant, gone: bool) {
        let record = {
            let mut state = self.state();
            let Some(record) = state.requests.get_mut(at) else {
                return;
            };
            record.status = played.status;
            record.gone = gone;
            record.sent_bytes = played.bytes;
            let end = started.elapsed().as_secs_f64();
            let first = played
                .first
                .map_or(end, |first| first.duration_since(started).as_secs_f64());
            record.times = Times {
                first,
                end,
                ..record.times
            };
            self.is_logging.then(|| record.clone())
        };
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(file), Some(record)) = (log.as_mut(), record) {
            // A log that cannot be written must not change what the program under test is told.
            let _ = record.write(file);
        }
    }
}

struct Exchange {
    rendered: Rendered,
    step: Step,
    /// Where the request's record stands; control requests have none.
    record: Option<usize>,
    /// The request's number.
    id: u64,
    api: Option<crate::mock::request::Api>,
    started: Instant,
}

impl State {
    /// The answer to a request; its record, when one is kept, is completed and stored.
    fn answer(
        &mut self,
        scenario: &Scenario,
        call: &ModelCall,
        record: Option<Recorded>,
        started: Instant,
    ) -> Exchange {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let is_checked = call.api.is_some() && (record.is_some() || scenario.strict);
        let findings = if is_checked {
            self.findings(call)
        } else {
            Vec::new()
        };
        let plan = if call.api.is_some() {
            self.plan(scenario, call, &findings)
        } else {
            catalogue(scenario, call)
        };
        let rendered = render(&plan.step, call, &plan.terms, plan.prompt, now.as_secs());
        let id = self.seq;
        let record = record.map(|mut record| {
            if let (Some(api), TaskKind::Main, Some(body)) = (call.api, call.task, &call.body) {
                self.remember(Sent::of(api, &call.key, body), rendered.status);
            }
            record.times.read = now.as_secs_f64();
            record.kind = plan.kind;
            record.step = plan.index;
            record.note.clone_from(&plan.step.note);
            record.findings = findings;
            self.requests.push(record);
            self.requests.len() - 1
        });
        Exchange {
            rendered,
            step: plan.step,
            record,
            id,
            api: call.api,
            started,
        }
    }

    /// The shape of a request, and whether it extends the one before.
    fn findings(&self, call: &ModelCall) -> Vec<String> {
        let Some(api) = call.api else { return Vec::new() };
        let mut findings = check::validate(call.body.as_ref(), api);
        if let (TaskKind::Main, Some(body)) = (call.task, &call.body) {
            findings.extend(self.prefixes.compare(&Sent::of(api, &call.key, body)));
        }
        findings
    }

    /// A request that was answered well is what the next one must extend; a refused one may be repaired.
    fn remember(&mut self, sent: Sent, status: u16) {
        if status == 200 {
            self.prefixes.accept(sent);
        } else {
            self.prefixes.forget(&sent);
        }
    }

    fn plan(&mut self, scenario: &Scenario, call: &ModelCall, findings: &[String]) -> Plan {
        *self.arrived.entry(call.task.as_str()).or_default() += 1;
        if call.task == TaskKind::Summary {
            self.prefixes.forget_all();
        }
        let terms = Terms {
            number: call.results,
            request: usize::try_from(self.seq).unwrap_or_default(),
            last_user: call.last_user.clone(),
            grep: String::new(),
        };
        let mut plan = Plan {
            step: Step::default(),
            kind: String::new(),
            index: None,
            terms,
            prompt: call.raw.len() as u64 / 4 + scenario.overhead_usage,
        };
        let shape = findings.iter().find(|finding| !finding.starts_with("prefix: "));
        if let (true, Some(finding)) = (scenario.strict, shape) {
            let (status, body) = check::refusal(call.api.unwrap_or(crate::mock::request::Api::Chat), finding);
            plan.kind = "strict".to_owned();
            plan.step = Step {
                status: Some(status),
                body: Some(body),
                ..Step::default()
            };
            return plan;
        }
        let verdict = overflow::enforce(&scenario.limits, &mut self.progress.limits, call);
        plan.prompt = verdict.usage.unwrap_or(plan.prompt);
        if let Some((status, body, note)) = verdict.refusal {
            plan.kind = "overflow".to_owned();
            plan.step = Step {
                status: Some(status),
                body: Some(body),
                note: Some(note),
                ..Step::default()
            };
            return plan;
        }
        self.choose(scenario, call, &mut plan);
        if let Some(number) = plan.step.number {
            plan.terms.number = number;
        }
        plan.terms.grep = grepped(plan.step.grep.as_deref(), call);
        plan
    }

    /// Plays a scenario from its start from now on.
    pub(crate) fn play(&mut self, scenario: Scenario) {
        self.scenario = Some(Arc::new(scenario));
        self.progress = Progress::default();
    }

    /// A rule's answer, a side task's, or the next step of the conversation.
    fn choose(&mut self, scenario: &Scenario, call: &ModelCall, plan: &mut Plan) {
        if let Some(rule) = self.progress.rule(scenario, call) {
            plan.kind = format!("match:{}", rule.name);
            plan.step = rule.respond.clone();
            if rule.consume {
                self.progress.step(scenario, call);
            }
            return;
        }
        let side = if call.task == TaskKind::Main {
            None
        } else {
            self.progress.task(scenario, call.task)
        };
        if let Some(step) = side {
            plan.kind = format!("task:{}", call.task.as_str());
            plan.step = step.clone();
            return;
        }
        let got = call.raw.len() as u64 / 4;
        if let Some(limit) = scenario.max_context_tokens.filter(|limit| got > *limit) {
            let message = format!(
                "This model's maximum context length is {limit} tokens. However, your messages resulted in {got} \
                 tokens. Please reduce the length of the messages."
            );
            let error = json!({"message": message, "type": "invalid_request_error", "code": "context_length_exceeded"});
            plan.kind = "overflow".to_owned();
            plan.step = Step {
                status: Some(400),
                error: Some(error),
                ..Step::default()
            };
            return;
        }
        let (step, index) = self.progress.step(scenario, call);
        self.main += 1;
        plan.kind = "main".to_owned();
        plan.index = Some(index);
        plan.step = step;
    }

    /// The control paths: they tell and set, and are no traffic.
    fn control(&mut self, path: &str, call: &ModelCall) -> (u16, Value) {
        if path == "scenario" {
            let text = String::from_utf8_lossy(&call.raw);
            return match Scenario::from_json(&text) {
                Ok(scenario) => {
                    let steps = scenario.steps.len();
                    self.play(scenario);
                    (200, json!({"ok": true, "steps": steps}))
                }
                Err(error) => (400, json!({"error": error.to_string()})),
            };
        }
        if let Some(mark) = path.strip_prefix("mark") {
            mark.trim_start_matches('/').clone_into(&mut self.mark);
            return (200, json!({"ok": true}));
        }
        match path {
            "state" => {
                let steps = self.scenario.as_ref().map_or(0, |scenario| scenario.steps.len());
                let state = json!({"cursors": self.progress.cursors, "requests": self.seq, "main": self.main,
                                   "mark": self.mark, "steps": steps, "tasks": self.arrived});
                (200, state)
            }
            "reset" => {
                self.progress = Progress::default();
                (200, json!({"ok": true}))
            }
            "quit" => (200, json!({"ok": true})),
            _ => (404, json!({"error": "unknown control path"})),
        }
    }
}

/// The distinct matches of a step's pattern in the request, one a line.
fn grepped(pattern: Option<&str>, call: &ModelCall) -> String {
    let Some(Ok(pattern)) = pattern.map(regex::Regex::new) else {
        return String::new();
    };
    let text = call.body.as_ref().map(Value::to_string).unwrap_or_default();
    let mut seen: Vec<String> = Vec::new();
    for found in pattern.captures_iter(&text) {
        let groups: String = found
            .iter()
            .skip(1)
            .flatten()
            .map(|group| group.as_str())
            .collect();
        let one = if found.len() > 1 {
            groups
        } else {
            found[0].to_owned()
        };
        if !seen.contains(&one) {
            seen.push(one);
        }
    }
    seen.join("\n")
}

/// Everything that is no model request: the model list, token counts, health.
fn catalogue(scenario: &Scenario, call: &ModelCall) -> Plan {
    let path = call.path.trim_end_matches('/');
    let reading = matches!(call.method.as_str(), "GET" | "HEAD");
    let ends = |ends: &[&str]| call.method == "POST" && ends.iter().any(|end| path.ends_with(end));
    let tokens = call.raw.len() / 4;
    let (status, kind, body) = if reading && scenario.lists_models(path) {
        let (status, body) = scenario.model_list(path);
        (status, "models", body)
    } else if ends(&["/count_tokens", "/input_tokens"]) {
        (200, "count_tokens", json!({"input_tokens": tokens}))
    } else if ends(&[":countTokens"]) {
        (200, "count_tokens", json!({"totalTokens": tokens}))
    } else if reading && matches!(path, "" | "/health" | "/v1") {
        (200, "health", json!({"status": "ok"}))
    } else {
        let message = format!("mock: no such path {}", call.path);
        (
            404,
            "404",
            json!({"error": {"message": message, "type": "not_found", "param": null, "code": null}}),
        )
    };
    Plan {
        step: Step {
            status: Some(status),
            body: Some(body),
            ..Step::default()
        },
        kind: kind.to_owned(),
        index: None,
        terms: Terms::default(),
        prompt: 0,
    }
}
