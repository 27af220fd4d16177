//! A load of one large JSON object makes a document of each field, with the field's name as the
//! `_id`.

use alluvium::load::{Format, Input, Load, OnBad, OnDuplicate};
use alluvium::{Collection, Database};
use std::io::Cursor;

fn collection() -> Collection {
    let db = Database::builder().env(alluvium_env::Env::in_memory(1)).memory(8 << 20).open("db").unwrap();
    db.collection("c")
}

fn load<'a>(collection: &'a Collection, text: &str) -> Load<'a> {
    let input = Input::stream("input", Cursor::new(text.to_owned()));
    collection.load(input).format(Format::JsonFields)
}

fn all(collection: &Collection) -> Vec<String> {
    collection.scan().run().unwrap().map(|document| document.unwrap().to_string()).collect()
}

#[test]
fn fields_of_one_object_become_documents() {
    let collection = collection();
    let text = r#"{
        "b\u0041 \"q\"": {"x": 1, "_id": "bA \"q\"", "y": {}},
        "a" : {"x":2},
        "array": [1, {"a":2}],
        "date": {"$date": "1970-01-01T00:00:00Z"},
        "number" :1.50,
        "": null
    }"#;
    assert_eq!(load(&collection, text).run().unwrap().documents, 6);
    assert_eq!(
        all(&collection),
        [
            r#"{"_id":"","value":null}"#,
            r#"{"_id":"a","x":2}"#,
            r#"{"_id":"array","value":[1,{"a":2}]}"#,
            r#"{"_id":"bA \"q\"","x":1,"y":{}}"#,
            r#"{"_id":"date","value":{"$date":"1970-01-01T00:00:00Z"}}"#,
            r#"{"_id":"number","value":1.5}"#,
        ]
    );
}

#[test]
fn a_field_that_stands_twice_is_a_duplicate() {
    let text = "{\"a\":{\"n\":1},\n\"a\":{\"n\":2}}";
    let first = collection();
    let error = load(&first, text).run().unwrap_err().to_string();
    assert!(error.starts_with("input line 2:") && error.contains("_id \"a\""), "{error}");
    let second = collection();
    load(&second, text).on_duplicate(OnDuplicate::Replace).run().unwrap();
    assert_eq!(all(&second), [r#"{"_id":"a","n":2}"#]);
}

#[test]
fn what_is_no_document_is_named_or_left_out() {
    let bad = [
        ("\"a\":{\"_id\":1}", "line 1 column 2: the value has an _id, which differs from the field's name"),
        ("\"b\": {\"x\" 1}", "line 1 column 12: expected a colon"),
        ("\"\\x\":{}", "line 1 column 4: an invalid escape in a string"),
        ("\"c\":{\n\"x\":[1,]}", "line 2 column 8: expected a value"),
    ];
    for (field, place) in bad {
        let error = load(&collection(), &format!("{{{field}}}")).run().unwrap_err().to_string();
        assert_eq!(error, format!("input {place}"), "{field}");
    }
    let fields: String = bad.iter().map(|(field, _)| format!("{field},")).collect();
    let skipped = collection();
    let report = load(&skipped, &format!("{{{fields} \"d\":{{}}}}")).on_bad(OnBad::Skip).run().unwrap();
    assert_eq!((report.documents, report.rejected), (1, 4));
    assert_eq!(all(&skipped), [r#"{"_id":"d"}"#]);
}

#[test]
fn no_other_field_can_be_the_id() {
    let error = load(&collection(), "{}").id_field("x").run().unwrap_err().to_string();
    assert!(error.contains("no other field"), "{error}");
}
