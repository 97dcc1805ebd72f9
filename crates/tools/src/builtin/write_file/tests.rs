use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

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
    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, path: &str, content: &str) -> Result<Value, String> {
        let args = Args {
            path: path.to_owned(),
            content: content.to_owned(),
        };
        let output = write(&self.1, &args).map_err(|error| error.to_string())?;
        Ok(serde_json::from_str(&output.content.text()).unwrap())
    }
}

#[test]
fn the_bytes_on_disk_are_the_bytes_of_the_argument() {
    let folder = folder();
    let text = "zähler = \"漢字\"\r\n\ttab\n\nTOKEN=sk-abcdefghijklmnopqrstuvwx\nno newline at the end";
    let told = folder.write("a/b/new.txt", text).unwrap();
    assert_eq!(fs::read(folder.path("a/b/new.txt")).unwrap(), text.as_bytes());
    assert_eq!(
        told,
        serde_json::json!({"bytes_written": text.len(), "dirs_created": true})
    );
    folder.write("empty.txt", "").unwrap();
    assert_eq!(fs::read(folder.path("empty.txt")).unwrap(), b"");
}

#[test]
fn a_replaced_file_keeps_its_mode_and_no_temporary_file_is_left() {
    let folder = folder();
    let old = folder.path("old.txt");
    fs::write(&old, "old text\n").unwrap();
    fs::set_permissions(&old, fs::Permissions::from_mode(0o640)).unwrap();
    folder.write("old.txt", "short").unwrap();
    assert_eq!(fs::metadata(&old).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(fs::read(&old).unwrap(), b"short");
    assert_eq!(folder.0.path().read_dir().unwrap().count(), 1);
}

#[test]
fn a_link_stays_a_link() {
    let folder = folder();
    fs::write(folder.path("real.txt"), "old").unwrap();
    symlink("real.txt", folder.path("link.txt")).unwrap();
    folder.write("link.txt", "new").unwrap();
    assert_eq!(fs::read(folder.path("real.txt")).unwrap(), b"new");
    assert!(
        fs::symlink_metadata(folder.path("link.txt"))
            .unwrap()
            .is_symlink()
    );
}

#[test]
fn line_endings_mark_and_encoding_of_the_old_file_are_kept() {
    let folder = folder();
    fs::write(folder.path("dos.txt"), "\u{feff}one\r\ntwo\r\n").unwrap();
    let told = folder.write("dos.txt", "one\n2\n").unwrap();
    assert_eq!(
        fs::read(folder.path("dos.txt")).unwrap(),
        "\u{feff}one\r\n2\r\n".as_bytes()
    );
    assert_eq!(told["line_endings"], "kept as CRLF");
    fs::write(folder.path("latin.txt"), b"caf\xe9\n").unwrap();
    folder.write("latin.txt", "café au lait\n").unwrap();
    assert_eq!(fs::read(folder.path("latin.txt")).unwrap(), b"caf\xe9 au lait\n");
    folder.write("latin.txt", "漢字\n").unwrap();
    assert_eq!(fs::read(folder.path("latin.txt")).unwrap(), "漢字\n".as_bytes());
}

#[test]
fn protected_files_are_refused_also_through_a_link() {
    let folder = folder();
    fs::create_dir_all(folder.path("user/.ssh")).unwrap();
    symlink(folder.path("user/.ssh"), folder.path("innocent")).unwrap();
    for path in [
        "user/.ssh/authorized_keys",
        "innocent/authorized_keys",
        "/etc/probe.conf",
        "user/.bashrc",
        ".hermes/.env",
        "a/../user/.ssh/config",
        "/proc/self/oom_adj",
    ] {
        let error = folder.write(path, "x").unwrap_err();
        assert!(error.contains("write refused"), "{path}: {error}");
    }
    assert!(!folder.path("user/.ssh/authorized_keys").exists());
    folder.write("user/.sshx", "fine").unwrap();
}

#[test]
fn a_cut_line_cannot_be_written_back_as_if_it_were_the_file() {
    let folder = folder();
    let long = format!("one\nstart-{}-finish\nthree\n", "ab".repeat(1_600));
    fs::write(folder.path("long.txt"), &long).unwrap();
    let shown = shown::numbered(2, long.lines().nth(1).unwrap()).replace("     2|", "");
    let error = folder
        .write("long.txt", &format!("one\n{shown}\nthree\n"))
        .unwrap_err();
    assert!(error.contains("read_file"), "{error}");
    assert_eq!(fs::read_to_string(folder.path("long.txt")).unwrap(), long);
}

#[test]
fn line_number_prefixes_are_not_written_but_files_with_bars_are() {
    let folder = folder();
    fs::write(folder.path("m.rs"), "fn main() {\n}\n").unwrap();
    for copied in [
        "     1|fn main() {\n     2|    bar();\n     3|}\n",
        "1|fn main() {\n2|}\n",
    ] {
        assert!(
            folder
                .write("m.rs", copied)
                .unwrap_err()
                .contains("line number prefix")
        );
    }
    for name in ["data.csv", "other.csv"] {
        folder.write(name, "1|a\n7|b\n2|c\n").unwrap();
    }
    folder.write("list.psv", "1|a\n2|b\n").unwrap();
    folder.write("list.psv", "1|a\n2|b\n3|c\n").unwrap();
}

#[test]
fn a_file_that_changed_since_it_was_read_is_warned_of() {
    let folder = folder();
    folder.write("a.txt", "one\n").unwrap();
    fs::write(folder.path("a.txt"), "someone else was here\n").unwrap();
    let told = folder.write("a.txt", "two\n").unwrap();
    assert!(
        told["_warning"]
            .as_str()
            .unwrap()
            .contains("changed by something else")
    );
    assert_eq!(folder.write("a.txt", "three\n").unwrap().get("_warning"), None);
}

#[test]
fn a_folder_and_a_read_only_file_are_clear_errors() {
    let folder = folder();
    fs::create_dir(folder.path("dir")).unwrap();
    assert!(folder.write("dir", "x").unwrap_err().contains("it is a folder"));
    fs::write(folder.path("ro.txt"), "x").unwrap();
    fs::set_permissions(folder.path("ro.txt"), fs::Permissions::from_mode(0o444)).unwrap();
    assert!(folder.write("ro.txt", "y").unwrap_err().contains("read-only"));
    fs::write(folder.path("file"), "x").unwrap();
    assert!(
        folder
            .write("file/below", "y")
            .unwrap_err()
            .contains("cannot write")
    );
}

#[test]
fn a_masked_secret_cannot_be_written_over_the_real_one() {
    let folder = folder();
    let key = "sk-proj-Zq8vN2mL5xK9wR3tY7uP1aB4cD6eF0gH";
    let real = format!("name: x\ntoken {key}\n");
    fs::write(folder.path("keys.txt"), &real).unwrap();
    let masked = folder.1.mask().file(Path::new("keys.txt"), &real);
    assert!(!masked.contains(key));
    let error = folder
        .write("keys.txt", &masked.replace("name: x", "name: y"))
        .unwrap_err();
    assert!(error.contains("line 2") && error.contains("masked"), "{error}");
    folder
        .write("keys.txt", &real.replace("name: x", "name: y"))
        .unwrap();
    assert_eq!(
        fs::read_to_string(folder.path("keys.txt")).unwrap(),
        real.replace("name: x", "name: y")
    );
}
