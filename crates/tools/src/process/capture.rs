//! Keeps both ends of an output of any length, and the whole of it in a file.
//!
//! A command may print for ever. Memory holds a head and a ring of the tail;
//! as soon as the output is longer than what the model is shown, everything
//! goes to a spill file too, up to a cap.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::clean::plain;

/// Characters of an output the model is shown at most.
pub(crate) const SHOWN: usize = 50_000;
/// Bytes kept of either end: four bytes a character, and room for escape sequences.
const HEAD_BYTES: usize = 2 * SHOWN;
const TAIL_BYTES: usize = 3 * SHOWN;
/// Spill files are kept so long.
const KEPT_FOR: Duration = Duration::from_secs(30 * 24 * 3600);
/// A longer spill file is cut.
const SPILL_BYTES: u64 = 64 * 1024 * 1024;

/// Bytes of one output as they arrive.
#[derive(Debug)]
pub(crate) struct Capture {
    shown: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
    spill: Spill,
}

/// An output as the model is shown it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Captured {
    /// Plain text; at most as many characters as are shown, and the notice of the cut.
    pub(crate) text: String,
    /// Lines of the whole output.
    pub(crate) lines: u64,
    /// The file with the whole output, when the text is cut.
    pub(crate) file: Option<PathBuf>,
}

impl Capture {
    /// Captures into memory, and into `spill` what is longer than the `shown` characters that are shown.
    pub(crate) fn new(spill: PathBuf, shown: usize) -> Self {
        Self {
            shown: shown.min(SHOWN),
            head: Vec::new(),
            tail: VecDeque::new(),
            total: 0,
            spill: Spill::new(spill),
        }
    }

    /// Takes the next bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = HEAD_BYTES - self.head.len();
        let (head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        let rest_kept = &rest[rest.len().saturating_sub(TAIL_BYTES)..];
        let excess = (self.tail.len() + rest_kept.len()).saturating_sub(TAIL_BYTES);
        self.tail.drain(..excess.min(self.tail.len()));
        self.tail.extend(rest_kept);
        // Fewer bytes than characters shown can never be cut.
        if self.total > self.shown as u64 {
            let before = self.total - bytes.len() as u64;
            if !self.spill.begun() {
                let known = [&self.head[..], self.tail.make_contiguous()].concat();
                let old = usize::try_from(before).unwrap_or(usize::MAX).min(known.len());
                self.spill.write(&known[..old]);
            }
            self.spill.write(bytes);
        }
    }

    /// The output as it is shown; `lines` counts what memory still holds.
    pub(crate) fn finish(mut self) -> Captured {
        // The end of an output tells more than its beginning.
        let from_head = self.shown * 2 / 5;
        let whole = self.total <= (self.head.len() + self.tail.len()) as u64;
        let tail = self.tail.make_contiguous();
        if whole {
            let text = plain(&[&self.head[..], tail].concat());
            let lines = count_lines(&text);
            let count = text.chars().count();
            if count <= self.shown {
                self.spill.discard();
                return Captured {
                    text,
                    lines,
                    file: None,
                };
            }
            let file = self.spill.keep();
            let cut = first_chars(&text, from_head).to_owned();
            let text = join(
                &cut,
                last_chars(&text, self.shown - from_head),
                (count - self.shown) as u64,
                file.as_ref(),
            );
            return Captured {
                text,
                lines,
                file: file.map(|(path, _)| path),
            };
        }
        let (head, tail) = (plain(&self.head), plain(tail));
        let lines = count_lines(&head) + count_lines(&tail);
        let (head, tail) = (
            first_chars(&head, from_head),
            last_chars(&tail, self.shown - from_head),
        );
        let omitted = self.total.saturating_sub((head.len() + tail.len()) as u64);
        let file = self.spill.keep();
        Captured {
            text: join(head, tail, omitted, file.as_ref()),
            lines,
            file: file.map(|(path, _)| path),
        }
    }
}

/// Lines of `text`, an unfinished last one included.
pub(crate) fn count_lines(text: &str) -> u64 {
    text.lines().count() as u64
}

fn join(head: &str, tail: &str, omitted: u64, file: Option<&(PathBuf, bool)>) -> String {
    let place = match file {
        Some((path, false)) => format!("the whole output is saved in {}", path.display()),
        Some((path, true)) => {
            format!(
                "the first {} MiB are saved in {}",
                SPILL_BYTES >> 20,
                path.display()
            )
        }
        None => "it could not be saved".to_owned(),
    };
    format!("{head}\n\n... [output truncated: {omitted} characters omitted; {place}] ...\n\n{tail}")
}

fn first_chars(text: &str, count: usize) -> &str {
    text.char_indices()
        .nth(count)
        .map_or(text, |(end, _)| &text[..end])
}

/// The last `count` characters of `text`.
pub(crate) fn last_chars(text: &str, count: usize) -> &str {
    let Some(skip) = count.checked_sub(1) else {
        return "";
    };
    text.char_indices()
        .nth_back(skip)
        .map_or(text, |(start, _)| &text[start..])
}

/// The file that holds the whole output.
#[derive(Debug)]
struct Spill {
    path: PathBuf,
    state: State,
    written: u64,
}

#[derive(Debug)]
enum State {
    Unused,
    Open(File),
    Full,
    Failed,
}

impl Spill {
    fn new(path: PathBuf) -> Self {
        Self {
            path,
            state: State::Unused,
            written: 0,
        }
    }

    fn begun(&self) -> bool {
        !matches!(self.state, State::Unused)
    }

    fn write(&mut self, bytes: &[u8]) {
        if let State::Unused = self.state {
            self.state = match create(&self.path) {
                Ok(file) => State::Open(file),
                Err(error) => {
                    tracing::warn!(%error, path = %self.path.display(), "a long output could not be saved");
                    State::Failed
                }
            };
        }
        let State::Open(file) = &mut self.state else {
            return;
        };
        let room = usize::try_from(SPILL_BYTES - self.written).unwrap_or(usize::MAX);
        let fits = &bytes[..bytes.len().min(room)];
        if let Err(error) = file.write_all(fits) {
            tracing::warn!(%error, path = %self.path.display(), "a long output could not be saved");
            self.state = State::Failed;
            return;
        }
        self.written += fits.len() as u64;
        if fits.len() < bytes.len() {
            self.state = State::Full;
        }
    }

    /// The file, and whether it was cut; nothing when there is none to read.
    fn keep(self) -> Option<(PathBuf, bool)> {
        match self.state {
            State::Open(_) => Some((self.path, false)),
            State::Full => Some((self.path, true)),
            State::Unused | State::Failed => None,
        }
    }

    fn discard(self) {
        if self.begun() {
            let _ = std::fs::remove_file(self.path);
        }
    }
}

/// Creates a file that only its owner can read; outputs may hold secrets.
fn create(path: &Path) -> std::io::Result<File> {
    use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
    if let Some(folder) = path.parent() {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
        forget_old(folder);
    }
    std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
}

/// Removes outputs that no conversation is likely to ask for any more.
fn forget_old(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let ours = entry.file_name().to_string_lossy().ends_with("-output.txt");
        let modified = entry.metadata().and_then(|data| data.modified());
        let old = modified.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > KEPT_FOR));
        if ours && old {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn captured(folder: &Path, chunks: &[&[u8]]) -> Captured {
        let mut capture = Capture::new(folder.join("results/call.txt"), SHOWN);
        chunks.iter().for_each(|chunk| capture.push(chunk));
        capture.finish()
    }

    #[test]
    fn a_short_output_is_shown_whole_and_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let seen = captured(folder.path(), &[b"one\n", b"two"]);
        assert_eq!(
            seen,
            Captured {
                text: "one\ntwo".into(),
                lines: 2,
                file: None
            }
        );
        assert!(!folder.path().join("results").exists());
    }

    #[test]
    fn a_long_output_shows_both_ends_and_names_the_file_with_all_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let middle = "x".repeat(30_000);
        let all = format!("HEAD{middle}{middle}MID{middle}{middle}TAIL");
        let seen = captured(folder.path(), &[&all.as_bytes()[..1000], &all.as_bytes()[1000..]]);
        let file = seen.file.clone().unwrap();
        assert!(seen.text.starts_with("HEAD") && seen.text.ends_with("TAIL") && !seen.text.contains("MID"));
        assert!(seen.text.contains(file.to_str().unwrap()) && seen.text.contains("truncated"));
        assert_eq!(std::fs::read_to_string(file).unwrap(), all);
        assert!(seen.text.chars().count() < SHOWN + 400);
    }

    #[test]
    fn an_endless_output_stays_bounded_in_memory_and_on_disk() {
        let folder = tempfile::tempdir().unwrap();
        let mut capture = Capture::new(folder.path().join("call.txt"), SHOWN);
        let chunk = vec![b'y'; 1 << 20];
        for _ in 0..70 {
            capture.push(&chunk);
            assert!(capture.head.len() + capture.tail.len() <= HEAD_BYTES + TAIL_BYTES);
        }
        let seen = capture.finish();
        assert_eq!(std::fs::metadata(seen.file.unwrap()).unwrap().len(), SPILL_BYTES);
        assert!(seen.text.contains("first 64 MiB"));
    }

    #[test]
    fn an_output_that_is_long_only_for_its_colours_is_shown_whole() {
        let folder = tempfile::tempdir().unwrap();
        let all = "\u{1b}[31mx\u{1b}[0m".repeat(10_000);
        let seen = captured(folder.path(), &[all.as_bytes()]);
        assert_eq!(seen.text, "x".repeat(10_000));
        assert!(seen.file.is_none() && !folder.path().join("results/call.txt").exists());
    }

    #[test]
    fn a_small_window_is_shown_less_of_both_ends() {
        let folder = tempfile::tempdir().unwrap();
        let mut capture = Capture::new(folder.path().join("x-output.txt"), 100);
        capture.push(&[b'a'; 200]);
        capture.push(&[b'z'; 200]);
        let seen = capture.finish();
        let count = |c: char| {
            seen.text
                .split("\n\n")
                .filter(|part| part.chars().all(|seen| seen == c))
                .map(str::len)
                .sum::<usize>()
        };
        assert_eq!((count('a'), count('z')), (40, 60));
        assert_eq!(std::fs::metadata(seen.file.unwrap()).unwrap().len(), 400);
    }

    #[test]
    fn outputs_of_long_ago_make_room() {
        let folder = tempfile::tempdir().unwrap();
        let old = std::time::SystemTime::now() - KEPT_FOR - Duration::from_secs(60);
        for (name, time) in [
            ("a-output.txt", old),
            ("notes.txt", old),
            ("b-output.txt", std::time::SystemTime::now()),
        ] {
            File::create(folder.path().join(name))
                .unwrap()
                .set_modified(time)
                .unwrap();
        }
        create(&folder.path().join("c-output.txt")).unwrap();
        let mut left: Vec<_> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        left.sort();
        assert_eq!(left, ["b-output.txt", "c-output.txt", "notes.txt"]);
    }

    #[test]
    fn a_place_that_cannot_be_written_costs_only_the_file() {
        let seen = captured(Path::new("/proc/nowhere"), &[&[b'z'; 60_000]]);
        assert!(seen.file.is_none() && seen.text.contains("could not be saved"));
    }

    proptest! {
        #[test]
        fn the_pieces_an_output_arrives_in_do_not_matter(
            sizes in proptest::collection::vec(1usize..90_000, 1..12),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let all: Vec<u8> = (0..sizes.iter().sum::<usize>()).map(|i| b'a' + (i % 23) as u8).collect();
            let mut rest = &all[..];
            let mut capture = Capture::new(folder.path().join("pieces.txt"), SHOWN);
            for size in sizes {
                let (chunk, after) = rest.split_at(size);
                capture.push(chunk);
                rest = after;
            }
            let pieces = capture.finish();
            if let Some(file) = &pieces.file {
                prop_assert_eq!(&std::fs::read(file).unwrap(), &all);
            }
            let mut capture = Capture::new(folder.path().join("pieces.txt"), SHOWN);
            capture.push(&all);
            prop_assert_eq!(pieces, capture.finish());
        }
    }
}
