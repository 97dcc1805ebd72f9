//! What the file tools share: which paths are off limits, how text is decoded and
//! encoded, how a file is replaced in one step, and how lines are shown.

pub(crate) mod atomic;
pub(crate) mod guard;
pub(crate) mod lint;
pub(crate) mod nearby;
pub(crate) mod shown;
pub(crate) mod text;
