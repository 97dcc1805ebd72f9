//! The fixed texts of compression.
//!
//! They are protocol: stored conversations hold them, other programs look for
//! them, so they never change by a byte.

use talaria_types::{Content, Message, Part};

/// How the text of a summary message begins.
pub const SUMMARY_TAG: &str = "[CONTEXT COMPACTION — REFERENCE ONLY]";
/// What every wording of the tag begins with.
pub(super) const ANY_SUMMARY_TAG: &str = "[CONTEXT COMPACTION";
/// How summaries of early versions begin; read, never written.
pub const LEGACY_SUMMARY_TAG: &str = "[CONTEXT SUMMARY]:";
/// The whole first line of a summary message: what it is and how to take it.
pub const SUMMARY_PREFIX: &str = include_str!("prompts/prefix.md");
/// Ends a summary, so that what it tells is not taken for the request.
pub const END_MARKER: &str = include_str!("prompts/end_marker.md");
/// Follows the system prompt once a conversation was compressed; the same bytes for
/// the rest of the session, outside of the cached part.
pub const COMPACTION_NOTE: &str = include_str!("prompts/note.md");
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
/// Begins the list of tasks that is carried in the summary message.
pub const TODO_HEADER: &str = "[Your active task list was preserved across context compression]";
/// Hermes 0.19 put the older words of a row between these two, its summary behind them.
pub(super) const PRIOR_OPEN: &str = "[PRIOR CONTEXT — for reference only; not a new message]";
/// The end of [`PRIOR_OPEN`].
pub(super) const PRIOR_CLOSE: &str = "[END OF PRIOR CONTEXT — COMPACTION SUMMARY BELOW]";
/// The section the program itself appends to a summary.
pub const ANCHORS_HEADING: &str = "## Anchors";

/// The thirteen sections of a summary, in their order.
pub const HEADINGS: [&str; 13] = [
    "Active Task",
    "Goal",
    "Constraints & Preferences",
    "Completed Actions",
    "Active State",
    "In Progress",
    "Blocked",
    "Key Decisions",
    "Resolved Questions",
    "Pending User Asks",
    "Relevant Files",
    "Remaining Work",
    "Critical Context",
];

/// Whether a message begins with a summary, of this program or another version of Hermes.
pub fn is_summary(message: &Message) -> bool {
    let first = match &message.content {
        Content::Text(text) => Some(text.as_str()),
        Content::Parts(parts) => parts.first().and_then(Part::as_text),
    };
    first.is_some_and(|text| {
        let text = text.trim_start();
        [ANY_SUMMARY_TAG, LEGACY_SUMMARY_TAG, PRIOR_OPEN]
            .iter()
            .any(|tag| text.starts_with(tag))
    })
}
