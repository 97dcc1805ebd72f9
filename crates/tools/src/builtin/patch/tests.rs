use std::fs;

use serde_json::json;

use super::*;
use crate::ToolSettings;

struct Folder(tempfile::TempDir, Arc<ToolSession>);

fn folder(files: &[(&str, &str)]) -> Folder {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        fs::write(folder.path().join(name), content).unwrap();
    }
    let settings = ToolSettings::for_folder(folder.path().join(".hermes"), folder.path());
    let session = ToolSession::for_user(settings, folder.path().join("user"));
    Folder(folder, session)
}

impl Folder {
    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.0.path().join(name)).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .0
            .path()
            .read_dir()
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn call(&self, args: Value) -> (Value, ToolOutput) {
        let output = patch(&self.1, &serde_json::from_value(args).unwrap());
        let report: Value = serde_json::from_str(&output.content.text()).unwrap();
        assert_eq!(report["success"], output.ok);
        assert_eq!(report.get("error").is_some(), !output.ok);
        (report, output)
    }

    fn patch(&self, text: &str) -> Value {
        self.call(json!({"mode": "patch", "patch": text})).0
    }
}

#[test]
fn a_replacement_is_reported_as_a_diff() {
    let folder = folder(&[("p.py", "a\nreturn 2\n")]);
    let (report, output) =
        folder.call(json!({"path": "p.py", "old_string": "return 2", "new_string": "return 3"}));
    let diff = report["diff"].as_str().unwrap();
    assert!(
        diff.starts_with("--- a/p.py\n+++ b/p.py\n") && diff.contains("-return 2\n+return 3\n"),
        "{diff}"
    );
    assert_eq!(report["files_modified"], json!(["p.py"]));
    assert!(
        output.brief.starts_with("[patch] replace in p.py ("),
        "{}",
        output.brief
    );
    assert_eq!(folder.text("p.py"), "a\nreturn 3\n");
}

#[test]
fn line_endings_and_the_byte_order_mark_stay() {
    let folder = folder(&[("dos.txt", "\u{feff}one\r\ntwo\r\nthree\r\n")]);
    let (report, _) = folder.call(json!({"path": "dos.txt", "old_string": "one\ntwo", "new_string": "1\n2"}));
    assert_eq!(report["success"], true, "{report}");
    assert_eq!(folder.text("dos.txt"), "\u{feff}1\r\n2\r\nthree\r\n");
}

#[test]
fn a_patch_updates_adds_deletes_and_moves() {
    let folder = folder(&[
        ("one.txt", "alpha\nbeta\ngamma\n"),
        ("two.txt", "gone\n"),
        ("three.txt", "moved\n"),
    ]);
    let report = folder.patch(
        "*** Begin Patch\n*** Update File: one.txt\n@@ alpha @@\n alpha\n-beta\n+BETA\n gamma\n*** Add File: dir/new.txt\n\
         +first\n+second\n*** Delete File: two.txt\n*** Move File: three.txt -> four.txt\n*** End Patch",
    );
    assert_eq!(report["success"], true, "{report}");
    assert_eq!(folder.text("one.txt"), "alpha\nBETA\ngamma\n");
    assert_eq!(folder.text("dir/new.txt"), "first\nsecond\n");
    assert_eq!(folder.text("four.txt"), "moved\n");
    assert_eq!(folder.names(), ["dir", "four.txt", "one.txt"]);
    assert_eq!(report["files_deleted"], json!(["three.txt", "two.txt"]));
}

#[test]
fn a_patch_with_one_impossible_part_changes_nothing() {
    let folder = folder(&[("one.txt", "alpha\n"), ("busy.txt", "here\n")]);
    for bad in [
        "*** Update File: one.txt\n-alpha\n+ALPHA\n*** Update File: missing.txt\n-x\n+y",
        "*** Update File: one.txt\n-alpha\n+ALPHA\n*** Update File: one.txt\n-alpha\n+again",
        "*** Update File: one.txt\n-alpha\n+ALPHA\n*** Move File: one.txt -> busy.txt",
        "*** Update File: one.txt\n-alpha\n+ALPHA\n*** Add File: busy.txt\n+x",
        "*** Update File: one.txt\n-alpha\n+ALPHA\n*** Delete File: nothing.txt",
        "*** Update File: one.txt\n-alpha\n+ALPHA\n*** Add File: user/.ssh/key\n+x",
        "*** Update File: one.txt\n-alpha\n+ALPHA\n*** Rename File: a",
        "-alpha\n+ALPHA",
        "*** Update File: one.txt",
    ] {
        let report = folder.patch(bad);
        assert_eq!(report["success"], false, "{bad}");
        assert_eq!(folder.text("one.txt"), "alpha\n", "{bad}");
        assert_eq!(folder.names(), ["busy.txt", "one.txt"], "{bad}");
    }
}

#[test]
fn hunks_find_their_place_by_hints_and_order() {
    let body = "fn a() {\n    x();\n}\n\nfn b() {\n    x();\n}\n";
    let folder = folder(&[("m.rs", body)]);
    assert_eq!(
        folder.patch("*** Update File: m.rs\n-    x();\n+    y();")["success"],
        false
    );
    let report = folder.patch("*** Update File: m.rs\n@@ fn b() {\n-    x();\n+    y();\n\n*** End Patch");
    assert_eq!(report["success"], true, "{report}");
    assert_eq!(
        folder.text("m.rs"),
        "fn a() {\n    x();\n}\n\nfn b() {\n    y();\n}\n"
    );
    let report = folder
        .patch("*** Update File: m.rs\n@@ fn a() {\n+    first();\n@@\n-}\n-\n+}\n@@ -1,2 +1,3 @@\n+// end");
    assert_eq!(report["success"], true, "{report}");
    assert_eq!(
        folder.text("m.rs"),
        "fn a() {\n    first();\n    x();\n}\nfn b() {\n    y();\n}\n// end\n"
    );
}

#[test]
fn a_hunk_matches_whole_lines_and_keeps_a_missing_last_line_break() {
    let folder = folder(&[("n.txt", "banana\n  a")]);
    let report = folder.patch("*** Update File: n.txt\n-a\n+b");
    assert_eq!(report["success"], true, "{report}");
    assert_eq!(folder.text("n.txt"), "banana\n  b");
}

#[test]
fn a_move_with_changes_keeps_the_mode() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder(&[("run.sh", "echo 1\n")]);
    let path = folder.0.path().join("run.sh");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let report = folder.patch("*** Update File: run.sh\n*** Move to: bin/go.sh\n-echo 1\n+echo 2");
    assert_eq!(report["success"], true, "{report}");
    let moved = folder.0.path().join("bin/go.sh");
    assert_eq!(fs::metadata(&moved).unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(folder.text("bin/go.sh"), "echo 2\n");
    assert!(!path.exists());
}

#[test]
fn a_cut_line_is_no_text_of_the_file() {
    let long = format!("start-{}-finish", "ab".repeat(1_600));
    let folder = folder(&[("long.txt", &format!("one\n{long}\nthree\n"))]);
    let shown = shown::numbered(2, &long).replace("     2|", "");
    let (report, _) = folder.call(
        json!({"path": "long.txt", "old_string": shown, "new_string": shown.replace("start", "begin")}),
    );
    assert!(
        report["error"].as_str().unwrap().contains("read_file"),
        "{report}"
    );
    let (report, _) =
        folder.call(json!({"path": "long.txt", "old_string": "start-", "new_string": "begin-"}));
    assert_eq!(report["success"], true, "{report}");
    assert!(folder.text("long.txt").contains(&long[6..]));
}

#[test]
fn what_is_missing_from_the_arguments_is_named() {
    let folder = folder(&[("a.txt", "a\n")]);
    for (args, word) in [
        (json!({}), "path"),
        (json!({"path": "a.txt"}), "old_string"),
        (json!({"path": "a.txt", "old_string": "a"}), "new_string"),
        (json!({"mode": "patch"}), "patch is missing"),
        (
            json!({"path": "gone.txt", "old_string": "a", "new_string": "b"}),
            "does not exist",
        ),
        (
            json!({"path": ".", "old_string": "a", "new_string": "b"}),
            "is a folder",
        ),
    ] {
        let (report, _) = folder.call(args);
        assert!(report["error"].as_str().unwrap().contains(word), "{report}");
    }
}

#[test]
fn a_file_in_another_encoding_stays_in_it() {
    let folder = folder(&[]);
    let path = folder.0.path().join("latin.txt");
    fs::write(&path, b"caf\xe9 one\n").unwrap();
    let (report, _) =
        folder.call(json!({"path": "latin.txt", "old_string": "café one", "new_string": "café zwö"}));
    assert_eq!(report["success"], true, "{report}");
    assert_eq!(fs::read(&path).unwrap(), b"caf\xe9 zw\xf6\n");
    let (report, _) = folder.call(json!({"path": "latin.txt", "old_string": "zwö", "new_string": "漢"}));
    assert!(report["error"].as_str().unwrap().contains("encoding"), "{report}");
}

#[test]
fn secrets_are_masked_in_diffs_and_hints_and_kept_in_the_file() {
    let key = "sk-proj-Zq8vN2mL5xK9wR3tY7uP1aB4cD6eF0gH";
    let text = format!("first\ntoken {key}\nlast\n");
    let folder = folder(&[("k.txt", &text)]);
    let (report, _) = folder.call(json!({"path": "k.txt", "old_string": "first", "new_string": "1st"}));
    assert!(
        report["success"] == true && !report.to_string().contains(key),
        "{report}"
    );
    let (report, _) = folder.call(
        json!({"path": "k.txt", "old_string": "tokens sk-proj-Zq8vN2mL5xK9wR3tY7uP1", "new_string": "x"}),
    );
    assert!(
        report["error"].as_str().unwrap().contains("Did you mean"),
        "{report}"
    );
    assert!(!report.to_string().contains(key), "{report}");
    let masked = folder.1.mask().file(Path::new("k.txt"), &text);
    let shown = masked.lines().nth(1).unwrap();
    let (report, _) = folder.call(json!({"path": "k.txt", "old_string": shown, "new_string": "token none"}));
    assert!(report["error"].as_str().unwrap().contains("masked"), "{report}");
    assert!(folder.text("k.txt").contains(key));
}
