//! Gives arguments the types their schema asks for, where the meaning is certain.

use serde_json::{Map, Number, Value};

use crate::schema::required;

/// Coerces the members of `args` to the types of `schema`.
pub(crate) fn coerce(args: &mut Map<String, Value>, schema: &Value) {
    let required = required(schema);
    let Some(Value::Object(properties)) = schema.get("properties") else {
        return;
    };
    for (name, property) in properties {
        let Some(value) = args.get_mut(name) else { continue };
        let text = property["type"] == "string";
        let null = value.is_null() || (!text && value.as_str().is_some_and(|text| text.trim() == "null"));
        if null && !required.contains(&name.as_str()) {
            args.remove(name);
            continue;
        }
        // A list of words is no command: joined to a text, a shell would run something else.
        if RUN.contains(&name.as_str()) && text && (value.is_array() || value.is_object()) {
            continue;
        }
        coerce_value(value, property);
    }
}

/// Arguments that a shell runs: only what is a text is taken for one.
const RUN: &[&str] = &["command", "data", "code"];

fn coerce_value(value: &mut Value, schema: &Value) {
    let replaced = match schema["type"].as_str() {
        Some("integer") => integer(value),
        Some("number") => number(value),
        Some("boolean") => boolean(value),
        Some("string") => string(value, schema),
        Some("array") => array(value),
        Some("object") => parsed(value, Value::is_object),
        _ => None,
    };
    if let Some(replaced) = replaced {
        *value = replaced;
    }
    match value {
        Value::Array(items) => {
            if let Some(item) = schema.get("items") {
                items.iter_mut().for_each(|value| coerce_value(value, item));
            }
        }
        Value::Object(map) => coerce(map, schema),
        _ => {}
    }
}

fn integer(value: &Value) -> Option<Value> {
    match value {
        Value::String(text) => {
            let text = text.trim().replace('_', "");
            let whole = text
                .parse::<i64>()
                .ok()
                .or_else(|| text.parse::<f64>().ok().and_then(whole));
            whole.map(Value::from)
        }
        Value::Number(number) if number.is_f64() => number.as_f64().and_then(whole).map(Value::from),
        _ => None,
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "only whole numbers well inside of i64 get here"
)]
fn whole(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() < 9e15).then_some(number as i64)
}

fn number(value: &Value) -> Option<Value> {
    let text = value.as_str()?.trim();
    if let Ok(whole) = text.parse::<i64>() {
        return Some(whole.into());
    }
    Number::from_f64(text.parse().ok()?).map(Value::Number)
}

fn boolean(value: &Value) -> Option<Value> {
    match value {
        Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "1" => Some(true.into()),
            "false" | "no" | "0" | "" => Some(false.into()),
            _ => None,
        },
        Value::Number(number) => match number.as_i64() {
            Some(1) => Some(true.into()),
            Some(0) => Some(false.into()),
            _ => None,
        },
        _ => None,
    }
}

fn string(value: &Value, schema: &Value) -> Option<Value> {
    match value {
        Value::String(text) => {
            let choices = schema.get("enum").and_then(Value::as_array)?;
            if choices.contains(value) {
                return None;
            }
            let wanted = text.trim().to_lowercase();
            choices
                .iter()
                .find(|choice| choice.as_str().is_some_and(|c| c.to_lowercase() == wanted))
                .cloned()
        }
        Value::Number(_) | Value::Bool(_) => Some(value.to_string().into()),
        // The content of a JSON file, given as what it is rather than as text.
        Value::Object(_) | Value::Array(_) => serde_json::to_string_pretty(value).ok().map(Value::String),
        Value::Null => None,
    }
}

fn array(value: &Value) -> Option<Value> {
    match value {
        Value::Array(_) | Value::Null => None,
        _ => parsed(value, Value::is_array).or_else(|| {
            let one = parsed(value, Value::is_object).unwrap_or_else(|| value.clone());
            Some(Value::Array(vec![one]))
        }),
    }
}

fn parsed(value: &Value, wanted: fn(&Value) -> bool) -> Option<Value> {
    let inner: Value = serde_json::from_str(value.as_str()?).ok()?;
    wanted(&inner).then_some(inner)
}
