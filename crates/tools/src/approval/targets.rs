//! Files that a program would write.

use super::shell::{Call, Word};

/// Everything `call` would write to: redirections, and the operands of programs that write.
pub(super) fn written(call: &Call) -> Vec<Word> {
    let mut found = call.writes.clone();
    let operands = || call.operands().into_iter().cloned();
    match call.program.as_str() {
        "tee" | "truncate" | "sponge" => found.extend(operands()),
        "cp" | "mv" | "install" | "ln" | "rsync" | "scp" => found.extend(destination(call)),
        "dd" => found.extend(call.args().iter().filter_map(output_file)),
        "sed" | "gsed" | "perl" | "ruby" | "ex" if edits_in_place(call) => found.extend(operands()),
        "curl" | "wget" => found.extend(option_value(call, &["-o", "-O", "--output", "--output-document"])),
        "patch" | "ed" => found.extend(operands().take(1)),
        _ => {}
    }
    found
}

/// Whether a stream editor changes the files it is given.
pub(super) fn edits_in_place(call: &Call) -> bool {
    call.program == "ex"
        || call.options().any(|option| {
            option.starts_with("--in-place")
                || !option.starts_with("--")
                    && option
                        .split('=')
                        .next()
                        .is_some_and(|letters| letters.contains('i'))
        })
}

/// Where a copy goes: the last operand, or what `-t` names.
fn destination(call: &Call) -> Option<Word> {
    let named = option_value(call, &["-t", "--target-directory"]);
    named.or_else(|| {
        let operands = call.operands();
        operands
            .last()
            .filter(|_| operands.len() > 1)
            .map(|word| (*word).clone())
    })
}

fn option_value(call: &Call, names: &[&str]) -> Option<Word> {
    let at = call
        .args()
        .iter()
        .position(|word| names.contains(&word.text().as_str()))?;
    call.args().get(at + 1).cloned()
}

/// The file of `of=FILE`, its quoting kept.
fn output_file(word: &Word) -> Option<Word> {
    word.after("of=")
}

/// Whether `path` is a whole disk, a part of one, or what stands on disks (RAID, LVM).
pub(super) fn is_block_device(path: &str) -> bool {
    let Some(name) = path.strip_prefix("/dev/") else {
        return false;
    };
    if let Some(rest) = name.strip_prefix("disk/by-") {
        return rest.contains('/');
    }
    if let Some(rest) = name.strip_prefix("mapper/") {
        return !rest.is_empty() && rest != "control";
    }
    let kinds = [
        "sd", "nvme", "hd", "mmcblk", "vd", "xvd", "md", "dm-", "nbd", "loop",
    ];
    let numbered = |prefix: &str| {
        name.strip_prefix(prefix)
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    kinds
        .iter()
        .any(|kind| name.strip_prefix(kind).is_some_and(is_device_tail))
        || numbered("disk")
        || numbered("rdisk")
}

/// What follows the kind of a device: a letter or a number, then partitions; a pattern too.
fn is_device_tail(tail: &str) -> bool {
    !tail.is_empty()
        && tail.len() <= 12
        && tail
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '*' | '?' | '[' | ']' | '-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_are_told_from_other_devices() {
        for disk in [
            "/dev/sda",
            "/dev/sda1",
            "/dev/nvme0n1p2",
            "/dev/mmcblk0",
            "/dev/disk/by-id/x",
            "/dev/mapper/vg-root",
            "/dev/disk2",
            "/dev/sd*",
        ] {
            assert!(is_block_device(disk), "{disk}");
        }
        for other in [
            "/dev/null",
            "/dev/stdout",
            "/dev/shm/x",
            "/dev/fd/1",
            "/dev/tty",
            "/home/dev/sda",
            "/dev/disk",
            "/dev/mapper/control",
        ] {
            assert!(!is_block_device(other), "{other}");
        }
    }
}
