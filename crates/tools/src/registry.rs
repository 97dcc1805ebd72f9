//! Which tools there are.

use std::sync::Arc;

use talaria_types::ToolSpec;

use crate::AnyTool;

/// All tools, by toolset.
#[derive(Default)]
pub struct Registry {
    entries: Vec<(&'static str, Arc<dyn AnyTool>)>,
}

/// The tools of one session, fixed for its life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// Their names, sorted.
    pub names: Vec<String>,
    /// Whether descriptions are cut to fit a window below 16 384 tokens.
    pub compact: bool,
}

/// A toolset that does not exist.
#[derive(Debug, thiserror::Error)]
#[error("there is no toolset {name:?}; there are {known}")]
pub struct UnknownToolset {
    /// What was asked for.
    pub name: String,
    /// What there is.
    pub known: String,
}

impl Registry {
    /// The built-in tools: `terminal`, `process`, the four file tools, `todo`, `clarify`.
    pub fn builtin() -> Self {
        unimplemented!()
    }

    /// Adds a tool of another crate to `toolset`.
    pub fn add(&mut self, toolset: &'static str, tool: Arc<dyn AnyTool>) {
        self.entries.push((toolset, tool));
    }

    /// The tools of `toolsets` (all of them when empty) for a window of `window` tokens,
    /// without those of `disabled`.
    ///
    /// # Errors
    /// When a toolset does not exist.
    pub fn select(
        &self,
        _toolsets: &[String],
        _disabled: &[String],
        _window: u64,
    ) -> Result<Selection, UnknownToolset> {
        unimplemented!()
    }

    /// What the model is told of a selection: sorted by name, the same bytes in every process.
    pub fn specs(&self, _selection: &Selection) -> Arc<[ToolSpec]> {
        unimplemented!()
    }

    /// The toolsets and their tools, for listings.
    pub fn toolsets(&self) -> Vec<(&'static str, Vec<String>)> {
        unimplemented!()
    }
}
