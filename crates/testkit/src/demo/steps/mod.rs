//! The steps, in the order in which they are shown. One file each; [`STEPS`] is the list.

mod kill_and_resume;
mod long_job;
mod recall;
mod remember;
mod replay;
mod review;
mod search;
mod search_hidden;
mod undo;
mod work_with_tools;

use super::{DemoError, stage::Stage};

/// One thing that is shown.
pub(super) struct Row {
    /// What it is about.
    pub(super) title: &'static str,
    /// Does it, and checks each claim.
    pub(super) run: fn(&mut Stage<'_>) -> Result<(), DemoError>,
}

/// All of them.
pub(super) const STEPS: &[Row] = &[
    work_with_tools::ROW,
    kill_and_resume::ROW,
    search::ROW,
    replay::ROW,
    long_job::ROW,
    search_hidden::ROW,
    recall::ROW,
    undo::ROW,
    remember::ROW,
    review::ROW,
];
