//! Walks the grammar's tree of a script and collects what it would run.

use std::collections::HashMap;
use std::sync::Arc;

use tree_sitter::{Node, Parser};

use super::quoting::{unescape, unescape_ansi, unescape_double};
use super::unwrap::{Unwrapped, program_name, unwrap};
use super::word::{Piece, Word};
use super::{Call, DEEPEST, DEEPEST_SCRIPT, MOST_CALLS, Scene, crude};

/// Shells whose scripts are read.
pub(crate) const SHELLS: &[&str] = &["bash", "sh", "zsh", "ksh", "dash", "ash", "fish", "rbash", "mksh"];

/// Where a script stands.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    depth: usize,
    wrappers: Vec<String>,
    sudo_options: Vec<String>,
    upstream: Vec<String>,
    /// Known input of the next program of a pipeline.
    input: Option<String>,
    folder: Option<String>,
    home: Option<Arc<str>>,
    within: Option<String>,
    background: bool,
}

impl Place {
    /// Where a whole command stands.
    pub(super) fn start(folder: Option<&str>, home: Option<&str>) -> Self {
        let home = home
            .map(|home| home.trim_end_matches('/'))
            .filter(|home| !home.is_empty());
        Self {
            folder: folder.map(str::to_owned),
            home: home.map(Arc::from),
            ..Self::default()
        }
    }

    /// Inside of a substitution or a group: nothing is piped in.
    fn inner(&self) -> Self {
        Self {
            upstream: Vec::new(),
            input: None,
            background: false,
            ..self.clone()
        }
    }
}

/// Reads `source` into `scene`.
pub(super) fn script(scene: &mut Scene, source: &str, place: &Place) {
    if place.depth > DEEPEST_SCRIPT {
        scene.unreadable = Some("scripts are nested too deeply to be read");
        return;
    }
    let mut parser = Parser::new();
    let parsed = parser
        .set_language(&tree_sitter_bash::LANGUAGE.into())
        .ok()
        .and_then(|()| parser.parse(source, None));
    let Some(tree) = parsed else {
        scene.unreadable = Some("the command could not be parsed");
        return;
    };
    let root = tree.root_node();
    let mut walk = Walk {
        scene,
        source,
        variables: HashMap::new(),
        folder: place.folder.clone(),
        level: 0,
    };
    walk.visit(root, place);
    if root.has_error() {
        for words in crude::commands(source) {
            walk.call(words, place);
        }
    }
}

struct Walk<'a> {
    scene: &'a mut Scene,
    source: &'a str,
    variables: HashMap<String, Word>,
    folder: Option<String>,
    level: usize,
}

impl<'a> Walk<'a> {
    fn text(&self, node: Node<'_>) -> &'a str {
        self.source.get(node.byte_range()).unwrap_or_default()
    }

    fn visit(&mut self, node: Node<'_>, place: &Place) {
        if self.level > DEEPEST {
            self.scene.unreadable = Some("the command is nested too deeply to be read");
            return;
        }
        if self.scene.calls.len() > MOST_CALLS {
            self.scene.unreadable = Some("the command runs too many programs to be read");
            return;
        }
        self.level += 1;
        match node.kind() {
            "command" => self.command(node, place),
            "pipeline" => self.pipeline(node, place),
            "redirected_statement" => self.redirected(node, place),
            "function_definition" => self.function(node, place),
            "variable_assignment" => self.assignment(node, place),
            "heredoc_redirect" => self.heredoc(node, place),
            "file_redirect" | "herestring_redirect" => {
                let from = self.scene.calls.len();
                self.redirect(node, from, place);
            }
            "comment" | "raw_string" | "ansi_c_string" => {}
            _ => self.children(node, place),
        }
        self.level -= 1;
    }

    fn children(&mut self, node: Node<'_>, place: &Place) {
        let mut cursor = node.walk();
        let all: Vec<Node<'_>> = node.children(&mut cursor).collect();
        for (index, child) in all.iter().enumerate().filter(|(_, child)| child.is_named()) {
            let background = all.get(index + 1).is_some_and(|next| next.kind() == "&");
            if background {
                self.visit(
                    *child,
                    &Place {
                        background: true,
                        ..place.clone()
                    },
                );
            } else {
                self.visit(*child, place);
            }
        }
    }

    /// A pipeline: each program sees those before it.
    fn pipeline(&mut self, node: Node<'_>, place: &Place) {
        let mut here = place.clone();
        for part in named(node) {
            let from = self.scene.calls.len();
            self.visit(part, &here);
            self.flow(from, &mut here);
        }
    }

    /// Moves `place` behind the calls from `from` on.
    fn flow(&self, from: usize, place: &mut Place) {
        let calls = self.scene.calls.get(from..).unwrap_or_default();
        place.input = calls.last().and_then(literal_output);
        place
            .upstream
            .extend(calls.iter().map(|call| call.program.clone()));
    }

    fn redirected(&mut self, node: Node<'_>, place: &Place) {
        let from = self.scene.calls.len();
        if let Some(body) = node.child_by_field_name("body") {
            self.visit(body, place);
        }
        for part in named(node) {
            match part.kind() {
                "file_redirect" | "herestring_redirect" => self.redirect(part, from, place),
                "heredoc_redirect" => self.heredoc_for(part, from, place),
                "ERROR" => self.children(part, place),
                _ => {}
            }
        }
    }

    /// A redirection of the calls from `from` on.
    fn redirect(&mut self, node: Node<'_>, from: usize, place: &Place) {
        if node.kind() == "herestring_redirect" {
            let word = node
                .named_child(0)
                .map(|word| self.word(word, place))
                .unwrap_or_default();
            self.feed(from, word.text());
            return;
        }
        let mut cursor = node.walk();
        let operator = node.children(&mut cursor).find(|part| !part.is_named());
        let writes = operator.is_some_and(|operator| operator.kind().contains('>'));
        let targets: Vec<Word> = named(node)
            .into_iter()
            .filter(|part| part.kind() != "file_descriptor")
            .map(|part| self.word(part, place))
            .collect();
        if !writes {
            return;
        }
        if self.scene.calls.len() == from {
            self.call(Vec::new(), place);
        }
        for call in &mut self.scene.calls[from..] {
            call.writes.extend(targets.iter().cloned());
        }
    }

    /// A heredoc that stands alone.
    fn heredoc(&mut self, node: Node<'_>, place: &Place) {
        let from = self.scene.calls.len();
        self.heredoc_for(node, from, place);
    }

    /// A heredoc of the calls from `from` on; what follows it on its line stands inside of its node.
    fn heredoc_for(&mut self, node: Node<'_>, from: usize, place: &Place) {
        let body = named(node).into_iter().find(|part| part.kind() == "heredoc_body");
        if let Some(body) = body {
            let text = self.text(body).to_owned();
            self.feed(from, text);
            self.children(body, &place.inner());
        }
        let mut behind = place.clone();
        self.flow(from, &mut behind);
        for part in named(node) {
            match part.kind() {
                "heredoc_body" | "heredoc_start" | "heredoc_end" | "file_descriptor" => {}
                "file_redirect" | "herestring_redirect" => self.redirect(part, from, place),
                "pipeline" => self.visit(part, &behind),
                _ => self.visit(part, place),
            }
        }
    }

    /// Gives the last call since `from` a text to read; a shell runs it.
    fn feed(&mut self, from: usize, text: String) {
        if self.scene.calls.len() == from {
            return;
        }
        let Some(call) = self.scene.calls.last_mut() else {
            return;
        };
        call.heredoc = true;
        call.input = Some(text);
        let call = call.clone();
        self.fed_shell(&call);
    }

    fn function(&mut self, node: Node<'_>, place: &Place) {
        let name = node
            .child_by_field_name("name")
            .map(|name| self.text(name).to_owned())
            .unwrap_or_default();
        let from = self.scene.calls.len();
        let inside = Place {
            within: Some(name.clone()),
            ..place.inner()
        };
        if let Some(body) = node.child_by_field_name("body") {
            self.visit(body, &inside);
        }
        let calls = self.scene.calls.get(from..).unwrap_or_default();
        let of_itself = |call: &&Call| call.words.first().is_some_and(|word| word.text() == name);
        let multiplies = calls
            .iter()
            .filter(of_itself)
            .any(|call| call.background || call.upstream.iter().any(|before| *before == name.to_lowercase()));
        if multiplies {
            self.scene.multiplying.push(name);
        }
    }

    fn assignment(&mut self, node: Node<'_>, place: &Place) {
        let Some(name) = node.child_by_field_name("name") else {
            return self.children(node, place);
        };
        let Some(value) = node.child_by_field_name("value") else {
            return;
        };
        if value.kind() == "array" || name.kind() != "variable_name" {
            return self.children(value, &place.inner());
        }
        let value = self.word(value, place);
        self.variables.insert(self.text(name).to_owned(), value);
    }

    fn command(&mut self, node: Node<'_>, place: &Place) {
        let mut words = Vec::new();
        let mut redirects = Vec::new();
        for part in named(node) {
            match part.kind() {
                "variable_assignment" => self.assignment(part, place),
                "file_redirect" | "herestring_redirect" | "heredoc_redirect" => redirects.push(part),
                "command_name" => {
                    let name = part.named_child(0).unwrap_or(part);
                    self.fields(name, place, &mut words);
                }
                "comment" => {}
                _ => self.fields(part, place, &mut words),
            }
        }
        let from = self.scene.calls.len();
        self.call(words, place);
        for redirect in redirects {
            if redirect.kind() == "heredoc_redirect" {
                self.heredoc_for(redirect, from, place);
            } else {
                self.redirect(redirect, from, place);
            }
        }
    }

    /// Adds the call of `words`, and whatever that call would run in turn.
    pub(super) fn call(&mut self, words: Vec<Word>, place: &Place) {
        if self.scene.calls.len() > MOST_CALLS {
            return;
        }
        let Unwrapped {
            words,
            wrappers,
            sudo_options,
        } = unwrap(words);
        if words.is_empty() && !wrappers.is_empty() {
            return;
        }
        let call = Call {
            program: words.first().map(program_name).unwrap_or_default(),
            words,
            input: place.input.clone(),
            upstream: place.upstream.clone(),
            wrappers: [place.wrappers.clone(), wrappers].concat(),
            sudo_options: [place.sudo_options.clone(), sudo_options].concat(),
            folder: self.folder.clone(),
            home: place.home.clone(),
            within: place.within.clone(),
            background: place.background,
            ..Call::default()
        };
        if call.program == "cd" && !place.background {
            let target = call
                .operands()
                .first()
                .map_or_else(|| "~".to_owned(), |word| word.path(self.folder.as_deref()));
            self.folder = Some(target);
        }
        self.scene.calls.push(call.clone());
        self.nested(&call);
        self.fed_shell(&call);
    }

    /// Programs that a program runs by its arguments.
    fn nested(&mut self, call: &Call) {
        if let Some(text) = script_argument(call) {
            self.read(&text, call);
        }
        if call.is(&["find", "fd", "gfind"]) {
            for words in find_commands(call) {
                let place = Place {
                    wrappers: with(&call.wrappers, &call.program),
                    ..self.place_of(call)
                };
                self.call(words, &place);
            }
        }
    }

    /// A shell that reads a known text runs it.
    fn fed_shell(&mut self, call: &Call) {
        let reads_input = call.is(SHELLS) && call.operands().is_empty() && !call.has_option('c', "");
        let sources_input = call.is(&["source", "."])
            && call
                .operands()
                .first()
                .is_some_and(|file| file.text() == "/dev/stdin");
        if (reads_input || sources_input)
            && let Some(input) = &call.input
        {
            self.read(input, call);
        }
    }

    fn read(&mut self, source: &str, call: &Call) {
        let place = Place {
            wrappers: with(&call.wrappers, &call.program),
            ..self.place_of(call)
        };
        script(self.scene, source, &place);
    }

    /// The place of what `call` runs.
    fn place_of(&self, call: &Call) -> Place {
        Place {
            // Every script within a script has one wrapper more.
            depth: call.wrappers.len() + 1,
            wrappers: call.wrappers.clone(),
            sudo_options: call.sudo_options.clone(),
            folder: call.folder.clone(),
            home: call.home.clone(),
            within: call.within.clone(),
            ..Place::default()
        }
    }

    /// The words that `node` becomes: braces are expanded, unquoted values split.
    fn fields(&mut self, node: Node<'_>, place: &Place, words: &mut Vec<Word>) {
        let word = self.word(node, place);
        for word in expand_braces(word) {
            words.extend(split(word));
        }
    }

    fn word(&mut self, node: Node<'_>, place: &Place) -> Word {
        let mut word = Word::default();
        self.pieces(node, place, false, &mut word.pieces);
        word
    }

    fn pieces(&mut self, node: Node<'_>, place: &Place, quoted: bool, out: &mut Vec<Piece>) {
        self.level += 1;
        if self.level > DEEPEST {
            self.scene.unreadable = Some("the command is nested too deeply to be read");
            self.level -= 1;
            return;
        }
        let text = self.text(node);
        match node.kind() {
            "raw_string" => literal(out, strip_ends(text, 1), true),
            "ansi_c_string" => literal(
                out,
                &unescape_ansi(strip_ends(text.strip_prefix('$').unwrap_or(text), 1)),
                true,
            ),
            "string" => self.parts(node, place, true, out),
            "translated_string" | "concatenation" | "command_name" => self.parts(node, place, quoted, out),
            "simple_expansion" => self.variable(text.trim_start_matches('$'), quoted, out),
            "expansion" => self.expansion(node, place, quoted, out),
            "command_substitution" | "process_substitution" => self.substitution(node, place, quoted, out),
            "arithmetic_expansion" => {
                self.children(node, &place.inner());
                out.push(Piece::Unknown);
            }
            "array" | "subscript" => {
                self.children(node, &place.inner());
                out.push(Piece::Unknown);
            }
            _ if quoted => literal(out, &unescape_double(text), true),
            _ => bare(out, text),
        }
        self.level -= 1;
    }

    /// The parts of a string or a concatenation, and the plain text between them.
    fn parts(&mut self, node: Node<'_>, place: &Place, quoted: bool, out: &mut Vec<Piece>) {
        let is_string = node.kind() == "string";
        let (start, end) = if is_string && node.byte_range().len() >= 2 {
            (node.start_byte() + 1, node.end_byte() - 1)
        } else if node.kind() == "translated_string" {
            (node.start_byte() + 1, node.end_byte())
        } else {
            (node.start_byte(), node.end_byte())
        };
        let mut at = start;
        for part in named(node) {
            if part.kind() == "string_content" {
                continue;
            }
            self.gap(at, part.start_byte(), quoted, out);
            self.pieces(part, place, quoted, out);
            at = part.end_byte();
        }
        self.gap(at, end, quoted, out);
    }

    fn gap(&self, from: usize, to: usize, quoted: bool, out: &mut Vec<Piece>) {
        let Some(text) = self.source.get(from..to).filter(|text| !text.is_empty()) else {
            return;
        };
        if quoted {
            literal(out, &unescape_double(text), true)
        } else {
            bare(out, text)
        }
    }

    fn variable(&self, name: &str, quoted: bool, out: &mut Vec<Piece>) {
        match self.variables.get(name) {
            Some(value) if out.len() + value.pieces.len() < 64 => {
                out.extend(value.pieces.iter().cloned().map(|piece| match piece {
                    Piece::Text { text, .. } => Piece::Text { text, quoted },
                    other => other,
                }));
            }
            _ if name == "IFS" && !quoted => bare(out, " "),
            _ => out.push(Piece::Variable(name.to_owned())),
        }
    }

    /// `${…}`: the value of a plain name, or the default it falls back to.
    fn expansion(&mut self, node: Node<'_>, place: &Place, quoted: bool, out: &mut Vec<Piece>) {
        self.children(node, &place.inner());
        let inner = strip_ends(self.text(node).trim_start_matches('$'), 1);
        let end = inner
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(inner.len());
        let (name, operation) = inner.split_at(end);
        let default = [":-", "-", ":=", "="]
            .iter()
            .find_map(|operator| operation.strip_prefix(operator));
        match default {
            _ if name.is_empty() => out.push(Piece::Unknown),
            _ if operation.is_empty() => self.variable(name, quoted, out),
            Some(_) if self.variables.contains_key(name) => self.variable(name, quoted, out),
            Some(default) if !default.contains(['$', '`']) => bare(out, default.trim_matches(['"', '\''])),
            _ => out.push(Piece::Unknown),
        }
    }

    /// A substitution: what it runs is collected; what it prints is known when it only repeats a text.
    fn substitution(&mut self, node: Node<'_>, place: &Place, quoted: bool, out: &mut Vec<Piece>) {
        let from = self.scene.calls.len();
        self.children(node, &place.inner());
        let calls = self.scene.calls.get(from..).unwrap_or_default();
        if let [call] = calls
            && node.kind() == "command_substitution"
            && let Some(text) = literal_output(call).or_else(|| looked_up(call))
        {
            let text = text.trim_end_matches('\n').to_owned();
            out.push(Piece::Text { text, quoted });
            return;
        }
        out.push(Piece::Output(
            calls.iter().map(|call| call.program.clone()).collect(),
        ));
    }
}

fn named(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).collect()
}

fn with(names: &[String], name: &str) -> Vec<String> {
    names.iter().cloned().chain([name.to_owned()]).collect()
}

fn literal(out: &mut Vec<Piece>, text: &str, quoted: bool) {
    out.push(Piece::Text {
        text: text.to_owned(),
        quoted,
    });
}

/// Unquoted text; what is escaped in it counts as quoted.
fn bare(out: &mut Vec<Piece>, text: &str) {
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        if at > 0 {
            literal(out, &rest[..at], false);
        }
        let after = rest[at + 1..].chars().next().map_or(0, char::len_utf8);
        let (escape, tail) = rest[at..].split_at(1 + after);
        literal(out, &unescape(escape), true);
        rest = tail;
    }
    if !rest.is_empty() {
        literal(out, rest, false);
    }
}

fn strip_ends(text: &str, count: usize) -> &str {
    text.get(count..text.len().saturating_sub(count))
        .unwrap_or_default()
}

/// What a call prints, when it only repeats its words or its input.
fn literal_output(call: &Call) -> Option<String> {
    match call.program.as_str() {
        "echo" | "printf" if call.args().iter().all(Word::is_known) => {
            let words: Vec<String> = call
                .texts()
                .skip_while(|text| matches!(text.as_str(), "-n" | "-e" | "-ne" | "-en" | "--"))
                .collect();
            // A format that fills in nothing but its arguments comes to them.
            let words = match words.first() {
                Some(format)
                    if call.program == "printf"
                        && words.len() > 1
                        && format.trim_end_matches("\\n") == "%s" =>
                {
                    &words[1..]
                }
                _ => &words[..],
            };
            Some(unescape_ansi(&words.join(" ")))
        }
        "cat" | "tee" if call.operands().is_empty() || call.program == "tee" => call.input.clone(),
        _ => None,
    }
}

/// The program whose place is looked up.
fn looked_up(call: &Call) -> Option<String> {
    let operands = call.operands();
    let one = operands.first().filter(|_| operands.len() == 1)?;
    let asks = call.is(&["which", "type"]) || call.is(&["command"]) && call.has_option('v', "");
    (asks && one.is_known()).then(|| one.text())
}

/// The script that a call hands to a shell.
fn script_argument(call: &Call) -> Option<String> {
    let texts: Vec<String> = call.texts().collect();
    let joined = |from: usize| {
        texts
            .get(from..)
            .filter(|words| !words.is_empty())
            .map(|words| words.join(" "))
    };
    let after = |flag: &dyn Fn(&str) -> bool| {
        let at = texts.iter().position(|text| flag(text))?;
        texts.get(at + 1).cloned()
    };
    match call.program.as_str() {
        name if SHELLS.contains(&name) => {
            let at = texts.iter().position(|text| is_c_flag(text))?;
            // Options may stand between the flag and its script.
            texts[at + 1..]
                .iter()
                .find(|text| !text.starts_with(['-', '+']))
                .cloned()
        }
        "su" | "runuser" | "script" | "flock" => after(&|text| text == "-c" || text == "--command"),
        "eval" => joined(0),
        "trap" => texts.iter().find(|text| !text.starts_with('-')).cloned(),
        "watch" => {
            let at = texts
                .iter()
                .position(|text| !text.starts_with('-') && text.parse::<f64>().is_err())?;
            joined(at)
        }
        "env" => split_string(&texts),
        "ssh" => {
            let operands = call.operands();
            let words: Vec<String> = operands.iter().skip(1).map(|word| word.text()).collect();
            (!words.is_empty()).then(|| words.join(" "))
        }
        _ => None,
    }
}

/// The text of `env -S`, attached or not, and the words after it.
fn split_string(texts: &[String]) -> Option<String> {
    let at = texts
        .iter()
        .position(|text| text.starts_with("--split-string") || text.starts_with('-') && text.contains('S'))?;
    let attached = match texts[at].strip_prefix("--split-string") {
        Some(rest) => rest.trim_start_matches('='),
        None => texts[at].split_once('S').map_or("", |(_, rest)| rest),
    };
    Some(format!("{attached} {}", texts[at + 1..].join(" ")))
}

/// `-c`, also in a bundle such as `-lc`.
pub(crate) fn is_c_flag(text: &str) -> bool {
    let letters = text.strip_prefix('-').unwrap_or_default();
    letters.contains('c') && letters.chars().all(|c| c.is_ascii_alphabetic())
}

/// The commands of `find -exec` and its like.
fn find_commands(call: &Call) -> Vec<Vec<Word>> {
    const STARTS: &[&str] = &[
        "-exec",
        "-execdir",
        "-ok",
        "-okdir",
        "-x",
        "-X",
        "--exec",
        "--exec-batch",
    ];
    let mut found = Vec::new();
    let mut words = call.args().iter();
    while let Some(word) = words.next() {
        if STARTS.contains(&word.text().as_str()) {
            found.push(
                words
                    .by_ref()
                    .take_while(|word| !matches!(word.text().as_str(), ";" | "+"))
                    .cloned()
                    .collect(),
            );
        }
    }
    found
}

/// Expands `{a,b}` of an unquoted word.
fn expand_braces(word: Word) -> Vec<Word> {
    let simple = |word: &Word| {
        word.pieces
            .iter()
            .all(|piece| matches!(piece, Piece::Text { quoted: false, .. }))
    };
    if !simple(&word) {
        return vec![word];
    }
    let text = word.text();
    let open = text.find('{');
    let close = text.rfind('}');
    let (Some(open), Some(close)) = (open, close) else {
        return vec![word];
    };
    let inner = text.get(open + 1..close).unwrap_or_default();
    if !inner.contains(',') || inner.contains('{') || inner.matches(',').count() > 64 {
        return vec![word];
    }
    let (before, after) = (&text[..open], &text[close + 1..]);
    inner
        .split(',')
        .map(|part| Word::plain(&format!("{before}{part}{after}")))
        .filter(|word| !word.text().is_empty())
        .collect()
}

/// Splits a word where an unquoted value holds spaces.
fn split(word: Word) -> Vec<Word> {
    let splits = |piece: &Piece| matches!(piece, Piece::Text { text, quoted: false } if text.contains(char::is_whitespace));
    if !word.pieces.iter().any(splits) {
        return if word.pieces.is_empty() {
            Vec::new()
        } else {
            vec![word]
        };
    }
    let mut found = Vec::new();
    let mut current = Word::default();
    for piece in word.pieces {
        let Piece::Text { text, quoted: false } = piece else {
            current.pieces.push(piece);
            continue;
        };
        for (index, part) in text.split(char::is_whitespace).enumerate() {
            if index > 0 && !current.pieces.is_empty() {
                found.push(std::mem::take(&mut current));
            }
            if !part.is_empty() {
                literal(&mut current.pieces, part, false);
            }
        }
    }
    if !current.pieces.is_empty() {
        found.push(current);
    }
    found
}
