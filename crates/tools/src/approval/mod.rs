//! Whether a command may run.

/// `approvals.mode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Every dangerous command is asked for.
    Manual,
    /// A model judges first; what it is unsure of is asked for.
    #[default]
    Smart,
    /// Nothing is asked for; the hard list still holds.
    Off,
}

/// What the person allowed for one session.
#[derive(Debug, Default)]
pub struct Grants;
