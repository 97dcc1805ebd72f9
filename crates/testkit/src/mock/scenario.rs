//! A scenario: what the scripted model answers to which request.
//!
//! Read from JSON, or built from steps in a test. A scenario never changes; how far it has been played
//! stands in `Progress`, so that a reset is a new value.

use crate::mock::{
    overflow::Limit,
    request::ModelCall,
    step::{Call, Step},
};
use regex::Regex;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::{collections::HashMap, path::Path};

/// Why a scenario cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The file cannot be read.
    #[error("cannot read the scenario {path}")]
    Read {
        /// The file.
        path: String,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
    /// It is no JSON, or a key holds the wrong kind of value.
    #[error("the scenario is not valid: {0}")]
    Json(#[from] serde_json::Error),
    /// A pattern is no regular expression.
    #[error("the scenario holds a pattern that cannot be used: {0}")]
    Pattern(#[from] regex::Error),
}

/// Everything the scripted model knows.
#[derive(Debug, Clone)]
pub struct Scenario {
    pub(crate) models: Vec<Map<String, Value>>,
    /// Which GET paths list models; the usual ones by default.
    pub(crate) models_paths: Option<Regex>,
    pub(crate) stateless: bool,
    pub(crate) on_end: OnEnd,
    pub(crate) steps: Vec<Step>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) max_context_tokens: Option<u64>,
    pub(crate) overhead_usage: u64,
    pub(crate) tasks: HashMap<String, Vec<Step>>,
    pub(crate) strict: bool,
    pub(crate) toolless_main: bool,
    pub(crate) limits: Vec<Limit>,
}

/// What follows the last step.
#[derive(Debug, Clone)]
pub(crate) enum OnEnd {
    Repeat,
    Wrap,
    Error,
    Say(Box<Step>),
}

/// An answer tried before the steps.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    pub(crate) name: String,
    pub(crate) when: When,
    pub(crate) respond: Step,
    pub(crate) times: Option<usize>,
    pub(crate) consume: bool,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct When {
    patterns: Vec<(Subject, Regex)>,
    headers: Vec<(String, Regex)>,
    stream: Option<bool>,
    has_tools: Option<bool>,
    min_bytes: Option<usize>,
    max_tools: Option<usize>,
}

#[derive(Debug, Clone, Copy)]
enum Subject {
    LastUser,
    System,
    Any,
    Model,
    Path,
}

/// The file's own words, before patterns are compiled and loops unrolled.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct File {
    models: Vec<Value>,
    models_paths: Option<String>,
    context_length: Option<u64>,
    defaults: Map<String, Value>,
    cursor: Option<String>,
    on_end: Option<Value>,
    steps: Vec<Value>,
    #[serde(rename = "loop")]
    rounds: Option<Rounds>,
    #[serde(rename = "match")]
    rules: Vec<RuleFile>,
    max_context_tokens: Option<u64>,
    overhead_usage: u64,
    tasks: Map<String, Value>,
    strict: bool,
    toolless_main: bool,
    enforce: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(default)]
struct Rounds {
    n: usize,
    parallel: usize,
    call: Call,
    text: String,
    reasoning: String,
    step: Map<String, Value>,
    #[serde(rename = "final")]
    last: Option<Value>,
}

impl Default for Rounds {
    fn default() -> Rounds {
        Rounds {
            n: 1,
            parallel: 1,
            call: Call::default(),
            text: String::new(),
            reasoning: String::new(),
            step: Map::new(),
            last: None,
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RuleFile {
    name: Option<String>,
    when: WhenFile,
    respond: Map<String, Value>,
    times: Option<usize>,
    consume: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WhenFile {
    last_user: Option<String>,
    system: Option<String>,
    any: Option<String>,
    model: Option<String>,
    path: Option<String>,
    header: HashMap<String, String>,
    stream: Option<bool>,
    has_tools: Option<bool>,
    min_bytes: Option<usize>,
    max_tools: Option<usize>,
}

impl Scenario {
    /// A scenario of these steps, one a request of the conversation.
    pub fn of(steps: impl IntoIterator<Item = Step>) -> Scenario {
        Scenario {
            models: models(&[], None),
            models_paths: None,
            stateless: false,
            on_end: OnEnd::Say(Box::new(Step::say("done"))),
            steps: steps.into_iter().collect(),
            rules: Vec::new(),
            max_context_tokens: None,
            overhead_usage: 0,
            tasks: HashMap::new(),
            strict: false,
            toolless_main: false,
            limits: Vec::new(),
        }
    }

    /// Reads a scenario.
    pub fn from_json(text: &str) -> Result<Scenario, ScenarioError> {
        Scenario::from_value(serde_json::from_str(text)?)
    }

    /// Reads a scenario file.
    pub fn from_file(path: &Path) -> Result<Scenario, ScenarioError> {
        let text = std::fs::read_to_string(path).map_err(|source| ScenarioError::Read {
            path: path.display().to_string(),
            source,
        })?;
        Scenario::from_json(&text)
    }

    /// Reads a scenario from its JSON value.
    pub fn from_value(value: Value) -> Result<Scenario, ScenarioError> {
        let file = File::deserialize(value)?;
        let step = |value: Value| with_defaults(&file.defaults, value);
        let mut steps = file
            .steps
            .iter()
            .cloned()
            .map(step)
            .collect::<Result<Vec<_>, _>>()?;
        if let Some(rounds) = &file.rounds {
            unroll(rounds, &file.defaults, &mut steps)?;
        }
        let tasks = file.tasks.iter().map(|(task, value)| {
            let list = if let Value::Array(list) = value {
                list.clone()
            } else {
                vec![value.clone()]
            };
            Ok((
                task.clone(),
                list.into_iter().map(step).collect::<Result<Vec<_>, _>>()?,
            ))
        });
        let limits = match &file.enforce {
            None | Some(Value::Null) => Vec::new(),
            Some(list @ Value::Array(_)) => Vec::<Limit>::deserialize(list)?,
            Some(one) => vec![Limit::deserialize(one)?],
        };
        let on_end = match &file.on_end {
            Some(Value::String(word)) if word == "repeat" => OnEnd::Repeat,
            Some(Value::String(word)) if word == "wrap" => OnEnd::Wrap,
            Some(Value::String(_)) => OnEnd::Error,
            Some(value @ Value::Object(_)) => OnEnd::Say(Box::new(step(value.clone())?)),
            _ => OnEnd::Say(Box::new(step(json!({"text": "done"}))?)),
        };
        Ok(Scenario {
            models: models(&file.models, file.context_length),
            models_paths: file.models_paths.as_deref().map(Regex::new).transpose()?,
            stateless: file.cursor.as_deref() == Some("stateless"),
            on_end,
            tasks: tasks.collect::<Result<HashMap<_, _>, ScenarioError>>()?,
            rules: file
                .rules
                .iter()
                .map(|rule| Rule::read(rule, &file.defaults))
                .collect::<Result<_, _>>()?,
            limits,
            steps,
            max_context_tokens: file.max_context_tokens,
            overhead_usage: file.overhead_usage,
            strict: file.strict,
            toolless_main: file.toolless_main,
        })
    }

    /// The same scenario with answers for a side task (`summary`, `title`, `side`); the last one repeats.
    #[must_use]
    pub fn with_task(mut self, task: impl Into<String>, answers: impl IntoIterator<Item = Step>) -> Scenario {
        self.tasks.insert(task.into(), answers.into_iter().collect());
        self
    }

    /// The same scenario, refusing what a strict provider would refuse.
    #[must_use]
    pub fn strict(self) -> Scenario {
        Scenario { strict: true, ..self }
    }
}

/// A step with the scenario's defaults beneath its own keys.
fn with_defaults(defaults: &Map<String, Value>, value: Value) -> Result<Step, ScenarioError> {
    let mut merged = defaults.clone();
    if let Value::Object(own) = value {
        merged.extend(own);
    }
    Ok(Step::deserialize(Value::Object(merged))?)
}

fn unroll(
    rounds: &Rounds,
    defaults: &Map<String, Value>,
    steps: &mut Vec<Step>,
) -> Result<(), ScenarioError> {
    for round in 0..rounds.n {
        let mut own = Map::from_iter([
            ("text".to_owned(), json!(rounds.text)),
            ("reasoning".to_owned(), json!(rounds.reasoning)),
        ]);
        own.extend(rounds.step.clone());
        let mut step = with_defaults(defaults, Value::Object(own))?;
        step.tool_calls = (0..rounds.parallel)
            .map(|lane| Call {
                number: Some(round * rounds.parallel + lane),
                ..rounds.call.clone()
            })
            .collect();
        step.number = Some(round);
        steps.push(step);
    }
    steps.push(with_defaults(
        defaults,
        rounds.last.clone().unwrap_or_else(|| json!({"text": "done"})),
    )?);
    Ok(())
}

/// The model list: what `GET …/models` shows.
fn models(named: &[Value], context_length: Option<u64>) -> Vec<Map<String, Value>> {
    let usual = [json!("mock-model")];
    let named = if named.is_empty() { &usual } else { named };
    named
        .iter()
        .map(|model| {
            let own = match model {
                Value::Object(own) => own.clone(),
                other => Map::from_iter([("id".to_owned(), other.clone())]),
            };
            let id = own.get("id").cloned().unwrap_or_default();
            let window = own
                .get("context_length")
                .cloned()
                .or(context_length.map(Value::from));
            let mut entry = Map::from_iter([
                ("object".to_owned(), json!("model")),
                ("created".to_owned(), json!(1_700_000_000)),
                ("owned_by".to_owned(), json!("mock")),
                ("type".to_owned(), json!("model")),
                ("display_name".to_owned(), id),
            ]);
            entry.extend(own);
            if let Some(window) = window {
                entry.insert("context_length".to_owned(), window.clone());
                entry.insert("max_model_len".to_owned(), window);
            }
            entry
        })
        .collect()
}

/// A pattern in which `.` also means a line break, as scenario files expect.
pub(crate) fn pattern(text: &str) -> Result<Regex, regex::Error> {
    Regex::new(&format!("(?s){text}"))
}

impl Rule {
    fn read(file: &RuleFile, defaults: &Map<String, Value>) -> Result<Rule, ScenarioError> {
        let when = &file.when;
        let mut patterns = Vec::new();
        for (subject, text) in [
            (Subject::LastUser, &when.last_user),
            (Subject::System, &when.system),
            (Subject::Any, &when.any),
            (Subject::Model, &when.model),
            (Subject::Path, &when.path),
        ] {
            if let Some(text) = text {
                patterns.push((subject, pattern(text)?));
            }
        }
        let mut headers = Vec::new();
        for (name, text) in &when.header {
            headers.push((name.to_ascii_lowercase(), pattern(text)?));
        }
        Ok(Rule {
            name: file.name.clone().unwrap_or_else(|| "rule".to_owned()),
            when: When {
                patterns,
                headers,
                stream: when.stream,
                has_tools: when.has_tools,
                min_bytes: when.min_bytes,
                max_tools: when.max_tools,
            },
            respond: with_defaults(defaults, Value::Object(file.respond.clone()))?,
            times: file.times,
            consume: file.consume,
        })
    }
}

impl When {
    pub(crate) fn holds(&self, call: &ModelCall) -> bool {
        let text = |subject: Subject| match subject {
            Subject::LastUser => call.last_user.as_str().into(),
            Subject::System => call.system.as_str().into(),
            Subject::Any => String::from_utf8_lossy(&call.raw),
            Subject::Model => call.model.as_str().into(),
            Subject::Path => call.path.as_str().into(),
        };
        let header = |name: &str| call.header(name).unwrap_or("");
        self.stream.is_none_or(|stream| stream == call.stream)
            && self.has_tools.is_none_or(|has| has != call.tools.is_empty())
            && self.max_tools.is_none_or(|most| call.tools.len() <= most)
            && self.min_bytes.is_none_or(|least| call.raw.len() >= least)
            && self
                .headers
                .iter()
                .all(|(name, pattern)| pattern.is_match(header(name)))
            && self
                .patterns
                .iter()
                .all(|(subject, pattern)| pattern.is_match(&text(*subject)))
    }
}

impl Scenario {
    /// Whether a GET of this path lists models.
    pub(crate) fn lists_models(&self, path: &str) -> bool {
        if let Some(pattern) = &self.models_paths {
            return pattern.is_match(path);
        }
        // `/api/v1/models` is not among them: that is another server's own list.
        let path = path.strip_prefix("/openai").unwrap_or(path);
        let path = path
            .strip_prefix("/v1beta")
            .or(path.strip_prefix("/v1"))
            .unwrap_or(path);
        let rest = path.strip_prefix("/models");
        rest.is_some_and(|rest| {
            rest.is_empty() || (rest.starts_with('/') && rest.len() > 1 && !rest.contains(':'))
        })
    }

    /// The answer to a GET of a models path.
    pub(crate) fn model_list(&self, path: &str) -> (u16, Value) {
        let id = |model: &Map<String, Value>| model.get("id").cloned().unwrap_or_default();
        if !path.ends_with("/models") {
            let wanted = path.rsplit_once("/models/").map_or("", |(_, wanted)| wanted);
            let found = self.models.iter().find(|model| id(model) == wanted);
            let missing = json!({"error": {"message": "model not found", "type": "not_found", "param": null, "code": null}});
            return found.map_or((404, missing), |model| (200, Value::Object(model.clone())));
        }
        if path.contains("v1beta") {
            let name = |model| format!("models/{}", id(model).as_str().unwrap_or_default());
            let entry = |model| json!({"name": name(model), "displayName": id(model)});
            return (
                200,
                json!({"models": self.models.iter().map(entry).collect::<Vec<_>>()}),
            );
        }
        (
            200,
            json!({"object": "list", "data": self.models, "has_more": false}),
        )
    }
}
