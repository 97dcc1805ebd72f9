//! Keeps results small enough for the window; what is too long goes to a file.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use talaria_types::{Content, Part};

/// Characters of one result and of one batch at most, whatever the window.
const RESULT_CHARS: usize = 100_000;
const BATCH_CHARS: usize = 200_000;

/// Characters a token stands for, roughly.
const CHARS_PER_TOKEN: u64 = 4;

/// What is shown of a result that went to a file.
const HEAD_CHARS: usize = 1_500;
const TAIL_CHARS: usize = 500;

/// What the results of one batch may take, and have taken.
pub(super) struct Budget {
    folder: PathBuf,
    result: usize,
    batch: usize,
    used: AtomicUsize,
}

impl Budget {
    /// 15 % of the window for one result and 30 % for a batch, between a floor and a ceiling.
    pub(super) fn new(home: &Path, window: u64) -> Self {
        let (result, batch) = limits(window);
        Self {
            folder: home.join("cache").join("tool-results"),
            result,
            batch,
            used: AtomicUsize::new(0),
        }
    }

    /// `content`, or what stands for it when it is too long for what is left.
    pub(super) fn fit(&self, content: Content, tool: &str, whole: bool) -> Content {
        let size = chars(&content);
        if whole {
            return content;
        }
        let used = self.used.load(Ordering::Relaxed);
        // A short result costs less than the note that would stand for it.
        let fits = size <= self.result && (used + size <= self.batch || size <= HEAD_CHARS + TAIL_CHARS);
        let content = if fits {
            content
        } else {
            self.spill(content, tool, size)
        };
        self.used.fetch_add(chars(&content), Ordering::Relaxed);
        content
    }

    /// Writes the text to a file and keeps its two ends; pictures stay.
    fn spill(&self, content: Content, tool: &str, size: usize) -> Content {
        let text = content.text().into_owned();
        let stand_in = match self.save(tool, &text) {
            Ok(path) => persisted(&text, size, &path),
            Err(error) => {
                tracing::warn!(%error, folder = %self.folder.display(), "a long tool result could not be saved");
                format!(
                    "{}\n\n[Truncated: the result had {size} characters. The whole could not be saved: {error}]",
                    preview(&text)
                )
            }
        };
        match content {
            Content::Text(_) => Content::Text(stand_in),
            Content::Parts(parts) => {
                let images = parts.into_iter().filter(|part| matches!(part, Part::Image(_)));
                Content::Parts(
                    std::iter::once(Part::Text { text: stand_in })
                        .chain(images)
                        .collect(),
                )
            }
        }
    }

    /// The file's name is made here: what the model calls things must not choose a path.
    fn save(&self, tool: &str, text: &str) -> std::io::Result<PathBuf> {
        std::fs::create_dir_all(&self.folder)?;
        let safe: String = tool
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || *c == '_')
            .take(40)
            .collect();
        let file = tempfile::Builder::new()
            .prefix(&format!("{safe}-"))
            .suffix(".txt")
            .rand_bytes(12)
            .tempfile_in(&self.folder)?;
        std::io::Write::write_all(&mut file.as_file(), text.as_bytes())?;
        let (_, path) = file.keep().map_err(|error| error.error)?;
        Ok(path)
    }
}

fn limits(window: u64) -> (usize, usize) {
    if window == 0 {
        return (RESULT_CHARS, BATCH_CHARS);
    }
    let share = |percent: u64, floor: u64, most: usize| {
        let chars = (window.saturating_mul(CHARS_PER_TOKEN * percent) / 100).max(floor.min(window));
        usize::try_from(chars).unwrap_or(most).min(most)
    };
    (share(15, 8_000, RESULT_CHARS), share(30, 16_000, BATCH_CHARS))
}

/// What one result may take at most, in characters.
pub(crate) fn result_chars(window: u64) -> usize {
    limits(window).0
}

fn chars(content: &Content) -> usize {
    match content {
        Content::Text(text) => text.chars().count(),
        Content::Parts(parts) => parts
            .iter()
            .filter_map(Part::as_text)
            .map(|text| text.chars().count())
            .sum(),
    }
}

fn persisted(text: &str, size: usize, path: &Path) -> String {
    format!(
        "<persisted-output>\nThis result was too long ({size} characters). The whole is in this file:\n{}\n\
         Read parts of it with read_file (offset, limit) or search it with search_files.\n\n\
         Preview:\n{}\n</persisted-output>",
        path.display(),
        preview(text)
    )
}

/// Both ends of `text`, cut at line breaks where one is near.
fn preview(text: &str) -> String {
    let mut head: String = text.chars().take(HEAD_CHARS).collect();
    if let Some(at) = head.rfind('\n').filter(|at| *at > HEAD_CHARS / 2) {
        head.truncate(at);
    }
    let rest = text.chars().count().saturating_sub(head.chars().count());
    let tail: String = text
        .chars()
        .skip(head.chars().count() + rest.saturating_sub(TAIL_CHARS))
        .collect();
    format!("{head}\n...\n{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_scale_with_the_window() {
        assert_eq!(limits(0), (100_000, 200_000));
        assert_eq!(limits(200_000), (100_000, 200_000));
        assert_eq!(limits(32_000), (19_200, 38_400));
        assert_eq!(limits(8_192), (8_000, 9_830));
        assert_eq!(limits(4_096), (4_096, 4_915));
    }

    #[test]
    fn a_long_result_goes_to_a_file_that_holds_all_of_it() {
        let home = tempfile::tempdir().unwrap();
        let budget = Budget::new(home.path(), 8_192);
        let long = format!("BEGIN\n{}END", "line\n".repeat(4_000));
        let kept = budget.fit(Content::Text(long.clone()), "../../evil", false);
        let text = kept.text();
        assert!(text.contains("BEGIN") && text.contains("END") && text.contains("<persisted-output>"));
        let path = text.lines().find(|line| line.ends_with(".txt")).unwrap();
        assert!(
            Path::new(path).parent() == Some(&home.path().join("cache/tool-results")),
            "{path}"
        );
        assert_eq!(std::fs::read_to_string(path).unwrap(), long);
    }

    #[test]
    fn a_batch_is_bounded_and_whole_results_are_exempt() {
        let home = tempfile::tempdir().unwrap();
        let budget = Budget::new(home.path(), 8_192);
        let text = || Content::Text("x".repeat(7_000));
        assert_eq!(budget.fit(text(), "t", false), text());
        assert!(chars(&budget.fit(text(), "t", false)) < 3_000);
        assert_eq!(budget.fit(text(), "t", true), text());
    }

    #[test]
    fn a_long_result_with_pictures_keeps_them() {
        let home = tempfile::tempdir().unwrap();
        let budget = Budget::new(home.path(), 8_192);
        let picture = Part::Image(talaria_types::ImagePart {
            source: talaria_types::ImageSource::Stored("ab".to_owned()),
            media_type: "image/png".to_owned(),
        });
        let text = Part::Text {
            text: "y".repeat(9_000),
        };
        let Content::Parts(parts) = budget.fit(Content::Parts(vec![text, picture.clone()]), "t", false)
        else {
            panic!("the parts are gone")
        };
        assert!(parts[0].as_text().unwrap().contains("<persisted-output>"));
        assert_eq!(parts[1], picture);
    }
}
