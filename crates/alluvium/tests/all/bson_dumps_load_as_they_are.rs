//! BSON documents keep the order of their fields and all types. A bad document is reported with its
//! number and its first byte.

use alluvium::load::{Format, Input, Load, OnBad, OnDuplicate};
use alluvium::{Collection, Database, Map, Value};
use alluvium_env::sync::Mutex;
use std::io::{Cursor, Write};
use std::sync::Arc;

fn collection() -> Collection {
    let db = Database::builder().env(alluvium_env::Env::in_memory(1)).memory(8 << 20).open("db").unwrap();
    db.collection("c")
}

fn input(bytes: &[u8]) -> Input {
    Input::stream("c.bson", Cursor::new(bytes.to_owned()))
}

fn load<'a>(collection: &'a Collection, bytes: &[u8]) -> Load<'a> {
    collection.load(input(bytes)).format(Format::Bson)
}

fn bson(maps: &[Map]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for map in maps {
        alluvium_document::bson::encode_document(map, &mut bytes).unwrap();
    }
    bytes
}

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn bson_dumps_load_as_they_are() {
    let mut twice = Map::new();
    twice.push("a", 1i64);
    twice.push("_id", 7);
    twice.push("a", Value::MinKey);
    let without: Map = [("x", Value::Undefined)].into_iter().collect();
    let collection = collection();
    let report = load(&collection, &bson(&[twice.clone(), without])).run().unwrap();
    assert_eq!(report.documents, 2);
    let maps: Vec<Map> = collection.scan().run().unwrap().map(|d| d.unwrap().to_map().unwrap()).collect();
    assert_eq!(maps[0], twice);
    assert!(matches!(maps[1].entries[0], (_, Value::ObjectId(_))), "an _id is made, and stands first");
}

#[test]
fn bad_documents_are_named_by_number_and_byte() {
    let map = |n: i32| [("_id", n)].into_iter().collect::<Map>();
    let mut bytes = bson(&[map(1), map(2), map(3)]);
    let len = bytes.len() / 3;
    bytes[len + 4] = 0x77;
    let error = load(&collection(), &bytes).run().unwrap_err().to_string();
    assert_eq!(error, format!("c.bson document 2 (from byte {len}): invalid BSON at byte 9: an unknown type"));
    let collection = collection();
    let rejects = Shared::default();
    let report = load(&collection, &bytes).on_bad(OnBad::Skip).rejects(rejects.clone()).run().unwrap();
    assert_eq!((report.documents, report.rejected), (2, 1));
    let reject: serde_json::Value = serde_json::from_slice(&rejects.0.lock()).unwrap();
    assert_eq!((&reject["document"], &reject["byte"]), (&2.into(), &len.into()));
    assert_eq!(reject["base64"].as_str().unwrap().len(), len.div_ceil(3) * 4);
    let error = load(&collection, &bson(&[map(4), map(1)])).run().unwrap_err().to_string();
    assert!(error.starts_with("c.bson document 2: collection main.c already has a document with _id 1"), "{error}");
    let skipping = load(&collection, &bson(&[map(4), map(1), map(5)])).on_duplicate(OnDuplicate::Skip);
    assert_eq!(skipping.run().unwrap().duplicates, 2);
}
