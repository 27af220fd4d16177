//! Stored documents that BSON cannot hold: the documents before them are sent, and the error names the invalid
//! document.

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

/// MongoDB's `findAndModify` either fails or writes. Stored values that BSON cannot hold do not exist in MongoDB; the
/// refusal before the write is therefore a rule of this server.
#[test]
fn a_write_that_returns_such_a_document_is_refused_before_it_is_made() {
    let shared = server();
    let odd = shared.db.collection("zoo.odd");
    let text = r#"{"_id":2,"a":[{"n":1E-7000}],"b":1}"#;
    odd.insert_one(text).expect("a document");
    let write = |fields: Map| {
        let mut body = doc! {"findAndModify": "odd", "query": {"b": 1}, "$db": "zoo"};
        body.entries.extend(fields.entries);
        reply(&shared, body)
    };
    let changes = [
        doc! {"update": {"$set": {"c": 1}}},
        doc! {"update": {"$set": {"c": 1}}, "new": true},
        doc! {"update": [{"$set": {"c": 1}}]},
        doc! {"update": {"c": 1}},
        doc! {"remove": true},
        doc! {"remove": true, "sort": {"b": 1}},
    ];
    for change in changes {
        let refused = write(change.clone());
        assert_named(&refused);
        assert_eq!(odd.get(2).expect("a read").expect("the document").to_string(), text, "{change}");
    }
    // The returned documents do not contain the invalid value.
    for change in [
        doc! {"update": {"$set": {"c": 1}}, "fields": {"b": 1}},
        doc! {"update": {"$unset": {"a": 1}}, "new": true},
        doc! {"remove": true},
    ] {
        assert_eq!(write(change.clone()).get("ok").and_then(Value::as_f64), Some(1.0), "{change}");
    }
    assert_eq!(odd.count().expect("a count"), 0);
}

#[test]
fn distinct_names_the_document_whose_value_cannot_be_sent() {
    let shared = server();
    let odd = shared.db.collection("zoo.odd");
    for text in [r#"{"_id":1,"a":[{"n":1}]}"#, r#"{"_id":2,"a":[{"n":1e-7000}]}"#] {
        odd.insert_one(text).expect("a document");
    }
    for key in ["a.n", "a"] {
        assert_named(&reply(&shared, doc! {"distinct": "odd", "key": key, "$db": "zoo"}));
    }
    let others = reply(&shared, doc! {"distinct": "odd", "key": "a.n", "query": {"_id": 1}, "$db": "zoo"});
    assert_eq!(others.get("values"), Some(&Value::Array(vec![Value::Int32(1)])), "{others}");
}

/// Checks that the error names the collection, the document, the path and the reason.
fn assert_named(reply: &Map) {
    let message = reply.get("errmsg").and_then(Value::as_str).unwrap_or_default();
    for part in ["_id 2", "zoo.odd", " a.0.n", "decimal128"] {
        assert!(message.contains(part), "{part}: {reply}");
    }
    assert_eq!(reply.get("code").and_then(Value::as_i64), Some(22), "{reply}");
}
