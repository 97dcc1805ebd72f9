//! The fixed texts of compression.
//!
//! They are protocol: stored conversations hold them, other programs look for
//! them, so they never change by a byte.

use talaria_types::{Content, Message, Part};

/// How the text of a summary message begins.
pub const SUMMARY_TAG: &str = "[CONTEXT COMPACTION — REFERENCE ONLY]";
/// How summaries of early versions begin; read, never written.
pub const LEGACY_SUMMARY_TAG: &str = "[CONTEXT SUMMARY]:";
/// Ends a summary, so that what it tells is not taken for the request.
pub const END_MARKER: &str =
    "--- END OF CONTEXT SUMMARY — respond to the message below, not the summary above ---";
/// Stands in for an output that a later call repeated.
pub const DUPLICATE_OUTPUT: &str = "[Duplicate tool output — same content as a more recent call]";
/// Stands in for an image of an old tool result.
pub const SCREENSHOT_REMOVED: &str = "[screenshot removed to save context]";
/// Stands in for an image a person attached long ago.
pub const IMAGE_STRIPPED: &str = "[Attached image — stripped after compression]";
/// Stands in for an output that was cleared; written by others, left as it is.
pub const OUTPUT_CLEARED: &str = "[Old tool output cleared to save context space]";
/// Ends a string of a call's arguments that was cut.
pub const ARGUMENT_CUT: &str = "...[truncated]";
/// The result of a call whose own was hidden by a compression.
pub const RESULT_EARLIER: &str = "[Result from earlier conversation — see context summary above]";
/// The result of a call whose own is missing behind a summary.
pub const RESULT_SUMMARISED: &str = "[Result unavailable — see context summary above]";

/// Whether a message begins with a summary, of this program or another version of Hermes.
pub fn is_summary(message: &Message) -> bool {
    first_text(&message.content).is_some_and(|text| {
        let text = text.trim_start();
        text.starts_with(SUMMARY_TAG) || text.starts_with(LEGACY_SUMMARY_TAG)
    })
}

fn first_text(content: &Content) -> Option<&str> {
    match content {
        Content::Text(text) => Some(text),
        Content::Parts(parts) => parts.first().and_then(Part::as_text),
    }
}
