use std::fs;

use super::*;
use crate::ToolSettings;

struct Folder(tempfile::TempDir, Arc<ToolSession>);

fn folder() -> Folder {
    let folder = tempfile::tempdir().unwrap();
    let settings = ToolSettings::for_folder(folder.path().join(".hermes"), folder.path());
    let session = ToolSession::for_user(settings, folder.path().join("user"));
    Folder(folder, session)
}

impl Folder {
    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    fn page(&self, path: &str, offset: i64, limit: i64) -> (Value, ToolOutput) {
        let args = Args {
            path: path.to_owned(),
            offset: Some(offset),
            limit: Some(limit),
        };
        let output = read(&self.1, &args, &CancellationToken::new()).unwrap();
        (serde_json::from_str(&output.content.text()).unwrap(), output)
    }

    fn read(&self, path: &str) -> Value {
        self.page(path, 1, 500).0
    }
}

#[test]
fn a_long_file_is_paged_and_says_where_to_go_on() {
    let folder = folder();
    folder.write(
        "many.txt",
        (1..=3_000).map(|n| format!("row {n}\n")).collect::<String>(),
    );
    let first = folder.read("many.txt");
    let content = first["content"].as_str().unwrap();
    assert!(content.starts_with("     1|row 1\n") && content.ends_with("   500|row 500"));
    assert_eq!(first["total_lines"], 3_000);
    assert_eq!(first["truncated"], true);
    assert!(first["hint"].as_str().unwrap().contains("offset=501"));
    let (page, output) = folder.page("many.txt", 2_990, 5);
    assert!(page["content"].as_str().unwrap().starts_with("  2990|row 2990"));
    assert!(
        output
            .brief
            .starts_with("[read_file] read many.txt from line 2990 ("),
        "{}",
        output.brief
    );
    let last = folder.page("many.txt", 2_996, 5).0;
    assert_eq!(last.get("truncated"), None);
    let past = folder.page("many.txt", 4_000, 5).0;
    assert!(past["hint"].as_str().unwrap().contains("past the end"));
}

#[test]
fn what_is_no_text_file_is_refused_with_a_reason() {
    let folder = folder();
    folder.write("bin.dat", (0..=255).collect::<Vec<u8>>());
    folder.write("shot.png", b"\x89PNG");
    folder.write("many.txt", "x");
    assert_eq!(folder.read("bin.dat")["is_binary"], true);
    assert_eq!(folder.read("shot.png")["is_image"], true);
    let missing = folder.read("manny.txt");
    assert!(missing["error"].as_str().unwrap().contains("does not exist"));
    assert_eq!(missing["similar_files"][0], "many.txt");
    let dir = folder.read(".");
    assert!(dir["error"].as_str().unwrap().contains("is a folder"));
    assert_eq!(dir["entries"].as_array().unwrap().len(), 3);
    let device = Args {
        path: "/dev/zero".to_owned(),
        offset: None,
        limit: None,
    };
    assert!(matches!(
        read(&folder.1, &device, &CancellationToken::new()),
        Err(ToolError::Denied(_))
    ));
}

#[test]
fn a_link_to_a_device_is_refused_too() {
    let folder = folder();
    std::os::unix::fs::symlink("/dev/zero", folder.0.path().join("link")).unwrap();
    let args = Args {
        path: "link".to_owned(),
        offset: None,
        limit: None,
    };
    assert!(matches!(
        read(&folder.1, &args, &CancellationToken::new()),
        Err(ToolError::Denied(_))
    ));
}

#[test]
fn the_same_page_is_not_sent_twice_unless_the_file_changed() {
    let folder = folder();
    folder.write("a.txt", "one\n");
    assert_eq!(folder.read("a.txt")["content"], "     1|one");
    assert_eq!(folder.read("a.txt")["status"], "unchanged");
    assert!(
        folder.read("a.txt")["error"]
            .as_str()
            .unwrap()
            .starts_with("BLOCKED")
    );
    folder.write("a.txt", "one and two\n");
    assert_eq!(folder.read("a.txt")["content"], "     1|one and two");
    folder.1.forget_reads();
    assert_eq!(folder.read("a.txt")["content"], "     1|one and two");
}

#[test]
fn invalid_utf8_is_shown_as_readable_text() {
    let folder = folder();
    folder.write("latin.txt", b"caf\xe9 au lait\nsecond line \x97\n");
    let page = folder.read("latin.txt");
    assert_eq!(page["content"], "     1|café au lait\n     2|second line —");
    assert_eq!(page["encoding"], "windows-1252 (guessed)");
}

#[test]
fn a_name_that_is_no_unicode_can_be_read_as_it_was_shown() {
    use std::os::unix::ffi::OsStrExt;
    let folder = folder();
    let name = std::ffi::OsStr::from_bytes(b"odd-\xff-name.txt");
    if fs::write(folder.0.path().join(name), "needle\n").is_err() {
        return; // the file system takes no such names
    }
    assert_eq!(folder.read("odd-\u{fffd}-name.txt")["content"], "     1|needle");
}

#[test]
fn a_page_is_cut_to_what_the_window_holds() {
    let folder = folder();
    folder.write("wide.txt", format!("{}\n", "w".repeat(900)).repeat(300));
    let mut settings = folder.1.settings().clone();
    settings.window = 8_192;
    let session = ToolSession::new(settings);
    let args = Args {
        path: "wide.txt".to_owned(),
        offset: None,
        limit: None,
    };
    let output = read(&session, &args, &CancellationToken::new()).unwrap();
    let page: Value = serde_json::from_str(&output.content.text()).unwrap();
    assert!(page["content"].as_str().unwrap().len() <= 8_000);
    assert!(
        page["hint"]
            .as_str()
            .unwrap()
            .contains("of 300; go on with offset=")
    );
}

#[test]
fn a_file_too_large_for_memory_is_streamed() {
    let folder = folder();
    let path = folder.write(
        "big.log",
        (1..=400).map(|n| format!("entry {n}\r\n")).collect::<String>(),
    );
    let cancel = CancellationToken::new();
    let view = View {
        first: 3,
        lines: 2,
        most: 1_000,
        cancel: &cancel,
    };
    let page = stream(folder.1.mask(), &path, &view).unwrap().unwrap();
    assert_eq!(page.content, "     3|entry 3\n     4|entry 4");
    assert_eq!((page.total_lines, page.truncated), (None, true));
    let view = View {
        first: 399,
        lines: 9,
        most: 1_000,
        cancel: &cancel,
    };
    let page = stream(folder.1.mask(), &path, &view).unwrap().unwrap();
    assert_eq!((page.total_lines, page.truncated), (Some(400), false));
}

#[test]
fn secrets_are_masked_and_code_stays_readable() {
    let folder = folder();
    let key = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
    let code = r#"api_key = os.environ.get("API_KEY")"#;
    folder.write(
        "mix.txt",
        format!("github {key}\n{code}\nPASSWORD=hunter2hunter2\n"),
    );
    folder.write(".env", "PASSWORD=hunter2hunter2\n");
    let content = folder.read("mix.txt")["content"].to_string();
    assert!(!content.contains(key), "{content}");
    assert!(content.contains("os.environ.get("), "{content}");
    assert!(!folder.read(".env")["content"].to_string().contains("hunter2"));
}
