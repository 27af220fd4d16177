use super::*;
use crate::error::ErrorKind;
use crate::testing::Database;
use alluvium_store::{Durability, Options};

fn modification(update: &str) -> Action {
    use alluvium_document::IntoDocument;
    Action::Modify(Modification::Update(Update::parse(&update.into_map().unwrap()).unwrap()))
}

/// Writes use the keys that the search returned, whatever their `_id`s are.
#[test]
fn documents_of_any_id_are_written() {
    let db = Database::with(Options::default());
    let pets = db.collection("pets");
    let ids = r#"[1, 1.5, -0.5, {"$numberLong": "9007199254740993"}, {"$numberDecimal": "0.1"}, "", "a", "a\u0000b", true,
        null, {"a": {"b": [1]}}, {"$oid": "0123456789abcdef01234567"}, {"$date": "2024-01-01T00:00:00Z"},
        {"$binary": {"base64": "AAEC", "subType": "00"}}, {"$timestamp": {"t": 1, "i": 2}}, {"$minKey": 1}]"#;
    let Value::Array(ids) = alluvium_document::json::parse(ids.as_bytes()).unwrap() else { panic!("an array") };
    for id in &ids {
        pets.put(id.clone(), r#"{"n": 1}"#);
    }
    let updated = pets.write_where(r#"{"n": 1}"#, modification(r#"{"$inc": {"n": 1}}"#)).all().unwrap();
    assert_eq!((updated.matched_count, updated.modified_count), (ids.len() as u64, ids.len() as u64));
    for id in &ids {
        let document = pets.get(id.clone()).unwrap();
        assert_eq!(document.to_map().unwrap().get("n"), Some(&Value::Int32(2)), "{id}");
    }
    for left in (0..ids.len()).rev() {
        assert!(pets.write_where(r#"{"n": 2}"#, Action::Delete).one().unwrap().matched, "{left}");
    }
    assert!(!pets.write_where("{}", Action::Delete).one().unwrap().matched);
}

/// A key that cannot be decoded is damage with the key's name; it is not passed over, and not taken for another `_id`.
#[test]
fn a_key_that_is_none_is_reported() {
    let db = Database::with(Options::default());
    let pets = db.collection("pets");
    pets.put(Value::Null, r#"{"n": 1}"#);
    // Text without its end.
    let (key, row) = (alluvium_document::key::id_key(&Value::from("ab")).unwrap(), row_of(&db));
    let mut batch = db.store().batch();
    batch.put(pets.state().documents, &key[..2], &row);
    db.store().write(batch, Durability::Periodic).unwrap();
    for action in [Action::Delete, modification(r#"{"$set": {"n": 2}}"#)] {
        let mut write = pets.write_where("{}", action);
        // By the search, and by the write of a key that another search may have found without reading its document.
        for error in [write.all().unwrap_err(), write.write(&key[..2]).unwrap_err()] {
            assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
            let shown = error.to_string();
            assert!(shown.contains("pets") && shown.contains(&format!("{:02x?}", &key[..2])), "{shown}");
        }
        let null = pets.get(Value::Null).unwrap().to_map().unwrap();
        assert_eq!(null.get("n"), Some(&Value::Int32(1)), "another document was written");
    }
}

/// The stored row of the document with the `_id` null.
fn row_of(db: &Database) -> Vec<u8> {
    let (pets, mut row) = (db.collection("pets"), Vec::new());
    let key = alluvium_document::key::id_key(&Value::Null).unwrap();
    assert!(db.store().get(pets.state().documents, &key, &mut row).unwrap());
    row
}
