//! What a server may ask of this program, and what it tells it.
#![expect(deprecated, reason = "servers of today still ask for roots and for samples")]

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::handler::client::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams,
    ElicitResult, ElicitationAction, ErrorCode, Implementation, ListRootsResult,
    LoggingMessageNotificationParam, ProgressNotificationParam, ProtocolVersion, Root, SamplingMessage,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use serde_json::{Value, json};

use crate::desk::Reply;
use crate::sampling::SampleRequest;
use crate::server::Core;

/// This side of a connection.
#[derive(Clone)]
pub(super) struct Handler(pub(super) Arc<Core>);

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = json!({"roots": {}, "elicitation": {"form": {}, "url": {}}});
        if self.0.quota.is_open() {
            capabilities["sampling"] = json!({});
        }
        let capabilities: ClientCapabilities = serde_json::from_value(capabilities).unwrap_or_default();
        let own = Implementation::new("talaria", env!("CARGO_PKG_VERSION"));
        let mut info = ClientConfig::new(capabilities, own);
        info.protocol_version = ProtocolVersion::LATEST_WITH_INITIALIZE;
        info
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let request = SampleRequest {
            server: self.0.settings.name.clone(),
            system: params.system_prompt.clone(),
            messages: params.messages.iter().map(spoken).collect(),
            max_tokens: u64::from(params.max_tokens),
            model: None,
        };
        match self.0.quota.ask(request, self.0.sampler.as_ref()).await {
            Ok(sample) => {
                let message = SamplingMessage::assistant_text(sample.text);
                let mut result = CreateMessageResult::new(message, sample.model);
                let reason = if sample.cut {
                    CreateMessageResult::STOP_REASON_END_MAX_TOKEN
                } else {
                    CreateMessageResult::STOP_REASON_END_TURN
                };
                result.stop_reason = Some(reason.to_owned());
                Ok(result)
            }
            Err(why) => {
                tracing::info!(server = %self.0.settings.name, %why, "a sample was refused");
                Err(ErrorData::new(ErrorCode(-1), why, None))
            }
        }
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        let root = url::Url::from_directory_path(&self.0.cwd).ok();
        let roots = root.map(|url| Root::new(url.as_str().trim_end_matches('/')));
        Ok(ListRootsResult::new(roots.into_iter().collect()))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let asked = serde_json::to_value(&request).unwrap_or_default();
        let (server, desk) = (&self.0.settings.name, &self.0.desk);
        let message = asked["message"].as_str().unwrap_or_default();
        let reply = match asked["url"].as_str() {
            Some(url) => match desk.address(server, message, url).await {
                // What is filled in elsewhere is not told here.
                Reply::Accept(_) => return Ok(ElicitResult::new(ElicitationAction::Accept)),
                other => other,
            },
            None => desk.form(server, message, &asked["requestedSchema"]).await,
        };
        Ok(match reply {
            Reply::Accept(content) => ElicitResult::new(ElicitationAction::Accept).with_content(content),
            Reply::Decline => ElicitResult::new(ElicitationAction::Decline),
            Reply::Cancel => ElicitResult::new(ElicitationAction::Cancel),
        })
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let told = params.message.as_deref().unwrap_or_default();
        tracing::debug!(server = %self.0.settings.name, progress = params.progress, total = params.total, "{told}");
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let text = talaria_redact::redact_own(&params.data.to_string()).into_owned();
        tracing::debug!(server = %self.0.settings.name, level = ?params.level, "{text}");
    }

    async fn on_tool_list_changed(&self, context: NotificationContext<RoleClient>) {
        super::link::list_again(&self.0, &context.peer).await;
    }
}

/// Who speaks in a message of a sample, and what; pictures and sound are named only.
fn spoken(message: &SamplingMessage) -> (bool, String) {
    let value = serde_json::to_value(message).unwrap_or_default();
    let one = |block: &Value| match block["text"].as_str() {
        Some(text) => text.to_owned(),
        None => format!("[{} left out]", block["type"].as_str().unwrap_or("something")),
    };
    let text = match &value["content"] {
        Value::Array(blocks) => blocks.iter().map(one).collect::<Vec<_>>().join("\n"),
        block => one(block),
    };
    (value["role"] == "assistant", text)
}
