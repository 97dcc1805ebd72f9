//! Homes, scripted models and recorded bodies for the measurements.

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};
use talaria_testkit::{MockServer, Recorded, Scenario};
use tempfile::TempDir;

/// What all measurements share.
pub(crate) struct Stage {
    pub(crate) root: PathBuf,
    pub(crate) program: PathBuf,
    pub(crate) rounds: usize,
    folder: TempDir,
}

/// A scripted model served by the program itself, so that its own time is that of a release build.
pub(crate) struct Model {
    process: Child,
    /// `http://127.0.0.1:PORT/v1`
    pub(crate) base_url: String,
}

/// A home folder and a working folder for the program.
pub(crate) struct Home {
    pub(crate) home: PathBuf,
    pub(crate) work: PathBuf,
}

impl Stage {
    pub(crate) fn set(root: &Path, program: &Path, rounds: usize) -> Result<Stage> {
        let folder = TempDir::with_prefix("talaria-bench-")?;
        Ok(Stage {
            root: root.to_owned(),
            program: program.to_owned(),
            rounds,
            folder,
        })
    }

    /// A folder for one measurement.
    pub(crate) fn folder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.folder.path().join(name);
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// Serves a scenario with the program's own server.
    pub(crate) fn serve(&self, name: &str, scenario: &Value) -> Result<Model> {
        let file = self.folder("scenarios")?.join(format!("{name}.json"));
        fs::write(&file, scenario.to_string())?;
        let mut process = Command::new(&self.program)
            .args(["mock-llm", "--port", "0", "--scenario"])
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let out = process.stdout.take().context("no output of mock-llm")?;
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line)?;
        let base_url = line
            .split_whitespace()
            .find(|word| word.starts_with("http://"))
            .map(str::to_owned);
        let Some(base_url) = base_url else {
            process.kill()?;
            bail!("mock-llm did not say where it listens: {line:?}");
        };
        Ok(Model { process, base_url })
    }

    /// A home whose model is the given server.
    pub(crate) fn home(&self, name: &str, base_url: &str) -> Result<Home> {
        let home = self.folder(&format!("{name}/home"))?;
        let work = self.folder(&format!("{name}/work"))?;
        fs::write(home.join("config.yaml"), config(base_url))?;
        Ok(Home { home, work })
    }

    /// The program on a home, with nothing of the caller's environment but the search path.
    pub(crate) fn command(&self, home: &Home, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        for (name, _) in std::env::vars_os() {
            if name != "PATH" {
                command.env_remove(name);
            }
        }
        command
            .env("TALARIA_HOME", &home.home)
            .env("HOME", &home.home)
            .args(arguments)
            .current_dir(&home.work);
        command
    }

    /// Runs the program once against a recording server; what it sent.
    pub(crate) fn recorded(
        &self,
        home: &Home,
        scenario: &Value,
        arguments: &[&str],
    ) -> Result<Vec<Recorded>> {
        let server = MockServer::start(Scenario::from_value(scenario.clone())?)?;
        fs::write(home.home.join("config.yaml"), config(&server.base_url()))?;
        let output = self.command(home, arguments).stdin(Stdio::null()).output()?;
        if !output.status.success() {
            bail!("the program failed: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(server.main_requests())
    }
}

impl Home {
    /// Points the home at another server.
    pub(crate) fn point_at(&self, base_url: &str) -> Result<()> {
        Ok(fs::write(self.home.join("config.yaml"), config(base_url))?)
    }
}

impl Model {
    /// The address without scheme and path.
    pub(crate) fn address(&self) -> &str {
        self.base_url
            .trim_start_matches("http://")
            .split('/')
            .next()
            .unwrap_or_default()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // It is a child of ours that waits for requests; nothing is lost with it.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Titles are made by a model call of their own, which would be measured with the turn.
fn config(base_url: &str) -> String {
    format!(
        "model:\n  default: mock-model\n  provider: custom\n  base_url: {base_url}\n  api_key: bench-key-0000\n  \
         context_length: 1000000\nauxiliary:\n  title_generation:\n    enabled: false\nmemory:\n  nudge_interval: 0\nskills:\n  \
         creation_nudge_interval: 0\n"
    )
}

/// A scenario that answers every question with one word.
pub(crate) fn hello() -> Value {
    json!({"cursor": "stateless", "context_length": 1_000_000, "steps": [{"text": "hello"}]})
}

/// A scenario that has so many files read, one a call.
pub(crate) fn reads(files: usize) -> Value {
    json!({
        "cursor": "stateless", "context_length": 1_000_000,
        "loop": {"n": files, "call": {"name": "read_file", "args": {"path": "files/f{i:03d}.txt"}},
                 "final": {"text": "all files read"}},
    })
}

/// Sends bodies one after the other on one connection and reads each answer to its end.
pub(crate) fn replay(address: &str, bodies: &[Vec<u8>]) -> Result<()> {
    let mut socket = TcpStream::connect(address)?;
    socket.set_nodelay(true)?;
    let mut buffer = vec![0; 64 * 1024];
    for body in bodies {
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer bench-key-0000\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        socket.write_all(&[head.as_bytes(), body].concat())?;
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n0\r\n\r\n") {
            let read = socket.read(&mut buffer)?;
            if read == 0 {
                bail!("the server closed the connection");
            }
            answer.extend_from_slice(&buffer[..read]);
        }
    }
    Ok(())
}
