//! Scripts of jobs: where they may be, and what their last line decides.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// What a script's last line says about the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// It is asked.
    Wake,
    /// There is nothing for it to do.
    Sleep,
}

/// The script of that name under `scripts/` of the home; nothing outside of it is ever run.
///
/// # Errors
/// When there is no such script there; the message says where it has to be.
pub fn script_path(home: &Path, name: &str) -> Result<PathBuf, String> {
    let folder = home.join("scripts");
    let outside = || {
        format!(
            "a job's script has to be in {}; {name:?} is not",
            folder.display()
        )
    };
    let relative = Path::new(name);
    let relative = relative.strip_prefix(&folder).unwrap_or(relative);
    let plain = relative.components().all(|part| {
        matches!(
            part,
            std::path::Component::Normal(_) | std::path::Component::CurDir
        )
    });
    if name.trim().is_empty() || !plain {
        return Err(outside());
    }
    let found = folder.join(relative).canonicalize();
    let found = found.map_err(|error| {
        format!(
            "the script {} cannot be used: {error}",
            folder.join(relative).display()
        )
    })?;
    let root = folder.canonicalize().map_err(|_| outside())?;
    // A link may lead elsewhere.
    if !found.starts_with(&root) || !found.is_file() {
        return Err(outside());
    }
    Ok(found)
}

/// `{"wakeAgent": false}` on the last line keeps the agent asleep.
pub fn gate(output: &str) -> Gate {
    let last = output
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default();
    let said: Option<Value> = serde_json::from_str(last.trim()).ok();
    match said {
        Some(value) if value["wakeAgent"] == Value::Bool(false) => Gate::Sleep,
        _ => Gate::Wake,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_scripts_of_the_home_run() {
        let home = tempfile::tempdir().unwrap();
        let scripts = home.path().join("scripts");
        std::fs::create_dir_all(scripts.join("sub")).unwrap();
        std::fs::write(scripts.join("watch.sh"), "").unwrap();
        std::fs::write(home.path().join("outside.sh"), "").unwrap();
        std::os::unix::fs::symlink(home.path().join("outside.sh"), scripts.join("link.sh")).unwrap();
        assert!(script_path(home.path(), "watch.sh").is_ok());
        assert!(script_path(home.path(), &scripts.join("watch.sh").to_string_lossy()).is_ok());
        for name in [
            "../outside.sh",
            "link.sh",
            "/etc/passwd",
            "",
            "sub",
            "sub/../../outside.sh",
            "missing.sh",
        ] {
            assert!(script_path(home.path(), name).is_err(), "{name}");
        }
    }

    #[test]
    fn the_last_line_decides_whether_the_agent_wakes() {
        assert_eq!(gate("checked\n{\"wakeAgent\": false}\n\n"), Gate::Sleep);
        for wakes in [
            "",
            "text",
            "{\"wakeAgent\": true}",
            "{\"wakeAgent\": false}\nnews!",
            "{\"wakeAgent\": 0}",
        ] {
            assert_eq!(gate(wakes), Gate::Wake, "{wakes}");
        }
    }
}
