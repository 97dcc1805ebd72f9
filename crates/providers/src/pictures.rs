//! Decides which images of a request are sent, and as what.
//!
//! Shared by all adapters: they ask for each image in order and get its bytes, its
//! address, or a note that stands in for it. The repairs that concern images are
//! applied here and nowhere else.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use talaria_types::{Content, ImagePart, ImageSource, Message, ModelRequest, Part, Rewrite, Role};

use crate::wire::{Bounds, Images};

/// What is sent in an image's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// Its bytes in base64, and their media type.
    Data(String, String),
    /// Its address.
    Url(String),
    /// A text.
    Note(&'static str),
}

const MISSING: &str = "[An image stood here; its file is gone.]";
const TEXT_ONLY: &str = "[An image stood here; this model takes text only.]";
const LEFT_OUT: &str = "[An image stood here; it was left out because the request was too large.]";
const IN_RESULT: &str = "[An image stood here; this server takes only text in tool results.]";

/// The decision for one request.
#[derive(Debug, Default)]
pub(crate) struct Pictures {
    /// No image at all.
    none: bool,
    /// None in tool results.
    plain_results: bool,
    /// Places, counted over all images of the request, that are left out.
    left_out: BTreeSet<usize>,
    /// Whoever is larger than this was refused.
    refused: Option<u64>,
}

/// What every provider takes: beyond it requests are refused, and nothing is gained.
const USUAL: Bounds = Bounds {
    bytes: 3_700_000,
    side: 8_000,
};
/// The longer side of a picture that was refused for its size.
const SMALL_SIDE: u32 = 2_000;

/// One piece of a message as it is sent.
pub(crate) enum Piece<'a> {
    /// Text.
    Text(&'a str),
    /// An image, and what is sent for it.
    Image(Sent, &'a ImagePart),
}

impl Pictures {
    /// Reads the request's repairs. Only they make it look at any image.
    pub(crate) fn of(request: &ModelRequest, images: &dyn Images) -> Self {
        let mut decision = Self::default();
        let mut halvings = 0;
        let mut most_bytes = None;
        for rewrite in &request.rewrites {
            match rewrite {
                Rewrite::DropImages => decision.none = true,
                Rewrite::PlainToolContent => decision.plain_results = true,
                Rewrite::DropOldestImages => halvings += 1,
                Rewrite::ShrinkImages(bytes) => most_bytes = Some(*bytes),
                _ => {}
            }
        }
        decision.refused = most_bytes;
        if decision.none || (halvings == 0 && most_bytes.is_none()) {
            return decision;
        }
        let all: Vec<&ImagePart> = request
            .messages
            .iter()
            .flat_map(|message| message.content.images())
            .collect();
        decision.left_out.extend(0..oldest(all.len(), halvings));
        if let Some(most) = most_bytes {
            let stay = |place: &usize| images.fitted(all[*place], small(most)).is_none();
            decision
                .left_out
                .extend(too_large(&all, most, images).into_iter().filter(stay));
        }
        decision
    }

    /// Nothing is left out, so that a message's bytes do not depend on its place.
    pub(crate) fn all_are_sent(&self) -> bool {
        self.left_out.is_empty()
    }

    /// The pieces of a message in order, its first image being in this `place`. What was sent in the
    /// place of its text is its text; its images stay.
    pub(crate) fn pieces<'m>(
        &self,
        message: &'m Message,
        mut place: usize,
        images: &dyn Images,
    ) -> Vec<Piece<'m>> {
        let whole = message.sent_as.as_deref();
        let mut pieces: Vec<Piece<'m>> = whole.map(Piece::Text).into_iter().collect();
        let parts = match &message.content {
            Content::Text(words) => {
                pieces.extend(whole.is_none().then_some(Piece::Text(words)));
                return pieces;
            }
            Content::Parts(parts) => parts,
        };
        for part in parts {
            match part {
                Part::Text { .. } if whole.is_some() => {}
                Part::Text { text } => pieces.push(Piece::Text(text)),
                Part::Image(image) => {
                    pieces.push(Piece::Image(
                        self.resolve(place, image, message.role, images),
                        image,
                    ));
                    place += 1;
                }
            }
        }
        pieces
    }

    /// What is sent for the image in this place.
    pub(crate) fn resolve(&self, place: usize, image: &ImagePart, role: Role, images: &dyn Images) -> Sent {
        if self.none {
            return Sent::Note(TEXT_ONLY);
        }
        if self.plain_results && role == Role::Tool {
            return Sent::Note(IN_RESULT);
        }
        if self.left_out.contains(&place) {
            return Sent::Note(LEFT_OUT);
        }
        match &image.source {
            ImageSource::Url(url) => Sent::Url(url.clone()),
            ImageSource::Stored(_) | ImageSource::Inline(_) => self.bytes(image, images),
        }
    }

    /// The picture's bytes, made smaller when it is larger than what may be sent.
    fn bytes(&self, image: &ImagePart, images: &dyn Images) -> Sent {
        let Some(whole) = images.base64(image) else {
            return Sent::Note(MISSING);
        };
        let bounds = self.refused.map_or(USUAL, small);
        match images.fitted(image, bounds) {
            Some((base64, media_type)) => Sent::Data(base64, media_type),
            None => Sent::Data(whole, image.media_type.clone()),
        }
    }
}

/// The bounds after a refusal.
fn small(bytes: u64) -> Bounds {
    Bounds {
        bytes,
        side: SMALL_SIDE,
    }
}

/// Each repetition of the repair keeps the newer half of what was kept before.
fn oldest(count: usize, halvings: u32) -> usize {
    let kept = (0..halvings).fold(count, |kept, _| kept / 2);
    count - kept
}

/// The images above the bound. The bound is a server's word and may be beside
/// the point; then the largest goes, so that the next request is smaller.
fn too_large(all: &[&ImagePart], most: u64, images: &dyn Images) -> Vec<usize> {
    let mut sizes: Vec<(usize, u64)> = all
        .iter()
        .enumerate()
        .filter_map(|(place, image)| Some((place, images.base64(image)?.len() as u64 * 3 / 4)))
        .collect();
    let above: Vec<usize> = sizes
        .iter()
        .filter(|(_, bytes)| *bytes > most)
        .map(|(place, _)| *place)
        .collect();
    if !above.is_empty() {
        return above;
    }
    sizes.sort_by_key(|(_, bytes)| Reverse(*bytes));
    sizes.first().map(|(place, _)| *place).into_iter().collect()
}

/// A message has images.
pub(crate) fn has_images(message: &Message) -> bool {
    message.content.images().next().is_some()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use talaria_types::{Content, Part};

    use super::*;
    use crate::testing::{NoImages, request};

    struct Sized;

    impl Images for Sized {
        fn base64(&self, image: &ImagePart) -> Option<String> {
            let ImageSource::Stored(digest) = &image.source else {
                return None;
            };
            Some("A".repeat(digest.parse().ok()?))
        }
    }

    fn image(size: &str) -> ImagePart {
        ImagePart {
            source: ImageSource::Stored(size.to_owned()),
            media_type: "image/png".to_owned(),
        }
    }

    fn kept(sizes: &[&str], rewrites: &[Rewrite]) -> Vec<bool> {
        let mut request = request();
        request.messages = sizes
            .iter()
            .map(|size| Arc::new(Message::user(Content::Parts(vec![Part::Image(image(size))]))))
            .collect();
        request.rewrites = rewrites.to_vec();
        let pictures = Pictures::of(&request, &Sized);
        (0..sizes.len())
            .map(|place| {
                matches!(
                    pictures.resolve(place, &image(sizes[place]), Role::User, &Sized),
                    Sent::Data(..)
                )
            })
            .collect()
    }

    #[test]
    fn the_oldest_images_go_first_and_the_newest_stays() {
        use Rewrite::DropOldestImages as Drop;
        assert_eq!(kept(&["4"; 5], &[Drop]), [false, false, false, true, true]);
        assert_eq!(kept(&["4"; 5], &[Drop, Drop]), [false, false, false, false, true]);
        assert_eq!(kept(&["4"], &[Drop]), [false]);
    }

    #[test]
    fn an_image_above_the_bound_is_left_out_else_the_largest() {
        assert_eq!(
            kept(&["400", "40", "800"], &[Rewrite::ShrinkImages(200)]),
            [false, true, false]
        );
        assert_eq!(
            kept(&["40", "80", "40"], &[Rewrite::ShrinkImages(200)]),
            [true, false, true]
        );
    }

    #[test]
    fn an_image_whose_file_is_gone_becomes_a_note() {
        let pictures = Pictures::default();
        assert_eq!(
            pictures.resolve(0, &image("x"), Role::User, &NoImages),
            Sent::Note(MISSING)
        );
    }
}
