//! Starts the program and keeps what it said.

use std::io::Write as _;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use talaria_testkit::{MockServer, SNAPSHOT_FILTERS, Scenario, Step, TempHome};

/// A home without a model.
pub(crate) fn home(config: &str) -> TempHome {
    TempHome::with_config(config).unwrap()
}

/// A home whose model answers these steps.
pub(crate) fn talking(steps: impl IntoIterator<Item = Step>) -> (MockServer, TempHome) {
    let server = MockServer::start(Scenario::of(steps)).unwrap();
    let home = TempHome::pointing_at(&server).unwrap();
    // Side tasks would take answers of the script.
    append(&home, "auxiliary:\n  title_generation:\n    enabled: false\n");
    (server, home)
}

/// Adds lines to the home's configuration.
pub(crate) fn append(home: &TempHome, yaml: &str) {
    let file = home.path().join("config.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(file, text + yaml).unwrap();
}

/// The program on this home.
pub(crate) fn command(home: &TempHome, args: &[&str]) -> Command {
    let mut command = home.command(env!("CARGO_BIN_EXE_talaria"));
    command
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// What a run left.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    fn of(output: Output) -> Self {
        use std::os::unix::process::ExitStatusExt;
        let code = output
            .status
            .code()
            .unwrap_or_else(|| -output.status.signal().unwrap_or(0));
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Self {
            code,
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }

    /// Standard output as one JSON value.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}{}", self.out, self.err))
    }

    /// It must have gone well.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, 0, "stdout: {}\nstderr: {}", self.out, self.err);
        self
    }

    /// Everything it said, for a snapshot.
    pub(crate) fn told(&self) -> String {
        let out = if self.out.is_empty() {
            String::new()
        } else {
            format!("{}\n", self.out.trim_end())
        };
        let err: String = self.err.lines().map(|line| format!("stderr: {line}\n")).collect();
        format!("{out}{err}exit {}", self.code)
    }
}

/// Runs the program to its end.
pub(crate) fn run(home: &TempHome, args: &[&str]) -> Ran {
    Ran::of(command(home, args).output().unwrap())
}

/// Runs the program with text on its standard input.
pub(crate) fn run_with_input(home: &TempHome, args: &[&str], input: &str) -> Ran {
    let mut child = command(home, args).stdin(Stdio::piped()).spawn().unwrap();
    // A program that does not read what it is given is not this test's failure.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    Ran::of(child.wait_with_output().unwrap())
}

/// Waits for the end of a run.
pub(crate) fn finish(child: Child) -> Ran {
    Ran::of(child.wait_with_output().unwrap())
}

/// Snapshots in which ids, ports, times and the home's own path have fixed names.
pub(crate) fn settled(home: &TempHome, check: impl FnOnce()) {
    let mut settings = insta::Settings::clone_current();
    let root = home.path().parent().unwrap().to_string_lossy().into_owned();
    settings.add_filter(&root, "[tmp]");
    for (pattern, name) in SNAPSHOT_FILTERS {
        settings.add_filter(pattern, *name);
    }
    settings.bind(check);
}
