//! Every operation that reads a document damaged on disk reports the damage and names the document.
//! It never reports an invalid document, filter or update.

use alluvium::{Collection, Database, Error, ErrorKind, Map, Value};
use alluvium_store::{Bounds, Durability};

/// A collection whose document 0 is cut off within its last field.
fn damaged() -> (Database, Collection) {
    let db = Database::builder().env(alluvium_env::Env::in_memory(3)).open("db").unwrap();
    let pets = db.collection("pets");
    for n in 0..20 {
        pets.put(n, format!(r#"{{"kind": "dog", "name": "a name {n}"}}"#)).unwrap();
    }
    // The system tree comes first.
    let (documents, _) = db.store().trees()[1];
    let mut scan = db.store().scan(documents, Bounds::all(), None).unwrap();
    let (key, row) = scan.next().unwrap().unwrap();
    let mut batch = db.store().batch();
    batch.put(documents, key, &row[..row.len() - 1]);
    db.store().write(batch, Durability::Sync).unwrap();
    (db, pets)
}

#[derive(serde::Deserialize, Debug)]
#[allow(dead_code)]
struct Pet {
    name: String,
}

#[test]
fn whoever_meets_it_names_it() {
    let (_db, pets) = damaged();
    let by_name = r#"{"name": "somebody"}"#;
    let by_id = r#"{"_id": 0, "name": "somebody"}"#;
    let set = r#"{"$set": {"kind": "cat"}}"#;
    let told = |what: &str, error: Option<Error>| {
        let error = error.unwrap_or_else(|| panic!("{what}: no error"));
        assert_eq!(error.kind(), ErrorKind::Corruption, "{what}: {error:?}");
        assert_eq!(error.code(), Some((301, "DataCorruptionDetected")), "{what}: {error:?}");
        assert!(error.to_string().contains("document 0 of main.pets"), "{what}: {error}");
    };
    told("find", pets.find(by_name).run().unwrap().find_map(Result::err));
    told("find_one", pets.find_one(by_name).err());
    told("find by _id", pets.find_one(by_id).err());
    told("count", pets.find(by_name).count().err());
    told("update by filter", pets.update_many(by_name, set).run().err());
    told("update by filter and _id", pets.update_one(by_id, set).run().err());
    told("delete by filter", pets.delete_many(by_name).run().err());
    told("delete by filter and _id", pets.delete_one(by_id).run().err());
    told("take", pets.find_one_and_delete(by_id).run().err());
    told("update", pets.update_one(r#"{"_id": 0}"#, r#"{"$push": {"name": 1}}"#).run().err());
    told("update that adds", pets.update_one(r#"{"_id": 0}"#, r#"{"$set": {"new": 1}}"#).run().err());
    told("change", pets.modify(0, |draft| Ok(draft.get("name")?.is_some())).err());
    let typed = pets.typed::<Pet>();
    told("typed", typed.get(0).err());
    told("typed find", typed.find("{}").run().unwrap().find_map(Result::err));
    told("typed scan", typed.scan().run().unwrap().find_map(Result::err));
}

/// Reads that do not know the `_id` of the document also report damage.
#[test]
fn reads_by_other_paths_report_damage() {
    let (_db, pets) = damaged();
    let first = |asked: alluvium::Find| asked.run().and_then(|mut all| all.find_map(Result::err).map_or(Ok(()), Err));
    let kind = |error: Option<Error>| error.map(|error| error.kind());
    assert_eq!(kind(first(pets.find("{}").sort(r#"{"name": 1}"#)).err()), Some(ErrorKind::Corruption));
    assert_eq!(kind(first(pets.find("{}").projection(r#"{"name": 1}"#)).err()), Some(ErrorKind::Corruption));
    assert_eq!(kind(pets.find("{}").distinct("name").err()), Some(ErrorKind::Corruption));
}

/// Nesting that is too deep to be stored is not damage.
#[test]
fn what_nests_too_deep_is_invalid() {
    let (_db, pets) = damaged();
    let deep = (0..alluvium::MAX_DEPTH).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
    let set = pets.modify(1, |draft| {
        draft.set("kind", deep.clone())?;
        Ok(true)
    });
    assert_eq!(set.unwrap_err().kind(), ErrorKind::Invalid);
    let replaced = pets.replace_one(r#"{"_id": 1}"#, Map::from([("kind", deep.clone())])).run();
    assert_eq!(replaced.unwrap_err().kind(), ErrorKind::Invalid);
}
