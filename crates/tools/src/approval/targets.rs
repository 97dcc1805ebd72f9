//! Files that a program would write.

use super::matchers::escapes;
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
        "sed" | "gsed" => found.extend(escapes::sed_files(call).iter().map(|file| Word::plain(file))),
        "awk" | "gawk" | "mawk" | "nawk" => {
            found.extend(escapes::awk_files(call).iter().map(|file| Word::plain(file)));
        }
        "curl" | "wget" => {
            found.extend(option_value(call, &["-o", "-O", "--output", "--output-document"]));
            found.extend(fetched_names(call));
        }
        "sort" => found.extend(attached_value(call, "-o").or_else(|| attached_value(call, "--output="))),
        "split" | "uniq" | "xxd" => found.extend(operands().skip(1).take(1)),
        "tar" | "gtar" | "bsdtar" if extracts(call) => found.push(folder_of(call, &["-C", "--directory"])),
        "unzip" => found.push(folder_of(call, &["-d"])),
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

/// The names that a download gets from its addresses.
fn fetched_names(call: &Call) -> Vec<Word> {
    let named = call.program == "curl" && (call.has_option('O', "remote-name"))
        || call.program == "wget" && !call.has_option('O', "output-document");
    let address = |word: &&Word| word.text().contains("/");
    let operands = call.operands();
    let names = operands.into_iter().filter(|_| named).filter(address);
    names
        .filter_map(|word| word.text().rsplit('/').next().map(Word::plain))
        .collect()
}

/// The value of `option`, attached to it or in the next word.
fn attached_value(call: &Call, option: &str) -> Option<Word> {
    let attached = call.args().iter().find_map(|word| word.after(option));
    match attached {
        Some(word) if !word.text().is_empty() => Some(word),
        _ => option_value(call, &[option.trim_end_matches('=')]),
    }
}

/// Whether a `tar` unpacks.
fn extracts(call: &Call) -> bool {
    let mut texts = call.texts();
    let bundled = texts
        .next()
        .is_some_and(|text| !text.starts_with('-') && text.contains('x') && !text.contains(['.', '/']));
    bundled || call.has_option('x', "extract") || call.has_option('\0', "get")
}

/// The folder that one of `options` names, else the one it runs in.
fn folder_of(call: &Call, options: &[&str]) -> Word {
    options
        .iter()
        .find_map(|option| attached_value(call, option))
        .unwrap_or_else(|| Word::plain("."))
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
