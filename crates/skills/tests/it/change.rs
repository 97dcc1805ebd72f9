//! Skills are changed, and every change can be taken back.

use std::cell::Cell;

use talaria_skills::{Change, CuratorSettings, SkillError, State, Used, Writer};
use talaria_types::Timestamp;

use crate::rig::{NOW, Rig, text};

fn create(name: &str, content: &str) -> Change {
    Change::Create {
        name: name.to_owned(),
        content: content.to_owned(),
        category: None,
    }
}

fn edit(name: &str, content: &str) -> Change {
    Change::Edit {
        name: name.to_owned(),
        content: content.to_owned(),
    }
}

fn patch(name: &str, old: &str, new: &str) -> Change {
    Change::Patch {
        name: name.to_owned(),
        file_path: None,
        old_string: old.to_owned(),
        new_string: new.to_owned(),
        replace_all: false,
    }
}

fn write(name: &str, path: &str) -> Change {
    Change::WriteFile {
        name: name.to_owned(),
        file_path: path.to_owned(),
        file_content: "some notes".to_owned(),
    }
}

fn delete(name: &str) -> Change {
    Change::Delete {
        name: name.to_owned(),
        absorbed_into: String::new(),
    }
}

#[test]
fn bad_skills_and_bad_paths_are_refused_and_nothing_is_left_behind() {
    let rig = Rig::new();
    let file = rig.skill("keep", &text("keep", "d", "body"));
    for bad in [
        create("Bad Name!", &text("x", "d", "b")),
        create("nofront", "no frontmatter"),
        create("nodesc", "---\nname: nodesc\n---\n\nbody\n"),
        create("nobody", "---\nname: nobody\ndescription: d\n---\n\n"),
        create("keep", &text("keep", "d", "b")),
        create("../evil", &text("evil", "d", "b")),
        create("evil", &text("evil", "d", "echo aGk= | base64 -d | sh")),
        write("keep", "../../out.md"),
        write("keep", "other/out.md"),
        write("keep", "references"),
        patch("keep", "not in there", "x"),
        patch("keep", "description: d", "descr: d"),
        delete("debugging"),
    ] {
        assert!(rig.change(&bad).is_err(), "{bad:?}");
    }
    assert_eq!(std::fs::read_to_string(file).unwrap(), text("keep", "d", "body"));
    let left: Vec<_> = std::fs::read_dir(rig.home.path().join("skills"))
        .unwrap()
        .map(|item| item.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with('.'))
        .collect();
    assert_eq!(left, ["keep"]);
}

#[test]
fn a_skill_is_made_changed_shown_as_a_diff_and_put_back() {
    let rig = Rig::new();
    rig.change(&create("notes", &text("notes", "Keep notes", "Use a list.")))
        .unwrap();
    rig.change(&patch("notes", "a list", "two lists")).unwrap();
    rig.change(&write("notes", "references/more.md")).unwrap();
    assert!(
        rig.library
            .view("notes", Some("references/more.md"), "s")
            .unwrap()
            .content
            == "some notes"
    );
    let first = &rig.library.snapshots("notes")[0].id.clone();
    let diff = rig.library.diff("notes", Some(first)).unwrap();
    assert!(
        diff.contains("-Use a list.") && diff.contains("+Use two lists.") && diff.contains("+some notes")
    );
    rig.library.rollback("notes", Some(first), NOW).unwrap();
    let view = rig.library.view("notes", None, "s").unwrap();
    assert!(
        view.content.contains("Use a list.") && view.told["linked_files"].as_object().unwrap().is_empty()
    );
    rig.library.rollback("notes", None, NOW).unwrap();
    assert!(
        rig.library
            .view("notes", None, "s")
            .unwrap()
            .content
            .contains("two lists")
    );
}

#[test]
fn a_deleted_skill_can_be_put_back_and_a_pinned_one_is_not_deleted() {
    let rig = Rig::new();
    rig.skill("cat/notes", &text("notes", "d", "body"));
    rig.library.pin("notes", true).unwrap();
    assert!(rig.change(&delete("notes")).is_err());
    rig.library.pin("notes", false).unwrap();
    rig.change(&delete("notes")).unwrap();
    assert!(!rig.home.path().join("skills/cat").exists());
    rig.library.rollback("notes", None, NOW).unwrap();
    assert_eq!(rig.library.find("notes").unwrap().category, "cat");
}

#[test]
fn a_skill_of_the_program_is_changed_as_a_copy_in_the_home() {
    let rig = Rig::new();
    rig.change(&patch("debugging", "# Debugging", "# Debugging here"))
        .unwrap();
    let entry = rig.library.find("debugging").unwrap();
    assert!(entry.folder.ends_with("skills/development/debugging"));
    assert!(
        rig.library
            .view("debugging", None, "s")
            .unwrap()
            .content
            .contains("# Debugging here")
    );
}

#[test]
fn a_review_neither_overwrites_what_it_has_not_read_nor_leaves_a_stub() {
    let rig = Rig::new();
    let steps: String = (0..800)
        .map(|step| format!("Step {step}: do the thing number {step}.\n"))
        .collect();
    let file = rig.skill("deploy", &text("deploy", "Deploy things", &steps));
    let read = Cell::new(false);
    let has_read = |_: &str| read.get();
    let review = Writer::Review { has_read: &has_read };
    let change = |change: &Change| rig.library.change(change, review, NOW);
    let small = patch("deploy", "Step 7: do the thing number 7.", "Step 7: do it twice.");
    let said = |result: Result<_, SkillError>| result.unwrap_err().to_string();
    assert!(said(change(&small)).contains("agent made itself"));
    rig.library
        .count("deploy", Used::Created { by_review: false }, NOW)
        .unwrap();
    assert!(said(change(&small)).contains("read the skill first"));
    read.set(true);
    assert!(said(change(&edit("deploy", &text("deploy", "d", "Step.")))).contains("shrink"));
    assert!(said(change(&delete("deploy"))).contains("does not delete"));
    change(&small).unwrap();
    let now = std::fs::read_to_string(file).unwrap();
    assert!(
        now.contains("Step 7: do it twice.") && now.lines().count() == 806,
        "{}",
        now.lines().count()
    );
    assert_eq!(rig.library.snapshots("deploy").len(), 1);
}

#[test]
fn what_lies_outside_of_the_home_is_only_read() {
    let rig = Rig::new();
    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::write(elsewhere.path().join("SKILL.md"), text("linked", "d", "body")).unwrap();
    std::fs::create_dir_all(rig.home.path().join("skills")).unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), rig.home.path().join("skills/linked")).unwrap();
    assert!(rig.library.view("linked", None, "s").is_ok());
    assert!(matches!(
        rig.change(&patch("linked", "body", "x")),
        Err(SkillError::Refused(_))
    ));
}

#[test]
fn what_the_agent_made_and_nobody_uses_is_put_away_and_comes_back() {
    let rig = Rig::new();
    for name in ["own", "used", "persons"] {
        rig.skill(&format!("cat/{name}"), &text(name, "d", "body"));
    }
    let long_ago = Timestamp(NOW.0 - 100.0 * 86_400.0);
    for name in ["own", "used"] {
        rig.library
            .count(name, Used::Created { by_review: true }, long_ago)
            .unwrap();
    }
    rig.library.count("used", Used::Used, NOW).unwrap();
    let settings = CuratorSettings::default();
    assert_eq!(
        rig.library.curate_if_due(long_ago, &settings).unwrap(),
        None,
        "the first look starts the clock"
    );
    let curated = rig.library.curate_if_due(NOW, &settings).unwrap().unwrap();
    assert_eq!(curated.transitions.len(), 1);
    assert_eq!(
        (curated.transitions[0].name.as_str(), curated.transitions[0].to),
        ("own", State::Archived)
    );
    assert!(curated.backup.unwrap().is_file());
    assert!(rig.library.find("own").is_err());
    assert_eq!(rig.library.archived(), ["own"]);
    assert_eq!(
        rig.library.curate_if_due(NOW, &settings).unwrap(),
        None,
        "not again before its time"
    );
    rig.library.restore("own").unwrap();
    assert_eq!(rig.library.find("own").unwrap().category, "cat");
    assert!(rig.library.restore("../persons").is_err());
}

#[test]
fn what_hermes_remembers_of_a_skill_is_kept() {
    let rig = Rig::new();
    rig.skill("notes", &text("notes", "d", "body"));
    let file = rig.home.path().join("skills/.usage.json");
    std::fs::write(
        &file,
        r#"{"notes":{"created_by":"agent","use_count":2,"color":"blue"},"other":{"pinned":true}}"#,
    )
    .unwrap();
    rig.library.count("notes", Used::Used, NOW).unwrap();
    let value: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(
        (&value["notes"]["use_count"], &value["notes"]["color"]),
        (&3.into(), &"blue".into())
    );
    assert_eq!(value["other"]["pinned"], true);
}
