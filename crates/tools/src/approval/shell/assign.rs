//! What a script's variables stand for, and when that is no longer known.

use tree_sitter::Node;

use super::super::matchers::variables::is_telling;
use super::Call;
use super::walk::{HIDDEN_PROGRAM, Place, Walk, named};
use super::word::Word;

impl Walk<'_> {
    /// Notes that `name` gets a value: with more than one, what a program's name comes to is not known.
    pub(super) fn set_by_script(&mut self, name: &str) {
        let times = self.assigned.entry(name.to_owned()).or_default();
        *times += 1;
        if self.named_programs.contains(name) {
            self.scene.unreadable = Some(HIDDEN_PROGRAM);
        }
    }

    /// A variable that makes other programs run something is seen as a call of `export`.
    pub(super) fn note_variable(&mut self, name: &str, value: &Word, place: &Place) {
        if !is_telling(name) {
            return;
        }
        let mut setting = Word::plain(&format!("{name}="));
        setting.pieces.extend(value.pieces.iter().cloned());
        self.scene.calls.push(Call {
            program: "export".into(),
            words: vec![Word::plain("export"), setting],
            wrappers: place.wrappers.clone(),
            folder: self.folder.clone(),
            home: place.home.clone(),
            ..Call::default()
        });
    }

    /// `for NAME in …`: the name has every value in turn.
    pub(super) fn loop_over(&mut self, node: Node<'_>, place: &Place) {
        let mut cursor = node.walk();
        let values: Vec<Node<'_>> = node.children_by_field_name("value", &mut cursor).collect();
        for value in values {
            let word = self.word(value, &place.inner());
            self.scene.loops.push(word);
        }
        if let Some(name) = node.child_by_field_name("variable") {
            self.forget(self.text(name));
        }
        if let Some(body) = node.child_by_field_name("body") {
            self.visit(body, place);
        }
    }

    /// `export`, `declare` and their like: a name in quotes is set as well.
    pub(super) fn declaration(&mut self, node: Node<'_>, place: &Place) {
        for part in named(node) {
            if matches!(part.kind(), "string" | "raw_string" | "concatenation" | "word") {
                let text = self.word(part, place).text();
                if let Some((name, value)) = text.split_once('=') {
                    self.note_variable(name, &Word::plain(value), place);
                    self.forget(name);
                }
            }
        }
        self.children(node, place);
    }

    /// What `name` stands for is no longer known.
    pub(super) fn forget(&mut self, name: &str) {
        self.set_by_script(name);
        self.variables.remove(name);
    }

    /// Variables that `call` sets to what it reads.
    pub(super) fn sets(&mut self, call: &Call) {
        let names: Vec<String> = match call.program.as_str() {
            "read" | "mapfile" | "readarray" | "getopts" | "unset" | "let" => call.texts().collect(),
            "printf" if call.texts().next().is_some_and(|text| text.starts_with("-v")) => {
                call.texts().take(2).collect()
            }
            _ => return,
        };
        for name in names {
            self.variables
                .remove(name.split(['=', '[']).next().unwrap_or_default());
        }
    }
}
