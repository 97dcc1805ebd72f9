//! Walks the grammar's tree of a script and collects what it would run.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Point, Tree};

use super::scripts::{find_commands, literal_output, script_argument};
use super::unwrap::{Unwrapped, called_program, program_name, unwrap};
use super::word::Word;
use super::{Call, DEEPEST, DEEPEST_SCRIPT, LONGEST_PIPELINE, MOST_CALLS, Scene, crude};

/// Shells whose scripts are read.
pub(crate) const SHELLS: &[&str] = &["bash", "sh", "zsh", "ksh", "dash", "ash", "fish", "rbash", "mksh"];

/// Why a program is not known.
pub(super) const HIDDEN_PROGRAM: &str = "the name of a program in it is only known when it runs";

/// Where a script stands.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    /// How many scripts it stands in.
    depth: usize,
    /// How many statements it stands in, in all of them.
    level: usize,
    pub(super) wrappers: Vec<String>,
    sudo_options: Vec<String>,
    upstream: Vec<String>,
    /// Known input of the next program of a pipeline.
    input: Option<Arc<str>>,
    pub(super) folder: Option<String>,
    pub(super) home: Option<Arc<str>>,
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
    pub(super) fn inner(&self) -> Self {
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
    let Some(tree) = parse(source, scene.deadline) else {
        scene.unreadable = Some("the command takes too long to be parsed");
        return;
    };
    let root = tree.root_node();
    let mut walk = Walk {
        scene,
        source,
        variables: HashMap::new(),
        assigned: HashMap::new(),
        named_programs: HashSet::new(),
        naming: false,
        crude: false,
        folder: place.folder.clone(),
        level: place.level,
    };
    walk.visit(root, place);
    if root.has_error() {
        walk.crude = true;
        for words in crude::commands(source) {
            walk.call(words, place);
        }
    }
}

/// The tree of `source`; nothing when it is not there by `deadline`.
///
/// A few texts that nobody writes (ten thousand heredocs) take the grammar a time that grows with their square.
fn parse(source: &str, deadline: Option<Instant>) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    let mut on_time = |_: &ParseState| match deadline {
        Some(deadline) if Instant::now() > deadline => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let options = ParseOptions::new().progress_callback(&mut on_time);
    let plain = in_ascii(source);
    let mut bytes = |from: usize, _: Point| plain.get(from..).unwrap_or_default();
    parser.parse_with_options(&mut bytes, None, Some(options))
}

/// `source` with a full stop for every byte beyond ASCII: of the same length, and the same to a shell's grammar,
/// which only knows them as parts of words that are no names.
///
/// The grammar's code is C and reads memory that is not its own at some characters far beyond ASCII: an emoji in a
/// command could end the process.
fn in_ascii(source: &str) -> Vec<u8> {
    let bytes = source.bytes();
    bytes
        .map(|byte| if byte.is_ascii() { byte } else { b'.' })
        .collect()
}

/// Adds everything in `source` that could be a call, when it cannot be read any better.
pub(super) fn crudely(scene: &mut Scene, source: &str, place: &Place) {
    for words in crude::commands(source) {
        let Unwrapped {
            words,
            wrappers,
            sudo_options,
            ..
        } = unwrap(words);
        scene.calls.push(Call {
            program: words.first().map(program_name).unwrap_or_default(),
            words,
            wrappers,
            sudo_options,
            folder: place.folder.clone(),
            home: place.home.clone(),
            ..Call::default()
        });
    }
}

pub(super) struct Walk<'a> {
    pub(super) scene: &'a mut Scene,
    pub(super) source: &'a str,
    pub(super) variables: HashMap<String, Word>,
    /// How often each variable gets a value.
    pub(super) assigned: HashMap<String, usize>,
    /// Variables that are part of the name of a program.
    pub(super) named_programs: HashSet<String>,
    /// Whether the name of a program is being put together.
    pub(super) naming: bool,
    /// Whether the text is cut without the grammar.
    crude: bool,
    pub(super) folder: Option<String>,
    pub(super) level: usize,
}

impl<'a> Walk<'a> {
    pub(super) fn text(&self, node: Node<'_>) -> &'a str {
        self.source.get(node.byte_range()).unwrap_or_default()
    }

    pub(super) fn visit(&mut self, node: Node<'_>, place: &Place) {
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
            "for_statement" => self.loop_over(node, place),
            "declaration_command" => self.declaration(node, place),
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

    pub(super) fn children(&mut self, node: Node<'_>, place: &Place) {
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
            if here.upstream.len() >= LONGEST_PIPELINE {
                self.scene.unreadable = Some("the pipeline is too long to be read");
            }
        }
    }

    /// Moves `place` behind the calls from `from` on.
    fn flow(&self, from: usize, place: &mut Place) {
        let calls = self.scene.calls.get(from..).unwrap_or_default();
        place.input = calls.last().and_then(literal_output);
        for call in calls {
            if !place.upstream.contains(&call.program) {
                place.upstream.push(call.program.clone());
            }
        }
        place.upstream.truncate(LONGEST_PIPELINE);
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
        if self.scene.calls.len() == from {
            self.call(Vec::new(), place);
        }
        for call in &mut self.scene.calls[from..] {
            let files = if writes { &mut call.writes } else { &mut call.reads };
            files.extend(targets.iter().cloned());
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
        call.input = Some(text.into());
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
        let adds = self.text(node)[self.text(name).len()..].starts_with('+');
        let mut value = self.word(value, place).with_home();
        let name = self.text(name);
        self.set_by_script(name);
        if adds && let Some(before) = self.variables.get(name) {
            value.pieces.splice(0..0, before.pieces.iter().cloned());
        }
        self.note_variable(name, &value, place);
        self.variables.insert(name.to_owned(), value);
    }

    /// Whether the name of the program that `words` call is only known to the shell.
    fn hidden(&self, words: &[Word]) -> bool {
        !self.crude && words.first().is_some_and(Word::hides_name)
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
                    self.naming = true;
                    self.fields(name, place, &mut words);
                    self.naming = false;
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
            assignments,
        } = unwrap(words);
        for word in assignments {
            let text = word.text();
            if let Some((name, value)) = text.split_once('=') {
                self.note_variable(name, &Word::plain(value), place);
            }
        }
        if self.hidden(&words) {
            self.scene.unreadable = Some(HIDDEN_PROGRAM);
        }
        if words.is_empty() && !wrappers.is_empty() {
            return;
        }
        let call = Call {
            program: words.first().map(called_program).unwrap_or_default(),
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
        self.sets(&call);
        self.scene.calls.push(call.clone());
        self.nested(&call);
        self.fed_shell(&call);
    }

    /// Programs that a program runs by its arguments.
    fn nested(&mut self, call: &Call) {
        if let Some(text) = script_argument(call) {
            let place = Place {
                wrappers: with(&call.wrappers, &call.program),
                upstream: call.upstream.clone(),
                input: call.input.clone(),
                ..self.place_of(call)
            };
            script(self.scene, &text, &place);
        }
        // `parallel 'rm x'`: a program with spaces in its name is a script.
        if let Some(first) = call.words.first()
            && !call.wrappers.is_empty()
            && first.text().trim().contains(char::is_whitespace)
        {
            let words: Vec<String> = call.words.iter().map(Word::text).collect();
            self.read(&words.join(" "), call);
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
            level: self.level,
            wrappers: call.wrappers.clone(),
            sudo_options: call.sudo_options.clone(),
            folder: call.folder.clone(),
            home: call.home.clone(),
            within: call.within.clone(),
            ..Place::default()
        }
    }
}

pub(super) fn named(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).collect()
}

fn with(names: &[String], name: &str) -> Vec<String> {
    names.iter().cloned().chain([name.to_owned()]).collect()
}
