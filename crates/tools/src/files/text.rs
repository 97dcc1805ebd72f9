//! Text files as they are on disk: encoding, byte order mark, line endings. An edit
//! keeps all three.

/// How a file's bytes are text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Utf8,
    Utf8Mark,
    Utf16Little,
    Utf16Big,
    /// No Unicode at all; nearly always what old programs of western Europe wrote.
    Windows1252,
    /// UTF-8 with bytes in it that are none; can be shown, not written back.
    Broken,
}

/// A decoded file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    /// The characters, line endings as they are, without the byte order mark.
    pub(crate) text: String,
    pub(crate) encoding: Encoding,
}

/// Bytes that are looked at to tell text from something else.
const SNIFFED: usize = 8_000;

/// Extensions of files that are no text, whatever their first bytes look like.
const BINARY: &[&str] = &[
    "7z", "a", "avi", "bin", "bmp", "bz2", "class", "db", "dll", "dylib", "exe", "gif", "gz", "ico", "jar",
    "jpeg", "jpg", "mkv", "mov", "mp3", "mp4", "o", "ogg", "otf", "pdf", "png", "pyc", "rar", "so", "sqlite",
    "tar", "tiff", "ttf", "wasm", "wav", "webm", "webp", "woff", "woff2", "xls", "xlsx", "xz", "zip", "zst",
];

const IMAGES: &[&str] = &["bmp", "gif", "ico", "jpeg", "jpg", "png", "tiff", "webp"];

impl Encoding {
    /// What the model is told of an encoding that is not the usual one.
    pub(crate) fn label(self) -> Option<&'static str> {
        match self {
            Self::Utf8 | Self::Utf8Mark => None,
            Self::Utf16Little => Some("utf-16le"),
            Self::Utf16Big => Some("utf-16be"),
            Self::Windows1252 => Some("windows-1252 (guessed)"),
            Self::Broken => Some("utf-8 with invalid bytes, shown as \u{fffd}"),
        }
    }
}

impl Text {
    pub(crate) fn decode(bytes: &[u8]) -> Self {
        let (text, encoding) = match bytes {
            [0xef, 0xbb, 0xbf, rest @ ..] => match std::str::from_utf8(rest) {
                Ok(text) => (text.to_owned(), Encoding::Utf8Mark),
                Err(_) => (String::from_utf8_lossy(rest).into_owned(), Encoding::Broken),
            },
            [0xff, 0xfe, rest @ ..] => (utf16(rest, u16::from_le_bytes), Encoding::Utf16Little),
            [0xfe, 0xff, rest @ ..] => (utf16(rest, u16::from_be_bytes), Encoding::Utf16Big),
            _ => match std::str::from_utf8(bytes) {
                Ok(text) => (text.to_owned(), Encoding::Utf8),
                Err(_) => not_utf8(bytes),
            },
        };
        Self { text, encoding }
    }

    /// `text` in the encoding of this file; nothing when it cannot be written in it.
    pub(crate) fn encode(text: &str, encoding: Encoding) -> Option<Vec<u8>> {
        let marked = |mark: &[u8], rest: Vec<u8>| Some([mark, &rest].concat());
        match encoding {
            Encoding::Utf8 => Some(text.as_bytes().to_vec()),
            Encoding::Utf8Mark => marked(&[0xef, 0xbb, 0xbf], text.as_bytes().to_vec()),
            Encoding::Utf16Little => marked(
                &[0xff, 0xfe],
                text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            ),
            Encoding::Utf16Big => marked(
                &[0xfe, 0xff],
                text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
            ),
            Encoding::Windows1252 => text.chars().map(to_windows_1252).collect(),
            Encoding::Broken => None,
        }
    }

    /// Whether every line ends in carriage return and line feed.
    pub(crate) fn is_crlf(&self) -> bool {
        let feeds = self.text.matches('\n').count();
        feeds > 0 && self.text.matches("\r\n").count() == feeds
    }
}

/// Whether the file is no text, by its name or its first bytes.
pub(crate) fn is_binary(name: &std::path::Path, bytes: &[u8]) -> bool {
    if has_extension(name, BINARY) {
        return true;
    }
    let start = &bytes[..bytes.len().min(SNIFFED)];
    if start.starts_with(&[0xff, 0xfe]) || start.starts_with(&[0xfe, 0xff]) {
        return false;
    }
    let odd = |byte: &&u8| matches!(byte, 0..=8 | 14..=26 | 28..=31);
    start.contains(&0) || start.iter().filter(odd).count() * 10 > start.len() * 3
}

/// Whether the name is that of a picture.
pub(crate) fn is_image(name: &std::path::Path) -> bool {
    has_extension(name, IMAGES)
}

fn has_extension(name: &std::path::Path, known: &[&str]) -> bool {
    let extension = name
        .extension()
        .and_then(|extension| extension.to_str())
        .map(str::to_ascii_lowercase);
    extension.is_some_and(|extension| known.contains(&extension.as_str()))
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units = bytes
        .chunks(2)
        .map(|pair| unit([pair[0], pair.get(1).copied().unwrap_or_default()]));
    char::decode_utf16(units)
        .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect()
}

/// Valid characters beyond ASCII speak for damaged UTF-8; none of them for a single-byte encoding.
fn not_utf8(bytes: &[u8]) -> (String, Encoding) {
    let lossy = String::from_utf8_lossy(bytes);
    let unicode = lossy
        .chars()
        .any(|c| !c.is_ascii() && c != char::REPLACEMENT_CHARACTER);
    if unicode {
        return (lossy.into_owned(), Encoding::Broken);
    }
    (
        bytes.iter().map(|byte| from_windows_1252(*byte)).collect(),
        Encoding::Windows1252,
    )
}

/// 0x80 to 0x9f; the five that Windows leaves open stay the control characters they are.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}',
    '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

fn from_windows_1252(byte: u8) -> char {
    match byte {
        0x80..=0x9f => WINDOWS_1252[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}

fn to_windows_1252(c: char) -> Option<u8> {
    match u32::from(c) {
        code @ (0..=0x7f | 0xa0..=0xff) => u8::try_from(code).ok(),
        _ => WINDOWS_1252
            .iter()
            .position(|known| *known == c)
            .and_then(|at| u8::try_from(at + 0x80).ok()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_encoding_is_written_back_as_it_was() {
        let utf16: Vec<u8> = [0xff, 0xfe]
            .into_iter()
            .chain("a€\r\n".encode_utf16().flat_map(u16::to_le_bytes))
            .collect();
        for bytes in [
            &b"plain\n"[..],
            b"\xef\xbb\xbfmarked",
            &utf16,
            b"caf\xe9 \x97 \x81",
            "漢字".as_bytes(),
        ] {
            let text = Text::decode(bytes);
            assert_eq!(
                Text::encode(&text.text, text.encoding).unwrap(),
                bytes,
                "{text:?}"
            );
        }
    }

    #[test]
    fn damaged_utf8_is_shown_and_never_written_back() {
        let text = Text::decode("漢字 \u{0}".as_bytes());
        assert_eq!(text.encoding, Encoding::Utf8);
        let text = Text::decode(b"\xe6\xbc\xa2 \xff end");
        assert_eq!(
            (text.text.as_str(), text.encoding),
            ("漢 \u{fffd} end", Encoding::Broken)
        );
        assert_eq!(Text::encode("x", Encoding::Broken), None);
    }

    #[test]
    fn binary_files_are_told_from_text() {
        let path = std::path::Path::new("x");
        assert!(is_binary(path, &(0..=255).collect::<Vec<u8>>()));
        assert!(is_binary(std::path::Path::new("x.PNG"), b"text"));
        assert!(!is_binary(path, "grüße\tund \u{1b}[1mfett\u{1b}[0m\n".as_bytes()));
        assert!(!is_binary(path, b"\xff\xfea\x00b\x00"));
    }
}
