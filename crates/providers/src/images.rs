//! Reads stored images from the home's `images/` folder.

use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use talaria_types::{ImagePart, ImageSource};

use crate::wire::Images;

/// Extensions an image may have been stored under, besides its own.
const EXTENSIONS: &[&str] = &["png", "jpg", "jpeg", "webp", "gif", "bmp", "bin"];

/// The folder in which each image lies once, as `<sha256>.<ext>`.
#[derive(Clone, Debug)]
pub(crate) struct ImageFolder(pub(crate) PathBuf);

impl Images for ImageFolder {
    fn base64(&self, image: &ImagePart) -> Option<String> {
        let digest = match &image.source {
            ImageSource::Inline(base64) => return Some(base64.clone()),
            ImageSource::Url(_) => return None,
            ImageSource::Stored(digest) => digest,
        };
        // The digest comes from a database; it must not become a path.
        if digest.is_empty() || !digest.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let own = image.media_type.rsplit('/').next().unwrap_or_default();
        std::iter::once(&own)
            .chain(EXTENSIONS)
            .filter(|extension| extension.bytes().all(|byte| byte.is_ascii_alphanumeric()))
            .find_map(|extension| std::fs::read(self.0.join(format!("{digest}.{extension}"))).ok())
            .map(|bytes| STANDARD.encode(bytes))
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
    fn a_digest_that_is_a_path_reads_nothing() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("images")).unwrap();
        std::fs::write(folder.path().join("secret.png"), b"xyz").unwrap();
        let images = ImageFolder(folder.path().join("images"));
        assert_eq!(images.base64(&stored("../secret", "image/png")), None);
    }
}
