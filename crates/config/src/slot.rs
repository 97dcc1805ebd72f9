//! The place of one value, and what may be put there.
//!
//! A [`Slot`] is a typed reference into the schema; a [`Rule`] narrows its type.
//! Together they read a YAML value, refuse it with what was expected, and print
//! what the place holds, so that loading, `config set` and `config show` agree.

use secrecy::SecretString;
use talaria_types::ApiMode;

use crate::yaml::{Node, Value};

/// The place of one value.
pub(crate) enum Slot<'a> {
    Bool(&'a mut bool),
    OptBool(&'a mut Option<bool>),
    U32(&'a mut u32),
    U64(&'a mut u64),
    OptU64(&'a mut Option<u64>),
    Usize(&'a mut usize),
    OptUsize(&'a mut Option<usize>),
    Float(&'a mut f64),
    OptFloat(&'a mut Option<f64>),
    Text(&'a mut String),
    OptText(&'a mut Option<String>),
    Secret(&'a mut Option<SecretString>),
    Mode(&'a mut Option<ApiMode>),
    Texts(&'a mut Vec<String>),
}

/// What a value must be beside its type.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rule {
    /// Anything of the type.
    Any,
    /// A whole number of at least this; anything lower is replaced by what was there, with a warning.
    AtLeast(u64),
    /// A whole number of at most this; anything higher is replaced by what was there, with a warning.
    AtMost(u64),
    /// A number over 0 and at most 1; anything else is replaced by what was there, with a warning.
    Share,
    /// Money: never below 0. A wrong limit must not become no limit, so it is refused.
    Money,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// The name of a time zone, or nothing.
    Zone,
}

/// Why a value cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// The wrong type; what was expected.
    Type(String),
    /// Out of range; what was expected. The place keeps what it had.
    Range(String),
}

impl Slot<'_> {
    /// Puts `node` here.
    pub(crate) fn put(self, node: &Node, rule: Rule) -> Result<(), Unfit> {
        match self {
            Self::Bool(place) => put_bool(node).map(|value| value.into_iter().for_each(|it| *place = it)),
            Self::OptBool(place) => put_bool(node).map(|value| *place = value),
            Self::U32(place) => put_whole(node, rule, u64::from(u32::MAX))
                .map(|value| value.into_iter().for_each(|it| *place = it as u32)),
            Self::U64(place) => put_whole(node, rule, i64::MAX as u64)
                .map(|value| value.into_iter().for_each(|it| *place = it)),
            Self::OptU64(place) => put_whole(node, rule, i64::MAX as u64).map(|value| *place = value),
            Self::Usize(place) => put_whole(node, rule, i64::MAX as u64)
                .map(|value| value.into_iter().for_each(|it| *place = it as usize)),
            Self::OptUsize(place) => {
                put_whole(node, rule, i64::MAX as u64).map(|value| *place = value.map(|it| it as usize))
            }
            Self::Float(place) => {
                put_number(node, rule).map(|value| value.into_iter().for_each(|it| *place = it))
            }
            Self::OptFloat(place) => put_number(node, rule).map(|value| *place = value),
            Self::Text(place) => put_text(node, rule).map(|value| *place = value.unwrap_or_default()),
            Self::OptText(place) if is_empty(node) => {
                *place = None;
                Ok(())
            }
            Self::OptText(place) => put_text(node, rule).map(|value| *place = filled(value)),
            Self::Secret(place) => {
                put_text(node, rule).map(|value| *place = filled(value).map(SecretString::from))
            }
            Self::Mode(place) => put_mode(node).map(|value| *place = value),
            Self::Texts(place) => put_texts(node).map(|value| *place = value),
        }
    }

    /// What stands here as `config show` prints it; nothing when nothing does.
    pub(crate) fn shown(self) -> Option<String> {
        match self {
            Self::Bool(place) => Some(place.to_string()),
            Self::OptBool(place) => place.map(|value| value.to_string()),
            Self::U32(place) => Some(place.to_string()),
            Self::U64(place) => Some(place.to_string()),
            Self::OptU64(place) => place.map(|value| value.to_string()),
            Self::Usize(place) => Some(place.to_string()),
            Self::OptUsize(place) => place.map(|value| value.to_string()),
            Self::Float(place) => Some(place.to_string()),
            Self::OptFloat(place) => place.map(|value| value.to_string()),
            Self::Text(place) => Some(without_userinfo(place)),
            Self::OptText(place) => place.as_deref().map(without_userinfo),
            Self::Secret(place) => place.as_ref().map(|_| "***".to_owned()),
            Self::Mode(place) => place.map(|value| value.as_str().to_owned()),
            Self::Texts(place) => Some(format!("[{}]", place.join(", "))),
        }
    }

    /// Whether this holds a secret.
    pub(crate) fn is_secret(&self) -> bool {
        matches!(self, Self::Secret(_))
    }

    /// Whether this holds a truth value.
    pub(crate) fn is_truth(&self) -> bool {
        matches!(self, Self::Bool(_) | Self::OptBool(_))
    }

    /// Whether this holds a list.
    pub(crate) fn is_list(&self) -> bool {
        matches!(self, Self::Texts(_))
    }

    /// Whether a number or truth value written here stays one, rather than a text.
    pub(crate) fn is_text(&self) -> bool {
        matches!(
            self,
            Self::Text(_) | Self::OptText(_) | Self::Secret(_) | Self::Mode(_)
        )
    }
}

/// `user:password@` of an address is a secret too.
fn without_userinfo(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.to_owned();
    };
    let host_end = rest.find('/').unwrap_or(rest.len());
    match rest.get(..host_end).and_then(|authority| authority.rfind('@')) {
        Some(at) => format!("{scheme}://***{}", rest.get(at..).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// A text without characters is a setting that is left out.
fn is_empty(node: &Node) -> bool {
    matches!(&node.value, Value::Scalar { text, .. } if text.is_empty())
}

fn filled(text: Option<String>) -> Option<String> {
    text.filter(|value| !value.is_empty())
}

/// The text of a scalar; nothing for null.
fn word<'a>(node: &'a Node, expected: &str) -> Result<Option<&'a str>, Unfit> {
    match &node.value {
        Value::Null => Ok(None),
        Value::Scalar { text, .. } => Ok(Some(text)),
        Value::List(_) | Value::Map(_) => Err(Unfit::Type(expected.to_owned())),
    }
}

fn put_bool(node: &Node) -> Result<Option<bool>, Unfit> {
    const EXPECTED: &str = "true or false";
    let Some(text) = word(node, EXPECTED)? else {
        return Ok(None);
    };
    truth(text)
        .map(Some)
        .ok_or_else(|| Unfit::Type(EXPECTED.to_owned()))
}

/// The truth values of YAML 1.1, which Hermes' files are written in.
pub(crate) fn truth(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" => Some(true),
        "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

fn put_whole(node: &Node, rule: Rule, most: u64) -> Result<Option<u64>, Unfit> {
    let (least, most) = match rule {
        Rule::AtLeast(least) => (least, most),
        Rule::AtMost(limit) => (0, limit.min(most)),
        _ => (0, most),
    };
    let expected = match rule {
        Rule::AtMost(limit) => format!("a whole number up to {limit}"),
        _ if least == 0 => "a whole number".to_owned(),
        _ => format!("a whole number of at least {least}"),
    };
    let Some(text) = word(node, &expected)? else {
        return Ok(None);
    };
    let digits = text.replace('_', "");
    let Ok(number) = digits.parse::<i128>() else {
        return Err(Unfit::Type(expected));
    };
    if number > i128::from(most) {
        return Err(Unfit::Range(format!("a whole number up to {most}")));
    }
    if number < i128::from(least) {
        return Err(Unfit::Range(expected));
    }
    Ok(u64::try_from(number).ok())
}

fn put_number(node: &Node, rule: Rule) -> Result<Option<f64>, Unfit> {
    let expected = match rule {
        Rule::Share => "a number over 0 and at most 1",
        Rule::Money => "an amount of US dollars, 0 or more",
        Rule::Any | Rule::AtLeast(_) | Rule::AtMost(_) | Rule::OneOf(_) | Rule::Zone => "a number",
    };
    let Some(text) = word(node, expected)? else {
        return Ok(None);
    };
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
    let Some(number) = number else {
        return Err(Unfit::Type(expected.to_owned()));
    };
    match rule {
        Rule::Share if number <= 0.0 || number > 1.0 => Err(Unfit::Range(expected.to_owned())),
        Rule::Money if number < 0.0 => Err(Unfit::Type(expected.to_owned())),
        Rule::Any
        | Rule::AtLeast(_)
        | Rule::AtMost(_)
        | Rule::Share
        | Rule::Money
        | Rule::OneOf(_)
        | Rule::Zone => Ok(Some(number)),
    }
}

fn put_text(node: &Node, rule: Rule) -> Result<Option<String>, Unfit> {
    let words = match rule {
        Rule::OneOf(words) => words,
        Rule::Zone => return put_zone(node),
        Rule::Any | Rule::AtLeast(_) | Rule::AtMost(_) | Rule::Share | Rule::Money => {
            return Ok(word(node, "a text")?.map(str::to_owned));
        }
    };
    let expected = words.join(", ");
    let Some(text) = word(node, &expected)? else {
        return Err(Unfit::Type(expected));
    };
    let found = words.iter().find(|known| known.eq_ignore_ascii_case(text));
    // An unquoted `off` is a truth value to what wrote the file.
    let meant = || truth(text).and_then(|value| words.iter().find(|known| truth(known) == Some(value)));
    found
        .or_else(meant)
        .map(|known| Some((*known).to_owned()))
        .ok_or(Unfit::Type(expected))
}

fn put_zone(node: &Node) -> Result<Option<String>, Unfit> {
    const EXPECTED: &str = "the name of a time zone, such as Europe/Berlin";
    let Some(name) = word(node, EXPECTED)?.filter(|name| !name.is_empty()) else {
        return Ok(None);
    };
    match jiff::tz::TimeZone::get(name) {
        Ok(_) => Ok(Some(name.to_owned())),
        Err(_) => Err(Unfit::Range(EXPECTED.to_owned())),
    }
}

fn put_mode(node: &Node) -> Result<Option<ApiMode>, Unfit> {
    const EXPECTED: &str = "chat_completions, anthropic_messages, codex_responses or gemini";
    let Some(text) = word(node, EXPECTED)?.filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    match text {
        "chat_completions" => Ok(Some(ApiMode::ChatCompletions)),
        "anthropic_messages" => Ok(Some(ApiMode::AnthropicMessages)),
        "codex_responses" | "responses" => Ok(Some(ApiMode::CodexResponses)),
        "gemini" => Ok(Some(ApiMode::Gemini)),
        _ => Err(Unfit::Type(EXPECTED.to_owned())),
    }
}

fn put_texts(node: &Node) -> Result<Vec<String>, Unfit> {
    const EXPECTED: &str = "a list of texts";
    match &node.value {
        Value::Null => Ok(Vec::new()),
        Value::List(items) => {
            let words = items.iter().map(|item| word(item, EXPECTED));
            words
                .filter_map(Result::transpose)
                .map(|text| text.map(str::to_owned))
                .collect()
        }
        // One thing alone is a list of it, as Hermes reads it.
        Value::Scalar { text, .. } if text.is_empty() => Ok(Vec::new()),
        Value::Scalar { text, .. } => Ok(vec![text.clone()]),
        Value::Map(_) => Err(Unfit::Type(EXPECTED.to_owned())),
    }
}
