//! What a person types, understood; never a syntax error.
//!
//! Words are all wanted. `OR`, `AND`, `NOT` (in capitals), parentheses,
//! `"phrases"`, `prefix*`, `^first` and `NEAR(a b, 5)` mean what they mean in
//! FTS5, where they make sense; where they do not they are ignored. All other
//! punctuation is part of a word or nothing: `chat-send` and `src/main.rs` are
//! phrases, `don't` is one, `TODO:` is `TODO`.

use super::pairs::{self, Script};

/// What is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    /// One word, phrase or run of characters.
    Leaf(Leaf),
    /// All of `all` and none of `none`; `all` is not empty.
    And {
        /// What a message must have.
        all: Vec<Node>,
        /// What it must not have.
        none: Vec<Node>,
    },
    /// Any of these.
    Or(Vec<Node>),
}

impl Node {
    /// The same with any of its words instead of all, where `text`, which it was read
    /// from, is nothing but words: who writes an operator or quotes means it.
    pub(crate) fn with_any_of(&self, text: &str) -> Option<Self> {
        let meant = text.contains(['"', '(', '^'])
            || text
                .split_whitespace()
                .any(|word| matches!(word, "AND" | "OR" | "NOT"));
        match self {
            Self::And { all, none } if !meant && none.is_empty() && all.len() > 1 => {
                Some(Self::Or(all.clone()))
            }
            Self::And { .. } | Self::Or(_) | Self::Leaf(_) => None,
        }
    }
}

/// The smallest thing that is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Leaf {
    /// Words in a row.
    Words {
        /// The words, lower case.
        words: Vec<String>,
        /// The last one may go on.
        prefix: bool,
        /// They stand at the beginning.
        first: bool,
    },
    /// Words at most so far from each other.
    Near {
        /// The words and phrases.
        groups: Vec<Vec<String>>,
        /// Words between them.
        distance: u32,
    },
    /// Characters of a script without spaces, next to each other.
    Run(String),
}

/// Longest query that is read; what follows is cut off.
const LONGEST: usize = 2048;
/// Deepest nesting of parentheses that is honoured.
const DEEPEST: usize = 32;

/// Reads a query; `None` when nothing in it can be looked for.
pub(crate) fn parse(text: &str) -> Option<Node> {
    let mut end = text.len().min(LONGEST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let tokens = lex(&text[..end]);
    let mut parser = Parser {
        tokens: &tokens,
        place: 0,
        depth: 0,
    };
    let mut found = Vec::new();
    // A closing parenthesis too many ends `or` early; go on behind it.
    while parser.place < tokens.len() {
        found.extend(parser.or());
        parser.place += 1;
    }
    all_of(found, Vec::new())
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Phrase { text: String, prefix: bool },
    Open,
    Close,
    And,
    Or,
    Not,
}

fn lex(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let Some(first) = rest.chars().next() else {
            return tokens;
        };
        match first {
            '(' => tokens.push(Token::Open),
            ')' => tokens.push(Token::Close),
            '"' => {
                let inner = &rest[1..];
                // A quote that is never closed is punctuation.
                if let Some(end) = inner.find('"') {
                    let prefix = inner[end + 1..].starts_with('*');
                    tokens.push(Token::Phrase {
                        text: inner[..end].to_owned(),
                        prefix,
                    });
                    rest = &inner[end + 1..];
                    continue;
                }
            }
            _ => {
                let end = rest
                    .find(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | '"'))
                    .unwrap_or(rest.len());
                tokens.push(match &rest[..end] {
                    "AND" => Token::And,
                    "OR" => Token::Or,
                    "NOT" => Token::Not,
                    word => Token::Word(word.to_owned()),
                });
                rest = &rest[end..];
                continue;
            }
        }
        rest = &rest[first.len_utf8()..];
    }
}

struct Parser<'a> {
    tokens: &'a [Token],
    place: usize,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.place)
    }

    fn or(&mut self) -> Option<Node> {
        let mut any = Vec::new();
        loop {
            any.extend(self.and());
            match self.peek() {
                Some(Token::Or) => self.place += 1,
                _ => break,
            }
        }
        one_of(any)
    }

    fn and(&mut self) -> Option<Node> {
        let (mut all, mut none) = (Vec::new(), Vec::new());
        let mut refused = false;
        loop {
            match self.peek() {
                None | Some(Token::Or | Token::Close) => break,
                Some(Token::And) => self.place += 1,
                Some(Token::Not) => {
                    refused = !refused;
                    self.place += 1;
                }
                Some(_) => {
                    if let Some(node) = self.primary() {
                        if refused {
                            none.push(node);
                        } else {
                            all.push(node);
                        }
                        refused = false;
                    }
                }
            }
        }
        all_of(all, none)
    }

    fn primary(&mut self) -> Option<Node> {
        let token = self.peek().cloned();
        self.place += 1;
        match token? {
            Token::Open => self.group(),
            Token::Word(word) if word == "NEAR" && self.peek() == Some(&Token::Open) => {
                self.place += 1;
                self.near()
            }
            Token::Word(word) => {
                let (first, word) = match word.strip_prefix('^') {
                    Some(rest) => (true, rest),
                    None => (false, word.as_str()),
                };
                leaves(word, word.ends_with('*'), first)
            }
            Token::Phrase { text, prefix } => leaves(&text, prefix, false),
            Token::Close | Token::And | Token::Or | Token::Not => None,
        }
    }

    fn group(&mut self) -> Option<Node> {
        if self.depth >= DEEPEST {
            return None;
        }
        self.depth += 1;
        let inner = self.or();
        self.depth -= 1;
        if self.peek() == Some(&Token::Close) {
            self.place += 1;
        }
        inner
    }

    /// `NEAR(a b "c d", 5)`; with characters of a script without spaces it means all of them.
    fn near(&mut self) -> Option<Node> {
        let mut texts: Vec<String> = Vec::new();
        let mut distance = 10;
        while let Some(token) = self.peek().cloned() {
            self.place += 1;
            match token {
                Token::Close => break,
                Token::Word(word) => match (word.parse::<u32>(), texts.last()) {
                    (Ok(number), Some(last)) if last.ends_with(',') => distance = number,
                    _ => match word
                        .split_once(',')
                        .map(|(text, number)| (text, number.parse::<u32>()))
                    {
                        Some((text, Ok(number))) => {
                            texts.push(text.to_owned());
                            distance = number;
                        }
                        _ => texts.push(word),
                    },
                },
                Token::Phrase { text, .. } => texts.push(text),
                Token::Open | Token::And | Token::Or | Token::Not => {}
            }
        }
        let nodes: Vec<Node> = texts
            .iter()
            .filter_map(|text| leaves(text, false, false))
            .collect();
        let groups: Option<Vec<Vec<String>>> = nodes
            .iter()
            .map(|node| match node {
                Node::Leaf(Leaf::Words { words, .. }) => Some(words.clone()),
                _ => None,
            })
            .collect();
        match groups {
            Some(groups) if groups.len() > 1 => Some(Node::Leaf(Leaf::Near { groups, distance })),
            _ => all_of(nodes, Vec::new()),
        }
    }
}

/// What is looked for in one written word or phrase: its words in a row, and each run of a script without spaces.
fn leaves(text: &str, prefix: bool, first: bool) -> Option<Node> {
    let mut found = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let flush = |words: &mut Vec<String>, found: &mut Vec<Node>, prefix: bool| {
        if !words.is_empty() {
            let first = first && found.is_empty();
            found.push(Node::Leaf(Leaf::Words {
                words: std::mem::take(words),
                prefix,
                first,
            }));
        }
    };
    for (script, segment) in pairs::segments(text) {
        match script {
            Script::Spaced => words.push(segment),
            Script::Unspaced => {
                flush(&mut words, &mut found, false);
                found.push(Node::Leaf(Leaf::Run(segment)));
            }
        }
    }
    flush(&mut words, &mut found, prefix);
    all_of(found, Vec::new())
}

fn all_of(mut all: Vec<Node>, none: Vec<Node>) -> Option<Node> {
    match (all.len(), none.is_empty()) {
        // What is only not wanted cannot be looked for.
        (0, _) => None,
        (1, true) => all.pop(),
        _ => Some(Node::And { all, none }),
    }
}

fn one_of(mut any: Vec<Node>) -> Option<Node> {
    match any.len() {
        0 | 1 => any.pop(),
        _ => Some(Node::Or(any)),
    }
}

impl Node {
    /// Calls `visit` with every leaf; the flag tells whether it is wanted.
    pub(crate) fn leaves<'a>(&'a self, wanted: bool, visit: &mut impl FnMut(&'a Leaf, bool)) {
        match self {
            Self::Leaf(leaf) => visit(leaf, wanted),
            Self::Or(any) => any.iter().for_each(|node| node.leaves(wanted, visit)),
            Self::And { all, none } => {
                all.iter().for_each(|node| node.leaves(wanted, visit));
                none.iter().for_each(|node| node.leaves(!wanted, visit));
            }
        }
    }

    /// The query in FTS5's words, each leaf written by `leaf`.
    pub(crate) fn to_fts(&self, leaf: &impl Fn(&Leaf) -> String) -> String {
        let joined = |nodes: &[Node], by: &str| {
            let parts: Vec<String> = nodes.iter().map(|node| node.to_fts(leaf)).collect();
            format!("({})", parts.join(by))
        };
        match self {
            Self::Leaf(one) => leaf(one),
            Self::Or(any) => joined(any, " OR "),
            Self::And { all, none } if none.is_empty() => joined(all, " AND "),
            Self::And { all, none } => format!("({} NOT {})", joined(all, " AND "), joined(none, " OR ")),
        }
    }
}

impl Leaf {
    /// The leaf as a query of `messages_fts`; a run has none there.
    pub(crate) fn in_words(&self) -> Option<String> {
        match self {
            Self::Words { words, prefix, first } => Some(format!(
                "{}{}{}",
                if *first { "^" } else { "" },
                quoted(words),
                if *prefix { " *" } else { "" }
            )),
            Self::Near { groups, distance } => {
                let groups: Vec<String> = groups.iter().map(|words| quoted(words)).collect();
                Some(format!("NEAR({}, {distance})", groups.join(" ")))
            }
            Self::Run(_) => None,
        }
    }

    /// The leaf as a query of `message_pairs`, where words stand that are glued to a run.
    pub(crate) fn in_pairs(&self) -> String {
        match self {
            Self::Words { words, prefix, .. } => {
                format!("{}{}", quoted(words), if *prefix { " *" } else { "" })
            }
            Self::Near { groups, distance } => {
                let groups: Vec<String> = groups.iter().map(|words| quoted(words)).collect();
                format!("NEAR({}, {distance})", groups.join(" "))
            }
            Self::Run(run) => match pairs::pairs(run) {
                pairs if pairs.is_empty() => format!("{} *", quoted(std::slice::from_ref(run))),
                pairs => quoted(&pairs),
            },
        }
    }
}

/// Words as one phrase of FTS5. They hold letters and digits only, so nothing has to be escaped.
fn quoted(words: &[String]) -> String {
    format!("\"{}\"", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> String {
        parse(text).map_or_else(String::new, |node| {
            node.to_fts(&|leaf| {
                leaf.in_words()
                    .unwrap_or_else(|| format!("<{}>", leaf.in_pairs()))
            })
        })
    }

    #[test]
    fn a_query_is_understood_as_people_mean_it() {
        for (typed, meant) in [
            ("docker networking", r#"("docker" AND "networking")"#),
            ("chat-send", r#""chat send""#),
            ("wrong-book OR docker", r#"("wrong book" OR "docker")"#),
            ("\"docker networking\"", r#""docker networking""#),
            ("TODO: fix", r#"("todo" AND "fix")"#),
            ("don't", r#""don t""#),
            ("src/main.rs", r#""src main rs""#),
            ("snake_case", r#""snake case""#),
            ("docker NOT host", r#"(("docker") NOT ("host"))"#),
            ("(a OR b) NOT c", r#"((("a" OR "b")) NOT ("c"))"#),
            ("dock*", r#""dock" *"#),
            ("\"two wor\"*", r#""two wor" *"#),
            ("^first", r#"^"first""#),
            ("NEAR(a b, 5)", r#"NEAR("a" "b", 5)"#),
            ("NEAR(a b)", r#"NEAR("a" "b", 10)"#),
            ("a AND OR b", r#"("a" OR "b")"#),
            ("NOT NOT a", r#""a""#),
            ("or and not", r#"("or" AND "and" AND "not")"#),
            ("a ) b", r#"("a" AND "b")"#),
            ("广西 NOT 桂林", r#"((<"广西">) NOT (<"桂林">))"#),
            ("桂", "<\"桂\" *>"),
            ("Agent通信协议", r#"("agent" AND <"通信 信协 协议">)"#),
        ] {
            assert_eq!(words(typed), meant, "{typed}");
        }
    }

    #[test]
    fn nothing_to_look_for_is_nothing() {
        for typed in [
            "", "\"", "AND", "(((", "*", "-", "^", "\"\"", "NOT a", "NEAR(", "OR OR", ")(", "!!!",
        ] {
            assert_eq!(parse(typed), None, "{typed}");
        }
    }
}
