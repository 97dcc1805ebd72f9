use std::path::PathBuf;

use serde_json::{Value, json};
use talaria_types::ToolCall;
use tokio_util::sync::CancellationToken;

use crate::approval::Mode;
use crate::process::find_program;
use crate::{Executor, NullHost, Registry, ToolSession, ToolSettings};

struct Bench {
    _folder: tempfile::TempDir,
    executor: Executor,
    cwd: PathBuf,
    cancel: CancellationToken,
}

impl Bench {
    fn new(change: impl FnOnce(&mut ToolSettings)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let cwd = std::fs::canonicalize(folder.path()).unwrap().join("work");
        std::fs::create_dir(&cwd).unwrap();
        let mut settings = ToolSettings::for_folder(folder.path().join("home"), &cwd);
        settings.approval_mode = Mode::Manual;
        change(&mut settings);
        let registry = Registry::builtin();
        let selection = registry.select(&[], &[], 0).unwrap();
        let executor = Executor::new(registry.into(), selection, ToolSession::new(settings));
        Self {
            _folder: folder,
            executor,
            cwd,
            cancel: CancellationToken::new(),
        }
    }

    async fn run(&self, language: &str, code: &str) -> Value {
        let call = ToolCall {
            id: "c1".to_owned(),
            name: "execute_code".to_owned(),
            arguments: json!({"code": code, "language": language}).to_string(),
            extra: serde_json::Map::new(),
        };
        let batch = self.executor.run_all(&[call], &NullHost, &self.cancel).await;
        serde_json::from_str(&batch.results[0].content.text()).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shell_script_calls_tools_and_gives_back_what_it_prints() {
    let bench = Bench::new(|_| {});
    std::fs::write(bench.cwd.join("a.txt"), "first\nsecond\n").unwrap();
    let code = "tool read_file '{\"path\": \"a.txt\"}' | grep -c second\n\
                tool write_file '{\"path\": \"b.txt\", \"content\": \"made\"}' > /dev/null\n\
                tool nonsense || echo refused";
    let told = bench.run("sh", code).await;
    assert_eq!(told["status"], "success", "{told}");
    assert!(told["output"].as_str().unwrap().starts_with("1\n"), "{told}");
    assert!(
        told["output"].as_str().unwrap().ends_with("refused\n")
            || told["output"].as_str().unwrap().ends_with("refused")
    );
    assert_eq!(told["tool_calls_made"], 3);
    assert_eq!(std::fs::read_to_string(bench.cwd.join("b.txt")).unwrap(), "made");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_beyond_the_limit_are_refused_and_say_so() {
    let bench = Bench::new(|settings| settings.code.max_calls = 2);
    let told = bench
        .run(
            "sh",
            "for n in 1 2 3; do tool search_files '{\"pattern\": \"x\"}'; done",
        )
        .await;
    assert!(
        told["output"]
            .as_str()
            .unwrap()
            .contains("a script may make 2 calls"),
        "{told}"
    );
    assert_eq!(told["tool_calls_made"], 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_is_judged_like_a_command_and_so_are_its_calls() {
    let bench = Bench::new(|_| {});
    std::fs::create_dir(bench.cwd.join("built")).unwrap();
    let typed = bench.run("sh", "rm -rf ./built").await;
    assert!(typed["error"].as_str().unwrap().contains("DENIED"), "{typed}");
    let called = bench
        .run("sh", "tool terminal '{\"command\": \"rm -rf ./built\"}'")
        .await;
    assert!(called["output"].as_str().unwrap().contains("DENIED"), "{called}");
    assert!(bench.cwd.join("built").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_that_does_not_end_is_ended_with_all_it_started() {
    let bench = Bench::new(|settings| settings.code.timeout_s = 1);
    let told = bench.run("sh", "echo begun; sleep 600 & wait").await;
    assert_eq!(told["status"], "timeout", "{told}");
    assert!(told["output"].as_str().unwrap().contains("begun"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_script_reads_counts_as_unseen_by_the_model() {
    let bench = Bench::new(|_| {});
    std::fs::write(bench.cwd.join("a.txt"), "words\n").unwrap();
    let read = "tool read_file '{\"path\": \"a.txt\"}'";
    for _ in 0..2 {
        let told = bench.run("sh", read).await;
        assert!(told["output"].as_str().unwrap().contains("words"), "{told}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_sees_no_keys() {
    let bench = Bench::new(|_| {});
    let told = bench.run("sh", "env | cut -d= -f1").await;
    let names = told["output"].as_str().unwrap();
    assert!(
        names.contains("PATH") && names.contains("TALARIA_TOOLS"),
        "{names}"
    );
    assert!(
        !names
            .lines()
            .any(|name| name.contains("KEY") || name.starts_with("CARGO")),
        "{names}"
    );
}

/// Runs only where there is a Python; what it shows holds for the door, which the tests above open with a shell.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_python_script_calls_tools_and_writes_nowhere_else() {
    if find_program("python3").is_none() {
        return;
    }
    let bench = Bench::new(|_| {});
    std::fs::write(bench.cwd.join("a.txt"), "first\nsecond\n").unwrap();
    let outside = bench.cwd.parent().unwrap().join("outside.txt");
    let code = format!(
        "from hermes_tools import read_file, terminal\n\
         print(read_file('a.txt')['total_lines'], terminal('echo hi')['output'].strip())\n\
         open('inside.txt', 'w').write('x')\n\
         try:\n    open({outside:?}, 'w').write('x')\nexcept PermissionError:\n    print('kept inside')\n"
    );
    let told = bench.run("python", &code).await;
    if told["error"]
        .as_str()
        .is_some_and(|error| error.contains("cannot confine"))
    {
        return;
    }
    assert_eq!(
        told["output"].as_str().unwrap().trim(),
        "2 hi\nkept inside",
        "{told}"
    );
    assert!(bench.cwd.join("inside.txt").exists() && !outside.exists());
    let program = bench.run("python", "import subprocess").await;
    assert!(program["error"].as_str().unwrap().contains("DENIED"), "{program}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_confined_script_sees_no_other_process_and_leaves_nothing_in_shared_memory() {
    let bench = Bench::new(|_| {});
    let code = "import os\n\
                def tried(path, mode='r'):\n    \
                    try:\n        \
                        open(path, mode).close()\n        \
                        return 'open'\n    \
                    except OSError:\n        \
                        return 'refused'\n\
                print(tried('/proc/%d/environ' % os.getppid()), tried('/proc/1/environ'), tried('/dev/shm/talaria-test', 'w'))\n\
                print(tried('/proc/self/status'), tried('/dev/null', 'w'))\n";
    let told = bench.run("python", code).await;
    if told["status"] == "success" {
        assert_eq!(told["output"], "refused refused refused\nopen open\n", "{told}");
    } else {
        // Without Python, or where nothing confines it, nothing has run.
        assert!(!std::path::Path::new("/dev/shm/talaria-test").exists(), "{told}");
    }
}
