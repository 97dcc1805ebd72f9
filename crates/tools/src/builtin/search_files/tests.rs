use std::fs;

use serde_json::json;

use super::*;
use crate::ToolSettings;

struct Folder(tempfile::TempDir, Arc<ToolSession>);

fn folder(files: &[(&str, &str)]) -> Folder {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    let settings = ToolSettings::for_folder(folder.path().join(".hermes"), folder.path());
    let session = ToolSession::for_user(settings, folder.path().join("user"));
    Folder(folder, session)
}

impl Folder {
    fn run(&self, args: Value) -> Result<ToolOutput, ToolError> {
        let search = Search {
            session: Arc::clone(&self.1),
            args: serde_json::from_value(args).unwrap(),
            cancel: CancellationToken::new(),
            until: Instant::now() + TIME,
        };
        search.run()
    }

    fn search(&self, args: Value) -> Value {
        serde_json::from_str(&self.run(args).unwrap().content.text()).unwrap()
    }
}

fn sources() -> Folder {
    let names: Vec<(String, String)> = (0..30)
        .map(|i| {
            (
                format!("src/m{i:02}.py"),
                format!("import os\nvalue_{i} = 'needle'\n"),
            )
        })
        .collect();
    let mut files: Vec<(&str, &str)> = names
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    files.extend([
        ("src/other.txt", "needle in text\n"),
        (".git/config", "needle in git\n"),
        (".gitignore", "ignored/\n"),
        ("ignored/x.py", "needle ignored\n"),
        ("bin.dat", "needle\0binary\n"),
    ]);
    folder(&files)
}

#[test]
fn matches_are_paged_without_overlap() {
    let folder = sources();
    let page = |offset: usize| {
        let found = folder.search(
            json!({"pattern": "needle", "path": "src", "file_glob": "*.py", "limit": 10, "offset": offset}),
        );
        assert_eq!(found["total_count"], 30);
        (
            found["matches_text"].as_str().unwrap().to_owned(),
            found["hint"].as_str().map(str::to_owned),
        )
    };
    let (first, hint) = page(0);
    assert!(
        first.starts_with("src/m00.py\n  2: value_0 = 'needle'\nsrc/m01.py\n"),
        "{first}"
    );
    assert_eq!(first.lines().count(), 20);
    assert_eq!(hint.unwrap(), "more results; use offset=10");
    let (second, _) = page(10);
    assert!(second.starts_with("src/m10.py\n"), "{second}");
    assert_eq!(page(20).1, None);
}

#[test]
fn hidden_ignored_and_binary_files_are_not_searched() {
    let folder = sources();
    let found = folder.search(json!({"pattern": "needle", "output_mode": "count"}));
    assert_eq!(
        (
            found["total_count"].as_u64(),
            found["counts"].as_object().unwrap().len()
        ),
        (Some(31), 31)
    );
    let found = folder.search(json!({"pattern": "needle", "path": "ignored/x.py"}));
    assert_eq!(found["total_count"], 1, "a file that is named is searched");
    let found = folder.search(json!({"pattern": "needle", "output_mode": "files_only", "limit": 3}));
    assert_eq!(found["files"], json!(["src/m00.py", "src/m01.py", "src/m02.py"]));
    assert_eq!(found["truncated"], true);
}

#[test]
fn files_are_found_by_glob_and_by_part_of_a_name() {
    let folder = sources();
    let count = |args: Value| folder.search(args)["files"].as_array().unwrap().len();
    assert_eq!(
        count(json!({"pattern": "m0*.py", "target": "files", "path": "src"})),
        10
    );
    assert_eq!(count(json!({"pattern": "m0", "target": "files"})), 10);
    assert_eq!(count(json!({"pattern": "src/*.txt", "target": "files"})), 1);
    assert_eq!(
        count(json!({"pattern": "**/*.py", "target": "files", "limit": 100})),
        30
    );
    assert_eq!(
        count(json!({"pattern": "*", "target": "files", "file_glob": "*.txt"})),
        1
    );
}

#[test]
fn context_lines_stand_around_a_match() {
    let folder = folder(&[("a.txt", "one\ntwo\nthree\nfour\nfive\n")]);
    let found = folder.search(json!({"pattern": "three", "context": 1}));
    assert_eq!(found["matches_text"], "a.txt\n  2- two\n  3: three\n  4- four");
    let found = folder.search(json!({"pattern": "two\\nthree"}));
    assert_eq!(found["matches_text"], "a.txt\n  2: two\n  3: three");
}

#[test]
fn a_bad_pattern_and_a_missing_place_are_clear_errors() {
    let folder = folder(&[("src/a.txt", "x")]);
    for (args, word) in [
        (json!({"pattern": "(unclosed"}), "no valid regular expression"),
        (json!({"pattern": ""}), "empty"),
        (json!({"pattern": "x", "file_glob": "[a"}), "no valid glob"),
        (json!({"pattern": "x", "path": "/dev/zero"}), "refused"),
    ] {
        let error = folder.run(args).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
    let output = folder.run(json!({"pattern": "x", "path": "scr"})).unwrap();
    assert!(
        !output.ok && output.content.text().contains(r#""similar_paths":["src"]"#),
        "{output:?}"
    );
}

#[test]
fn nothing_found_is_an_empty_result_and_the_brief_counts() {
    let folder = sources();
    let output = folder.run(json!({"pattern": "zzz", "path": "src"})).unwrap();
    assert_eq!(output.content.text(), r#"{"total_count":0,"matches_text":""}"#);
    assert_eq!(
        output.brief,
        "[search_files] content search for 'zzz' in src -> 0 matches"
    );
}

#[test]
fn the_same_search_again_and_again_is_refused_until_something_else_is_done() {
    let folder = folder(&[("a.txt", "x\n")]);
    let again = || folder.run(json!({"pattern": "x"}));
    assert!(again().is_ok() && again().is_ok());
    assert!(again().unwrap().content.text().contains("_warning"));
    assert!(again().unwrap_err().to_string().contains("BLOCKED"));
    folder.1.reads().other_tool();
    assert!(again().is_ok());
}

#[test]
fn invalid_utf8_in_lines_and_names_does_not_hide_a_match() {
    use std::os::unix::ffi::OsStrExt;
    let folder = folder(&[]);
    fs::write(folder.0.path().join("latin.txt"), b"caf\xe9 needle\n").unwrap();
    let odd = fs::write(
        folder.0.path().join(std::ffi::OsStr::from_bytes(b"odd-\xff.txt")),
        "needle\n",
    )
    .is_ok();
    let found = folder.search(json!({"pattern": "needle"}));
    assert_eq!(found["total_count"], if odd { 2 } else { 1 });
    assert!(
        found["matches_text"]
            .as_str()
            .unwrap()
            .contains("caf\u{fffd} needle")
    );
}

#[test]
fn a_stopped_search_ends() {
    let folder = sources();
    let search = Search {
        session: Arc::clone(&folder.1),
        args: Args {
            pattern: "needle".to_owned(),
            ..Args::default()
        },
        cancel: CancellationToken::new(),
        until: Instant::now() + TIME,
    };
    search.cancel.cancel();
    assert!(matches!(search.run(), Err(ToolError::Interrupted)));
}

#[test]
fn secrets_in_found_lines_are_masked() {
    let key = "sk-proj-Zq8vN2mL5xK9wR3tY7uP1aB4cD6eF0gH";
    let folder = folder(&[("a.txt", &format!("openai {key} END\n"))]);
    let found = folder.search(json!({"pattern": "END"}))["matches_text"].to_string();
    assert!(!found.contains(key) && found.contains("openai"), "{found}");
}
