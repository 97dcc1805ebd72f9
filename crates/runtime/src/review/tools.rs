//! The tools of a review: all are declared, four of them work.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;
use talaria_memory::Origin;
use talaria_tools::{
    AnyTool, Executor, Parallel, Registry, Selection, ToolContext, ToolError, ToolOutput, ToolSession, erase,
};
use talaria_types::{Effect, SessionId, ToolSpec};

use crate::engine::Shared;
use crate::memory_tool::MemoryTool;
use crate::setup;
use crate::skill_tools::{Bench, SkillManage, SkillView, SkillsList};

/// What a review may call.
pub(super) const ALLOWED: [&str; 4] = ["memory", "skill_manage", "skill_view", "skills_list"];

/// A tool that is declared and does nothing.
struct Denied(ToolSpec);

impl AnyTool for Denied {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn effect(&self) -> Effect {
        Effect::Read
    }

    fn run<'a>(&'a self, _: Value, _: &'a ToolContext<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        let text = format!(
            "{} is denied in a review: only {} work",
            self.0.name,
            ALLOWED.join(", ")
        );
        Box::pin(std::future::ready(Err(ToolError::Denied(text))))
    }

    fn parallel(&self, _: &Value) -> Parallel {
        Parallel::Always
    }

    fn idempotent(&self) -> bool {
        false
    }

    fn keeps_whole_results(&self) -> bool {
        false
    }
}

/// An executor for one review of this session.
pub(super) fn executor(shared: &Shared, specs: &[ToolSpec], session: &SessionId, window: u64) -> Executor {
    let mut registry = Registry::default();
    for spec in specs {
        registry.add("denied", Arc::new(Denied(spec.clone())));
    }
    let declared = |name: &str| specs.iter().any(|spec| spec.name == name);
    if let Some(curated) = shared.curated.as_ref().filter(|_| declared("memory")) {
        let tool = MemoryTool {
            curated: curated.clone(),
            store: shared.store.clone(),
            origin: Origin::BackgroundReview,
            // What a review writes is nobody's turn.
            external: None,
        };
        registry.add("memory", erase(tool));
    }
    let bench = Bench::of_review(shared.library.clone(), shared.loaded.config.skills.write_approval);
    let skills = [
        erase(SkillsList(bench.clone())),
        erase(SkillView(bench.clone())),
        erase(SkillManage(bench)),
    ];
    for tool in skills.into_iter().filter(|tool| declared(&tool.spec().name)) {
        registry.add("skills", tool);
    }
    let selection = Selection {
        names: specs.iter().map(|spec| spec.name.clone()).collect(),
        compact: false,
        beyond: None,
    };
    let tools = ToolSession::new(setup::tool_settings(shared, session.as_str(), window));
    tools.hide_secrets(setup::secrets(&shared.loaded));
    Executor::new(Arc::new(registry), selection, tools)
}
