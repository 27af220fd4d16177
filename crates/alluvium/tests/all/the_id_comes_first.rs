//! `_id` is the first field of a stored document, whatever operation wrote the document, and wherever `_id` was in it.

use alluvium::load::Input;
use alluvium::{Database, Map, Value};

/// The names of the fields, in the stored order.
fn fields(db: &Database, id: i32) -> Vec<String> {
    let map: Map = db.collection("c").get(id).unwrap().unwrap().to_map().unwrap();
    let names = map.entries.iter().map(|(name, _)| name.as_str().unwrap().to_owned());
    names.collect()
}

#[test]
fn the_id_comes_first() {
    let db = Database::builder().env(alluvium_env::Env::in_memory(1)).memory(8 << 20).open("db").unwrap();
    let c = db.collection("c");
    let json = |id: i32| format!(r#"{{"a":1,"b":{{"_id":9}},"_id":{id},"z":2}}"#);
    c.insert_one(json(1)).unwrap();
    c.insert_many([json(2)]).unwrap();
    c.put(3, json(3)).unwrap();
    let mut batch = db.write_batch();
    batch.put(&c, 4, json(4)).unwrap();
    assert_eq!(batch.insert(&c, json(5)).unwrap(), Value::Int32(5));
    batch.commit().unwrap();
    c.put(6, "{}").unwrap();
    c.modify(6, |draft| {
        *draft.map()? = [("a", Value::from(1)), ("b", 2.into()), ("_id", 6.into()), ("z", 3.into())].into();
        Ok(true)
    })
    .unwrap();
    c.put(7, "{}").unwrap();
    c.replace_one(r#"{"_id": 7}"#, json(7)).run().unwrap();
    c.load(Input::stream("lines", std::io::Cursor::new(json(8)))).run().unwrap();
    c.update_one(r#"{"_id": 9}"#, r#"{"$set":{"a":1,"b":2,"z":3}}"#).upsert(true).run().unwrap();
    for id in 1..=9 {
        assert_eq!(fields(&db, id), ["_id", "a", "b", "z"], "document {id}");
    }
    // The document's own _id is kept, rather than the equal one passed to put.
    c.put(10.0, r#"{"n":1,"_id":10}"#).unwrap();
    assert_eq!(c.get(10).unwrap().unwrap().to_string(), r#"{"_id":10,"n":1}"#);
    // If two fields are named `_id`, the first one is the `_id`.
    let twice: Map = [("n", Value::from(1)), ("_id", 11.into()), ("_id", 12.into())].into();
    c.put(11, twice).unwrap();
    assert_eq!(c.get(11).unwrap().unwrap().to_string(), r#"{"_id":11,"n":1,"_id":12}"#);
}
