use rstest::rstest;
use serde_json::{Map, Value, json};

use super::*;

fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("not an object: {other}"),
    }
}

#[rstest]
#[case::empty("", json!({}))]
#[case::null("null", json!({}))]
#[case::plain(r#"{"a": 1}"#, json!({"a": 1}))]
#[case::doubled(r#"{"a": 1}{"a": 1}"#, json!({"a": 1}))]
#[case::stray_brace(r#"{"a": 1}}"#, json!({"a": 1}))]
#[case::trailing_comma(r#"{"a": [1, 2,], }"#, json!({"a": [1, 2]}))]
#[case::raw_newline("{\"a\": \"x\n\ty\"}", json!({"a": "x\n\ty"}))]
#[case::double_encoded(r#""{\"a\": 1}""#, json!({"a": 1}))]
#[case::bare_quotes(r#""{"a": 1}""#, json!({"a": 1}))]
#[case::fence("```json\n{\"a\": 1}\n```", json!({"a": 1}))]
#[case::python(r#"{"a": True, "b": None, "c": "True"}"#, json!({"a": true, "b": null, "c": "True"}))]
#[case::comma_in_text(r#"{"a": "x,}",}"#, json!({"a": "x,}"}))]
#[case::lone_surrogate(r#"{"a": "x\ud83dy"}"#, json!({"a": "x\u{fffd}y"}))]
#[case::pair_kept("{\"a\": \"\\ud83d\\ude00\n\"}", json!({"a": "\u{1f600}\n"}))]
#[case::quote_escape(r#"{"a": "it\'s"}"#, json!({"a": "it's"}))]
fn odd_argument_strings_run_as_what_they_mean(#[case] raw: &str, #[case] meant: Value) {
    assert_eq!(understand("t", raw), Ok(map(meant)));
}

#[test]
fn arguments_that_are_cut_off_say_so_and_where() {
    let cut = understand(
        "write_file",
        r##"{"path": "cut.sh", "content":"#!/bin/sh\n echo"##,
    )
    .unwrap_err();
    assert!(
        matches!(&cut, Misread::CutOff(text) if text.contains("cut off after 46 characters")),
        "{cut:?}"
    );
    assert!(matches!(
        understand("t", r#"{"command": "echo a""#),
        Err(Misread::CutOff(_))
    ));
}

#[test]
fn malformed_arguments_are_called_malformed_and_not_cut() {
    let bad = understand("terminal", r#"{"action": listt_windows"}"#).unwrap_err();
    assert!(
        matches!(&bad, Misread::Malformed(text) if text.contains("listt_windows")),
        "{bad:?}"
    );
    assert!(!bad.text().contains("limit"));
}

#[rstest]
#[case("[1]")]
#[case("3")]
#[case("\"ls -l\"")]
#[case("true")]
fn arguments_that_are_no_object_run_nothing(#[case] raw: &str) {
    assert!(matches!(understand("t", raw), Err(Misread::NotAnObject(_))));
}

#[test]
fn two_different_objects_are_not_reduced_to_one() {
    assert!(matches!(
        understand("t", r#"{"a": 1}{"a": 2}"#),
        Err(Misread::Malformed(_))
    ));
}

#[rstest]
#[case("Read_File", Some("read_file"))]
#[case(" read_file", Some("read_file"))]
#[case("read-file", Some("read_file"))]
#[case("ReadFile", Some("read_file"))]
#[case("read_fileread_file", Some("read_file"))]
#[case("functions.read_file", Some("read_file"))]
#[case("default_api:read_file", Some("read_file"))]
#[case("read_file_tool", Some("read_file"))]
#[case("ReadFileTool", Some("read_file"))]
#[case("terminal\" parameter=\"command", Some("terminal"))]
#[case("<terminal>", Some("terminal"))]
#[case("reed_filet_x", None)]
#[case("github.read_file", None)]
#[case("read_files", None)]
#[case("", None)]
#[case("tool", None)]
fn only_a_name_that_can_mean_one_tool_is_repaired(#[case] name: &str, #[case] meant: Option<&str>) {
    let valid = ["patch", "read_file", "terminal"].map(str::to_owned);
    assert_eq!(resolve(name, &valid), meant);
}

#[test]
fn values_get_the_types_of_the_schema() {
    let schema = json!({"type": "object", "required": ["s"], "properties": {
        "s": {"type": "string"}, "i": {"type": "integer"}, "b": {"type": "boolean"}, "n": {"type": "number"},
        "gone": {"type": "integer"}, "null_text": {"type": "string"}, "list": {"type": "array", "items": {"type": "string"}},
        "e": {"type": "string", "enum": ["content", "files"]},
        "todos": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "string"}}}}}});
    let mut args = map(
        json!({"s": 5, "i": "12", "b": "True", "n": "1.5", "gone": "null", "null_text": "null",
        "list": "one", "e": " Files", "todos": "[{\"id\": 1}]"}),
    );
    coerce(&mut args, &schema);
    assert_eq!(
        Value::Object(args),
        json!({"s": "5", "i": 12, "b": true, "n": 1.5, "null_text": "null", "list": ["one"], "e": "files",
            "todos": [{"id": "1"}]})
    );
}

proptest::proptest! {
    #[test]
    fn any_text_is_understood_or_refused_without_a_panic(raw in "\\PC*|[{}\\[\\]\",:\\\\a-z0-9 \n]{0,60}") {
        let _ = understand("t", &raw);
        let _ = resolve(&raw, &["read_file".to_owned()]);
    }

    #[test]
    fn valid_objects_are_never_changed(object in proptest::collection::hash_map("\\PC{0,8}", "\\PC{0,8}", 0..5)) {
        let text = serde_json::to_string(&object).unwrap();
        let back = understand("t", &text).unwrap();
        proptest::prop_assert_eq!(serde_json::to_string(&back).unwrap(), text);
    }
}

#[test]
fn a_list_or_an_object_ran_as_the_text_of_a_command() {
    let schema =
        json!({"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]});
    for value in [json!(["touch", "x"]), json!({"cmd": "touch x"})] {
        let mut args = json!({ "command": value }).as_object().unwrap().clone();
        coerce(&mut args, &schema);
        assert_eq!(args["command"], value);
    }
    let mut args = json!({"command": 5}).as_object().unwrap().clone();
    coerce(&mut args, &schema);
    assert_eq!(args["command"], "5");
}
