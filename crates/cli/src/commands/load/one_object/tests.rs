use super::*;

#[test]
fn a_wrapped_array_and_a_map_of_documents_are_noted() {
    let of = |text: &str| note("a.json", text.as_bytes());
    let wrapped = r#"{"type":"FeatureCollection","bbox":[1,2],"features":[{"a":1},{"a":2}]}"#;
    assert_eq!(
        of(wrapped).as_deref(),
        Some(
            "a.json is one JSON object, and was loaded as one document: --array features loads the 2 elements of the array \
             there"
        )
    );
    assert!(of(r#"{"data":{"items":[{},{},{}]}}"#).is_some_and(|note| note.contains("--array data.items")));
    let split = of(r#"{"a":{},"b":{},"c":{},"n":1}"#).expect("a note");
    assert!(split.contains("--split-object loads each of its 4 fields"), "{split}");
    for text in [r#"{"a":1,"b":{"c":1},"tags":["x","y"]}"#, "[1]", "{", r#"{"a":[{}]}"#] {
        assert_eq!(of(text), None, "{text}");
    }
}
