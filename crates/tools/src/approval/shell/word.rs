//! A word of a command, as far as it is known.

/// One word, after quotes were resolved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Word {
    pub(super) pieces: Vec<Piece>,
}

/// A part of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Text; `quoted` text is not a pattern and not a tilde.
    Text { text: String, quoted: bool },
    /// A variable whose value is not known.
    Variable(String),
    /// The output of programs, named here.
    Output(Vec<String>),
    /// Anything else that only the shell knows.
    Unknown,
}

impl Word {
    /// A word that is exactly `text`, unquoted.
    pub(crate) fn plain(text: &str) -> Self {
        Self {
            pieces: vec![Piece::Text {
                text: text.to_owned(),
                quoted: false,
            }],
        }
    }

    /// Its text; a variable as `$NAME`, other unknowns as `$()`.
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text { text, .. } => out.push_str(text),
                Piece::Variable(name) => {
                    out.push('$');
                    out.push_str(name);
                }
                Piece::Output(_) | Piece::Unknown => out.push_str("$()"),
            }
        }
        out
    }

    /// Its text without what is not known: an unset variable within a name hides nothing.
    pub(super) fn known_text(&self) -> String {
        self.pieces
            .iter()
            .map(|piece| match piece {
                Piece::Text { text, .. } => text.as_str(),
                Piece::Variable(_) | Piece::Output(_) | Piece::Unknown => "",
            })
            .collect()
    }

    /// Whether it is a pattern for names of files, as far as the shell sees it.
    pub(crate) fn is_pattern(&self) -> bool {
        let has = |sign: char| {
            self.pieces
                .iter()
                .any(|piece| matches!(piece, Piece::Text { text, quoted: false } if text.contains(sign)))
        };
        has('*') || has('?') || has('[') && has(']')
    }

    /// Whether the last part of it, a program's name, is only known to the shell.
    pub(super) fn hides_name(&self) -> bool {
        for piece in self.pieces.iter().rev() {
            match piece {
                Piece::Text { text, .. } if text.contains('/') => break,
                Piece::Text { .. } => {}
                Piece::Variable(_) | Piece::Output(_) | Piece::Unknown => return true,
            }
        }
        self.is_pattern()
    }

    /// It with a leading tilde as the variable it stands for: a value in quotes keeps its meaning.
    pub(super) fn with_home(mut self) -> Self {
        if let Some(Piece::Text { text, quoted: false }) = self.pieces.first()
            && is_tilde(text)
        {
            let rest = text[1..].to_owned();
            self.pieces[0] = Piece::Variable("HOME".into());
            if !rest.is_empty() {
                self.pieces.insert(
                    1,
                    Piece::Text {
                        text: rest,
                        quoted: true,
                    },
                );
            }
        }
        self
    }

    /// Whether all of it is known.
    pub(crate) fn is_known(&self) -> bool {
        self.pieces
            .iter()
            .all(|piece| matches!(piece, Piece::Text { .. }))
    }

    /// What follows `prefix`, when it begins with it.
    pub(crate) fn after(&self, prefix: &str) -> Option<Self> {
        let Some(Piece::Text { text, quoted }) = self.pieces.first() else {
            return None;
        };
        let rest = Piece::Text {
            text: text.strip_prefix(prefix)?.to_owned(),
            quoted: *quoted,
        };
        let mut pieces = vec![rest];
        pieces.extend(self.pieces[1..].iter().cloned());
        pieces.retain(|piece| !matches!(piece, Piece::Text { text, .. } if text.is_empty()));
        Some(Self { pieces })
    }

    /// Programs whose output is part of it.
    pub(crate) fn programs(&self) -> impl Iterator<Item = &str> {
        self.pieces
            .iter()
            .flat_map(|piece| match piece {
                Piece::Output(programs) => programs.as_slice(),
                Piece::Text { .. } | Piece::Variable(_) | Piece::Unknown => &[],
            })
            .map(String::as_str)
    }

    /// It as a path without `.`, `..` and doubled slashes, seen from `folder`.
    ///
    /// The user's home is `~`; a last part that matches everything is `*`.
    pub(crate) fn path(&self, folder: Option<&str>) -> String {
        let mut text = String::new();
        for (index, piece) in self.pieces.iter().enumerate() {
            match piece {
                Piece::Variable(name) if name == "HOME" && index == 0 => text.push_str(HOME),
                Piece::Text {
                    text: part,
                    quoted: false,
                } if index == 0 && is_tilde(part) => {
                    text.push_str(HOME);
                    text.push_str(&part[1..]);
                }
                Piece::Text { text: part, .. } => text.push_str(part),
                Piece::Variable(name) => {
                    text.push('$');
                    text.push_str(name);
                }
                Piece::Output(_) | Piece::Unknown => text.push_str("$()"),
            }
        }
        resolve(&text, folder)
    }
}

/// Expands `{a,b}` of an unquoted word.
pub(super) fn expand_braces(word: Word) -> Vec<Word> {
    let simple = |word: &Word| {
        word.pieces
            .iter()
            .all(|piece| matches!(piece, Piece::Text { quoted: false, .. }))
    };
    if !simple(&word) {
        return vec![word];
    }
    let text = word.text();
    let open = text.find('{');
    let close = text.rfind('}');
    let (Some(open), Some(close)) = (open, close) else {
        return vec![word];
    };
    let inner = text.get(open + 1..close).unwrap_or_default();
    if !inner.contains(',') || inner.contains('{') || inner.matches(',').count() > 64 {
        return vec![word];
    }
    let (before, after) = (&text[..open], &text[close + 1..]);
    inner
        .split(',')
        .map(|part| Word::plain(&format!("{before}{part}{after}")))
        .filter(|word| !word.text().is_empty())
        .collect()
}

/// Stands for the user's home until the path is put together; no path holds it.
const HOME: &str = "\u{0}";

fn is_tilde(text: &str) -> bool {
    text == "~" || text.starts_with("~/")
}

fn resolve(text: &str, folder: Option<&str>) -> String {
    let (mut parts, rest): (Vec<&str>, &str) = if let Some(rest) = text.strip_prefix(HOME) {
        (vec!["~"], rest)
    } else if text.starts_with('/') {
        (vec![""], text)
    } else if let Some(folder) = folder {
        (folder.trim_end_matches('/').split('/').collect(), text)
    } else {
        (Vec::new(), text)
    };
    let anchored = parts
        .first()
        .is_some_and(|first| first.is_empty() || *first == "~");
    for part in rest.split('/') {
        match part {
            "" | "." => {}
            ".." if anchored && parts.len() > 1 => {
                parts.pop();
            }
            // Above the root is the root; above the home is all homes.
            ".." if anchored && parts.first() == Some(&"~") => parts = vec!["", "home"],
            ".." if anchored => {}
            part if matches_everything(part) => parts.push("*"),
            part => parts.push(part),
        }
    }
    if parts == [""] {
        "/".to_owned()
    } else {
        parts.join("/")
    }
}

/// Whether a pattern of a path's part leaves nothing out that matters.
fn matches_everything(part: &str) -> bool {
    part.contains('*')
        && part
            .chars()
            .all(|c| matches!(c, '*' | '?' | '.' | '[' | ']' | '!'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_seen_through_its_spellings() {
        let path = |text: &str| Word::plain(text).path(None);
        assert_eq!(path("/"), "/");
        assert_eq!(path("//.//../"), "/");
        assert_eq!(path("/*"), "/*");
        assert_eq!(path("/usr/../etc/"), "/etc");
        assert_eq!(path("~/"), "~");
        assert_eq!(path("~/.[!.]*"), "~/*");
        assert_eq!(path("~/.."), "/home");
        assert_eq!(path("./build//x"), "build/x");
        assert_eq!(path("~x"), "~x");
        assert_eq!(Word::plain("*").path(Some("/")), "/*");
        assert_eq!(Word::plain("..").path(Some("~/a")), "~");
    }
}
