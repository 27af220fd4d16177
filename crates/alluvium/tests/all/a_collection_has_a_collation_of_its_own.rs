//! A query without a collation compares strings by the collation of the collection or view.

use alluvium::{Collection, Database, Document, Map, Value, dump};

const OPTIONS: &str = r#"{"collation": {"locale": "en", "strength": 2}}"#;
const OPTIONS_ALONE: &str = r#"{"locale": "en", "strength": 2}"#;
const SIMPLE: &str = r#"{"locale": "simple"}"#;
const ACCENTS: &str = r#"{"locale": "en", "strength": 1}"#;

const PETS: [&str; 4] = [
    r#"{"_id": 1, "name": "Rex", "kind": "dog"}"#,
    r#"{"_id": 2, "name": "rex", "kind": "Dog"}"#,
    r#"{"_id": 3, "name": "Réx", "kind": "cat"}"#,
    r#"{"_id": 4, "name": "ada", "kind": "CAT"}"#,
];

fn filled(db: &Database) -> Collection {
    let pets = db.create_collection("pets").options(OPTIONS).run().unwrap();
    pets.insert_many(PETS).unwrap();
    pets
}

fn ids(found: impl IntoIterator<Item = alluvium::Result<Document>>) -> String {
    let ids = found.into_iter().map(|document| document.unwrap().id().to_string());
    ids.collect::<Vec<_>>().join(" ")
}

fn count(db: &Database, name: &str, filter: &str) -> u64 {
    db.collection(name).find(filter).count().unwrap()
}

#[test]
fn reads_compare_by_it_unless_they_name_another_one() {
    let db = Database::in_memory().unwrap();
    let pets = filled(&db);
    let rex = r#"{"name": "REX"}"#;
    assert_eq!(ids(pets.find(rex).run().unwrap()), "1 2");
    assert_eq!(ids(pets.find(rex).collation(SIMPLE).run().unwrap()), "");
    assert_eq!(ids(pets.find(rex).collation(ACCENTS).run().unwrap()), "1 2 3");
    assert_eq!(ids(pets.find("{}").sort(r#"{"name": -1, "_id": 1}"#).run().unwrap()), "3 1 2 4");
    assert_eq!(pets.find("{}").distinct("kind").unwrap().len(), 2);
    assert_eq!(pets.find("{}").collation(SIMPLE).distinct("kind").unwrap().len(), 4);
    let groups = r#"[{"$group": {"_id": "$kind", "n": {"$sum": 1}}}]"#;
    assert_eq!(pets.aggregate(groups).run().unwrap().count(), 2);
    assert_eq!(pets.aggregate(groups).collation(SIMPLE).run().unwrap().count(), 4);
    // A `$lookup` uses the collation of the pipeline's collection, not the collation of the
    // collection that it reads.
    db.collection("plain").insert_one(r#"{"_id": 1, "kind": "DOG"}"#).unwrap();
    let look = |from: &str| {
        format!(
            r#"[{{"$lookup": {{"from": "{from}", "localField": "kind", "foreignField": "kind", "as": "same"}}}}, {{"$match": {{"same.0": {{"$exists": true}}}}}}]"#
        )
    };
    assert_eq!(ids(pets.aggregate(look("plain").as_str()).run().unwrap()), "1 2");
    assert_eq!(db.collection("plain").aggregate(look("pets").as_str()).run().unwrap().count(), 0);
}

#[test]
fn writes_by_filter_compare_by_it() {
    let db = Database::in_memory().unwrap();
    let pets = filled(&db);
    let seen = r#"{"$set": {"seen": true}}"#;
    assert_eq!(pets.update_many(r#"{"name": "REX"}"#, seen).run().unwrap().matched_count, 2);
    assert_eq!(pets.update_many(r#"{"name": "REX"}"#, seen).collation(SIMPLE).run().unwrap().matched_count, 0);
    let upserted = pets.update_one(r#"{"name": "ADA"}"#, r#"{"$set": {"age": 3}}"#).upsert(true).run().unwrap();
    assert_eq!((upserted.matched_count, upserted.upserted_id), (1, None));
    assert!(pets.find_one_and_delete(r#"{"name": "RÉX"}"#).run().unwrap().is_some());
    assert_eq!(pets.delete_many(r#"{"name": "REX"}"#).run().unwrap().deleted_count, 2);
    assert_eq!(count(&db, "pets", "{}"), 1);
    // A blind update compares by the collation, too, although in collections without a collation it
    // reads nothing.
    pets.update_blind(4, r#"{"$min": {"name": "ADA"}, "$inc": {"age": 1}}"#).unwrap();
    let ada = pets.get(4).unwrap().unwrap().to_map().unwrap();
    assert_eq!((ada.get("name"), ada.get("age")), (Some(&Value::from("ada")), Some(&Value::from(4))));
}

#[test]
fn indexes_inherit_it() {
    let db = Database::in_memory().unwrap();
    let pets = filled(&db);
    pets.create_index(r#"{"name": 1}"#).run().unwrap();
    pets.create_index(r#"{"kind": 1}"#).collation(SIMPLE).run().unwrap();
    let explained = pets.find(r#"{"name": "REX"}"#).hint("name_1").explain().unwrap();
    assert_eq!((explained.returned, explained.documents_examined), (2, 2));
    // The index has another collation than the first query, so it gives that query no bounds.
    assert_eq!(pets.find(r#"{"kind": "DOG"}"#).hint("kind_1").explain().unwrap().keys_examined, 4);
    assert_eq!(pets.find(r#"{"kind": "dog"}"#).hint("kind_1").collation(SIMPLE).explain().unwrap().keys_examined, 1);
    let error = pets.create_index(r#"{"name": -1}"#).unique(true).run().unwrap_err();
    assert_eq!(error.code().unwrap().0, 11000, "{error}");
    // The index on `_id` has the collection's collation, too, and cannot have another one.
    pets.create_index(r#"{"_id": 1}"#).run().unwrap();
    assert!(pets.create_index(r#"{"_id": 1}"#).collation(ACCENTS).run().is_err());
    let collations: Vec<bool> =
        pets.indexes().unwrap().iter().map(|index| index.definition.contains("collation")).collect();
    assert_eq!(collations, [true, true, false]);
}

/// A query by `_id` alone skips parsing if parsing would not change the result.
#[test]
fn an_id_is_found_by_it() {
    let db = Database::in_memory().unwrap();
    let pets = filled(&db);
    pets.insert_many([r#"{"_id": "rex"}"#, r#"{"_id": "REX"}"#]).unwrap();
    assert_eq!(ids(pets.find(r#"{"_id": "Rex"}"#).run().unwrap()), r#""REX" "rex""#);
    assert_eq!(ids(pets.find(r#"{"_id": "Rex"}"#).collation(SIMPLE).run().unwrap()), "");
    assert_eq!(ids(pets.find(r#"{"_id": 3}"#).run().unwrap()), "3");
    let plain = db.collection("plain");
    plain.insert_many([r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "REX", "age": 4}"#]).unwrap();
    let rex = || plain.find(r#"{"_id": "rex"}"#);
    assert_eq!(ids(rex().run().unwrap()), r#""rex""#);
    assert_eq!(ids(rex().limit(1).run().unwrap()), r#""rex""#);
    assert_eq!(ids(rex().skip(1).run().unwrap()), "");
    assert_eq!(rex().projection(r#"{"age": 1, "_id": 0}"#).first().unwrap().unwrap().to_string(), r#"{"age":3}"#);
    assert_eq!(ids(rex().collation(OPTIONS_ALONE).run().unwrap()), r#""REX" "rex""#);
    assert!(rex().hint("no such index").run().is_err());
    let before = db.snapshot();
    plain.delete("rex").unwrap();
    assert_eq!((ids(rex().run().unwrap()), ids(rex().at(&before).run().unwrap())), (String::new(), r#""rex""#.into()));
    db.create_view("old", "plain", r#"[{"$match": {"age": {"$gt": 10}}}]"#).run().unwrap();
    assert_eq!(count(&db, "plain", r#"{"_id": "REX"}"#), 1);
    assert_eq!(ids(db.collection("old").find(r#"{"_id": "REX"}"#).run().unwrap()), "");
}

#[test]
fn validators_compare_by_it() {
    let db = Database::in_memory().unwrap();
    let pets = db.create_collection("pets").options(OPTIONS).run().unwrap();
    pets.set_validator(r#"{"kind": {"$in": ["dog", "cat"]}}"#).run().unwrap();
    pets.insert_one(r#"{"kind": "DOG"}"#).unwrap();
    assert!(pets.insert_one(r#"{"kind": "bird"}"#).is_err());
    let both = r#"{"validator": {"kind": "dog"}, "collation": {"locale": "en", "strength": 2}}"#;
    let dogs = db.create_collection("dogs").options(both).run().unwrap();
    dogs.insert_one(r#"{"kind": "Dog"}"#).unwrap();
    assert!(dogs.insert_one(r#"{"kind": "cat"}"#).is_err());
}

#[test]
fn views_have_one_of_their_own() {
    let db = Database::in_memory().unwrap();
    filled(&db);
    let dogs = r#"[{"$match": {"kind": "dog"}}]"#;
    db.create_view("bytes", "pets", dogs).run().unwrap();
    db.create_view("letters", "pets", dogs).collation(ACCENTS).run().unwrap();
    assert_eq!((count(&db, "bytes", "{}"), count(&db, "letters", "{}")), (1, 2));
    assert_eq!((count(&db, "bytes", r#"{"name": "REX"}"#), count(&db, "letters", r#"{"name": "REX"}"#)), (0, 2));
    let other = db.collection("letters").find("{}").collation(SIMPLE).count().unwrap_err();
    assert_eq!(other.code(), Some((167, "OptionNotSupportedOnView")), "{other}");
    assert!(db.create_view("over", "letters", "[]").run().is_err());
    db.create_view("over", "letters", "[]").collation(ACCENTS).run().unwrap();
    assert_eq!(count(&db, "over", "{}"), 2);
}

#[test]
fn wrong_options_are_refused_before_anything_is_created() {
    let db = Database::in_memory().unwrap();
    for options in [
        r#"{"collation": {"locale": "xx"}}"#,
        r#"{"collation": {"strength": 2}}"#,
        r#"{"collation": 3}"#,
        r#"{"colation": {"locale": "en"}}"#,
    ] {
        assert!(db.create_collection("pets").options(options).run().is_err(), "{options}");
    }
    assert!(db.collections().is_empty());
    let simple = db.create_collection("pets").options(r#"{"collation": {"locale": "simple"}}"#).run().unwrap();
    assert_eq!(simple.options().unwrap(), Map::new());
    assert!(db.create_collection("pets").options(OPTIONS).run().is_err());
}

#[test]
fn it_lasts() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let db = Database::open(&path).unwrap();
    filled(&db);
    let to = dir.path().join("dump");
    db.dump(&to).run().unwrap();
    db.rename_collection("pets", "animals").unwrap();
    // A collection that `$out` replaces keeps its options.
    db.collection("animals").aggregate(r#"[{"$out": "animals"}]"#).run().unwrap().for_each(drop);
    drop(db);
    let db = Database::open(&path).unwrap();
    assert_eq!(count(&db, "animals", r#"{"name": "REX"}"#), 2);
    drop(db);

    let restored = Database::open(dir.path().join("restored")).unwrap();
    dump::read(&to).run().unwrap().restore(&restored).run().unwrap();
    assert_eq!(count(&restored, "pets", r#"{"name": "REX"}"#), 2);
    let options = restored.collection("pets").options().unwrap();
    assert_eq!(
        options.get("collation").and_then(Value::as_map).and_then(|map| map.get("strength")).and_then(Value::as_i64),
        Some(2)
    );
}
