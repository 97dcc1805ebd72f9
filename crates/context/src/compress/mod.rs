//! Hides the older part of a conversation behind a summary.

mod strings;

pub use strings::{
    ARGUMENT_CUT, DUPLICATE_OUTPUT, END_MARKER, IMAGE_STRIPPED, LEGACY_SUMMARY_TAG, OUTPUT_CLEARED,
    RESULT_EARLIER, RESULT_SUMMARISED, SCREENSHOT_REMOVED, SUMMARY_TAG, is_summary,
};
