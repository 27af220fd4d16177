//! A document that cannot be represented in JSON is reported by its `_id`; the other documents are
//! printed.

use crate::common::Place;
use alluvium::{Database, Map, Value};

#[test]
fn what_cannot_be_printed_is_named() {
    let place = Place::new();
    let db = Database::open(place.path("db")).expect("a database");
    let pets = db.collection("pets");
    let mut counts = Map::new();
    counts.entries.push((Value::Int32(7), Value::from("seven")));
    let mut odd = Map::new();
    odd.push("counts", counts);
    pets.put(1, r#"{"a": 1}"#).expect("space");
    pets.put("odd", odd).expect("space");
    pets.put("z", r#"{"a": 2}"#).expect("space");
    db.close().expect("a log");
    for arguments in [&["scan", "db", "pets"][..], &["find", "db", "pets"], &["get", "db", "pets", "1", "odd", "z"]] {
        let ended = place.run(arguments);
        assert_eq!(
            (ended.code, ended.out.as_str()),
            (Some(1), "{\"_id\":1,\"a\":1}\n{\"_id\":\"z\",\"a\":2}\n"),
            "{ended:?}"
        );
        assert!(ended.err.contains("the document \"odd\" cannot be printed: "), "{}", ended.err);
        assert!(ended.err.ends_with("alluvium: 1 document could not be printed; its _id is above\n"), "{}", ended.err);
    }
}
