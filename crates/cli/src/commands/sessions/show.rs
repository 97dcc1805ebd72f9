//! `sessions show`.

use clap::Args;
use talaria_redact::redact_own as redact;
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
