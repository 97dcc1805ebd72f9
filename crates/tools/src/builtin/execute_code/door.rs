//! The door through which a script asks for tools.

use std::convert::Infallible;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use talaria_types::{ApprovalAnswer, ApprovalRequest, Effect, Question, ToolCall, ToolResult};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};

use crate::consult::{After, Before, Done};
use crate::{Host, JournalError, ToolContext};

/// Tools that a script may call.
const OFFERED: &[&str] = &[
    "web_search",
    "web_extract",
    "read_file",
    "write_file",
    "search_files",
    "patch",
    "terminal",
];
/// What of the terminal outlives its call, which a script must not leave behind.
const LASTING: &[&str] = &["background", "notify_on_complete", "watch_patterns", "pty"];
/// The longest question.
const LONGEST: u64 = 16 * 1024 * 1024;
/// How often a shell script's questions are looked for.
const LOOK: Duration = Duration::from_millis(15);

/// What a script asks.
#[derive(Deserialize)]
struct Asked {
    tool: String,
    #[serde(default)]
    args: Value,
}

/// What it is answered.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Answer {
    pub(super) ok: bool,
    /// The tool's own result.
    pub(super) result: String,
}

/// One script's door.
pub(super) struct Door<'a> {
    cx: &'a ToolContext<'a>,
    asked: AtomicU32,
}

impl<'a> Door<'a> {
    pub(super) fn new(cx: &'a ToolContext<'a>) -> Self {
        Self {
            cx,
            asked: AtomicU32::new(0),
        }
    }

    /// How many calls were made.
    pub(super) fn calls(&self) -> u32 {
        let most = self.cx.session.settings().code.max_calls;
        self.asked.load(Ordering::Relaxed).min(most)
    }

    /// Answers everybody who connects, one after the other.
    pub(super) async fn on_socket(&self, listener: UnixListener) -> Infallible {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    // A script that hangs up has lost its answer.
                    let _ = self.converse(stream).await;
                }
                Err(error) => {
                    tracing::debug!(%error, "a script could not be heard");
                    tokio::time::sleep(LOOK).await;
                }
            }
        }
    }

    async fn converse(&self, mut stream: UnixStream) -> std::io::Result<()> {
        let (reader, mut writer) = stream.split();
        let mut question = Vec::new();
        reader.take(LONGEST).read_to_end(&mut question).await?;
        let answer = match serde_json::from_slice::<Asked>(&question) {
            Ok(asked) => self.answer(&asked.tool, asked.args).await,
            Err(error) => refused(&format!("the question is no JSON: {error}")),
        };
        writer
            .write_all(crate::tool::json_text(&answer).as_bytes())
            .await?;
        writer.shutdown().await
    }

    /// Answers what is put into `folder`: `N.call` holds the tool's name and, from the second line on, its
    /// arguments; `N.reply` is the answer, and `N.failed` says that it is an error.
    pub(super) async fn in_folder(&self, folder: &Path) -> Infallible {
        loop {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            let calls = entries.map(|entry| entry.path());
            let calls: Vec<_> = calls
                .filter(|path| path.extension().is_some_and(|end| end == "call"))
                .collect();
            for path in calls {
                let text = std::fs::read_to_string(&path).unwrap_or_default();
                let _ = std::fs::remove_file(&path);
                let (tool, args) = text.split_once('\n').unwrap_or((&text, ""));
                let answer = match serde_json::from_str(if args.trim().is_empty() { "{}" } else { args }) {
                    Ok(args) => self.answer(tool.trim(), args).await,
                    Err(error) => refused(&format!("the arguments are no JSON: {error}")),
                };
                if !answer.ok {
                    let _ = std::fs::write(path.with_extension("failed"), "");
                }
                let written = path.with_extension("writing");
                let _ = std::fs::write(&written, answer.result);
                let _ = std::fs::rename(&written, path.with_extension("reply"));
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Calls a tool for the script.
    pub(super) async fn answer(&self, tool: &str, mut args: Value) -> Answer {
        let cx = self.cx;
        let most = cx.session.settings().code.max_calls;
        let number = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        if number > most {
            return refused(&format!(
                "a script may make {most} calls (code_execution.max_tool_calls)"
            ));
        }
        let Some(executor) = cx
            .inner
            .filter(|executor| OFFERED.contains(&tool) && executor.offers(tool))
        else {
            return refused(&format!("a script cannot call {tool:?} here"));
        };
        if let Some(args) = args.as_object_mut().filter(|_| tool == "terminal")
            && LASTING
                .iter()
                .any(|name| args.remove(*name).is_some_and(|value| value != json!(false)))
        {
            return refused(
                "in a script the terminal runs in the foreground only, without a terminal of its own",
            );
        }
        let call = ToolCall {
            id: format!("{}.{number}", cx.call.id),
            name: tool.to_owned(),
            arguments: args.to_string(),
            extra: serde_json::Map::new(),
        };
        let host = InnerHost {
            host: cx.host,
            parent: cx.call,
        };
        let result = executor.run_inner(&call, &host, cx.cancel).await;
        Answer {
            ok: result.ok,
            result: result.content.text().into_owned(),
        }
    }
}

fn refused(why: &str) -> Answer {
    Answer {
        ok: false,
        result: json!({ "error": why }).to_string(),
    }
}

/// The driver, as calls of a script see it: they are journalled and stored with the call that runs it.
struct InnerHost<'a> {
    host: &'a dyn Host,
    parent: &'a ToolCall,
}

impl Host for InnerHost<'_> {
    fn intend(&self, _: &ToolCall, _: &str, _: Effect) -> Result<(), JournalError> {
        Ok(())
    }

    fn started(&self, _: &ToolCall, tool: &str, args: &Value, _: Effect) -> Result<(), JournalError> {
        let what = ["command", "path", "pattern", "query", "url"]
            .iter()
            .find_map(|name| args[*name].as_str());
        let what: String = what
            .unwrap_or_default()
            .replace('\n', " ")
            .chars()
            .take(60)
            .collect();
        self.host
            .status(format!("[execute_code] {tool} {what}").trim_end());
        Ok(())
    }

    fn spawned(&self, _: &ToolCall, pid: u32) {
        self.host.spawned(self.parent, pid);
    }

    fn finished(&self, _: &ToolCall, _: &ToolResult) {}

    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        self.host.approve(request)
    }

    fn can_ask(&self) -> bool {
        self.host.can_ask()
    }

    fn ask(&self, question: Question) -> BoxFuture<'_, Option<String>> {
        self.host.ask(question)
    }

    fn status(&self, text: &str) {
        self.host.status(text);
    }

    fn consults(&self) -> bool {
        self.host.consults()
    }

    fn before<'a>(&'a self, call: &'a ToolCall, tool: &'a str, args: &'a Value) -> BoxFuture<'a, Before> {
        self.host.before(call, tool, args)
    }

    fn after<'a>(&'a self, done: Done<'a>) -> BoxFuture<'a, After> {
        self.host.after(done)
    }

    fn printed<'a>(&'a self, command: &'a str, output: &'a str, code: i32) -> BoxFuture<'a, Option<String>> {
        self.host.printed(command, output, code)
    }
}
