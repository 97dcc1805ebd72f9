//! Makes sense of what the model wrote for a call: its tool's name and its arguments.
//!
//! What can only mean one thing is repaired; everything else is answered with
//! what is wrong and where, so that the model can correct itself. Nothing is
//! guessed: a wrong guess runs a command nobody asked for.

mod coerce;
mod name;
mod repair;

use serde_json::{Map, Value};

pub(crate) use coerce::coerce;
pub(crate) use name::resolve;

/// Why arguments could not be understood; the text is what the model reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Misread {
    /// They end in the middle: the output limit or the stream cut them.
    CutOff(String),
    /// They are no JSON.
    Malformed(String),
    /// They are JSON, but no object.
    NotAnObject(String),
}

impl Misread {
    /// The text for the model.
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::CutOff(text) | Self::Malformed(text) | Self::NotAnObject(text) => text,
        }
    }
}

/// The arguments of a call of `tool`, from the text that arrived.
pub(crate) fn understand(tool: &str, raw: &str) -> Result<Map<String, Value>, Misread> {
    let text = raw.trim_start_matches('\u{feff}').trim();
    if matches!(text, "" | "null" | "None" | "undefined") {
        return Ok(Map::new());
    }
    let error = match serde_json::from_str::<Value>(text) {
        Ok(value) => return object(tool, value),
        Err(error) => error,
    };
    if let Some(value) = repair::first_of_equal(text).or_else(|| repair::rewrite(text)) {
        return object(tool, value);
    }
    let place = format!(
        "{} at character {}",
        message(&error),
        repair::offset(text, &error)
    );
    if error.is_eof() {
        let size = text.chars().count();
        return Err(Misread::CutOff(format!(
            "the arguments of {tool} were cut off after {size} characters ({place}), so they are incomplete JSON. \
             Nothing was executed. Call it again with complete arguments; split long content over several calls"
        )));
    }
    Err(Misread::Malformed(format!(
        "the arguments of {tool} are malformed, invalid JSON: {place}, near {:?}. Nothing was executed. \
         Call it again with the arguments as one valid JSON object",
        repair::near(text, &error)
    )))
}

/// The object in `value`, also when it was encoded twice.
fn object(tool: &str, value: Value) -> Result<Map<String, Value>, Misread> {
    let kind = match value {
        Value::Object(map) => return Ok(map),
        Value::Null => return Ok(Map::new()),
        Value::String(inner) => {
            let inner = inner.trim();
            if inner.is_empty() {
                return Ok(Map::new());
            }
            match serde_json::from_str(inner)
                .ok()
                .or_else(|| repair::rewrite(inner))
            {
                Some(Value::Object(map)) => return Ok(map),
                _ => "a string",
            }
        }
        Value::Array(_) => "a list",
        Value::Number(_) => "a number",
        Value::Bool(_) => "a boolean",
    };
    Err(Misread::NotAnObject(format!(
        "the arguments of {tool} are invalid: {kind} instead of a JSON object. Nothing was executed. \
         Call it again with an object"
    )))
}

/// serde's message without its own line and column.
fn message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
