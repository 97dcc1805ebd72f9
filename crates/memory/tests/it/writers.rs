//! Many processes write at once.

use std::process::Command;

use talaria_memory::{Author, Limits, Memory, Operation, Origin, Target};
use talaria_types::Timestamp;

const HOME: &str = "TALARIA_TEST_MEMORY_HOME";
const WRITER: &str = "TALARIA_TEST_MEMORY_WRITER";

fn author() -> Author {
    Author {
        origin: Origin::Foreground,
        session: "s".to_owned(),
        source: None,
        at: Timestamp(1.0),
    }
}

/// Does nothing by itself; it is what the other test starts eight times.
#[test]
fn one_of_many_writers() {
    let (Ok(home), Ok(writer)) = (std::env::var(HOME), std::env::var(WRITER)) else {
        return;
    };
    let writer: usize = writer.parse().unwrap();
    let threads: Vec<_> = (0..100)
        .filter(|number| number % 8 == writer)
        .map(|number| {
            let home = home.clone();
            std::thread::spawn(move || {
                let memory = Memory::of_home(home, Limits::default());
                let content = format!("fact {number}");
                let add = [Operation::Add { content }];
                memory.apply(Target::Memory, &add, &author()).unwrap();
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn a_hundred_writers_in_eight_processes_lose_no_entry() {
    let home = tempfile::tempdir().unwrap();
    let program = std::env::current_exe().unwrap();
    let children: Vec<_> = (0..8)
        .map(|writer| {
            Command::new(&program)
                .args(["--exact", "writers::one_of_many_writers"])
                .env(HOME, home.path())
                .env(WRITER, writer.to_string())
                .stdout(std::process::Stdio::piped())
                .spawn()
        })
        .collect();
    for child in children {
        let output = child.unwrap().wait_with_output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stdout)
        );
    }
    let memory = Memory::of_home(home.path(), Limits::default());
    let mut entries = memory.entries(Target::Memory).unwrap();
    entries.sort_by_key(|entry| entry.trim_start_matches("fact ").parse::<u32>().unwrap());
    let all: Vec<String> = (0..100).map(|number| format!("fact {number}")).collect();
    assert_eq!(entries, all);
    assert_eq!(memory.history().len(), 100);
}
