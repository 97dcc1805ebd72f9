//! The engine's side of MCP: which servers its sessions have, and what servers may ask of its model.

use std::sync::{Arc, PoisonError};

use talaria_config::Loaded;
use talaria_mcp::{ProjectFile, Sample, SampleRequest, Sampler, ServerSettings, Trust};
use talaria_tools::Executor;
use talaria_types::{FinishReason, Message, ModelRequest, Role, Task, ToolChoice};
use tokio_util::sync::CancellationToken;

use crate::approval_judge::Judged;
use crate::models::Model;
use crate::session::Session;
use crate::toolbox;

impl Session {
    /// Takes the tools there are now: servers may have come to have others. Only where what was sent before is
    /// not extended anyway, at the start of a session and after a compression, and when the person asks for it.
    /// A subagent keeps those it was given.
    pub(crate) fn renew_tools(&mut self, window: u64) {
        if self.shared.nest.is_some() {
            return;
        }
        let Some(extensions) = self.shared.known_extensions() else {
            return;
        };
        let registry = &extensions.registry;
        let Ok(selection) = toolbox::selected(&self.shared, registry, window) else {
            return;
        };
        self.desk.has_tools(&selection.names);
        let tools = registry.specs(&selection);
        if *tools != *self.tools {
            let session = self.executor.session().clone();
            self.executor = Executor::new(registry.clone(), selection, session);
            self.tools = tools;
        }
    }
}

/// The servers of this configuration and of the project that `cwd` is in, and what the person should know.
/// Starts nothing.
pub fn mcp_servers(loaded: &Loaded, cwd: &std::path::Path) -> (Vec<ServerSettings>, Vec<String>) {
    let mut warnings = Vec::new();
    let project = ProjectFile::find(cwd).unwrap_or_else(|error| {
        warnings.push(error.to_string());
        None
    });
    let project = project.filter(|file| match file.trust(loaded.home.root()) {
        Trust::Given => true,
        Trust::Refused => false,
        Trust::Unknown => {
            if !file.servers().is_empty() {
                let names: Vec<&str> = file.servers().keys().map(String::as_str).collect();
                warnings.push(format!(
                    "{} brings MCP servers ({}) that are not started before you trust it: talaria mcp trust",
                    file.path.display(),
                    names.join(", ")
                ));
            }
            false
        }
    });
    let lookup = |name: &str| {
        let set = loaded.variable(name).map(str::to_owned);
        set.or_else(|| std::env::var(name).ok())
    };
    let (servers, wrong) = talaria_mcp::read(&loaded.config.mcp_servers, project.as_ref(), &lookup);
    warnings.extend(wrong);
    (servers, warnings)
}

/// What the settings of servers hold that is secret.
pub(crate) fn secrets(loaded: &Loaded) -> Vec<String> {
    let lookup = |name: &str| loaded.variable(name).map(str::to_owned);
    let (servers, _) = talaria_mcp::read(&loaded.config.mcp_servers, None, &lookup);
    servers.iter().flat_map(ServerSettings::secrets).collect()
}

/// Asks `model` in a server's name. Nothing of the conversation is sent, and no tools.
pub(crate) fn sampler(model: Arc<Model>, spent: Judged) -> Sampler {
    Arc::new(move |asked| {
        let (model, spent) = (model.clone(), spent.clone());
        Box::pin(async move {
            let own = model.provider.identity().model.clone();
            if asked.model.as_ref().is_some_and(|wanted| *wanted != own) {
                return Err(format!(
                    "the model of this session is {own}, and no other is asked"
                ));
            }
            let request = request(asked);
            let answered = model
                .provider
                .complete(&request, &|_| {}, &CancellationToken::new())
                .await;
            let usage = answered.as_ref().ok().and_then(|completion| completion.usage);
            let mut bill = spent.lock().unwrap_or_else(PoisonError::into_inner);
            bill.add(&model, usage);
            drop(bill);
            let completion = answered.map_err(|failure| format!("the model failed: {:?}", failure.kind))?;
            Ok(Sample {
                cut: completion.finish == FinishReason::Length,
                text: talaria_redact::redact(&completion.text).into_owned(),
                model: own,
            })
        })
    })
}

fn request(asked: SampleRequest) -> ModelRequest {
    let spoken = |(model, text): (bool, String)| {
        let role = if model { Role::Assistant } else { Role::User };
        Arc::new(Message::new(role, text))
    };
    ModelRequest {
        task: Task::Mcp,
        system: Arc::from(asked.system.unwrap_or_default()),
        note: None,
        messages: asked.messages.into_iter().map(spoken).collect(),
        tools: Arc::from([]),
        tool_choice: ToolChoice::None,
        max_output_tokens: Some(asked.max_tokens),
        rewrites: Vec::new(),
    }
}
