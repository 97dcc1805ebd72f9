//! `db`: care for the database.

use std::io::{Seek, SeekFrom, Write};

use crate::program::{home, run, settled, talking};
use talaria_testkit::Step;

#[test]
fn without_a_database_the_commands_say_so_and_make_none() {
    let home = home("{}\n");
    for action in [
        &["db", "check"][..],
        &["db", "vacuum"],
        &["db", "repair"],
        &["db", "backup", "x.db"],
    ] {
        let ran = run(&home, action);
        assert!(
            ran.code == 2 && ran.err.contains("there is no database yet"),
            "{}",
            ran.told()
        );
    }
    assert!(!home.database().exists());
}

#[test]
fn a_backup_holds_every_session_and_leaves_an_existing_file_alone() {
    let (_server, home) = talking([Step::say("kept")]);
    run(&home, &["-z", "keep this"]).ok();
    let copy = home.work().join("copy.db");
    let copy = copy.to_str().unwrap();
    run(&home, &["db", "backup", copy]).ok();
    let again = run(&home, &["db", "backup", copy]);
    assert!(
        again.code == 2 && again.err.contains("is there already"),
        "{}",
        again.told()
    );
    std::fs::copy(copy, home.database()).unwrap();
    assert_eq!(
        run(&home, &["sessions", "stats", "--json"]).ok().json()["messages"],
        2
    );
}

#[test]
fn a_damaged_file_is_found_and_repaired_with_the_old_one_kept() {
    let (_server, home) = talking([Step::say("wordbravo")]);
    run(&home, &["-z", "wordalpha"]).ok();
    let ran = run(&home, &["db", "check"]).ok();
    settled(&home, || {
        insta::assert_snapshot!(ran.told(), @r"
        [tmp]/home/state.db is sound: 1 session, 2 messages, 2 in the search index
        exit 0
        ");
    });
    assert_eq!(run(&home, &["db", "check", "--json"]).ok().json()["sound"], true);
    run(&home, &["db", "vacuum"]).ok();
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .open(home.database())
        .unwrap();
    file.seek(SeekFrom::Start(4096 * 3)).unwrap();
    file.write_all(&[0xff; 4096]).unwrap();
    let damaged = run(&home, &["db", "check"]);
    assert!(
        damaged.code == 1 && damaged.err.contains("is damaged"),
        "{}",
        damaged.told()
    );
    run(&home, &["db", "repair"]).ok();
    run(&home, &["db", "check"]).ok();
    let found = run(&home, &["search", "wordalpha", "--json"]).ok().json();
    assert_eq!(found["total"], 1);
}

#[test]
fn a_file_that_is_no_database_is_told_by_every_command_and_left_alone() {
    let (server, home) = talking([]);
    std::fs::write(
        home.database(),
        "certainly no database, but long enough to look at ".repeat(50),
    )
    .unwrap();
    for args in [
        &["-z", "hi"][..],
        &["sessions", "list"],
        &["db", "check"],
        &["db", "repair"],
        &["search", "x"],
    ] {
        let ran = run(&home, args);
        assert!(
            ran.code == 1 && ran.err.contains("state.db is damaged"),
            "{args:?}: {}",
            ran.told()
        );
    }
    assert!(
        run(&home, &["db", "repair"])
            .err
            .contains("put a backup in its place")
    );
    assert!(
        std::fs::read_to_string(home.database())
            .unwrap()
            .starts_with("certainly")
    );
    assert!(server.requests().is_empty());
}
