//! `sessions context`: what fills a session's window.

use clap::Args;
use serde_json::Value;

use crate::args::TurnFlags;
use crate::exit::{DONE, Failure, Outcome};
use crate::face;
use crate::output;
use crate::place::Place;
use crate::{shapes, text};

/// Arguments of `context`.
#[derive(Args, Debug)]
pub(super) struct Context {
    /// Id, unique prefix or title; its live end is meant.
    session: String,
    /// List the messages too.
    #[arg(long)]
    messages: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl Context {
    pub(super) fn run(self, place: &Place) -> Outcome {
        let (engine, runtime) = face::engine_for_commands(place, &TurnFlags::default())?;
        let context = runtime.block_on(engine.context(&self.session))?;
        let live = if self.messages {
            engine.store().live(&context.session_id)?
        } else {
            Vec::new()
        };
        if self.json {
            let mut value =
                serde_json::to_value(&context).map_err(|error| Failure::failed(error.to_string()))?;
            if self.messages {
                value["messages"] = live.iter().map(shapes::message).collect::<Value>();
            }
            output::json(&value);
            return Ok(DONE);
        }
        output::write(&context.render());
        for message in &live {
            let body = talaria_redact::redact_own(&message.message.content.text()).into_owned();
            let role = message.message.role.as_str();
            output::line(&format!("[{}] {role}: {}", message.id, text::clipped(&body, 80)));
        }
        Ok(DONE)
    }
}
