//! A server, a registry and an executor.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use talaria_mcp::{Sample, Sampler, ServerSettings, Servers, Source, Surroundings};
use talaria_tools::approval::Mode;
use talaria_tools::{Executor, Host, JournalError, Registry, ToolSession, ToolSettings};
use talaria_types::{ApprovalAnswer, ApprovalRequest, Effect, Question, ToolCall, ToolResult};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

pub(crate) const PEER: &str = env!("CARGO_BIN_EXE_mcp-peer");

/// A person who gives these answers, in order, and consents as said.
#[derive(Default)]
pub(crate) struct Person {
    pub(crate) answers: Mutex<VecDeque<String>>,
    pub(crate) consent: Option<ApprovalAnswer>,
    pub(crate) heard: Mutex<Vec<String>>,
    pub(crate) effects: Mutex<Vec<Effect>>,
}

impl Host for Person {
    fn intend(&self, _: &ToolCall, _: &str, effect: Effect) -> Result<(), JournalError> {
        self.effects.lock().unwrap().push(effect);
        Ok(())
    }
    fn started(&self, _: &ToolCall, _: &str, _: &Value, _: Effect) -> Result<(), JournalError> {
        Ok(())
    }
    fn spawned(&self, _: &ToolCall, _: u32) {}
    fn finished(&self, _: &ToolCall, _: &ToolResult) {}
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        self.heard
            .lock()
            .unwrap()
            .push(format!("{} {} {}", request.tool, request.command, request.reason));
        Box::pin(std::future::ready(self.consent.unwrap_or(ApprovalAnswer::Deny)))
    }
    fn can_ask(&self) -> bool {
        self.consent.is_some() || !self.answers.lock().unwrap().is_empty()
    }
    fn ask(&self, question: Question) -> BoxFuture<'_, Option<String>> {
        self.heard.lock().unwrap().push(question.text);
        Box::pin(std::future::ready(self.answers.lock().unwrap().pop_front()))
    }
    fn status(&self, _: &str) {}
}

pub(crate) struct Rig {
    pub(crate) home: TempDir,
    pub(crate) servers: Servers,
    pub(crate) registry: Arc<Registry>,
    pub(crate) warnings: Vec<String>,
    pub(crate) person: Person,
    pub(crate) cancel: CancellationToken,
    pub(crate) executor: Executor,
}

pub(crate) fn settings(written: &Value, source: Source) -> ServerSettings {
    ServerSettings::read("peer", written, source, &|_| None).unwrap()
}

/// A model that says what it was asked.
pub(crate) fn parrot() -> Sampler {
    Arc::new(|request| {
        Box::pin(async move {
            Ok(Sample {
                text: format!("you said {}", request.messages[0].1),
                model: "parrot-1".to_owned(),
                cut: false,
            })
        })
    })
}

impl Rig {
    pub(crate) async fn new(written: Value) -> Self {
        Self::of(
            TempDir::new().unwrap(),
            &settings(&written, Source::Config),
            Mode::Smart,
        )
        .await
    }

    pub(crate) async fn of(home: TempDir, settings: &ServerSettings, mode: Mode) -> Self {
        let around = Surroundings {
            home: home.path().to_owned(),
            cwd: home.path().to_owned(),
            sampler: Some(parrot()),
        };
        let servers = Servers::new(vec![settings.clone()], &around);
        let warnings = servers.discover(false).await;
        let mut registry = Registry::default();
        servers.add_to(&mut registry);
        let registry = Arc::new(registry);
        servers.follow(&registry);
        let selection = registry.select(&[], &[], 200_000).unwrap();
        let mut tools = ToolSettings::for_folder(home.path(), home.path());
        tools.approval_mode = mode;
        let executor = Executor::new(registry.clone(), selection, ToolSession::new(tools));
        Self {
            home,
            servers,
            registry,
            warnings,
            person: Person::default(),
            cancel: CancellationToken::new(),
            executor,
        }
    }

    /// The peer on stdio.
    pub(crate) async fn peer() -> Self {
        Self::new(json!({"command": PEER})).await
    }

    pub(crate) async fn call(&self, tool: &str, args: Value) -> ToolResult {
        let call = ToolCall {
            id: "c1".to_owned(),
            name: tool.to_owned(),
            arguments: args.to_string(),
            extra: serde_json::Map::default(),
        };
        let batch = self.executor.run_all(&[call], &self.person, &self.cancel).await;
        batch.results.into_iter().next().unwrap()
    }

    pub(crate) async fn text(&self, tool: &str, args: Value) -> String {
        self.call(&format!("mcp__peer__{tool}"), args)
            .await
            .content
            .text()
            .into_owned()
    }
}

/// The peer over HTTP; ends with the value.
pub(crate) struct Web {
    child: Child,
    pub(crate) base: String,
}

impl Web {
    pub(crate) fn start() -> Self {
        let mut child = Command::new(PEER)
            .arg("http")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut base = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut base)
            .unwrap();
        Self {
            child,
            base: base.trim().to_owned(),
        }
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
