use super::*;

fn names(toolsets: &[&str], disabled: &[&str]) -> Vec<String> {
    let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    Registry::builtin()
        .select(&own(toolsets), &own(disabled), 200_000)
        .unwrap()
        .names
}

#[test]
fn the_file_toolset_is_exactly_the_four_file_tools() {
    assert_eq!(
        names(&["file"], &[]),
        ["patch", "read_file", "search_files", "write_file"]
    );
}

#[test]
fn toolsets_of_hermes_that_are_not_here_select_nothing() {
    assert_eq!(names(&["vision", "todo", "browser"], &[]), ["todo"]);
    assert!(names(&["hermes-cli"], &["file", "clarify"]).contains(&"todo".to_owned()));
    assert!(!names(&[], &["patch"]).contains(&"patch".to_owned()));
}

#[test]
fn an_unknown_toolset_is_an_error_that_lists_what_there_is() {
    let registry = Registry::builtin();
    for wrong in ["bogus", "web"] {
        let error = registry
            .select(&[wrong.to_owned()], &[], 0)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(wrong) && error.contains("file, ") && error.contains("debugging"),
            "{error}"
        );
    }
}

#[test]
fn specs_are_sorted_sound_and_lean() {
    let registry = Registry::builtin();
    let specs = registry.specs(&registry.select(&[], &[], 0).unwrap());
    assert!(specs.is_sorted_by_key(|spec| &spec.name));
    for spec in specs.iter() {
        let properties = spec.parameters["properties"].as_object().unwrap();
        assert_eq!(spec.parameters["type"], "object", "{}", spec.name);
        assert!(
            schema::required(&spec.parameters)
                .iter()
                .all(|name| properties.contains_key(*name))
        );
        assert!(
            properties
                .values()
                .all(|property| property["description"].is_string()),
            "{}",
            spec.parameters
        );
        let text = spec.parameters.to_string();
        assert!(
            !["$ref", "anyOf", "oneOf", "null", "$schema"]
                .iter()
                .any(|word| text.contains(word)),
            "{text}"
        );
    }
    assert_eq!(specs.len(), 9);
    let bytes = serde_json::to_string(&specs[..]).unwrap().len();
    assert!(bytes <= 9_000, "{bytes} bytes of schemas");
}

#[test]
fn a_small_window_gets_at_most_1200_tokens_of_schemas() {
    let registry = Registry::builtin();
    let selection = registry.select(&[], &[], 8_192).unwrap();
    assert!(selection.compact);
    let specs = registry.specs(&selection);
    assert!(specs.iter().map(rough_tokens).sum::<usize>() <= COMPACT_TOKENS);
    assert!(specs.len() >= 7, "{:?}", selection.names);
    assert!(!registry.select(&[], &[], COMPACT_BELOW).unwrap().compact);
}
