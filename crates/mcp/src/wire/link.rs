//! One open connection to a server.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, ClientRequest, CustomRequest, GetPromptRequestParams, ReadResourceRequestParams,
    Request, RequestNoParam, RequestOptionalParam,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt, Peer, PeerRequestOptions, RequestHandle,
    RoleClient, RunningService, ServiceError,
};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{AuthClient, StreamableHttpClientTransport};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::handler::Handler;
use super::stdio::LastWords;
use super::{client, oauth, sse, stdio};
use crate::offer::Offer;
use crate::patience::Patience;
use crate::server::Core;
use crate::settings::Door;
use crate::{McpError, ServerSettings};

/// How often an idle connection is asked for a sign of life, and how long that may take.
const ALIVE: Duration = Duration::from_secs(60);
const SIGN: Duration = Duration::from_secs(20);
/// How long a list may take.
const LIST: Duration = Duration::from_secs(30);
/// Pages of one list that are read.
const PAGES: usize = 50;
/// JSON-RPC: there is no such method.
const NO_METHOD: i32 = -32601;

/// What is wanted of a server.
#[derive(Clone, Debug)]
pub(crate) enum Wish {
    Tool {
        name: String,
        arguments: Map<String, Value>,
    },
    Resources,
    Resource {
        uri: String,
    },
    Prompts,
    Prompt {
        name: String,
        arguments: Map<String, Value>,
    },
    /// Something this library has no words for.
    Other {
        method: &'static str,
        params: Value,
    },
}

/// An open connection.
pub(crate) struct Link {
    peer: Peer<RoleClient>,
    service: tokio::sync::Mutex<Option<RunningService<RoleClient, Handler>>>,
    words: LastWords,
    server: String,
    stop: CancellationToken,
}

impl Drop for Link {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Link {
    /// Connects, and learns what the server has.
    pub(crate) async fn open(core: &Arc<Core>) -> Result<Self, McpError> {
        let settings = &core.settings;
        let patience = settings.connect_timeout;
        let mut words = LastWords::default();
        let connected = tokio::time::timeout(patience, connect(core, &mut words)).await;
        let service = match connected {
            Ok(connected) => connected?,
            Err(_) => {
                let why = words.after(&format!("it did not start within {} s", patience.as_secs()));
                return Err(unreachable(settings, &why));
            }
        };
        let link = Self {
            peer: service.peer().clone(),
            service: tokio::sync::Mutex::new(Some(service)),
            words,
            server: settings.name.clone(),
            stop: CancellationToken::new(),
        };
        match tokio::time::timeout(LIST, offer(core, &link.peer)).await {
            Ok(offer) => core.learn(offer),
            Err(_) => tracing::warn!(server = %settings.name, "an MCP server does not say what it has"),
        }
        tokio::spawn(keep_alive(
            link.peer.clone(),
            link.stop.clone(),
            settings.name.clone(),
        ));
        Ok(link)
    }

    /// Whether it can be used no more.
    pub(crate) fn is_closed(&self) -> bool {
        self.stop.is_cancelled() || self.peer.is_transport_closed()
    }

    /// Ends it, and the program behind it.
    pub(crate) async fn close(&self) {
        self.stop.cancel();
        if let Some(service) = self.service.lock().await.take() {
            let _ = service.cancel().await;
        }
    }

    /// Sends a wish and waits for what comes, within `patience`.
    pub(crate) async fn fulfil(
        &self,
        wish: &Wish,
        patience: &Patience,
        cancel: &CancellationToken,
    ) -> Result<Value, McpError> {
        let first = self.send(wish, patience, cancel).await;
        let no_method = match &first {
            Err(Failed::Protocol(code, _)) => *code == NO_METHOD,
            Ok(result) => says_no_method(result),
            Err(_) => false,
        };
        // Some tools only run as tasks, and say so in this way: nothing has run yet.
        if let (true, Wish::Tool { name, arguments }) = (no_method, wish) {
            match self.task(name, arguments, patience, cancel).await {
                Err(Failed::Protocol(..)) => {}
                other => return other.map_err(|error| self.told(error, patience)),
            }
        }
        first.map_err(|error| self.told(error, patience))
    }

    async fn send(
        &self,
        wish: &Wish,
        patience: &Patience,
        cancel: &CancellationToken,
    ) -> Result<Value, Failed> {
        let handle = self
            .peer
            .send_cancellable_request(request(wish), PeerRequestOptions::no_options())
            .await?;
        finish(handle, patience, cancel).await
    }

    /// Calls a tool as a task: begun, asked about until it is done, then fetched.
    async fn task(
        &self,
        name: &str,
        arguments: &Map<String, Value>,
        patience: &Patience,
        cancel: &CancellationToken,
    ) -> Result<Value, Failed> {
        let ttl = patience.given().as_millis();
        let params = json!({"name": name, "arguments": arguments, "task": {"ttl": u64::try_from(ttl).unwrap_or(u64::MAX)}});
        let begun = self.other("tools/call", params, patience, cancel).await?;
        let Some(id) = begun["task"]["taskId"].as_str().map(str::to_owned) else {
            return Ok(begun);
        };
        let id = json!({"taskId": id});
        // The result is given when the task ends; questions of the task are asked meanwhile.
        let result = self.other("tasks/result", id.clone(), patience, cancel).await;
        if matches!(result, Err(Failed::Interrupted | Failed::Timeout)) {
            let cancelled = CancellationToken::new();
            let _ = self
                .other("tasks/cancel", id, &Patience::of(SIGN), &cancelled)
                .await;
        }
        result
    }

    async fn other(
        &self,
        method: &'static str,
        params: Value,
        patience: &Patience,
        cancel: &CancellationToken,
    ) -> Result<Value, Failed> {
        self.send(&Wish::Other { method, params }, patience, cancel).await
    }

    fn refused(&self, detail: String) -> McpError {
        McpError::Refused {
            server: self.server.clone(),
            detail,
        }
    }

    fn told(&self, error: Failed, patience: &Patience) -> McpError {
        let server = self.server.clone();
        match error {
            Failed::Interrupted => McpError::Interrupted,
            Failed::Timeout => McpError::Timeout {
                server,
                after: patience.given(),
            },
            Failed::Protocol(_, detail) => self.refused(detail),
            Failed::NeedsLogin => McpError::NeedsLogin { server },
            Failed::Transport(detail) => {
                self.stop.cancel();
                McpError::Gone {
                    server,
                    detail: self.words.after(&detail),
                }
            }
        }
    }
}

/// Why nothing came.
enum Failed {
    Interrupted,
    Timeout,
    NeedsLogin,
    Protocol(i32, String),
    Transport(String),
}

impl From<ServiceError> for Failed {
    fn from(error: ServiceError) -> Self {
        if error.is_authorization_required() {
            return Self::NeedsLogin;
        }
        match error {
            ServiceError::McpError(error) => {
                let data = error.data.filter(|data| !data.is_null());
                let data = data.map(|data| format!(" ({data})")).unwrap_or_default();
                Self::Protocol(error.code.0, format!("{}{data}", error.message))
            }
            ServiceError::TransportClosed => Self::Transport("the connection ended".to_owned()),
            other => Self::Transport(chain(&other)),
        }
    }
}

/// Whether a result is the protocol's "no such method", as the reference library puts it into results of tools.
fn says_no_method(result: &Value) -> bool {
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    result["isError"] == true && text.starts_with(&format!("MCP error {NO_METHOD}:"))
}

/// Waits for an answer; on an interrupt or at the end of patience the server is told to stop.
async fn finish(
    mut handle: RequestHandle<RoleClient>,
    patience: &Patience,
    cancel: &CancellationToken,
) -> Result<Value, Failed> {
    let answered = tokio::select! {
        biased;
        answered = &mut handle.rx => answered,
        () = cancel.cancelled() => {
            let _ = handle.cancel(Some("the user stopped it".to_owned())).await;
            return Err(Failed::Interrupted);
        }
        () = patience.over() => {
            let _ = handle.cancel(Some("it took too long".to_owned())).await;
            return Err(Failed::Timeout);
        }
    };
    let result = answered.map_err(|_| Failed::Transport("the connection ended".to_owned()))??;
    serde_json::to_value(result).map_err(|error| Failed::Transport(error.to_string()))
}

fn request(wish: &Wish) -> ClientRequest {
    match wish.clone() {
        Wish::Tool { name, arguments } => {
            let params = CallToolRequestParams::new(name).with_arguments(arguments);
            ClientRequest::CallToolRequest(Request::new(params))
        }
        Wish::Resources => ClientRequest::ListResourcesRequest(RequestOptionalParam::default()),
        Wish::Resource { uri } => {
            ClientRequest::ReadResourceRequest(Request::new(ReadResourceRequestParams::new(uri)))
        }
        Wish::Prompts => ClientRequest::ListPromptsRequest(RequestOptionalParam::default()),
        Wish::Prompt { name, arguments } => {
            let params = GetPromptRequestParams::new(name).with_arguments(arguments);
            ClientRequest::GetPromptRequest(Request::new(params))
        }
        Wish::Other { method, params } => {
            ClientRequest::CustomRequest(CustomRequest::new(method, Some(params)))
        }
    }
}

async fn connect(
    core: &Arc<Core>,
    words: &mut LastWords,
) -> Result<RunningService<RoleClient, Handler>, McpError> {
    let settings = &core.settings;
    let handler = Handler(core.clone());
    let mode = ClientLifecycleMode::Initialize;
    let failed = |error: ClientInitializeError, words: &LastWords| {
        if error.is_authorization_required() {
            return McpError::NeedsLogin {
                server: settings.name.clone(),
            };
        }
        unreachable(settings, &words.after(&chain(&error)))
    };
    match &settings.door {
        Door::Stdio { .. } => {
            let (transport, said) = stdio::start(settings, &core.home, &core.cwd)?;
            *words = said;
            let served = handler.serve_with_lifecycle(transport, mode).await;
            if served.is_err() {
                // What it says while it dies may come a moment later than its end.
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            served.map_err(|error| failed(error, words))
        }
        Door::Http {
            url,
            headers,
            sse,
            oauth,
            verify,
        } => {
            let client = client(url, headers, verify).map_err(|error| unreachable(settings, &error))?;
            let login = match oauth {
                Some(_) => oauth::manager(&core.home, settings).await?,
                None => None,
            };
            if oauth.is_some() && login.is_none() {
                return Err(McpError::NeedsLogin {
                    server: settings.name.clone(),
                });
            }
            if *sse {
                let opened = sse::open(client, url, login.map(Arc::new)).await;
                let transport = opened.map_err(|error| match error {
                    sse::SseError::Status(401) | sse::SseError::Login(_) => McpError::NeedsLogin {
                        server: settings.name.clone(),
                    },
                    other => unreachable(settings, &chain(&other)),
                })?;
                let served = handler.serve_with_lifecycle(transport, mode).await;
                return served.map_err(|error| failed(error, words));
            }
            let config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
            let served = match login {
                Some(manager) => {
                    let transport =
                        StreamableHttpClientTransport::with_client(AuthClient::new(client, manager), config);
                    handler.serve_with_lifecycle(transport, mode).await
                }
                None => {
                    let transport = StreamableHttpClientTransport::with_client(client, config);
                    handler.serve_with_lifecycle(transport, mode).await
                }
            };
            served.map_err(|error| failed(error, words))
        }
    }
}

fn unreachable(settings: &ServerSettings, detail: &str) -> McpError {
    McpError::Unreachable {
        server: settings.name.clone(),
        detail: talaria_redact::redact_own(detail).into_owned(),
    }
}

/// An error with its causes, each said once, without the library's names for its own types.
fn chain(error: &dyn std::error::Error) -> String {
    plain(&causes(error))
}

/// `error Transport [some::Type<of::Rust>] error: …` is told as `…`.
fn plain(text: &str) -> String {
    let Some(at) = text.find(" error Transport [") else {
        return text.to_owned();
    };
    match text[at..].find("] error: ") {
        Some(end) => text[at + end + "] error: ".len()..].to_owned(),
        None => text.to_owned(),
    }
}

fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let more = inner.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        source = inner.source();
    }
    text
}

/// What the server has, as it says now.
async fn offer(core: &Core, peer: &Peer<RoleClient>) -> Offer {
    let info = peer
        .peer_info()
        .and_then(|info| serde_json::to_value(&*info).ok())
        .unwrap_or_default();
    let has = |what: &str| !info["capabilities"][what].is_null();
    let said = |key: &str| info["serverInfo"][key].as_str().unwrap_or_default().to_owned();
    let tools = if has("tools") {
        tools(core, peer).await
    } else {
        Vec::new()
    };
    Offer {
        server: format!("{} {}", said("name"), said("version")).trim().to_owned(),
        tools: Offer::tools_of(&tools),
        resources: has("resources"),
        prompts: has("prompts"),
        may_change: info["capabilities"]["tools"]["listChanged"] == true,
    }
}

async fn tools(core: &Core, peer: &Peer<RoleClient>) -> Vec<Value> {
    let mut found: Vec<Value> = Vec::new();
    let mut cursor: Option<String> = None;
    for _ in 0..PAGES {
        let params = rmcp::model::PaginatedRequestParams::default().with_cursor(cursor.take());
        let page = match peer.list_tools(Some(params)).await {
            Ok(page) => page,
            Err(error) => {
                tracing::warn!(server = %core.settings.name, %error, "the tools of an MCP server cannot be listed");
                break;
            }
        };
        found.extend(
            page.tools
                .iter()
                .filter_map(|tool| serde_json::to_value(tool).ok()),
        );
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    found
}

/// The server said that its tools are others now.
pub(super) async fn list_again(core: &Core, peer: &Peer<RoleClient>) {
    match tokio::time::timeout(LIST, offer(core, peer)).await {
        Ok(offer) => core.learn(offer),
        Err(_) => {
            tracing::warn!(server = %core.settings.name, "the new tools of an MCP server cannot be listed");
        }
    }
}

/// Asks for a sign of life now and then. A server that gives none is given up, so that the next call
/// starts it anew; one that does not know the question lives.
async fn keep_alive(peer: Peer<RoleClient>, stop: CancellationToken, server: String) {
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(ALIVE) => {}
        }
        let ping = ClientRequest::PingRequest(RequestNoParam::default());
        let sign = tokio::time::timeout(SIGN, peer.send_request(ping)).await;
        match sign {
            Ok(Ok(_) | Err(ServiceError::McpError(_))) => {}
            Ok(Err(_)) | Err(_) => {
                tracing::info!(server, "an MCP server gives no sign of life");
                stop.cancel();
                return;
            }
        }
    }
}
