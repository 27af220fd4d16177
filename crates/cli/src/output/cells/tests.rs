use super::*;

fn flat(text: &str) -> Vec<String> {
    let value = json::parse(text.as_bytes()).expect("JSON");
    let fields = fields(value.as_map().expect("a map")).expect("names");
    let shown = |(path, value): (String, &Value)| {
        let cell = Cell::of(value).expect("JSON");
        format!("{path}={}", cell.text)
    };
    fields.into_iter().map(shown).collect()
}

#[test]
fn nested_fields_have_paths_and_arrays_are_json() {
    assert_eq!(
        flat(r#"{"_id": 1, "a": {"b": "x", "c": {"d": [1, {"e": "\n"}]}}, "f": {}, "g": []}"#),
        ["_id=1", "a.b=x", r#"a.c.d=[1,{"e":"\n"}]"#, "f={}", "g=[]"]
    );
    assert_eq!(flat(r#"{"a.b": 1, "": {"": 2}}"#), ["a.b=1", "=2"]);
}

#[test]
fn values_are_plain_text_where_there_is_one() {
    let shown = flat(
        r#"{"s": "a \"b\"", "n": null, "t": true, "i": -5, "x": 2.5, "y": {"$numberDouble": "NaN"},
            "z": {"$numberDouble": "-Infinity"}, "d": {"$numberDecimal": "1.50"},
            "o": {"$oid": "0102030405060708090a0b0c"}, "w": {"$date": "2024-01-02T03:04:05Z"},
            "b": {"$binary": {"base64": "AQI=", "subType": "00"}}}"#,
    );
    let expected = [
        "s=a \"b\"",
        "n=",
        "t=true",
        "i=-5",
        "x=2.5",
        "y=NaN",
        "z=-Infinity",
        "d=1.50",
        "o=0102030405060708090a0b0c",
        "w=2024-01-02T03:04:05Z",
        r#"b={"$binary":{"base64":"AQI=","subType":"00"}}"#,
    ];
    assert_eq!(shown, expected);
}

#[test]
fn numbers_and_null_are_known_as_such() {
    let kind = |value: Value| Cell::of(&value).expect("JSON").kind;
    assert_eq!(kind(Value::Int32(1)), Kind::Number);
    assert_eq!(kind(Value::from(1.5)), Kind::Number);
    assert_eq!(kind(Value::Null), Kind::Null);
    assert_eq!(kind(Value::from("1")), Kind::Text);
    assert_eq!(kind(Value::Bool(true)), Kind::Text);
}

#[test]
fn a_name_that_is_no_string_is_refused() {
    let mut map = Map::new();
    map.push(1, "x");
    assert!(fields(&map).is_err());
    let mut outer = Map::new();
    outer.push("a", Value::Array(vec![Value::Map(map)]));
    let found = fields(&outer).expect("names");
    assert!(Cell::of(found[0].1).is_err());
}
