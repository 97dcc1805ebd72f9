//! What others may say to a call: before it runs, and to its result.
//!
//! Who they are is the driver's affair. Here is what can be said, and that it is heard at the
//! right moment: arguments that were changed are understood again and judged as if the model
//! had given them, and a result that was changed is masked again before it is kept.

use serde_json::Value;
use talaria_types::{ApprovalAnswer, ApprovalRequest, Content, ToolCall};

use crate::approval::Mode;
use crate::mask::Mode as Masked;
use crate::{Host, ToolOutput, ToolSession};

/// The longest request that is shown to the person, in characters.
const SHOWN_CHARS: usize = 2_000;

/// What is said before a call runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Before {
    /// It must not run; the model reads why.
    pub block: Option<String>,
    /// The person must agree first; they read why.
    pub ask: Option<String>,
    /// It runs with these arguments, a JSON object.
    pub args: Option<Value>,
    /// Added after the result.
    pub context: Vec<String>,
}

/// A call that has its result.
#[derive(Clone, Copy, Debug)]
pub struct Done<'a> {
    /// The call.
    pub call: &'a ToolCall,
    /// The tool's registered name.
    pub tool: &'a str,
    /// What it ran with.
    pub args: &'a Value,
    /// What it gave, secrets masked.
    pub result: &'a str,
    /// Whether it did what it was asked.
    pub ok: bool,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

/// What is said to a result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct After {
    /// Stands in its place.
    pub replacement: Option<String>,
    /// Added after it.
    pub context: Vec<String>,
}

/// Asks the person whether a call runs that somebody wants them to decide about.
///
/// # Errors
/// When it may not, with what the model is told.
pub(crate) async fn agreed(
    call: &ToolCall,
    tool: &str,
    args: &Value,
    why: &str,
    (session, host): (&ToolSession, &dyn Host),
) -> Result<(), String> {
    let settings = session.settings();
    if settings.yolo || session.grants().is_yolo() || settings.approval_mode == Mode::Off {
        return Ok(());
    }
    if !host.can_ask() {
        return Err(format!(
            "a hook wants the user to decide about this call ({why}) and there is nobody to ask"
        ));
    }
    let shown = match args["command"].as_str() {
        Some(command) => command.to_owned(),
        None => args.to_string(),
    };
    let shown = session.mask().text(&shown, Masked::Everything).into_owned();
    let request = ApprovalRequest {
        id: format!("hook_{}", call.id),
        tool: tool.to_owned(),
        command: crate::approval::visible(&shown.chars().take(SHOWN_CHARS).collect::<String>()),
        reason: crate::approval::visible(why),
        may_always: false,
    };
    match host.approve(request).await {
        ApprovalAnswer::Once | ApprovalAnswer::Session | ApprovalAnswer::Always => Ok(()),
        ApprovalAnswer::Deny => Err(format!(
            "the user did not approve this call ({why}). Do not retry it or reach the same end another way"
        )),
    }
}

/// Applies what was said before and after to what a tool gave.
pub(crate) async fn heard(
    done: Done<'_>,
    before: &[String],
    output: &mut ToolOutput,
    (session, host): (&ToolSession, &dyn Host),
) {
    let after = host.after(done).await;
    let masked = |text: &str| session.mask().text(text, Masked::Output).into_owned();
    if let Some(text) = after.replacement {
        let text = masked(&text);
        // The old brief may say what was to be taken out.
        output.brief = format!(
            "[{}] {}",
            done.tool,
            text.chars().take(SHOWN_CHARS).collect::<String>()
        );
        output.content = Content::Text(text);
    }
    for text in before.iter().chain(&after.context) {
        super::executor::append(&mut output.content, &format!("[hook] {}", masked(text)));
    }
}

/// The result of a call that somebody blocked.
pub(crate) fn blocked(why: &str) -> String {
    format!("BLOCKED by a hook: {why}")
}
