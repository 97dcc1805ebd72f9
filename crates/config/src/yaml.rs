//! YAML as a plain tree in which every value knows its line.
//!
//! Scalars keep their text: what a text means depends on the key that reads it
//! (`approvals.mode: off` is a word there, not the boolean that YAML makes of it).
//! Anchors, aliases and merge keys are resolved; of two equal keys the last wins,
//! as in the parser Hermes uses.

use std::collections::HashMap;

use granit_parser::{Event, Options, Parser, ScalarStyle, Span};

/// More nodes than any configuration has; aliases of aliases would exceed memory before they end.
const MOST_NODES: usize = 200_000;
/// Deeper than any configuration; keeps the recursion off the end of the stack.
const DEEPEST: usize = 64;

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    /// The line, from 1: that of its key for a value of a mapping.
    pub(crate) line: u64,
    /// The value.
    pub(crate) value: Value,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// Nothing, `null` or `~`.
    Null,
    /// A text, a number, a truth value: whatever its reader makes of it.
    Scalar {
        /// The text.
        text: String,
        /// Written without quotes.
        plain: bool,
    },
    /// A sequence.
    List(Vec<Node>),
    /// A mapping, in file order.
    Map(Vec<(String, Node)>),
}

/// A text that is no YAML.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    /// The line, from 1.
    pub(crate) line: u64,
    /// What is wrong there.
    pub(crate) detail: String,
}

impl Node {
    /// A value of a mapping.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        self.entries()
            .iter()
            .rev()
            .find(|(name, _)| name == key)
            .map(|(_, node)| node)
    }

    /// The node at a dotted path. A key that itself has dots is found when the path's rest is equal to it.
    pub(crate) fn at(&self, path: &str) -> Option<&Self> {
        if let Some(found) = self.get(path) {
            return Some(found);
        }
        let mut splits = path.match_indices('.').map(|(index, _)| path.split_at(index));
        splits.find_map(|(head, tail)| self.get(head)?.at(tail.get(1..)?))
    }

    /// The entries of a mapping; none for anything else.
    pub(crate) fn entries(&self) -> &[(String, Self)] {
        match &self.value {
            Value::Map(entries) => entries,
            Value::Null | Value::Scalar { .. } | Value::List(_) => &[],
        }
    }

    /// The tree as JSON, for whoever reads a section of their own: what stands without quotes and looks like
    /// a number or a truth value is one.
    pub(crate) fn json(&self) -> serde_json::Value {
        match &self.value {
            Value::Null => serde_json::Value::Null,
            Value::Scalar { text, plain: true } => crate::slot::truth(text)
                .map(serde_json::Value::Bool)
                .or_else(|| text.parse::<i64>().ok().map(Into::into))
                .or_else(|| {
                    text.parse::<f64>()
                        .ok()
                        .filter(|it| it.is_finite())
                        .map(Into::into)
                })
                .unwrap_or_else(|| text.as_str().into()),
            Value::Scalar { text, plain: false } => text.as_str().into(),
            Value::List(items) => items.iter().map(Self::json).collect(),
            Value::Map(entries) => {
                let entries = entries.iter().map(|(name, node)| (name.clone(), node.json()));
                serde_json::Value::Object(entries.collect())
            }
        }
    }

    /// What it is, for a person who expected something else.
    pub(crate) fn described(&self) -> String {
        match &self.value {
            Value::Null => "nothing".to_owned(),
            Value::Scalar { text, .. } => format!("{:?}", shortened(text)),
            Value::List(_) => "a list".to_owned(),
            Value::Map(_) => "a section".to_owned(),
        }
    }
}

/// A text cut to what fits into a message.
fn shortened(text: &str) -> String {
    const FITS: usize = 40;
    if text.chars().count() <= FITS {
        return text.to_owned();
    }
    text.chars().take(FITS).chain(std::iter::once('…')).collect()
}

/// A key that one mapping has twice.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Repeated {
    /// The key, without those of the mappings around it.
    pub(crate) key: String,
    /// The line of the one that does not count.
    pub(crate) first: u64,
    /// The line of the one after it.
    pub(crate) line: u64,
}

/// A text as a tree.
pub(crate) struct Document {
    /// The tree; nothing when the text holds none.
    pub(crate) root: Option<Node>,
    /// Keys that are there twice.
    pub(crate) repeated: Vec<Repeated>,
}

/// Reads the first document of `text`; nothing when it holds none.
pub(crate) fn parse(text: &str) -> Result<Option<Node>, Broken> {
    Ok(document(text)?.root)
}

/// The same, with what is odd about it.
pub(crate) fn document(text: &str) -> Result<Document, Broken> {
    let mut options = Options::default();
    options.set_emit_comments(false);
    let mut reader = Reader {
        events: Parser::new_from_str_with_options(text, options),
        anchors: HashMap::new(),
        nodes: 0,
        repeated: Vec::new(),
    };
    let root = loop {
        let (event, span) = reader.next()?;
        match event {
            Event::StreamStart | Event::DocumentStart(..) => {}
            Event::DocumentEnd | Event::StreamEnd => break None,
            other => break Some(reader.node(other, span, 0)?),
        }
    };
    Ok(Document {
        root,
        repeated: reader.repeated,
    })
}

struct Reader<'a> {
    events: Parser<'a, granit_parser::StrInput<'a>>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
    repeated: Vec<Repeated>,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), Broken> {
        match self.events.next_event() {
            Some(Ok(pair)) => Ok(pair),
            Some(Err(error)) => Err(Broken {
                line: error.marker().line().max(1) as u64,
                detail: error.info().to_lowercase(),
            }),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Node, Broken> {
        let line = span.start.line() as u64;
        self.count(1, line)?;
        if depth > DEEPEST {
            return Err(Broken {
                line,
                detail: "nested too deeply".to_owned(),
            });
        }
        let (value, anchor) = match event {
            Event::Scalar(text, style, anchor, _) => (scalar(&text, style), anchor),
            Event::SequenceStart(_, anchor, _) => (Value::List(self.list(depth)?), anchor),
            Event::MappingStart(_, anchor, _) => (Value::Map(self.map(depth)?), anchor),
            Event::Alias(id) => {
                let mut node = self
                    .anchors
                    .get(&id)
                    .cloned()
                    .ok_or_else(|| unknown_alias(line))?;
                self.count(weight(&node), line)?;
                node.line = line;
                return Ok(node);
            }
            _ => return Err(unknown_alias(line)),
        };
        let node = Node { line, value };
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn list(&mut self, depth: usize) -> Result<Vec<Node>, Broken> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(items),
                (event, span) => items.push(self.node(event, span, depth + 1)?),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Vec<(String, Node)>, Broken> {
        let mut entries: Vec<(String, Node)> = Vec::new();
        let mut merged: Vec<(String, Node)> = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::MappingEnd) {
                break;
            }
            let line = span.start.line() as u64;
            let key = match self.node(event, span, depth + 1)?.value {
                Value::Scalar { text, .. } => text,
                Value::Null => "null".to_owned(),
                Value::List(_) | Value::Map(_) => {
                    return Err(Broken {
                        line,
                        detail: "a key must be a word".to_owned(),
                    });
                }
            };
            let (event, span) = self.next()?;
            let mut node = self.node(event, span, depth + 1)?;
            if key == "<<" {
                merge(&mut merged, &node);
                continue;
            }
            node.line = line;
            if let Some(place) = entries.iter().position(|(name, _)| *name == key) {
                let (key, before) = entries.remove(place);
                self.repeated.push(Repeated {
                    key,
                    first: before.line,
                    line,
                });
            }
            entries.push((key, node));
        }
        merged.retain(|(name, _)| !entries.iter().any(|(own, _)| own == name));
        entries.extend(merged);
        Ok(entries)
    }

    fn count(&mut self, more: usize, line: u64) -> Result<(), Broken> {
        self.nodes += more;
        if self.nodes > MOST_NODES {
            return Err(Broken {
                line,
                detail: "too many values".to_owned(),
            });
        }
        Ok(())
    }
}

fn unknown_alias(line: u64) -> Broken {
    Broken {
        line,
        detail: "an alias without an anchor".to_owned(),
    }
}

fn weight(node: &Node) -> usize {
    match &node.value {
        Value::Null | Value::Scalar { .. } => 1,
        Value::List(items) => 1 + items.iter().map(weight).sum::<usize>(),
        Value::Map(entries) => 1 + entries.iter().map(|(_, inner)| weight(inner)).sum::<usize>(),
    }
}

fn merge(into: &mut Vec<(String, Node)>, node: &Node) {
    let sources = match &node.value {
        Value::List(items) => items.as_slice(),
        Value::Null | Value::Scalar { .. } | Value::Map(_) => std::slice::from_ref(node),
    };
    for (key, value) in sources.iter().flat_map(Node::entries) {
        if !into.iter().any(|(name, _)| name == key) {
            into.push((key.clone(), value.clone()));
        }
    }
}

fn scalar(text: &str, style: ScalarStyle) -> Value {
    let plain = style == ScalarStyle::Plain;
    if plain && matches!(text, "" | "~" | "null" | "Null" | "NULL") {
        return Value::Null;
    }
    Value::Scalar {
        text: text.to_owned(),
        plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(node: &Node, path: &str) -> Option<String> {
        match &node.at(path)?.value {
            Value::Scalar { text, .. } => Some(text.clone()),
            _ => None,
        }
    }

    #[test]
    fn a_value_knows_the_line_of_its_key() {
        let node = parse("# first\nagent:\n  max_turns: 17\n  deep:\n    - 1\n")
            .unwrap()
            .unwrap();
        assert_eq!(node.at("agent.max_turns").unwrap().line, 3);
        assert_eq!(node.at("agent.deep").unwrap().line, 4);
    }

    #[test]
    fn a_broken_text_names_its_line() {
        let broken = parse("model:\n  default: x\n   bad indent: [\n").unwrap_err();
        assert_eq!(broken.line, 3, "{}", broken.detail);
    }

    #[test]
    fn anchors_aliases_and_merges_are_resolved() {
        let node = parse("a: &x {k: 1, l: 2}\nb:\n  <<: *x\n  l: 3\nc: *x\n")
            .unwrap()
            .unwrap();
        assert_eq!(text(&node, "b.k").as_deref(), Some("1"));
        assert_eq!(text(&node, "b.l").as_deref(), Some("3"));
        assert_eq!(text(&node, "c.l").as_deref(), Some("2"));
    }

    #[test]
    fn aliases_of_aliases_do_not_eat_the_memory() {
        let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
        for level in 1..12 {
            let inner = vec![format!("*a{}", level - 1); 10].join(",");
            bomb.push_str(&format!("a{level}: &a{level} [{inner}]\n"));
        }
        assert_eq!(parse(&bomb).unwrap_err().detail, "too many values");
    }

    #[test]
    fn an_empty_text_and_one_of_comments_hold_nothing() {
        for empty in ["", "\n", "# only\n", "---\n"] {
            assert!(
                parse(empty).unwrap().is_none_or(|node| node.value == Value::Null),
                "{empty:?}"
            );
        }
    }

    #[test]
    fn of_two_equal_keys_the_last_wins() {
        let node = parse("a: 1\na: 2\n").unwrap().unwrap();
        assert_eq!(text(&node, "a").as_deref(), Some("2"));
    }
}
