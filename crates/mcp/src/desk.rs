//! Questions of servers to the person.
//!
//! A server may ask while one of its tools runs. Whoever runs that call sits at the desk, puts the question
//! to the person through its own host, and hands the answer back. With nobody there it is cancelled.

use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot};

/// The most fields that are asked for, one by one.
const FIELDS: usize = 25;
/// How often a field is asked for again after an answer that does not fit.
const AGAIN: usize = 2;
/// The longest text of a server in a question, in characters.
const TEXT: usize = 1_000;

/// Ends the whole form.
pub(crate) const DECLINE: &str = "decline";
const SKIP: &str = "leave out";
const DONE: &str = "done";

/// One question, and where its answer goes.
pub(crate) struct Ask {
    pub(crate) text: String,
    pub(crate) choices: Vec<String>,
    pub(crate) answer: oneshot::Sender<Option<String>>,
}

/// What came of a form.
#[derive(Debug, PartialEq)]
pub(crate) enum Reply {
    Accept(Value),
    Decline,
    Cancel,
}

/// Who is there to ask.
#[derive(Default)]
pub(crate) struct Desk {
    seats: Mutex<Vec<(u64, mpsc::UnboundedSender<Ask>)>>,
}

/// A call that can be asked through while it runs.
pub(crate) struct Seat<'a> {
    desk: &'a Desk,
    id: u64,
    pub(crate) asks: mpsc::UnboundedReceiver<Ask>,
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.desk.seats().retain(|(id, _)| *id != self.id);
    }
}

impl Desk {
    fn seats(&self) -> std::sync::MutexGuard<'_, Vec<(u64, mpsc::UnboundedSender<Ask>)>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a seat until it is dropped.
    pub(crate) fn sit(&self) -> Seat<'_> {
        let (sender, asks) = mpsc::unbounded_channel();
        let mut seats = self.seats();
        let id = seats.last().map_or(0, |(id, _)| id + 1);
        seats.push((id, sender));
        Seat { desk: self, id, asks }
    }

    /// Asks whoever came last; nothing when nobody is there or answers.
    async fn ask(&self, text: String, choices: Vec<String>) -> Option<String> {
        let (answer, answered) = oneshot::channel();
        let sender = self.seats().last().map(|(_, sender)| sender.clone())?;
        sender
            .send(Ask {
                text,
                choices,
                answer,
            })
            .ok()?;
        answered.await.ok().flatten()
    }

    /// Asks for the fields of a form, one after another.
    pub(crate) async fn form(&self, server: &str, message: &str, schema: &Value) -> Reply {
        let empty = Map::new();
        let properties = schema["properties"].as_object().unwrap_or(&empty);
        let message = short(message);
        if properties.is_empty() {
            let text = format!("The MCP server {server} asks:\n{message}");
            return match self
                .ask(text, vec!["accept".to_owned(), DECLINE.to_owned()])
                .await
            {
                Some(answer) if answer == "accept" => Reply::Accept(json!({})),
                Some(_) => Reply::Decline,
                None => Reply::Cancel,
            };
        }
        if properties.len() > FIELDS {
            tracing::info!(server, "a form with more than {FIELDS} fields was declined");
            return Reply::Decline;
        }
        let required = |name: &str| {
            let list = schema["required"].as_array();
            list.is_some_and(|list| list.iter().any(|known| known == name))
        };
        let mut content = Map::new();
        for (name, field) in properties {
            let head = format!("The MCP server {server} asks:\n{message}\n");
            match self.field(&head, name, field, required(name)).await {
                Ok(Some(value)) => {
                    content.insert(name.clone(), value);
                }
                Ok(None) => {}
                Err(reply) => return reply,
            }
        }
        Reply::Accept(Value::Object(content))
    }

    async fn field(
        &self,
        head: &str,
        name: &str,
        field: &Value,
        required: bool,
    ) -> Result<Option<Value>, Reply> {
        let mut choices = options(field);
        let default = field.get("default").filter(|value| !value.is_null());
        if let Some(default) = default.map(plain) {
            choices.retain(|choice| *choice != default);
            choices.insert(0, default);
        }
        if !required {
            choices.push(SKIP.to_owned());
        }
        choices.push(DECLINE.to_owned());
        let mut text = format!("{head}{}", described(name, field, required));
        for _ in 0..=AGAIN {
            let answer = self
                .ask(text.clone(), choices.clone())
                .await
                .ok_or(Reply::Cancel)?;
            match answer.trim() {
                DECLINE => return Err(Reply::Decline),
                SKIP if !required => return Ok(None),
                answer => match fitted(answer, field) {
                    Ok(value) => return Ok(Some(value)),
                    Err(wrong) => text = format!("{head}{}\n({wrong})", described(name, field, required)),
                },
            }
        }
        Err(Reply::Cancel)
    }

    /// Asks the person to open an address.
    pub(crate) async fn address(&self, server: &str, message: &str, url: &str) -> Reply {
        let safe = url::Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
        if !safe {
            return Reply::Decline;
        }
        let text = format!(
            "The MCP server {server} asks you to open an address:\n{}\n{}\nOpen it only if you trust where it leads.",
            short(message),
            short(url)
        );
        match self.ask(text, vec![DONE.to_owned(), DECLINE.to_owned()]).await {
            Some(answer) if answer == DONE => Reply::Accept(json!({})),
            Some(_) => Reply::Decline,
            None => Reply::Cancel,
        }
    }
}

/// The values a field may have, where they are listed.
fn options(field: &Value) -> Vec<String> {
    let texts = |list: &Value| -> Vec<String> {
        let items = list.as_array().into_iter().flatten();
        items
            .map(|item| plain(item.get("const").unwrap_or(item)))
            .collect()
    };
    if field["type"] == "boolean" {
        return vec!["true".to_owned(), "false".to_owned()];
    }
    for list in [
        &field["enum"],
        &field["oneOf"],
        &field["items"]["enum"],
        &field["items"]["anyOf"],
    ] {
        if list.is_array() {
            return texts(list);
        }
    }
    Vec::new()
}

fn described(name: &str, field: &Value, required: bool) -> String {
    let title = field["title"].as_str().unwrap_or(name);
    let said = field["description"]
        .as_str()
        .map(|said| format!(": {}", short(said)));
    let kind = field["type"].as_str().unwrap_or("string");
    let need = if required { "" } else { ", may be left out" };
    let many = if kind == "array" {
        ", several with commas"
    } else {
        ""
    };
    format!(
        "{}{} ({kind}{many}{need})",
        short(title),
        said.unwrap_or_default()
    )
}

/// The answer as the field wants it.
fn fitted(answer: &str, field: &Value) -> Result<Value, String> {
    let listed = options(field);
    match field["type"].as_str() {
        Some("boolean") => match answer.to_ascii_lowercase().as_str() {
            "true" | "yes" | "y" => Ok(json!(true)),
            "false" | "no" | "n" => Ok(json!(false)),
            _ => Err("true or false is wanted".to_owned()),
        },
        Some("integer") => answer
            .parse::<i64>()
            .map(|number| json!(number))
            .map_err(|_| "a whole number is wanted".to_owned()),
        Some("number") => answer
            .parse::<f64>()
            .map(|number| json!(number))
            .map_err(|_| "a number is wanted".to_owned()),
        Some("array") => {
            let items: Vec<&str> = answer
                .split(',')
                .map(str::trim)
                .filter(|item| !item.is_empty())
                .collect();
            match items
                .iter()
                .find(|item| !listed.is_empty() && !listed.iter().any(|known| known == *item))
            {
                Some(item) => Err(format!("{item} is none of them")),
                None => Ok(json!(items)),
            }
        }
        _ if !listed.is_empty() && !listed.iter().any(|known| known == answer) => {
            Err(format!("one of {} is wanted", listed.join(", ")))
        }
        _ => Ok(json!(answer)),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

fn short(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control() || *c == '\n')
        .take(TEXT)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fills a form with these answers, one question each.
    async fn fill(schema: Value, answers: &[&str]) -> (Reply, Vec<String>) {
        let desk = Desk::default();
        let mut seat = desk.sit();
        let person = async {
            let mut heard = Vec::new();
            for answer in answers {
                let Some(ask) = seat.asks.recv().await else { break };
                heard.push(format!("{} {:?}", ask.text, ask.choices));
                let _ = ask.answer.send(Some((*answer).to_owned()));
            }
            heard
        };
        tokio::join!(desk.form("s", "Who are you?", &schema), person)
    }

    #[tokio::test]
    async fn a_form_is_asked_field_by_field_and_checked() {
        let schema = json!({"properties": {
            "age": {"type": "integer"}, "color": {"enum": ["red", "blue"]}, "ok": {"type": "boolean", "default": true}, "note": {"type": "string"},
        }, "required": ["age", "color", "ok"]});
        let (reply, heard) = fill(schema, &["old", "42", "blue", "true", "leave out"]).await;
        assert_eq!(
            reply,
            Reply::Accept(json!({"age": 42, "color": "blue", "ok": true}))
        );
        assert!(
            heard[1].contains("whole number") && heard[2].contains("[\"red\", \"blue\", \"decline\"]"),
            "{heard:?}"
        );
    }

    #[tokio::test]
    async fn a_form_can_be_declined_and_is_cancelled_with_nobody_there() {
        let schema = json!({"properties": {"a": {"type": "string"}}});
        assert_eq!(fill(schema.clone(), &["decline"]).await.0, Reply::Decline);
        assert_eq!(Desk::default().form("s", "?", &schema).await, Reply::Cancel);
        assert_eq!(
            Desk::default().address("s", "?", "file:///etc/passwd").await,
            Reply::Decline
        );
    }
}
