//! Makes a picture fit: fewer pixels, then fewer bytes. The same picture and bounds give the same bytes.

use std::io::Cursor;

use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits};

use crate::wire::Bounds;

/// What a smaller copy may be: its ending and its media type.
pub(crate) const FORMS: [(&str, &str); 2] = [("png", "image/png"), ("jpg", "image/jpeg")];
/// Pictures of more pixels on a side are not opened.
const LONGEST: u32 = 40_000;
/// The most memory that opening one takes, in bytes.
const MEMORY: u64 = 512 * 1024 * 1024;
/// A copy that is smaller shows nothing any more.
const SMALLEST: u32 = 64;
const QUALITY: u8 = 85;

/// Whether a picture is within the bounds as it is; one that cannot be measured is taken at its bytes.
pub(crate) fn fits(bytes: &[u8], bounds: Bounds) -> bool {
    if bytes.len() as u64 > bounds.bytes {
        return false;
    }
    let reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format();
    let size = reader.ok().and_then(|reader| reader.into_dimensions().ok());
    size.is_none_or(|(width, height)| width.max(height) <= bounds.side)
}

/// A copy within the bounds; nothing when the picture cannot be opened or made so small.
pub(crate) fn shrunk(bytes: &[u8], bounds: Bounds) -> Option<(Vec<u8>, &'static str)> {
    let mut picture = opened(bytes)?;
    if picture.width().max(picture.height()) > bounds.side {
        picture = picture.resize(bounds.side, bounds.side, FilterType::Triangle);
    }
    loop {
        if let Some(made) = encoded(&picture, bounds.bytes) {
            return Some(made);
        }
        let side = picture.width().max(picture.height()) * 3 / 4;
        if side < SMALLEST {
            return None;
        }
        picture = picture.resize(side, side, FilterType::Triangle);
    }
}

/// The picture, turned the way its camera says.
fn opened(bytes: &[u8]) -> Option<DynamicImage> {
    let mut reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format().ok()?;
    let mut limits = Limits::default();
    limits.max_image_width = Some(LONGEST);
    limits.max_image_height = Some(LONGEST);
    limits.max_alloc = Some(MEMORY);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().ok()?;
    let orientation = decoder.orientation().ok();
    let mut picture = DynamicImage::from_decoder(decoder).ok()?;
    if let Some(orientation) = orientation {
        picture.apply_orientation(orientation);
    }
    Some(picture)
}

/// As PNG, which loses nothing, else as JPEG, whichever is within `most` bytes.
fn encoded(picture: &DynamicImage, most: u64) -> Option<(Vec<u8>, &'static str)> {
    let within = |bytes: &Vec<u8>| bytes.len() as u64 <= most;
    let mut png = Cursor::new(Vec::new());
    picture.write_to(&mut png, ImageFormat::Png).ok()?;
    let png = Some(png.into_inner()).filter(within);
    if let Some(png) = png {
        return Some((png, "image/png"));
    }
    let mut jpeg = Cursor::new(Vec::new());
    let opaque = on_white(picture);
    opaque
        .write_with_encoder(JpegEncoder::new_with_quality(&mut jpeg, QUALITY))
        .ok()?;
    Some(jpeg.into_inner())
        .filter(within)
        .map(|jpeg| (jpeg, "image/jpeg"))
}

/// What can be seen through is white in a JPEG.
fn on_white(picture: &DynamicImage) -> DynamicImage {
    if !picture.color().has_alpha() {
        return DynamicImage::ImageRgb8(picture.to_rgb8());
    }
    let mut flat = image::RgbImage::new(picture.width(), picture.height());
    for (target, source) in flat.pixels_mut().zip(picture.to_rgba8().pixels()) {
        let [red, green, blue, alpha] = source.0.map(u16::from);
        let over = |colour: u16| ((colour * alpha + 255 * (255 - alpha)) / 255) as u8;
        target.0 = [over(red), over(green), over(blue)];
    }
    DynamicImage::ImageRgb8(flat)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A PNG that does not compress.
    pub(crate) fn noise(width: u32, height: u32) -> Vec<u8> {
        let mut state = 7_u32;
        let picture = image::RgbaImage::from_fn(width, height, |_, _| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let [a, b, c, _] = state.to_be_bytes();
            image::Rgba([a, b, c, 255])
        });
        let mut out = Cursor::new(Vec::new());
        picture.write_to(&mut out, ImageFormat::Png).unwrap();
        out.into_inner()
    }

    #[test]
    fn a_picture_is_made_to_fit_by_pixels_and_by_bytes() {
        let large = noise(900, 300);
        let bounds = Bounds {
            bytes: 40_000,
            side: 600,
        };
        assert!(!fits(&large, bounds));
        let (small, media_type) = shrunk(&large, bounds).unwrap();
        assert!(small.len() <= 40_000);
        assert_eq!(media_type, "image/jpeg");
        assert!(fits(&small, bounds));
        assert_eq!(shrunk(&large, bounds).unwrap().0, small, "the same every time");
        let wide = Bounds {
            bytes: 5_000_000,
            side: 450,
        };
        let (small, media_type) = shrunk(&large, wide).unwrap();
        assert_eq!(media_type, "image/png");
        let size = ImageReader::new(Cursor::new(small))
            .with_guessed_format()
            .unwrap();
        assert_eq!(size.into_dimensions().unwrap(), (450, 150));
    }

    #[test]
    fn what_is_no_picture_or_cannot_be_so_small_is_left_alone() {
        let bounds = Bounds { bytes: 10, side: 10 };
        assert_eq!(shrunk(b"no picture", bounds), None);
        assert_eq!(shrunk(&noise(80, 80), bounds), None);
    }
}
