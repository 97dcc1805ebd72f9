//! This program as a server: tools that only read, on stdio.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer, ServiceExt};
use serde_json::{Value, json};
use talaria_tools::{Executor, NullHost};
use talaria_types::{ToolCall, ToolSpec};

use crate::McpError;

/// What a client is told about this server.
const INSTRUCTIONS: &str = "Sessions of the Talaria agent on this machine, only to be read: list them, search them, \
    and read what was said. Secrets are masked.";

struct Serving {
    executor: Executor,
    specs: Arc<[ToolSpec]>,
    calls: AtomicU64,
}

impl ServerHandler for Serving {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        info.server_info = Implementation::new("talaria", env!("CARGO_PKG_VERSION"));
        info.instructions = Some(INSTRUCTIONS.to_owned());
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.specs.iter().filter_map(told).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = params.name.into_owned();
        if !self.specs.iter().any(|spec| spec.name == name) {
            return Err(ErrorData::invalid_params(
                format!("there is no tool {name}"),
                None,
            ));
        }
        let arguments = Value::Object(params.arguments.unwrap_or_default());
        let call = ToolCall {
            id: format!("mcp{}", self.calls.fetch_add(1, Ordering::Relaxed)),
            name,
            arguments: arguments.to_string(),
            extra: serde_json::Map::default(),
        };
        // Another client's calls are no loop of this one.
        self.executor.begin_turn();
        let batch = self.executor.run_all(&[call], &NullHost, &context.ct).await;
        let Some(result) = batch.results.into_iter().next() else {
            return Err(ErrorData::internal_error("the call gave no result", None));
        };
        let content = vec![ContentBlock::text(result.content.text().into_owned())];
        let answer = if result.ok {
            CallToolResult::success(content)
        } else {
            CallToolResult::error(content)
        };
        Ok(answer.into())
    }
}

fn told(spec: &ToolSpec) -> Option<Tool> {
    let tool = json!({
        "name": spec.name,
        "description": spec.description,
        "inputSchema": spec.parameters,
        "annotations": {"readOnlyHint": true, "openWorldHint": false},
    });
    serde_json::from_value(tool).ok()
}

/// Serves `specs`, run by `executor`, on stdin and stdout until the client hangs up.
///
/// # Errors
/// When the client says nothing that makes sense.
pub(crate) async fn run(executor: Executor, specs: Arc<[ToolSpec]>) -> Result<(), McpError> {
    let serving = Serving {
        executor,
        specs,
        calls: AtomicU64::new(0),
    };
    let failed = |error: String| McpError::Here(format!("the client cannot be served: {error}"));
    let service = serving
        .serve(rmcp::transport::stdio())
        .await
        .map_err(|error| failed(error.to_string()))?;
    service
        .waiting()
        .await
        .map(drop)
        .map_err(|error| failed(error.to_string()))
}
