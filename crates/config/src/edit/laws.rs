//! What holds of every file: one value changes, nothing else does.

use proptest::collection::vec;
use proptest::prelude::*;

use super::{scalar, set, unset};
use crate::yaml::{Value, parse};

/// A file of nested sections as people write them, with comments, blank lines and both styles.
#[derive(Clone, Debug)]
enum Tree {
    Leaf(String),
    Nothing,
    Words(Vec<String>),
    Section(Vec<(String, Tree)>),
    Inline(Vec<(String, String)>),
}

fn key() -> impl Strategy<Value = String> {
    "[a-d]"
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z0-9:/ '\"#-]{0,12}",
        Just("true".to_owned()),
        Just("1.5".to_owned())
    ]
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        word().prop_map(Tree::Leaf),
        Just(Tree::Nothing),
        vec(word(), 1..3).prop_map(Tree::Words),
        vec((key(), word()), 0..3).prop_map(Tree::Inline),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        vec((key(), inner), 1..4).prop_map(Tree::Section)
    })
}

fn write(entries: &[(String, Tree)], depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    let mut used: Vec<&str> = Vec::new();
    for (name, value) in entries {
        if used.contains(&name.as_str()) {
            continue;
        }
        used.push(name);
        match value {
            Tree::Leaf(text) => out.push_str(&format!("{indent}{name}: {}  # about {name}\n", scalar(text))),
            Tree::Nothing => out.push_str(&format!("{indent}{name}:\n\n")),
            Tree::Words(words) => {
                out.push_str(&format!("{indent}{name}:\n"));
                words
                    .iter()
                    .for_each(|word| out.push_str(&format!("{indent}  - {}\n", scalar(word))));
            }
            Tree::Section(inner) => {
                out.push_str(&format!("{indent}{name}:  # section\n"));
                write(inner, depth + 1, out);
            }
            Tree::Inline(pairs) => {
                let mut unlike = pairs.clone();
                unlike.sort();
                unlike.dedup_by(|a, b| a.0 == b.0);
                let pairs: Vec<String> = unlike
                    .iter()
                    .map(|(key, value)| format!("{key}: {}", scalar(value)))
                    .collect();
                out.push_str(&format!("{indent}{name}: {{{}}}\n", pairs.join(", ")));
            }
        }
    }
}

fn file() -> impl Strategy<Value = String> {
    vec((key(), tree()), 0..4).prop_map(|entries| {
        let mut text = "# mine\n".to_owned();
        write(&entries, 0, &mut text);
        text
    })
}

fn comments(text: &str) -> usize {
    text.lines()
        .filter(|line| line.trim_start().starts_with('#'))
        .count()
}

fn read(text: &str, path: &str) -> Option<String> {
    match &parse(text).ok()??.at(path)?.value {
        Value::Scalar { text, .. } => Some(text.clone()),
        Value::Null | Value::List(_) | Value::Map(_) => None,
    }
}

proptest! {
    #[test]
    fn a_value_that_was_set_is_read_back_or_the_file_is_refused_for_a_reason(
        text in file(), path in "[a-d](\\.[a-d]){0,2}", value in word(),
    ) {
        match set(&text, &path, &scalar(&value)) {
            Ok(changed) => {
                prop_assert_eq!(read(&changed, &path), Some(value), "{}", changed);
                prop_assert_eq!(comments(&changed), comments(&text));
            }
            // A value stands where a section is needed; everything else can be changed.
            Err(refusal) => prop_assert!(matches!(refusal, super::Refusal::NotASection(_)), "{refusal:?} in\n{text}"),
        }
    }

    #[test]
    fn taking_a_new_value_away_again_gives_the_old_file(text in file(), value in word()) {
        let changed = set(&text, "zz.new", &scalar(&value));
        let changed = changed.map_err(|refusal| TestCaseError::fail(format!("{refusal:?} in\n{text}")))?;
        let back = unset(&changed, "zz.new").map_err(|refusal| TestCaseError::fail(format!("{refusal:?}")))?;
        prop_assert_eq!(back, Some(text));
    }

    #[test]
    fn no_text_at_all_makes_the_editor_panic(text in "[a-c:{}\\[\\]#&*|>'\" \n-]{0,40}", path in "[a-c](\\.[a-c])?") {
        let _ = set(&text, &path, "1");
        let _ = unset(&text, &path);
    }
}
