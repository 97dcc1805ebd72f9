//! `sessions show` and `sessions context`.

use clap::Args;
use serde_json::{Value, json};
use talaria_redact::redact;
use talaria_store::SessionStore;
use talaria_types::{Role, StoredMessage};

use super::find;
use crate::exit::{DONE, Outcome};
use crate::output::{self, Style};
use crate::place::Place;
use crate::shapes::{self, Gathered};
use crate::text;

/// Arguments of `show`.
#[derive(Args, Debug)]
pub(super) struct Show {
    /// Id, unique prefix or title.
    session: String,
    /// The whole lineage with the originals of compacted parts, copies once.
    #[arg(long)]
    full: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl Show {
    pub(super) fn run(self, place: &Place) -> Outcome {
        let (store, id) = find(place, &self.session)?;
        let gathered = shapes::gather(&store, &id, self.full)?;
        if self.json {
            output::json(&shapes::session(
                &gathered.row,
                &gathered.lineage,
                &gathered.messages,
            )?);
        } else {
            output::write(&plain(&gathered, place.stdout()));
        }
        Ok(DONE)
    }
}

fn plain(gathered: &Gathered, style: Style) -> String {
    let Gathered {
        row,
        lineage,
        messages,
    } = gathered;
    let mut out = format!(
        "{}\n",
        style.bold(&format!(
            "{}  {}",
            row.id,
            row.title.as_deref().unwrap_or("untitled")
        ))
    );
    let model = row.model.as_deref().unwrap_or("no model");
    out.push_str(&style.dim(&format!(
        "{}, {model}, from {}",
        text::moment(row.started_at),
        row.source
    )));
    if let Some(reason) = &row.end_reason {
        out.push_str(&style.dim(&format!(", ended: {reason}")));
    }
    if lineage.len() > 1 {
        let ids: Vec<&str> = lineage.iter().map(talaria_types::SessionId::as_str).collect();
        out.push_str(&style.dim(&format!("\nlineage: {}", ids.join(" → "))));
    }
    out.push_str("\n\n");
    messages
        .iter()
        .for_each(|message| out.push_str(&entry(message, style)));
    out
}

fn entry(stored: &StoredMessage, style: Style) -> String {
    let message = &*stored.message;
    let hidden = if stored.active { "" } else { " (hidden)" };
    let who = match (message.role, &message.tool_name) {
        (Role::Tool, Some(tool)) => format!("tool {tool}"),
        (role, _) => role.as_str().to_owned(),
    };
    let mut out = format!("{}\n", style.bold(&format!("[{}] {who}{hidden}", stored.id)));
    let body = redact(&message.content.text()).into_owned();
    if !body.is_empty() {
        out.push_str(&body);
        out.push('\n');
    }
    for image in message.content.images() {
        out.push_str(&style.dim(&format!("(image, {})\n", image.media_type)));
    }
    for call in &message.tool_calls {
        let args = redact(&call.arguments).into_owned();
        out.push_str(&style.dim(&format!("→ {} {args}\n", call.name)));
    }
    out.push('\n');
    out
}

/// Arguments of `context`.
#[derive(Args, Debug)]
pub(super) struct Context {
    /// Id, unique prefix or title; its live end is meant.
    session: String,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl Context {
    pub(super) fn run(self, place: &Place) -> Outcome {
        let (store, found) = find(place, &self.session)?;
        let id = store.tip(&found)?;
        let messages = store.live(&id)?;
        let prompt = store
            .session(&id)?
            .and_then(|row| row.system_prompt)
            .unwrap_or_default();
        let sizes: Vec<u64> = messages.iter().map(size).collect();
        let tokens = estimate(prompt.len() as u64) + sizes.iter().sum::<u64>();
        if self.json {
            let list: Vec<Value> = messages.iter().map(shapes::message).collect();
            output::json(&json!({
                "session_id": id, "system_prompt": redact(&prompt), "messages": list, "tokens_estimated": tokens,
            }));
            return Ok(DONE);
        }
        output::line(&format!(
            "{id}: {}, about {}",
            text::count(messages.len(), "message"),
            text::count(tokens, "token")
        ));
        output::line(&format!("{:>10}  system prompt", estimate(prompt.len() as u64)));
        for (message, size) in messages.iter().zip(&sizes) {
            let body = redact(&message.message.content.text()).into_owned();
            let role = message.message.role.as_str();
            output::line(&format!(
                "{size:>10}  [{}] {role}: {}",
                message.id,
                text::clipped(&body, 80)
            ));
        }
        Ok(DONE)
    }
}

/// About four bytes a token: good enough to see where the room goes.
fn estimate(bytes: u64) -> u64 {
    bytes.div_ceil(4)
}

fn size(stored: &StoredMessage) -> u64 {
    let calls: usize = stored
        .message
        .tool_calls
        .iter()
        .map(|call| call.name.len() + call.arguments.len())
        .sum();
    estimate((stored.message.content.text().len() + calls) as u64)
}
