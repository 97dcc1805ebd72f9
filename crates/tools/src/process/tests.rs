use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::builtin::terminal::tests::{Desk, is_running};

/// Names the folder in which the test program plays the program that is killed.
const VICTIM: &str = "TALARIA_TEST_VICTIM";

/// Runs one command in the foreground and one in the background until it is killed; only as a child of the test below.
#[tokio::test]
async fn a_program_with_children() {
    let Some(folder) = std::env::var_os(VICTIM) else {
        return;
    };
    let desk = Desk::new();
    // The watchdog is told of a command once it has started, so it shows itself a little later.
    let write = |name: &str| {
        format!(
            "sleep 1; echo $$ > {}.new; mv {0}.new {0}; sleep 68.5",
            Path::new(&folder).join(name).display()
        )
    };
    desk.result(json!({"command": write("background"), "background": true}))
        .await;
    desk.result(json!({"command": write("foreground")})).await;
}

#[test]
fn children_end_when_the_program_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let mut program = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "process::tests::a_program_with_children"])
        .env(VICTIM, folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let pid = |name: &str| -> u32 {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let text = std::fs::read_to_string(folder.path().join(name)).unwrap_or_default();
            // The shell makes the file before it writes into it.
            if let Some(pid) = text.strip_suffix('\n').and_then(|pid| pid.parse().ok()) {
                return pid;
            }
            assert!(Instant::now() < deadline, "the command never began");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let children = [pid("background"), pid("foreground")];
    assert!(children.iter().all(|pid| is_running(*pid)));
    program.kill().unwrap();
    program.wait().unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    while children.iter().any(|pid| is_running(*pid)) {
        assert!(Instant::now() < deadline, "{children:?} outlived the program");
        std::thread::sleep(Duration::from_millis(5));
    }
}
