//! Stored documents that BSON cannot hold: those before them are sent, and the error names them.

use super::{reply, server};
use alluvium::{Map, Value, doc};

fn batch<'r>(reply: &'r Map, name: &str) -> &'r [Value] {
    match reply.get("cursor").and_then(Value::as_map).and_then(|cursor| cursor.get(name)) {
        Some(Value::Array(documents)) => documents,
        _ => panic!("no batch in {reply}"),
    }
}

#[test]
fn a_document_that_cannot_be_sent_is_named() {
    let shared = server();
    let pets = shared.db.collection("zoo.odd");
    for text in [r#"{"_id":1}"#, r#"{"_id":2,"a":[{"n":1e-7000}]}"#, r#"{"_id":3}"#] {
        pets.insert_one(text).expect("a document");
    }
    let find = |filter: Map| reply(&shared, doc! {"find": "odd", "filter": filter, "$db": "zoo"});
    let first = find(doc! {});
    assert_eq!(batch(&first, "firstBatch").len(), 1, "{first}");
    let id = first.get("cursor").and_then(Value::as_map).and_then(|cursor| cursor.get("id")).cloned();
    let second = reply(&shared, doc! {"getMore": id.expect("a cursor"), "collection": "odd", "$db": "zoo"});
    let message = second.get("errmsg").and_then(Value::as_str).expect("an error");
    for part in ["_id 2", "zoo.odd", " a.0.n", "decimal128"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert_eq!(second.get("code").and_then(Value::as_i64), Some(22));
    let others = find(doc! {"_id": {"$ne": 2}});
    assert_eq!(batch(&others, "firstBatch").len(), 2, "{others}");
    let alone = find(doc! {"_id": 2});
    assert!(alone.get("errmsg").and_then(Value::as_str).is_some_and(|text| text.contains("zoo.odd")), "{alone}");
}
