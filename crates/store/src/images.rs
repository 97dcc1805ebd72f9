//! The bytes of pictures: once each, in `images/<sha256>.<ext>` beside the database.
//!
//! A row names the file in a text part, `[image: images/<sha256>.png]`, which
//! Hermes reads as the text it is. What a request needs of the bytes is read
//! when it is made; a file that is gone becomes a note there, not here.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use talaria_types::{ImagePart, ImageSource};

use crate::{Result, StoreError};

/// File endings of media types; the first ending of a type is the one written.
const ENDINGS: [(&str, &str); 9] = [
    ("image/png", "png"),
    ("image/jpeg", "jpg"),
    ("image/jpeg", "jpeg"),
    ("image/gif", "gif"),
    ("image/webp", "webp"),
    ("image/bmp", "bmp"),
    ("image/heic", "heic"),
    ("image/svg+xml", "svg"),
    ("image/tiff", "tiff"),
];
/// The ending of a media type that is not in the table.
const OTHER: (&str, &str) = ("application/octet-stream", "bin");

/// Writes `bytes` into `folder` under their digest, unless they are there, and gives the part that names them.
pub fn store_image(folder: &Path, bytes: &[u8], media_type: &str) -> Result<ImagePart> {
    let digest = hex(&Sha256::digest(bytes));
    let path = folder.join(file_name(&digest, media_type));
    if !path.exists() {
        write_once(folder, &path, bytes).map_err(|source| StoreError::File { path, source })?;
    }
    Ok(ImagePart {
        source: ImageSource::Stored(digest),
        media_type: media_type.to_owned(),
    })
}

/// The media type of a picture by its first bytes, as models take it; the name of a file is no evidence.
pub fn image_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// Where the bytes of a stored picture are; `None` for one that is not stored here.
pub fn image_path(folder: &Path, image: &ImagePart) -> Option<PathBuf> {
    match &image.source {
        ImageSource::Stored(digest) => Some(folder.join(file_name(digest, &image.media_type))),
        ImageSource::Url(_) | ImageSource::Inline(_) => None,
    }
}

/// Decodes inline base64 of a row that another program wrote; line breaks in it are ignored.
pub(crate) fn decode_inline(text: &str) -> Option<Vec<u8>> {
    let bare: String = text
        .chars()
        .filter(|character| !character.is_whitespace())
        .collect();
    STANDARD.decode(bare).ok()
}

/// The text part that stands for a stored picture in a row.
pub(crate) fn marker(digest: &str, media_type: &str) -> String {
    format!("[image: images/{}]", file_name(digest, media_type))
}

/// Reads [`marker`] back; any other text is `None`.
pub(crate) fn parse_marker(text: &str) -> Option<ImagePart> {
    let name = text.strip_prefix("[image: images/")?.strip_suffix(']')?;
    let (digest, ending) = name.split_once('.')?;
    let is_digest = digest.len() == 64
        && digest
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let (media_type, _) = ENDINGS
        .into_iter()
        .chain([OTHER])
        .find(|(_, known)| *known == ending)?;
    is_digest.then(|| ImagePart {
        source: ImageSource::Stored(digest.to_owned()),
        media_type: media_type.to_owned(),
    })
}

/// `<digest>.<ending>` of a picture.
pub(crate) fn file_name(digest: &str, media_type: &str) -> String {
    let (_, ending) = ENDINGS
        .into_iter()
        .find(|(known, _)| *known == media_type)
        .unwrap_or(OTHER);
    format!("{digest}.{ending}")
}

/// Writes beside the place and renames, so that a file under its digest is always whole.
fn write_once(folder: &Path, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let mut nonce = [0_u8; 8];
    getrandom::fill(&mut nonce).map_err(std::io::Error::other)?;
    let beside = folder.join(format!(".{}.new", hex(&nonce)));
    let mut file = std::fs::File::create(&beside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&beside, path)
}

/// Lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_kept_once_and_found_by_its_part() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("images");
        let one = store_image(&folder, b"bytes", "image/png").unwrap();
        let two = store_image(&folder, b"bytes", "image/png").unwrap();
        assert_eq!(one, two);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        assert_eq!(
            std::fs::read(image_path(&folder, &one).unwrap()).unwrap(),
            b"bytes"
        );
    }

    #[test]
    fn only_the_exact_marker_is_a_picture() {
        let digest = "0".repeat(64);
        let image = parse_marker(&marker(&digest, "image/jpeg")).unwrap();
        assert_eq!(image.media_type, "image/jpeg");
        assert_eq!(image.source, ImageSource::Stored(digest.clone()));
        for text in [
            format!("see [image: images/{digest}.png]"),
            "[image: images/x.png]".into(),
            String::new(),
        ] {
            assert_eq!(parse_marker(&text), None, "{text}");
        }
    }
}
