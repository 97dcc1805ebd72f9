//! The processes of one session.

/// The processes of one session.
#[derive(Default)]
pub struct ProcessTable;

impl ProcessTable {
    /// Ends every process that was started.
    pub fn shutdown(&self) {}
}
