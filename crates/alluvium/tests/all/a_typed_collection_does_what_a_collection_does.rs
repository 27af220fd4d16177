//! Values of a user's type are found, sorted, counted, changed, returned and written in batches
//! like documents. A document that does not fit the type is reported.

use alluvium::{Collection, Database, Document, ErrorKind, Result, ReturnDocument, Value, WriteModel};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Debug, Clone, PartialEq)]
struct Pet {
    #[serde(rename = "_id")]
    name: String,
    age: i32,
}

fn pet(name: &str, age: i32) -> Pet {
    Pet { name: name.to_owned(), age }
}

fn pets() -> (Database, Collection<Pet>) {
    let db = Database::in_memory().unwrap();
    let pets = db.typed_collection::<Pet>("pets");
    pets.insert_many([pet("ada", 12), pet("rex", 3), pet("tom", 7)]).unwrap();
    (db, pets)
}

#[test]
fn reads_return_values() {
    let (db, pets) = pets();
    let before = db.snapshot();
    pets.update_many("{}", r#"{"$inc": {"age": 1}}"#).run().unwrap();
    assert_eq!(pets.get("rex").unwrap(), Some(pet("rex", 4)));
    assert_eq!(pets.at(&before).get("rex").unwrap(), Some(pet("rex", 3)));
    assert_eq!(pets.get_many(["tom", "eve"]).unwrap(), [Some(pet("tom", 8)), None]);
    assert_eq!(pets.at(&before).get_many(["tom"]).unwrap(), [Some(pet("tom", 7))]);
    let by_age = pets.find("{}").sort(r#"{"age": 1}"#).limit(2).run().unwrap();
    assert_eq!(by_age.collect::<Result<Vec<Pet>>>().unwrap(), [pet("rex", 4), pet("tom", 8)]);
    assert_eq!(pets.find_one(r#"{"age": {"$gt": 9}}"#).unwrap(), Some(pet("ada", 13)));
    assert_eq!(pets.at(&before).find_one(r#"{"age": 12}"#).unwrap(), Some(pet("ada", 12)));
    let scanned = pets.scan().from("b").reverse().run().unwrap().collect::<Result<Vec<Pet>>>().unwrap();
    assert_eq!(scanned, [pet("tom", 8), pet("rex", 4)]);
    assert_eq!(pets.find("{}").batch_size(2).run().unwrap().next_batch().unwrap().len(), 2);
    assert_eq!((pets.count().unwrap(), pets.find(r#"{"age": {"$lt": 9}}"#).count().unwrap()), (3, 2));
    assert_eq!(pets.find("{}").distinct("age").unwrap(), [4, 8, 13].map(Value::from));
}

#[test]
fn writes_take_values_and_references() {
    let (db, pets) = pets();
    let eve = pet("eve", 1);
    pets.insert_one(&eve).unwrap();
    pets.put("rex", pet("rex", 5)).unwrap();
    assert_eq!(pets.insert_one(&eve).unwrap_err().kind(), ErrorKind::DuplicateKey);
    let (found, version) = pets.get_versioned("rex").unwrap().unwrap();
    assert_eq!(found, pet("rex", 5));
    assert!(pets.replace_if("rex", version, pet("rex", 6)).unwrap());
    assert_eq!(pets.replace_one(r#"{"age": 6}"#, pet("rex", 7)).run().unwrap().modified_count, 1);
    pets.update_blind("rex", r#"{"$inc": {"age": 1}}"#).unwrap();
    let after = pets.find_one_and_update(r#"{"_id": "rex"}"#, r#"{"$inc": {"age": 1}}"#);
    assert_eq!(after.return_document(ReturnDocument::After).run().unwrap(), Some(pet("rex", 9)));
    let replaced = pets.find_one_and_replace(r#"{"_id": "rex"}"#, pet("rex", 1)).run().unwrap();
    assert_eq!(replaced, Some(pet("rex", 9)));
    assert_eq!(pets.find_one_and_delete(r#"{"_id": "rex"}"#).run().unwrap(), Some(pet("rex", 1)));
    let mut batch = db.write_batch();
    batch.put(&pets, "fay", pet("fay", 2)).unwrap();
    batch.insert(&pets, pet("kim", 3)).unwrap();
    batch.insert(&db.collection("other"), r#"{"a": 1}"#).unwrap();
    batch.delete(&pets, "eve").unwrap();
    batch.commit().unwrap();
    let deletes = pets.delete_many(r#"{"age": {"$gt": 6}}"#);
    pets.bulk_write([WriteModel::insert_one(pet("uma", 4)), deletes.into()]).run().unwrap();
    let names: Result<Vec<String>> = pets.scan().run().unwrap().map(|pet| Ok(pet?.name)).collect();
    assert_eq!(names.unwrap(), ["fay", "kim", "uma"]);
}

#[test]
fn a_document_of_another_type_is_named() {
    let (_db, pets) = pets();
    let documents = pets.typed::<Document>();
    documents.put("rex", r#"{"age": "three"}"#).unwrap();
    let error = pets.find_one_and_update(r#"{"_id": "rex"}"#, r#"{"$set": {"seen": true}}"#).run();
    for error in [
        pets.get("rex").unwrap_err(),
        pets.get_versioned("rex").unwrap_err(),
        pets.find("{}").run().unwrap().find_map(Result::err).unwrap(),
        pets.scan().run().unwrap().find_map(Result::err).unwrap(),
        error.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains(r#"document "rex" of main.pets"#), "{error}");
    }
    // The cursor ends after the error; other reads of the collection continue.
    let mut cursor = pets.find("{}").sort(r#"{"_id": -1}"#).run().unwrap();
    assert!(cursor.next().unwrap().is_ok() && cursor.next().unwrap().is_err() && cursor.next().is_none());
    let ages = pets.find(r#"{"age": {"$type": "int"}}"#).run().unwrap().typed::<Document>();
    assert_eq!(ages.count(), 2);
}
