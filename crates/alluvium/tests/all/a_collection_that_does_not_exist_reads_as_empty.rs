//! Reads of a collection that does not exist find nothing, now and at snapshots, and writes to its
//! documents match nothing. None of them creates the collection. Operations that need the
//! collection itself fail with an error that names the collection.

use alluvium::{Collection, Database, Error, ErrorKind, UpdateResult};

fn reads_nothing(pets: &Collection, before: &alluvium::Snapshot) {
    let filter = r#"{"age": {"$gt": 1}}"#;
    assert_eq!(pets.get("rex").unwrap(), None);
    assert_eq!(pets.get_many(["rex", "tom"]).unwrap(), [None, None]);
    assert_eq!(pets.get_fields("rex", &["age"]).unwrap(), None);
    assert!(pets.get_versioned("rex").unwrap().is_none());
    assert_eq!(pets.scan().run().unwrap().count(), 0);
    assert_eq!(pets.scan().from("a").reverse().limit(5).run().unwrap().count(), 0);
    assert_eq!(pets.count().unwrap(), 0);
    assert_eq!(pets.estimated_count().unwrap(), 0);
    assert_eq!(pets.find(filter).sort(r#"{"age": 1}"#).run().unwrap().count(), 0);
    // As in MongoDB, no plan is made, so a hint may name any index.
    assert_eq!(pets.find(filter).hint("age_1").run().unwrap().count(), 0);
    assert_eq!(pets.find(filter).hint(r#"{"$natural": -1}"#).count().unwrap(), 0);
    assert_eq!(pets.find("{}").distinct("age").unwrap(), []);
    assert_eq!(pets.find(filter).explain().unwrap().returned, 0);
    assert!(pets.find(r#"{"age": {"$no": 1}}"#).run().is_err());
    assert!(pets.indexes().unwrap().is_empty());
    assert!(pets.field_names().unwrap().is_empty());
    let at = pets.at(before);
    assert_eq!(at.get("rex").unwrap(), None);
    assert_eq!(at.count().unwrap(), 0);
    assert_eq!(at.scan().run().unwrap().count(), 0);
    assert_eq!(at.find(filter).run().unwrap().count(), 0);
    assert_eq!(at.find("{}").distinct("age").unwrap(), []);
}

fn matches_nothing(pets: &Collection) {
    let nothing = UpdateResult::default();
    assert_eq!(pets.update_one("{}", r#"{"$set": {"a": 1}}"#).run().unwrap(), nothing);
    assert_eq!(pets.update_many("{}", r#"{"$set": {"a": 1}}"#).run().unwrap(), nothing);
    assert_eq!(pets.replace_one("{}", "{}").run().unwrap(), nothing);
    assert_eq!(pets.delete_one("{}").run().unwrap().deleted_count, 0);
    assert_eq!(pets.delete_many("{}").run().unwrap().deleted_count, 0);
    assert_eq!(pets.find_one_and_update("{}", r#"{"$set": {"a": 1}}"#).run().unwrap(), None);
    assert_eq!(pets.find_one_and_delete("{}").run().unwrap(), None);
    assert_eq!(pets.bulk_write([pets.delete_many("{}").into()]).run().unwrap().deleted_count, 0);
    pets.delete("rex").unwrap();
    assert!(!pets.modify("rex", |_| Ok(true)).unwrap());
}

#[test]
fn a_collection_that_does_not_exist_reads_as_empty() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path().join("db")).unwrap();
    let before = db.snapshot();
    db.collection("dogs").put("rex", r#"{"age": 3}"#).unwrap();
    let pets = db.collection("pets");
    reads_nothing(&pets, &before);
    matches_nothing(&pets);
    assert_eq!(db.collections().len(), 1, "none of them creates the collection");
    let missing = [
        pets.require_existing(),
        pets.stats().map(drop),
        pets.index_stats().map(drop),
        pets.drop_index("age_1"),
        db.rename_collection("pets", "cats"),
        db.drop_collection("pets"),
    ];
    for result in missing {
        let error = result.unwrap_err();
        assert!(matches!(&error, Error::NoSuchCollection { name, .. } if name == "main.pets"), "{error}");
    }
    // A dropped collection reads as empty, and keeps its documents at an older snapshot.
    let dogs = db.collection("dogs");
    let with_rex = db.snapshot();
    db.drop_collection("dogs").unwrap();
    let dropped = db.snapshot();
    reads_nothing(&dogs, &dropped);
    matches_nothing(&dogs);
    assert!(dogs.at(&with_rex).get("rex").unwrap().is_some());
    // An upsert creates the collection.
    let upsert = pets.update_one(r#"{"_id": "rex"}"#, r#"{"$set": {"age": 3}}"#).upsert(true).run().unwrap();
    assert_eq!(upsert.upserted_id, Some("rex".into()));
    assert_eq!(pets.count().unwrap(), 1);
    assert_eq!(pets.at(&dropped).count().unwrap(), 0);
    db.close().unwrap();
    assert_eq!(db.collection("none").get(1).unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(db.collection("none").count().unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(db.collection("none").find("{}").run().err().unwrap().kind(), ErrorKind::Closed);
}
