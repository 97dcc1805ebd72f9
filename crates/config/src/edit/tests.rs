use super::*;

fn after(text: &str, path: &str, written: &str) -> String {
    set(text, path, written).unwrap_or_else(|refusal| panic!("{path}: {refusal:?} in\n{text}"))
}

#[test]
fn comments_order_quotes_and_unknown_keys_stay() {
    let text = "# my settings\nmodel:\n  default: \"x\"  # the best\nagent:\n  max_turns: 5 # few\n\nunknown_section:\n  x: 1  # keep me\n";
    assert_eq!(
        after(text, "agent.max_turns", "17"),
        text.replace("max_turns: 5", "max_turns: 17")
    );
    assert_eq!(after(text, "model.default", "y"), text.replace("\"x\"", "y"));
}

#[test]
fn a_new_key_joins_the_end_of_its_section() {
    let text = "agent:\n    max_turns: 5\n    # about retries\nmodel:\n  default: x";
    assert_eq!(
        after(text, "agent.api_max_retries", "2"),
        "agent:\n    max_turns: 5\n    api_max_retries: 2\n    # about retries\nmodel:\n  default: x"
    );
    assert_eq!(
        after(text, "model.provider", "custom"),
        format!("{text}\n  provider: custom\n")
    );
    assert_eq!(after(text, "a.b.c", "1"), format!("{text}\na:\n  b:\n    c: 1\n"));
}

#[test]
fn an_empty_file_and_an_empty_section_are_filled() {
    assert_eq!(after("", "a.b", "1"), "a:\n  b: 1\n");
    assert_eq!(after("# only a comment", "a", "1"), "# only a comment\na: 1\n");
    assert_eq!(after("{}\n", "a.b", "1"), "a:\n  b: 1\n");
    assert_eq!(
        after("a: {} # none\nb: 2\n", "a.c", "1"),
        "a:\n  c: 1 # none\nb: 2\n"
    );
    assert_eq!(
        after("a: # none yet\nb: 2\n", "a.c", "1"),
        "a: # none yet\n  c: 1\nb: 2\n"
    );
    assert_eq!(after("a:\nb: 2\n", "a", "1"), "a: 1\nb: 2\n");
}

#[test]
fn flow_sections_stay_flow_sections() {
    assert_eq!(after("a: {b: 1}\n", "a.b", "2"), "a: {b: 2}\n");
    assert_eq!(after("a: {b: 1}\n", "a.c", "2"), "a: {b: 1, c: 2}\n");
    assert_eq!(after("a: {b: 1}\n", "a.c.d", "2"), "a: {b: 1, c: {d: 2}}\n");
    assert_eq!(after("a: {\n  b: 1,\n}\n", "a.c", "2"), "a: {\n  b: 1, c: 2\n}\n");
}

#[test]
fn a_whole_section_or_a_long_text_can_be_replaced() {
    assert_eq!(after("a:\n  - 1\n  - 2\nb: 3\n", "a", "[4]"), "a: [4]\nb: 3\n");
    assert_eq!(after("a: |\n  one\n  two\nb: 3\n", "a", "x"), "a: x\nb: 3\n");
    assert_eq!(after("a: 'it''s'\n", "a", "x"), "a: x\n");
}

#[test]
fn the_short_form_of_a_model_is_replaced_and_not_written_twice() {
    assert_eq!(
        after("model: gpt-x # best\nb: 1\n", "model.default", "gpt-y"),
        "model:\n  default: gpt-y # best\nb: 1\n"
    );
}

#[test]
fn a_model_that_is_a_word_becomes_a_section() {
    assert_eq!(
        after("model: gpt-x # best\nb: 1\n", "model.provider", "custom"),
        "model:\n  default: gpt-x\n  provider: custom # best\nb: 1\n"
    );
    assert_eq!(
        set("agent: 5\n", "agent.max_turns", "1"),
        Err(Refusal::NotASection(1))
    );
}

#[test]
fn keys_with_dots_and_entries_of_lists_are_reached() {
    let text = "providers:\n  x:\n    models:\n      gpt-4.1:\n        context_length: 1\n";
    assert_eq!(
        after(text, "providers.x.models.gpt-4.1.context_length", "2"),
        text.replace("length: 1", "length: 2")
    );
    let list = "fallback_providers:\n  - model: a\n    provider: p\n  - model: b\n";
    assert_eq!(
        after(list, "fallback_providers.1.model", "c"),
        list.replace("model: b", "model: c")
    );
    assert_eq!(
        after(list, "fallback_providers.1.provider", "q"),
        format!("{list}    provider: q\n")
    );
}

#[test]
fn taking_a_key_away_takes_its_lines_and_an_empty_section() {
    let text = "# top\na:\n  b: 1 # one\n  c: 2\nd:\n  e:\n    f: 1\ng: [1, 2]\n";
    let gone = |path| unset(text, path).unwrap().unwrap();
    assert_eq!(gone("a.b"), "# top\na:\n  c: 2\nd:\n  e:\n    f: 1\ng: [1, 2]\n");
    assert_eq!(gone("d.e.f"), "# top\na:\n  b: 1 # one\n  c: 2\ng: [1, 2]\n");
    assert_eq!(gone("g"), "# top\na:\n  b: 1 # one\n  c: 2\nd:\n  e:\n    f: 1\n");
    assert_eq!(unset(text, "a.z"), Ok(None));
    assert_eq!(unset("a: {b: 1, c: 2}\n", "a.b").unwrap().unwrap(), "a: {c: 2}\n");
    assert_eq!(unset("a: {b: 1, c: 2}\n", "a.c").unwrap().unwrap(), "a: {b: 1}\n");
    assert_eq!(unset("a: 1\n", "a").unwrap().unwrap(), "");
}

#[test]
fn a_text_is_written_so_that_it_is_read_back_as_this_text() {
    let odd = [
        "", "true", "off", "12", "1.5", "null", "a: b", "a #b", "- x", "{a}", "é \"q\"", "*a", "x:", "~/d",
        "%a",
    ];
    for text in odd {
        let file = after("", "k", &scalar(text));
        let node = yaml::parse(&file).unwrap().unwrap();
        let Value::Scalar { text: read, .. } = &node.get("k").unwrap().value else {
            panic!("{file}")
        };
        assert_eq!(read, text, "{file}");
    }
}

#[test]
fn a_broken_file_is_left_alone() {
    assert!(matches!(set("a: [1\n", "a", "2"), Err(Refusal::Broken(..))));
}
