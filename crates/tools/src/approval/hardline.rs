//! Commands that never run, whatever anyone allows: there is no way back from them.

use super::shell::{Call, Scene, Word};
use super::targets::{is_block_device, written};

/// One kind of command that never runs.
pub struct Hardline {
    /// Its name.
    pub key: &'static str,
    /// What is told of it.
    pub description: &'static str,
    /// A command it blocks.
    pub example: &'static str,
    /// A command that looks like it and is not blocked by it.
    pub look_alike: &'static str,
    found: fn(&Call) -> bool,
}

/// All of them.
pub const HARDLINE: &[Hardline] = &[
    Hardline {
        key: "delete_root",
        description: "deletes the root filesystem",
        example: "rm -rf --no-preserve-root /",
        look_alike: "rm -rf ./build",
        found: |call| deletes(call, |path| matches!(path, "/" | "/*")),
    },
    Hardline {
        key: "delete_system_folder",
        description: "deletes a system folder",
        example: "rm -rf /etc",
        look_alike: "rm -rf /tmp/etc",
        found: |call| {
            deletes(call, |path| {
                SYSTEM_FOLDERS.contains(&path.strip_suffix("/*").unwrap_or(path))
            })
        },
    },
    Hardline {
        key: "delete_home",
        description: "deletes the home folder",
        example: "rm -rf ~",
        look_alike: "rm -rf ~/project/target",
        found: |call| deletes(call, |path| matches!(path, "~" | "~/*" | "$HOME" | "$HOME/*")),
    },
    Hardline {
        key: "format_filesystem",
        description: "formats a filesystem",
        example: "mkfs.ext4 /dev/sda1",
        look_alike: "mkfs.ext4 --help",
        found: |call| {
            let formats =
                call.program == "mkfs" || call.program.starts_with("mkfs.") || call.program == "mke2fs";
            formats && !call.args().is_empty() && !asks_for_help(call)
        },
    },
    Hardline {
        key: "overwrite_device",
        description: "overwrites a disk with dd",
        example: "dd if=/dev/zero of=/dev/sda",
        look_alike: "dd if=/dev/sda of=backup.img",
        found: |call| call.program == "dd" && written(call).iter().any(is_device),
    },
    Hardline {
        key: "wipe_device",
        description: "wipes a disk",
        example: "wipefs -a /dev/nvme0n1",
        look_alike: "wipefs /dev/nvme0n1",
        found: |call| {
            let wipes = match call.program.as_str() {
                "wipefs" => call.has_option('a', "all") && !call.has_option('n', "no-act"),
                "sgdisk" => call.has_option('Z', "zap-all") || call.has_option('o', "clear"),
                "blkdiscard" | "shred" | "mkswap" => !asks_for_help(call),
                _ => false,
            };
            wipes && call.args().iter().any(is_device)
        },
    },
    Hardline {
        key: "write_to_device",
        description: "writes to a raw disk",
        example: "cat image > /dev/sda",
        look_alike: "cat image > /dev/null",
        found: |call| call.writes.iter().any(is_device),
    },
    Hardline {
        key: "kill_everything",
        description: "kills every process",
        example: "kill -9 -1",
        look_alike: "kill -1 4321",
        found: |call| call.program == "kill" && kill_targets(call).iter().any(|target| target == "-1"),
    },
    Hardline {
        key: "shutdown",
        description: "shuts the machine down",
        example: "sudo reboot",
        look_alike: "shutdown --help",
        found: |call| {
            call.is(&["shutdown", "reboot", "halt", "poweroff"])
                && !asks_for_help(call)
                && !call.has_option('c', "")
        },
    },
    Hardline {
        key: "change_runlevel",
        description: "shuts the machine down through init",
        example: "init 0",
        look_alike: "init 3",
        found: |call| {
            call.is(&["init", "telinit"])
                && call
                    .operands()
                    .iter()
                    .any(|word| matches!(word.text().as_str(), "0" | "6"))
        },
    },
    Hardline {
        key: "systemctl_shutdown",
        description: "shuts the machine down through systemd",
        example: "systemctl poweroff",
        look_alike: "systemctl status reboot.target",
        found: |call| {
            let verbs = ["poweroff", "reboot", "halt", "kexec"];
            call.is(&["systemctl", "loginctl"])
                && call
                    .operands()
                    .first()
                    .is_some_and(|verb| verbs.contains(&verb.text().as_str()))
        },
    },
];

/// What is told of a function that multiplies itself.
pub(super) const FORK_BOMB: &str = "is a fork bomb";

/// Why `scene` never runs.
pub(super) fn blocked(scene: &Scene) -> Option<&'static str> {
    if scene.multiplying.iter().any(|name| {
        scene
            .calls
            .iter()
            .any(|call| call.words.first().is_some_and(|word| word.text() == *name))
    }) {
        return Some(FORK_BOMB);
    }
    let local = scene.calls.iter().filter(|call| !call.is_remote());
    local
        .flat_map(|call| HARDLINE.iter().filter(|row| (row.found)(call)))
        .map(|row| row.description)
        .next()
}

/// Folders without which the system does not run, and those of its users.
const SYSTEM_FOLDERS: &[&str] = &[
    "/home", "/root", "/etc", "/usr", "/var", "/bin", "/sbin", "/boot", "/lib", "/lib64", "/Users",
    "/System", "/Library",
];

fn deletes(call: &Call, target: fn(&str) -> bool) -> bool {
    match call.program.as_str() {
        "rm" => call.operands().iter().any(|word| target(&call.path(word))),
        // Without a condition it deletes everything it is given.
        "find" if call.texts().any(|text| text == "-delete") => {
            let conditional = call.texts().any(|text| is_condition(&text));
            let starts = call
                .args()
                .iter()
                .take_while(|word| !word.text().starts_with(['-', '(', '!']));
            !conditional && starts.into_iter().any(|word| target(&call.path(word)))
        }
        _ => false,
    }
}

fn is_condition(text: &str) -> bool {
    const CONDITIONS: &[&str] = &[
        "-name", "-iname", "-path", "-ipath", "-regex", "-iregex", "-mtime", "-mmin", "-atime", "-amin",
        "-ctime", "-cmin", "-newer", "-size", "-empty", "-user", "-group", "-perm", "-nouser", "-nogroup",
        "-inum", "-links",
    ];
    CONDITIONS.contains(&text)
}

fn is_device(word: &Word) -> bool {
    is_block_device(&word.path(None))
}

fn asks_for_help(call: &Call) -> bool {
    call.texts()
        .any(|text| matches!(text.as_str(), "--help" | "--version" | "-V" | "-h") && call.args().len() == 1)
}

/// Processes that a `kill` is for; the first word with a dash is its signal when others follow.
fn kill_targets(call: &Call) -> Vec<String> {
    let mut words: Vec<String> = call.texts().collect();
    let first = words.first().cloned().unwrap_or_default();
    if matches!(first.as_str(), "-s" | "-n" | "--signal") {
        words.drain(..2.min(words.len()));
    } else if first.starts_with('-') && first != "--" && words.len() > 1 {
        words.remove(0);
    }
    words
}
