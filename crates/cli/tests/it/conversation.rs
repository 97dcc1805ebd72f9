//! The interactive session, on a terminal of its own.

use std::io::{Read, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use portable_pty::{Child, CommandBuilder, PtySize, native_pty_system};
use rstest::rstest;
use serde_json::json;
use talaria_testkit::{Step, TempHome};

use crate::program::{append, run, talking};

/// The program on a terminal: what it shows, and a keyboard.
struct Terminal {
    shown: Arc<Mutex<String>>,
    keys: Arc<Mutex<Box<dyn Write + Send>>>,
    child: Box<dyn Child + Send + Sync>,
    seen: usize,
}

impl Terminal {
    fn start(home: &TempHome, args: &[&str]) -> Self {
        let pair = native_pty_system()
            .openpty(PtySize {
                rows: 40,
                cols: 120,
                ..PtySize::default()
            })
            .unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_talaria"));
        command.args(args);
        command.cwd(home.work());
        command.env_clear();
        command.env("PATH", std::env::var("PATH").unwrap());
        command.env("TALARIA_HOME", home.path());
        command.env("HOME", home.path());
        command.env("TERM", "xterm-256color");
        let child = pair.slave.spawn_command(command).unwrap();
        let keys = Arc::new(Mutex::new(pair.master.take_writer().unwrap()));
        let shown = Arc::new(Mutex::new(String::new()));
        let mut reader = pair.master.try_clone_reader().unwrap();
        let (answers, screen) = (keys.clone(), shown.clone());
        std::thread::spawn(move || {
            let _master = pair.master;
            let mut piece = [0; 4096];
            while let Ok(size @ 1..) = reader.read(&mut piece) {
                let text = String::from_utf8_lossy(&piece[..size]).into_owned();
                // The line editor asks where the cursor is, as a real terminal would answer.
                if text.contains("\x1b[6n") {
                    let _ = answers.lock().unwrap().write_all(b"\x1b[1;1R");
                }
                screen.lock().unwrap().push_str(&text);
            }
        });
        Self {
            shown,
            keys,
            child,
            seen: 0,
        }
    }

    /// Types `text` once `before` has been shown anew.
    fn after(&mut self, before: &str, text: &str) {
        self.sees(before);
        let mut keys = self.keys.lock().unwrap();
        keys.write_all(text.as_bytes()).unwrap();
        keys.flush().unwrap();
    }

    /// Waits until `text` is shown after everything that was waited for before.
    fn sees(&mut self, text: &str) {
        for _ in 0..3_000 {
            let shown = self.shown.lock().unwrap();
            if let Some(at) = shown[self.seen..].find(text) {
                self.seen += at + text.len();
                return;
            }
            drop(shown);
            std::thread::park_timeout(Duration::from_millis(10));
        }
        panic!(
            "never shown: {text:?} in\n{}",
            &self.shown.lock().unwrap()[self.seen..]
        );
    }

    fn code(mut self) -> u32 {
        self.child.wait().unwrap().exit_code()
    }
}

/// The editor is ready for a line (it has switched bracketed paste on).
const READY: &str = "\x1b[?2004h";

fn step(value: serde_json::Value) -> Step {
    serde_json::from_value(value).unwrap()
}

#[test]
fn a_conversation_shows_markdown_tools_and_the_way_back() {
    let (server, home) = talking([
        Step::say("Some **bold** words."),
        step(json!({"tool_calls": [{"name": "terminal", "args": {"command": "echo from-tool"}}]})),
        Step::say("the tool spoke"),
    ]);
    let mut terminal = Terminal::start(&home, &[]);
    terminal.after(READY, "hello\r");
    terminal.sees("\x1b[1mbold\x1b[0m");
    terminal.after(READY, "use it\r");
    terminal.sees("ran `echo from-tool`");
    terminal.sees("the tool spoke");
    terminal.after(READY, "/status\r");
    terminal.sees("mock-model");
    terminal.after(READY, "/nothing\r");
    terminal.sees("there is no command /nothing");
    terminal.after(READY, "/quit\r");
    terminal.sees("go on with: talaria -r ");
    assert_eq!(terminal.code(), 0);
    assert_eq!(server.main_requests().len(), 3);
    assert_eq!(
        run(&home, &["sessions", "stats", "--json"]).ok().json()["sessions"],
        1
    );
}

#[test]
fn a_dangerous_command_waits_for_consent() {
    let remove =
        step(json!({"tool_calls": [{"name": "terminal", "args": {"command": "rm -rf ./precious"}}]}));
    let (_server, home) = talking([remove.clone(), Step::say("refused"), remove, Step::say("gone")]);
    append(&home, "approvals:\n  mode: manual\n");
    std::fs::create_dir(home.work().join("precious")).unwrap();
    let mut terminal = Terminal::start(&home, &[]);
    terminal.after(READY, "remove it\r");
    terminal.after("[d]eny: ", "what?\n");
    terminal.sees("please answer with one of the letters");
    terminal.after("[d]eny: ", "d\n");
    terminal.sees("refused");
    assert!(home.work().join("precious").exists());
    terminal.after(READY, "do it\r");
    terminal.after("[d]eny: ", "o\n");
    terminal.sees("gone");
    assert!(!home.work().join("precious").exists());
    terminal.after(READY, "\x04");
    assert_eq!(terminal.code(), 0);
}

#[test]
fn one_interrupt_stops_the_turn_and_two_at_the_prompt_leave() {
    let (server, home) = talking([step(json!({"hang": true})), Step::say("still here")]);
    let mut terminal = Terminal::start(&home, &[]);
    terminal.after(READY, "hang\r");
    // The spinner says that the request is on its way.
    terminal.after("thinking 1.", "\x03");
    terminal.sees("stopped");
    terminal.after(READY, "and now?\r");
    terminal.sees("still here");
    terminal.after(READY, "\x03");
    terminal.sees("again");
    terminal.after(READY, "\x03");
    assert_eq!(terminal.code(), 0);
    assert_eq!(server.main_requests().len(), 2);
}

#[test]
fn words_typed_during_a_turn_reach_the_model_with_the_next_tool_result() {
    let (server, home) = talking([
        step(
            json!({"tool_calls": [{"name": "terminal", "args": {"command": "until test -e go; do sleep 0.05; done"}}]}),
        ),
        Step::say("understood"),
    ]);
    let mut terminal = Terminal::start(&home, &[]);
    terminal.after(READY, "wait\r");
    terminal.after("\x1b[?2004l", "prefer herons\n");
    terminal.sees("the model will see this");
    std::fs::write(home.work().join("go"), "").unwrap();
    terminal.sees("understood");
    terminal.after(READY, "/quit\r");
    assert_eq!(terminal.code(), 0);
    let last = server.main_requests().last().unwrap().body.to_string();
    assert!(last.contains("prefer herons"), "{last}");
}

#[test]
fn a_command_typed_during_a_turn_waits_for_its_end() {
    let (server, home) = talking([
        step(
            json!({"tool_calls": [{"name": "terminal", "args": {"command": "until test -e go; do sleep 0.05; done"}}]}),
        ),
        Step::say("done waiting"),
    ]);
    let mut terminal = Terminal::start(&home, &[]);
    terminal.after(READY, "wait\r");
    terminal.after("\x1b[?2004l", "/status\n");
    terminal.sees("/status waits until this turn has ended");
    std::fs::write(home.work().join("go"), "").unwrap();
    terminal.sees("done waiting");
    terminal.sees("mock-model");
    terminal.after(READY, "/quit\r");
    assert_eq!(terminal.code(), 0);
    let sent = server.main_requests();
    assert!(
        sent.iter()
            .all(|request| !request.body.to_string().contains("/status"))
    );
}

#[rstest]
#[case::kill_int_at_the_prompt_was_ignored("INT")]
#[case::a_terminal_that_hung_up_left_the_process_reading_for_ever("HUP")]
#[case::a_supervisor_that_ends_it("TERM")]
fn a_signal_at_the_prompt_ends_the_session(#[case] signal: &str) {
    let (_server, home) = talking([Step::say("hello")]);
    let mut terminal = Terminal::start(&home, &[]);
    terminal.after(READY, "hi\r");
    terminal.sees("hello");
    terminal.sees(READY);
    let process = terminal.child.process_id().unwrap().to_string();
    let sent = std::process::Command::new("kill")
        .args(["-s", signal, &process])
        .status()
        .unwrap();
    assert!(sent.success());
    terminal.sees("go on with: talaria -r ");
    assert_eq!(terminal.code(), 130);
}

#[test]
fn a_model_cannot_clear_the_screen_or_set_the_title_with_its_answer() {
    let (_server, home) = talking([Step::say("before \u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}3J after")]);
    let mut terminal = Terminal::start(&home, &[]);
    terminal.after(READY, "hi\r");
    terminal.sees("after");
    terminal.after(READY, "/quit\r");
    terminal.sees("go on with");
    let shown = terminal.shown.lock().unwrap().clone();
    assert!(!shown.contains("\u{1b}]0;owned") && !shown.contains("\u{1b}[2J") && !shown.contains('\u{9b}'));
    assert_eq!(terminal.code(), 0);
}
