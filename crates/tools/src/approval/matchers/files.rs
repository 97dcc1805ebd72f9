//! Programs that delete, open up or overwrite files.

use super::super::path::protected_path;
use super::super::shell::{Call, Scene};
use super::super::targets::{is_block_device, written};

pub(in super::super) fn recursive_delete(call: &Call, _: &Scene) -> bool {
    call.program == "rm" && (call.has_option('r', "recursive") || call.has_option('R', ""))
}

pub(in super::super) fn delete_outside(call: &Call, _: &Scene) -> bool {
    let temporary = ["/tmp/", "/var/tmp/", "/private/tmp/", "/dev/shm/"];
    let here = call.here();
    let outside = |path: &str| {
        let absolute = path.starts_with(['/', '~']);
        let inside = here
            .as_deref()
            .filter(|here| here.len() > 1)
            .is_some_and(|here| path.strip_prefix(here).is_some_and(|rest| rest.starts_with('/')));
        // One file of a temporary folder is free, all of them are not.
        let scratch = !path.contains('*') && temporary.iter().any(|folder| path.starts_with(folder));
        absolute && !inside && !scratch
    };
    let empties = call.program == "truncate";
    let mirrors = call.program == "rsync" && call.texts().any(|text| text.starts_with("--del"));
    (empties || mirrors || call.is(&["rm", "unlink", "shred"]))
        && call.operands().iter().any(|word| outside(&call.path(word)))
}

/// A name that is only known when it runs may be any.
pub(in super::super) fn delete_unknown(call: &Call, _: &Scene) -> bool {
    call.is(&["rm", "unlink", "shred"]) && call.operands().iter().any(|word| !word.is_known())
}

pub(in super::super) fn xargs_delete(call: &Call, _: &Scene) -> bool {
    call.program == "rm"
        && call
            .wrappers
            .iter()
            .any(|wrapper| wrapper == "xargs" || wrapper == "parallel")
}

pub(in super::super) fn find_exec_delete(call: &Call, _: &Scene) -> bool {
    let from_find = |wrapper: &String| matches!(wrapper.as_str(), "find" | "fd" | "gfind");
    call.is(&["rm", "unlink", "shred"]) && call.wrappers.iter().any(from_find)
}

pub(in super::super) fn find_delete(call: &Call, _: &Scene) -> bool {
    call.is(&["find", "gfind"]) && call.texts().any(|text| text == "-delete")
}

pub(in super::super) fn open_permissions(call: &Call, _: &Scene) -> bool {
    let opens = |mode: &str| {
        let octal = mode.len() >= 3 && mode.chars().all(|c| c.is_digit(8));
        if octal {
            return mode.ends_with(['2', '3', '6', '7']);
        }
        mode.split(',').any(|clause| {
            let Some(at) = clause.find(['+', '=']) else {
                return false;
            };
            let (who, what) = clause.split_at(at);
            who.contains(['o', 'a']) && what.contains('w')
        })
    };
    call.program == "chmod" && call.operands().first().is_some_and(|mode| opens(&mode.text()))
}

pub(in super::super) fn chown_root(call: &Call, _: &Scene) -> bool {
    let recursive = call.has_option('R', "recursive");
    let to_root = |owner: &str| matches!(owner.split([':', '.']).next(), Some("root" | "0"));
    call.program == "chown"
        && recursive
        && call
            .operands()
            .first()
            .is_some_and(|owner| to_root(&owner.text()))
}

pub(in super::super) fn disk_copy(call: &Call, _: &Scene) -> bool {
    call.program == "dd" && call.texts().any(|text| text.starts_with("if="))
}

pub(in super::super) fn device_write(call: &Call, _: &Scene) -> bool {
    written(call).iter().any(|word| is_block_device(&word.path(None)))
}

pub(in super::super) fn system_config_write(call: &Call, _: &Scene) -> bool {
    const SYSTEM: &[&str] = &[
        "/etc/",
        "/private/etc/",
        "/private/var/",
        "/boot/",
        "/usr/lib/systemd/",
        "/lib/systemd/",
    ];
    written(call).iter().any(|word| {
        let path = call.path(word);
        SYSTEM
            .iter()
            .any(|folder| path.starts_with(folder) || path == folder.trim_end_matches('/'))
    })
}

pub(in super::super) fn credential_write(call: &Call, _: &Scene) -> bool {
    written(call)
        .iter()
        .any(|word| protected_path(&own_home(&call.path(word))).is_some())
}

/// `path` with the variables of this program's home replaced.
fn own_home(path: &str) -> String {
    for name in ["$HERMES_HOME/", "$TALARIA_HOME/"] {
        if let Some(at) = path.find(name) {
            return format!("~/.hermes/{}", &path[at + name.len()..]);
        }
    }
    path.to_owned()
}

pub(in super::super) fn project_config_write(call: &Call, _: &Scene) -> bool {
    written(call).iter().any(|word| {
        let path = call.path(word);
        let name = path.rsplit('/').next().unwrap_or_default();
        name == ".env" || name.starts_with(".env.") || name == "config.yaml"
    })
}
