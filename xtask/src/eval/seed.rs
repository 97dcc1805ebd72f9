//! The policies that ours is held against: a plain cut, and the four phases as the original describes them.

use super::policy::{Made, Row};
use super::writer::Writer;
use anyhow::Result;
use std::sync::Arc;
use talaria_context::compress::{Budget, END_MARKER, HEADINGS, SUMMARY_PREFIX, brief, is_summary};
use talaria_context::tokens::Counter;
use talaria_types::{Message, ModelRequest, Role, StoredMessage, Task, ToolChoice};

/// Rows that stay at the beginning: three with the system prompt, which is no row here.
const HEAD: usize = 2;
/// An older result longer than this becomes one line.
const LONG_RESULT: usize = 200;

/// Head and tail; the middle is gone.
pub(super) fn cut(history: &[StoredMessage], budget: &Budget) -> Made {
    let (head, tail) = bounds(history, budget);
    let kept = history[..head].iter().chain(&history[tail..]);
    Made {
        rows: kept.map(kept_row).collect(),
        ..Made::default()
    }
}

/// Prunes, cuts, asks for a summary of the middle, and puts it between head and tail.
pub(super) fn compress(history: &[StoredMessage], budget: &Budget, writer: &mut Writer) -> Result<Made> {
    let (head, tail) = bounds(history, budget);
    let middle = &history[head..tail];
    let previous = middle.iter().find(|row| is_summary(&row.message));
    let record: String = middle
        .iter()
        .filter(|row| !is_summary(&row.message))
        .map(|row| block(&pruned(&row.message)))
        .collect();
    let size: u64 = middle
        .iter()
        .map(|row| Counter::quick_message(&row.message))
        .sum();
    let most = (budget.window / 20).min(12_000);
    let tokens = (size / 5).min(most).max(2_000.min(budget.window / 10));
    let headings: String = HEADINGS.iter().map(|heading| format!("## {heading}\n")).collect();
    let before = previous.map_or_else(String::new, |row| {
        format!(
            "PREVIOUS SUMMARY (preserve it, add what is new):\n<checkpoint>\n{}\n</checkpoint>\n",
            row.message.content.text()
        )
    });
    let prompt = format!(
        "Summarise this conversation for its own continuation in about {tokens} tokens, under these headings:\n\
         {headings}\n{before}<record>\n{record}</record>\n"
    );
    let request = ModelRequest {
        task: Task::Compression,
        system: Arc::from(""),
        note: None,
        messages: vec![Arc::new(Message::user(prompt))],
        tools: Arc::from([]),
        tool_choice: ToolChoice::None,
        max_output_tokens: Some(2 * tokens),
        rewrites: Vec::new(),
    };
    let mut made = Made::default();
    let answer = made.ask(writer, &request, false)?;
    let text = format!("{SUMMARY_PREFIX}\n{}\n\n{END_MARKER}", answer.text.trim());
    let next_is_user = history
        .get(tail)
        .is_some_and(|row| row.message.role == Role::User);
    let summary = if next_is_user {
        Message::assistant(text)
    } else {
        Message::user(text)
    };
    made.rows.extend(history[..head].iter().map(kept_row));
    made.rows.push(Row {
        message: Arc::new(summary),
        from: None,
    });
    made.rows.extend(history[tail..].iter().map(kept_row));
    Ok(made)
}

fn kept_row(row: &StoredMessage) -> Row {
    Row {
        message: row.message.clone(),
        from: Some(row.origin),
    }
}

/// Where the head ends and the tail begins: a fifth of the trigger, one large row more at most, never
/// between a call and its result, the newest request inside.
fn bounds(history: &[StoredMessage], budget: &Budget) -> (usize, usize) {
    let most = (budget.trigger as f64 * budget.target_ratio) as u64;
    let mut tail = history.len();
    let mut tokens = 0;
    while tail > 0 {
        let size = Counter::quick_message(&history[tail - 1].message);
        let fits = tokens + size <= most + most / 2;
        if history.len() - tail >= 3 && (tokens >= most || !fits) {
            break;
        }
        tokens += size;
        tail -= 1;
    }
    if let Some(request) = history
        .iter()
        .rposition(|row| row.message.role == Role::User && !is_summary(&row.message))
    {
        tail = tail.min(request);
    }
    while tail > 0
        && history
            .get(tail)
            .is_some_and(|row| row.message.role == Role::Tool)
    {
        tail -= 1;
    }
    let mut head = HEAD.min(tail);
    while head < tail && history[head].message.role == Role::Tool {
        head += 1;
    }
    (head, tail.max(head))
}

/// A row as the summariser sees it.
fn pruned(message: &Message) -> Message {
    if message.role != Role::Tool || message.content.text().chars().count() <= LONG_RESULT {
        return message.clone();
    }
    let tool = message.tool_name.as_deref().unwrap_or("tool");
    let line = message.brief.clone().unwrap_or_else(|| brief(message, "{}"));
    Message::tool(message.tool_call_id.clone().unwrap_or_default(), tool, line)
}

fn block(message: &Message) -> String {
    let text = message.content.text();
    let text: String = text.chars().take(6_000).collect();
    let calls: String = message
        .tool_calls
        .iter()
        .map(|call| {
            let arguments: String = call.arguments.chars().take(500).collect();
            format!("\n[Tool call {}({arguments})]", call.name)
        })
        .collect();
    let role = match message.role {
        Role::Tool => "TOOL RESULT",
        Role::User | Role::System => "USER",
        Role::Assistant => "ASSISTANT",
    };
    format!("[{role}]: {text}{calls}\n\n")
}
