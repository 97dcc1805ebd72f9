//! Reads stored images from the home's `images/` folder.

use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use talaria_types::{ImagePart, ImageSource};

use crate::shrink;
use crate::wire::{Bounds, Images};

/// Extensions an image may have been stored under, besides its own.
const EXTENSIONS: &[&str] = &["png", "jpg", "jpeg", "webp", "gif", "bmp", "bin"];

/// The folder in which each image lies once, as `<sha256>.<ext>`.
#[derive(Clone, Debug)]
pub(crate) struct ImageFolder(pub(crate) PathBuf);

impl ImageFolder {
    /// The file of a stored picture.
    fn file(&self, image: &ImagePart, digest: &str) -> Option<PathBuf> {
        // The digest comes from a database; it must not become a path.
        if digest.is_empty() || !digest.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let own = image.media_type.rsplit('/').next().unwrap_or_default();
        std::iter::once(&own)
            .chain(EXTENSIONS)
            .filter(|extension| extension.bytes().all(|byte| byte.is_ascii_alphanumeric()))
            .map(|extension| self.0.join(format!("{digest}.{extension}")))
            .find(|path| path.is_file())
    }

    /// A copy of a picture that fits, made once and kept beside it.
    fn copy(&self, digest: &str, whole: &[u8], bounds: Bounds) -> Option<(Vec<u8>, &'static str)> {
        let name = |extension: &str| format!("{digest}.fit-{}-{}.{extension}", bounds.bytes, bounds.side);
        for (extension, media_type) in shrink::FORMS {
            if let Ok(kept) = std::fs::read(self.0.join(name(extension))) {
                return Some((kept, media_type));
            }
        }
        let (bytes, media_type) = shrink::shrunk(whole, bounds)?;
        let (extension, _) = shrink::FORMS.iter().find(|(_, known)| *known == media_type)?;
        if let Err(error) = put(&self.0, &name(extension), &bytes) {
            // It is made anew next time, and comes out the same.
            tracing::warn!(%error, "the smaller copy of a picture could not be kept");
        }
        Some((bytes, media_type))
    }
}

/// Writes a file so that it is whole as soon as it is there.
fn put(folder: &Path, name: &str, bytes: &[u8]) -> std::io::Result<()> {
    let beside = folder.join(format!(".{}.{name}", std::process::id()));
    std::fs::write(&beside, bytes)?;
    std::fs::rename(&beside, folder.join(name))
}

impl Images for ImageFolder {
    fn base64(&self, image: &ImagePart) -> Option<String> {
        match &image.source {
            ImageSource::Inline(base64) => Some(base64.clone()),
            ImageSource::Url(_) => None,
            ImageSource::Stored(digest) => {
                let file = self.file(image, digest)?;
                std::fs::read(file).ok().map(|bytes| STANDARD.encode(bytes))
            }
        }
    }

    fn fitted(&self, image: &ImagePart, bounds: Bounds) -> Option<(String, String)> {
        let (bytes, media_type) = match &image.source {
            ImageSource::Url(_) => return None,
            ImageSource::Inline(base64) => {
                let whole = STANDARD.decode(base64).ok()?;
                if shrink::fits(&whole, bounds) {
                    return None;
                }
                shrink::shrunk(&whole, bounds)?
            }
            ImageSource::Stored(digest) => {
                let whole = std::fs::read(self.file(image, digest)?).ok()?;
                if shrink::fits(&whole, bounds) {
                    return None;
                }
                self.copy(digest, &whole, bounds)?
            }
        };
        Some((STANDARD.encode(bytes), media_type.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(digest: &str, media_type: &str) -> ImagePart {
        ImagePart {
            source: ImageSource::Stored(digest.to_owned()),
            media_type: media_type.to_owned(),
        }
    }

    #[test]
    fn an_image_is_found_under_any_usual_extension() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ab12.jpg"), b"xyz").unwrap();
        let images = ImageFolder(folder.path().to_owned());
        assert_eq!(
            images.base64(&stored("ab12", "image/jpeg")).as_deref(),
            Some("eHl6")
        );
        assert_eq!(images.base64(&stored("cd34", "image/jpeg")), None);
    }

    #[test]
    fn a_picture_that_is_too_large_gets_one_copy_that_fits_and_stays_the_same() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ab12.png"), shrink::tests::noise(700, 300)).unwrap();
        let images = ImageFolder(folder.path().to_owned());
        let bounds = Bounds {
            bytes: 100_000,
            side: 400,
        };
        let one = images.fitted(&stored("ab12", "image/png"), bounds).unwrap();
        let two = images.fitted(&stored("ab12", "image/png"), bounds).unwrap();
        assert_eq!(one, two);
        assert!(STANDARD.decode(&one.0).unwrap().len() <= 100_000);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
        let wide = Bounds {
            bytes: 10_000_000,
            side: 700,
        };
        assert_eq!(
            images.fitted(&stored("ab12", "image/png"), wide),
            None,
            "it fits as it is"
        );
    }

    #[test]
    fn a_digest_that_is_a_path_reads_nothing() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("images")).unwrap();
        std::fs::write(folder.path().join("secret.png"), b"xyz").unwrap();
        let images = ImageFolder(folder.path().join("images"));
        assert_eq!(images.base64(&stored("../secret", "image/png")), None);
    }
}
