//! What the steps act on: the program, its home, the scripted model, and the eyes that check.

use super::DemoError;
use crate::{
    home::{config_for, isolated},
    mock::{MockServer, Scenario, Step},
};
use rusqlite::{Connection, OpenFlags, types::FromSql};
use serde_json::Value;
use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// The first line of the configuration the demo writes; a home that has it may be used again.
const SIGNED: &str = "# Written by `talaria demo`.\n";

/// How long anything may take before the demo calls it missing.
const PATIENCE: Duration = Duration::from_secs(60);

/// The window of the demo's model: small, so that a job of a few seconds outgrows it.
const WINDOW: u64 = 32_768;

/// Half of that window is the size from which on a conversation is compressed; by default it is never so early.
const COMPRESSION: &str = "compression:\n  min_tokens: 4096\n";

/// A conversation that was compressed, as the steps that speak of it know it.
#[derive(Debug, Default)]
pub(super) struct Long {
    /// The session that ended with the compression.
    pub(super) before: String,
    /// The session that went on.
    pub(super) after: String,
    /// The message that the summary cites for the fact that the steps look for.
    pub(super) cited: String,
}

pub(super) struct Stage<'a> {
    pub(super) server: MockServer,
    program: PathBuf,
    home: PathBuf,
    work: PathBuf,
    out: &'a mut dyn Write,
    /// The session that the steps share.
    pub(super) session: String,
    /// The long conversation.
    pub(super) long: Long,
    /// Removed when the demo ends.
    _temporary: TempDir,
    named: Option<PathBuf>,
}

impl<'a> Stage<'a> {
    /// Starts the model and prepares the home.
    pub(super) fn set(
        program: &Path,
        home: Option<&Path>,
        out: &'a mut dyn Write,
    ) -> Result<Stage<'a>, DemoError> {
        // The demo tells of broken rules itself; the server's own complaint is for tests.
        let server = MockServer::start(Scenario::of([]))?.silent();
        let temporary = TempDir::with_prefix("talaria-demo-")?;
        let own = home.map_or_else(|| temporary.path().join("home"), Path::to_path_buf);
        fs::create_dir_all(&own)?;
        let own = own.canonicalize()?;
        let config = own.join("config.yaml");
        if fs::read_to_string(&config).is_ok_and(|text| !text.starts_with(SIGNED)) {
            return Err(DemoError::HomeInUse(own));
        }
        fs::write(config, configuration(&server, 0))?;
        let work = temporary.path().join("work");
        fs::create_dir(&work)?;
        Ok(Stage {
            server,
            program: program.to_owned(),
            named: home.map(|_| own.clone()),
            home: own,
            work,
            out,
            session: String::new(),
            long: Long::default(),
            _temporary: temporary,
        })
    }

    /// Where to look afterwards.
    pub(super) fn place(&self) -> String {
        match &self.named {
            Some(home) => format!("The sessions stay in {}.", home.display()),
            None => "The demo's home is removed now; --home FOLDER keeps it.".to_owned(),
        }
    }

    pub(super) fn tell(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.out, "{line}")?;
        self.out.flush()
    }

    /// Tells a claim, and ends the demo when it does not hold.
    pub(super) fn claim(
        &mut self,
        claim: &str,
        holds: bool,
        detail: impl FnOnce() -> String,
    ) -> Result<(), DemoError> {
        self.tell(&format!("   {} {claim}", if holds { "✓" } else { "✗" }))?;
        if holds {
            Ok(())
        } else {
            Err(DemoError::Missed {
                claim: claim.to_owned(),
                detail: detail(),
            })
        }
    }

    /// Gives the model its next answers, from the first.
    pub(super) fn script(&self, steps: impl IntoIterator<Item = Step>) {
        self.server.play(Scenario::of(steps));
    }

    /// The program with these arguments, ready to start.
    fn command(&mut self, arguments: &[&str]) -> io::Result<Command> {
        let shown: Vec<String> = arguments
            .iter()
            .map(|argument| {
                if argument.contains(' ') {
                    format!("\"{argument}\"")
                } else {
                    (*argument).to_owned()
                }
            })
            .collect();
        self.tell(&format!("   $ talaria {}", shown.join(" ")))?;
        let mut command = isolated(&self.program, &self.home, &self.work);
        command
            .arg("--home")
            .arg(&self.home)
            .args(arguments)
            .stdin(Stdio::null());
        Ok(command)
    }

    /// Runs the program to its end.
    pub(super) fn run(&mut self, arguments: &[&str]) -> io::Result<Output> {
        self.command(arguments)?.output()
    }

    /// Runs the program and reads the one JSON object it prints.
    pub(super) fn json(&mut self, arguments: &[&str]) -> Result<Value, DemoError> {
        let output = self.run(arguments)?;
        let parsed = serde_json::from_slice(&output.stdout);
        let well = output.status.success() && parsed.is_ok();
        if !well {
            self.claim("the command succeeds", false, || shown(&output))?;
        }
        Ok(parsed.unwrap_or_default())
    }

    /// Starts the program and returns at once.
    pub(super) fn start(&mut self, arguments: &[&str]) -> io::Result<Child> {
        self.command(arguments)?
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
    }

    /// Waits until something is so; false when it never was.
    pub(super) fn wait_for(&self, mut is_so: impl FnMut(&Stage<'_>) -> bool) -> bool {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if is_so(self) {
                return true;
            }
            sleep(Duration::from_millis(20));
        }
        false
    }

    /// Puts a file into the working folder.
    pub(super) fn put(&self, name: &str, text: &str) -> io::Result<()> {
        fs::write(self.work.join(name), text)
    }

    /// Lets a review follow every so many turns; 0 is never.
    pub(super) fn review_every(&self, turns: u32) -> io::Result<()> {
        fs::write(self.home.join("config.yaml"), configuration(&self.server, turns))
    }

    /// A file of the home.
    pub(super) fn home_file(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.home.join(name)).ok()
    }

    /// A file of the working folder.
    pub(super) fn file(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.work.join(name)).ok()
    }

    /// The first column of what a query finds in the database; nothing when it cannot be read.
    pub(super) fn column<T: FromSql>(&self, sql: &str, parameters: &[&str]) -> Vec<T> {
        let read = || -> rusqlite::Result<Vec<T>> {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let database = Connection::open_with_flags(self.home.join("state.db"), flags)?;
            database.busy_timeout(Duration::from_secs(5))?;
            let mut statement = database.prepare(sql)?;
            let rows = statement.query_map(rusqlite::params_from_iter(parameters), |row| row.get(0))?;
            rows.collect()
        };
        read().unwrap_or_default()
    }

    /// How many rows a query counts.
    pub(super) fn count(&self, sql: &str, parameters: &[&str]) -> i64 {
        self.column(sql, parameters).first().copied().unwrap_or(-1)
    }
}

/// The home's configuration. Reviews come when a step wants one: they would take answers of the others' scripts.
fn configuration(server: &MockServer, review_every: u32) -> String {
    let model = config_for(server, WINDOW);
    format!(
        "{SIGNED}{model}{COMPRESSION}memory:\n  nudge_interval: {review_every}\nskills:\n  creation_nudge_interval: 0\n"
    )
}

/// How a command ended, for a person who wants to know why the demo failed.
pub(super) fn shown(output: &Output) -> String {
    let end = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(12)..].join("\n")
    };
    format!(
        "{}\nstdout: {}\nstderr: {}",
        output.status,
        end(&output.stdout),
        end(&output.stderr)
    )
}
