//! `recall`: original messages by the ids that summaries cite.

use clap::{ArgMatches, Args};
use serde_json::{Value, json};
use talaria_store::SessionStore;
use talaria_types::{MessageId, StoredMessage};

use super::Row;
use crate::args;
use crate::exit::{DONE, FAILED, Failure, Outcome};
use crate::output;
use crate::place::Place;
use crate::{shapes, text};

pub(super) const ROW: Row = Row {
    name: "recall",
    about: "Print original messages by the ids that summaries cite",
    define: Recall::augment_args,
    run: |place, _, matches| run(place, matches),
};

#[derive(Args, Debug)]
struct Recall {
    /// Ids as a summary writes them: 12, m:12 or [m:12].
    #[arg(required = true, value_name = "ID", num_args = 1..)]
    ids: Vec<String>,

    /// Only messages of this session's lineage.
    #[arg(long, value_name = "S")]
    session: Option<String>,

    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

fn run(place: &Place, matches: &ArgMatches) -> Outcome {
    let recall: Recall = args::read(matches)?;
    let words = recall
        .ids
        .iter()
        .flat_map(|word| word.split([',', ' ']))
        .filter(|word| !word.is_empty());
    let ids: Result<Vec<MessageId>, _> = words.map(str::parse).collect();
    let ids = ids.map_err(|error: talaria_types::ParseMessageIdError| Failure::usage(error.to_string()))?;
    let found = match (place.store()?, &recall.session) {
        (Some(store), session) => find(&store, &ids, session.as_deref())?,
        (None, Some(name)) => {
            return Err(talaria_store::StoreError::UnknownSession { name: name.clone() }.into());
        }
        (None, None) => Vec::new(),
    };
    if recall.json {
        let messages: Vec<Value> = found.iter().map(shapes::message).collect();
        output::json(&json!({"messages": messages}));
    } else {
        show(&found);
    }
    let known = |id: &MessageId| {
        found
            .iter()
            .any(|message| message.id == *id || message.origin == *id)
    };
    let unknown: Vec<String> = ids
        .iter()
        .filter(|id| !known(id))
        .map(ToString::to_string)
        .collect();
    if unknown.is_empty() {
        return Ok(DONE);
    }
    let place = recall
        .session
        .map(|session| format!(" in the lineage of {session}"))
        .unwrap_or_default();
    output::note(&format!(
        "error: there is no message {}{place}",
        unknown.join(", ")
    ));
    Ok(FAILED)
}

fn find(
    store: &dyn SessionStore,
    ids: &[MessageId],
    session: Option<&str>,
) -> Result<Vec<StoredMessage>, Failure> {
    let found = store.recall(ids)?;
    let Some(name) = session else { return Ok(found) };
    let id = store.resolve(name)?;
    // A message counts when it is in any segment that leads to the live end.
    let lineage = store.lineage(&store.tip(&id)?)?;
    Ok(found
        .into_iter()
        .filter(|message| lineage.contains(&message.session_id))
        .collect())
}

fn show(found: &[StoredMessage]) {
    for message in found {
        let value = shapes::message(message);
        let role = message.message.role.as_str();
        output::line(&format!(
            "[{}] {role}, {}, session {}",
            message.id,
            text::moment(message.timestamp),
            message.session_id
        ));
        let body = talaria_redact::redact_own(&message.message.content.text()).into_owned();
        if !body.is_empty() {
            output::line(&body);
        }
        for call in value["tool_calls"].as_array().into_iter().flatten() {
            output::line(&format!(
                "→ {} {}",
                call["function"]["name"].as_str().unwrap_or("?"),
                call["function"]["arguments"].as_str().unwrap_or("")
            ));
        }
        output::line("");
    }
}
