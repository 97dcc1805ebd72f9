//! Where each value of a YAML text stands, in bytes.

use std::ops::Range;

use granit_parser::{Event, Options, Parser, ScalarStyle, StructureStyle};

/// Where a value stands in the text.
pub(super) struct Place {
    /// Its line, from 1.
    pub(super) line: u64,
    /// Its bytes; for a block collection those of its first and last value.
    pub(super) bytes: Range<usize>,
    /// How it is written.
    pub(super) shape: Shape,
}

/// How a value is written.
pub(super) enum Shape {
    /// Nothing is written.
    Empty,
    /// A word, quoted or not.
    Scalar,
    /// Lines after a `|` or `>`; its bytes begin after that sign.
    Long,
    /// A mapping.
    Map {
        flow: bool,
        entries: Vec<Entry>,
    },
    List {
        flow: bool,
        items: Vec<Place>,
    },
}

/// One key of a mapping.
pub(super) struct Entry {
    /// The key.
    pub(super) key: String,
    /// Where it is written.
    pub(super) key_bytes: Range<usize>,
    /// Its column, from 0.
    pub(super) column: usize,
    /// Its value.
    pub(super) value: Place,
}

struct Layout<'a> {
    text: &'a str,
    events: Parser<'a, granit_parser::StrInput<'a>>,
}

/// The places of the first document of `text`; nothing when it is empty.
pub(super) fn layout(text: &str) -> Option<Place> {
    let mut options = Options::default();
    options.set_emit_comments(false);
    let mut layout = Layout {
        text,
        events: Parser::new_from_str_with_options(text, options),
    };
    loop {
        match layout.next()? {
            (Event::StreamStart | Event::DocumentStart(..), _, _, _) => {}
            (Event::DocumentEnd | Event::StreamEnd, _, _, _) => return None,
            (event, bytes, line, _) => {
                let place = layout.value(&event, bytes, line)?;
                return (!matches!(place.shape, Shape::Empty)).then_some(place);
            }
        }
    }
}

impl<'a> Layout<'a> {
    /// The next event with its bytes, its line and its column.
    fn next(&mut self) -> Option<(Event<'a>, Range<usize>, u64, usize)> {
        let (event, span) = self.events.next_event()?.ok()?;
        let bytes = span.byte_range().unwrap_or(0..0);
        Some((event, bytes, span.start.line() as u64, span.start.col()))
    }

    fn value(&mut self, event: &Event<'a>, bytes: Range<usize>, line: u64) -> Option<Place> {
        match event {
            Event::Scalar(_, style, _, _) => {
                let shape = match style {
                    ScalarStyle::Plain if bytes.is_empty() => Shape::Empty,
                    ScalarStyle::Literal | ScalarStyle::Folded => Shape::Long,
                    _ => Shape::Scalar,
                };
                let end = bytes.start + self.text.get(bytes.clone())?.trim_end().len();
                Some(Place {
                    line,
                    bytes: bytes.start..end,
                    shape,
                })
            }
            Event::Alias(_) => Some(Place {
                line,
                bytes,
                shape: Shape::Scalar,
            }),
            Event::SequenceStart(style, ..) => self.list(*style == StructureStyle::Flow, bytes, line),
            Event::MappingStart(style, ..) => self.map(*style == StructureStyle::Flow, bytes, line),
            _ => None,
        }
    }

    fn list(&mut self, flow: bool, bytes: Range<usize>, line: u64) -> Option<Place> {
        let mut items = Vec::new();
        loop {
            let (event, inner, at, _) = self.next()?;
            if matches!(event, Event::SequenceEnd) {
                let end = if flow {
                    inner.end
                } else {
                    items.last().map_or(bytes.end, |item: &Place| item.bytes.end)
                };
                return Some(Place {
                    line,
                    bytes: bytes.start..end,
                    shape: Shape::List { flow, items },
                });
            }
            items.push(self.value(&event, inner, at)?);
        }
    }

    fn map(&mut self, flow: bool, bytes: Range<usize>, line: u64) -> Option<Place> {
        let mut entries: Vec<Entry> = Vec::new();
        loop {
            let (event, key_bytes, _, column) = self.next()?;
            if matches!(event, Event::MappingEnd) {
                let last = entries.last().map_or(bytes.end, |entry| entry.value.bytes.end);
                let end = if flow { key_bytes.end } else { last };
                return Some(Place {
                    line,
                    bytes: bytes.start..end,
                    shape: Shape::Map { flow, entries },
                });
            }
            let Event::Scalar(key, ..) = &event else {
                return None;
            };
            let key = key.to_string();
            let (event, inner, at, _) = self.next()?;
            let mut value = self.value(&event, inner, at)?;
            if matches!(value.shape, Shape::Empty) {
                // An empty value stands right after its key's colon, wherever the parser saw it.
                let colon = self.text.get(key_bytes.end..)?.find(':')?;
                let after = key_bytes.end + colon + 1;
                value.bytes = after..after;
            }
            entries.push(Entry {
                key,
                key_bytes,
                column,
                value,
            });
        }
    }
}
