//! The tools that plugins bring, as the registry keeps them.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;
use talaria_plugins::{Plugin, PluginTool};
use talaria_tools::{AnyTool, Parallel, Registry, ToolContext, ToolError, ToolOutput, untrusted};
use talaria_types::{Content, Effect, ToolSpec};

/// One tool of a plugin.
struct Brought {
    plugin: Arc<Plugin>,
    spec: ToolSpec,
    effect: Effect,
}

/// Adds the tools of `plugins`; a name that is taken stays whose it was.
pub(crate) fn add(registry: &mut Registry, plugins: &[Arc<Plugin>], warnings: &mut Vec<String>) {
    for plugin in plugins {
        for tool in plugin.tools() {
            if registry.get(&tool.name).is_some() {
                let (plugin, tool) = (plugin.name(), &tool.name);
                warnings.push(format!(
                    "plugin {plugin}: its tool {tool} is left out: there is one of that name"
                ));
                continue;
            }
            registry.add(
                format!("plugin-{}", plugin.name()),
                Arc::new(Brought::new(plugin, tool)),
            );
        }
    }
}

impl Brought {
    fn new(plugin: &Arc<Plugin>, tool: &PluginTool) -> Self {
        Self {
            plugin: plugin.clone(),
            spec: ToolSpec {
                name: tool.name.clone(),
                description: tool.description.clone(),
                parameters: tool.parameters.clone(),
            },
            effect: if tool.read_only {
                Effect::Read
            } else {
                Effect::Execute
            },
        }
    }

    async fn call(&self, args: Value, cx: &ToolContext<'_>) -> Result<ToolOutput, ToolError> {
        let (session, cwd) = (cx.session.id(), cx.session.cwd());
        let place = (session.as_str(), cx.call.id.as_str());
        let said = tokio::select! {
            said = self.plugin.tool(&self.spec.name, &args, place, &cwd) => said,
            () = cx.cancel.cancelled() => return Err(ToolError::Interrupted),
        };
        let text = said.map_err(ToolError::Failed)?;
        let first = text.lines().next().unwrap_or_default();
        Ok(ToolOutput {
            brief: format!("[{}] {first}", self.spec.name),
            content: Content::Text(untrusted::wrap(&format!("plugin {}", self.plugin.name()), &text)),
            ok: true,
        })
    }
}

impl AnyTool for Brought {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self) -> Effect {
        self.effect
    }

    fn run<'a>(
        &'a self,
        args: Value,
        cx: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(self.call(args, cx))
    }

    fn parallel(&self, _args: &Value) -> Parallel {
        if self.effect == Effect::Read {
            Parallel::Always
        } else {
            Parallel::Never
        }
    }

    fn idempotent(&self) -> bool {
        self.effect == Effect::Read
    }

    fn keeps_whole_results(&self) -> bool {
        false
    }
}
