//! A scripted model server, spoken to over real HTTP on loopback.
//!
//! A scenario says what the model answers to which request, in any of four protocols, with every fault
//! a provider has shown: refusals, cut streams, silence, half characters, bodies that are no JSON.
//! Every request is checked against what each request must keep; a test that forgets to look fails
//! anyway, because the server complains when it is dropped.
//!
//! The same server answers the program's demo, its `mock-llm` command and the benchmarks.

mod answer;
mod check;
mod encode;
mod http;
mod overflow;
mod play;
mod progress;
mod record;
mod request;
mod scenario;
mod server;
mod step;
mod template;

pub use check::validate;
pub use record::Recorded;
pub use request::{Api, TaskKind};
pub use scenario::{Scenario, ScenarioError};
pub use step::{Call, GivenUsage, Step, UsageSpec};

use server::Shared;
use std::{
    fs::File,
    io,
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    sync::Arc,
    thread::JoinHandle,
};

/// A running scripted model server. Dropping it stops it, and fails the test when a request broke a rule.
pub struct MockServer {
    shared: Arc<Shared>,
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
    allowed: Vec<&'static str>,
    is_silent: bool,
}

impl MockServer {
    /// Starts a server on a free port of loopback, on a thread of its own.
    pub fn start(scenario: Scenario) -> io::Result<MockServer> {
        MockServer::start_with_log(scenario, None)
    }

    /// Starts a server that also writes its requests to this file, one JSON object a line.
    pub fn start_with_log(scenario: Scenario, log: Option<&Path>) -> io::Result<MockServer> {
        let log = log.map(File::create).transpose()?;
        let shared = Arc::new(Shared::new(scenario, log, true));
        let (listener, address) = listen(0)?;
        let runtime = runtime()?;
        let serving = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("mock-llm".to_owned())
            .spawn(move || {
                // An error here can only be that the runtime refuses the socket; every request then fails.
                let _ = runtime.block_on(accept(serving, listener));
            })?;
        Ok(MockServer {
            shared,
            address,
            thread: Some(thread),
            allowed: Vec::new(),
            is_silent: false,
        })
    }

    /// The base URL for chat and responses, `http://127.0.0.1:PORT/v1`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The address without a path.
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Everything that was asked so far, in order of arrival.
    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.state().requests.clone()
    }

    /// The requests of the conversation itself.
    pub fn main_requests(&self) -> Vec<Recorded> {
        self.requests()
            .into_iter()
            .filter(|request| request.task == Some(TaskKind::Main))
            .collect()
    }

    /// What is wrong with the requests so far: `request 3 (main): pairing: …`.
    pub fn findings(&self) -> Vec<String> {
        let state = self.shared.state();
        let found = state.requests.iter().flat_map(|request| {
            let task = request.task.map_or("", TaskKind::as_str);
            request
                .findings
                .iter()
                .map(move |finding| (request.seq, task, finding))
        });
        let is_allowed = |finding: &str| {
            self.allowed
                .iter()
                .any(|rule| finding.split(':').next().is_some_and(|found| found == *rule))
        };
        found
            .filter(|(_, _, finding)| !is_allowed(finding))
            .map(|(seq, task, finding)| format!("request {seq} ({task}): {finding}"))
            .collect()
    }

    /// Plays this scenario from its start from now on.
    pub fn play(&self, scenario: Scenario) {
        self.shared.state().play(scenario);
    }

    /// Does not complain of broken rules when it is dropped; whoever asks [`MockServer::findings`] hears of them.
    #[must_use]
    pub fn silent(self) -> MockServer {
        let mut server = self;
        server.is_silent = true;
        server
    }

    /// Lets requests break this rule (`prefix` when a turn's scaffolding is taken back, `end` for a prefill).
    #[must_use]
    pub fn allowing(mut self, rule: &'static str) -> MockServer {
        self.allowed.push(rule);
        self
    }

    /// Lets requests break any rule, for tests that send broken ones on purpose.
    #[must_use]
    pub fn allowing_anything(mut self) -> MockServer {
        let rules = [
            "alternation",
            "arguments",
            "cache",
            "empty",
            "end",
            "id",
            "json",
            "keys",
            "name",
            "order",
            "pairing",
            "prefix",
            "private",
            "role",
            "shape",
            "size",
            "start",
        ];
        self.allowed.extend(rules);
        self
    }
}

impl Drop for MockServer {
    fn drop(&mut self) {
        self.shared.stop.cancel();
        if let Some(thread) = self.thread.take() {
            // A server thread that panicked has said so on stderr already.
            let _ = thread.join();
        }
        let findings = self.findings();
        if !self.is_silent && !std::thread::panicking() {
            assert!(
                findings.is_empty(),
                "requests broke the rules every request must keep:\n{}",
                findings.join("\n")
            );
        }
    }
}

/// How `mock-llm` serves.
#[derive(Debug, Default)]
pub struct ServeOptions<'a> {
    /// The port on loopback; 0 takes a free one.
    pub port: u16,
    /// Where the requests are written, one JSON object a line.
    pub log: Option<&'a Path>,
}

/// Serves a scenario until the process ends or `/__mock/quit` is asked for. The first line on `out`
/// names the address.
pub fn serve(scenario: Scenario, options: &ServeOptions<'_>, mut out: impl io::Write) -> io::Result<()> {
    let log = options
        .log
        .map(|path| File::options().create(true).append(true).open(path))
        .transpose()?;
    let is_watched = log.is_some();
    let shared = Arc::new(Shared::new(scenario, log, is_watched));
    let (listener, address) = listen(options.port)?;
    let place = options
        .log
        .map_or("-".to_owned(), |path| path.display().to_string());
    writeln!(
        out,
        "mockllm: http://{address}/v1  pid {}  log {place}",
        std::process::id()
    )?;
    out.flush()?;
    runtime()?.block_on(accept(shared, listener))
}

fn listen(port: u16) -> io::Result<(std::net::TcpListener, SocketAddr)> {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

async fn accept(shared: Arc<Shared>, listener: std::net::TcpListener) -> io::Result<()> {
    shared.run(tokio::net::TcpListener::from_std(listener)?).await;
    Ok(())
}

#[cfg(test)]
mod tests;
