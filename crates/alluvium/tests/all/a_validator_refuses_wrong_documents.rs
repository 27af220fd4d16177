//! A validator checks every kind of write: single documents, batches, loads, updates that would otherwise be deltas,
//! and pipelines. It survives reopening, renaming, dumps and repair.

use alluvium::load::{Format, Input, OnBad};
use alluvium::{Collection, Database, Error, ValidationAction, ValidationLevel};
use alluvium_env::Env;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

const RULES: &str = r#"{"$jsonSchema":{"required":["n"],"properties":{"n":{"bsonType":["int","long"],"minimum":0}}}}"#;

fn open(env: &Env, path: &str) -> Database {
    Database::builder().env(env.clone()).memory(16 << 20).partitions(2).open(Path::new(path)).unwrap()
}

fn validated(env: &Env) -> (Database, Collection) {
    let db = open(env, "db");
    let c = db.collection("c");
    c.set_validator(RULES).run().unwrap();
    (db, c)
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, Error>) {
    let error = result.unwrap_err();
    assert_eq!(error.code(), Some((121, "DocumentValidationFailure")), "{error}");
}

#[test]
fn every_write_is_checked() {
    let env = Env::in_memory(1);
    let (db, c) = validated(&env);
    c.insert_one(r#"{"_id":1,"n":1}"#).unwrap();
    let before = c.get(1).unwrap().unwrap().to_string();
    let long = "x".repeat(2000);
    let wide = format!(r#"{{"_id":2,"n":5,"long":"{long}"}}"#);
    c.put(2, &*wide).unwrap();
    for with_index in [false, true] {
        if with_index {
            c.create_index(r#"{"n":1}"#).unique(true).run().unwrap();
        }
        refused(c.insert_one(r#"{"_id":9}"#));
        refused(c.insert_one(alluvium::Map::from([("_id", 9)])));
        refused(c.insert_many([r#"{"_id":9,"n":3}"#, r#"{"_id":10,"n":-3}"#]));
        refused(c.put(1, r#"{"n":"text"}"#));
        refused(c.replace_one(r#"{"_id":1}"#, r#"{"m":1}"#).run());
        refused(c.update_one(r#"{"_id":1}"#, r#"{"$set":{"n":-1}}"#).run());
        refused(c.update_one(r#"{"n":1}"#, r#"{"$unset":{"n":1}}"#).run());
        refused(c.update_one(r#"{"_id":1}"#, r#"[{"$set":{"n":{"$subtract":["$n",5]}}}]"#).run());
        refused(c.update_one(r#"{"_id":77}"#, r#"{"$set":{"m":-1}}"#).upsert(true).run());
        refused(c.find_one_and_update(r#"{"_id":1}"#, r#"{"$inc":{"n":-7}}"#).run());
        // Without a validator, these updates would be written as deltas, and the second would not read the document.
        refused(c.update_one(r#"{"_id":2}"#, r#"{"$set":{"n":-1}}"#).run());
        refused(c.update_blind(2, r#"{"$inc":{"n":-100}}"#));
        let mut batch = db.write_batch();
        batch.insert(&c, r#"{"_id":9,"n":9}"#).unwrap();
        batch.update_blind(&c, 2, r#"{"$inc":{"n":-100}}"#).unwrap();
        refused(batch.commit());
        assert_eq!(c.count().unwrap(), 2);
        assert_eq!(c.get(1).unwrap().unwrap().to_string(), before);
        assert_eq!(c.get(2).unwrap().unwrap().to_string(), wide);
    }
    // Documents that the validator allows are written as before.
    c.update_blind(2, r#"{"$inc":{"n":1}}"#).unwrap();
    assert_eq!(c.find(r#"{"n":6}"#).count().unwrap(), 1);
    assert_eq!(c.delete_one(r#"{"_id":1}"#).run().unwrap().deleted_count, 1);
}

#[test]
fn the_error_says_what_is_wrong() {
    let (_db, c) = validated(&Env::in_memory(1));
    let error = c.insert_one(r#"{"_id":7,"n":-3}"#).unwrap_err();
    let Error::Validation { collection, id, details } = &error else { panic!("{error}") };
    assert_eq!((collection.as_str(), id.as_str()), ("main.c", "7"));
    assert_eq!(details.get("failingDocumentId"), Some(&alluvium::Value::Int32(7)));
    let text = error.to_string();
    assert!(text.contains("main.c") && text.contains("minimum") && text.contains("comparison failed"), "{text}");
}

#[test]
fn loads_and_pipelines_are_checked() {
    let (db, c) = validated(&Env::in_memory(1));
    let text = "{\"_id\":1,\"n\":1}\n{\"_id\":2,\"n\":-1}\n{\"_id\":3,\"n\":3}\n";
    let load = || c.load(Input::stream("text", text.as_bytes())).format(Format::JsonLines);
    let error = load().run().unwrap_err();
    assert!(error.to_string().contains("line 2") && error.to_string().contains("validator"), "{error}");
    // The document before the bad line was loaded.
    assert_eq!(c.delete_many("{}").run().unwrap().deleted_count, 1);
    let report = load().on_bad(OnBad::Skip).run().unwrap();
    assert_eq!((report.documents, report.rejected), (2, 1));
    let pets = db.collection("pets");
    pets.insert_many([r#"{"_id":1,"n":-1}"#, r#"{"_id":2,"n":2}"#]).unwrap();
    let run = |stages: &str| pets.aggregate(stages).run().and_then(|mut found| found.try_for_each(|d| d.map(drop)));
    for stage in [r#"{"$out":"c"}"#, r#"{"$merge":"c"}"#] {
        refused(run(&format!("[{stage}]")));
    }
    // The `$merge` wrote the document that matches the rules.
    assert_eq!(c.count().unwrap(), 3);
    run(r#"[{"$match":{"n":2}},{"$out":"c"}]"#).unwrap();
    assert_eq!(c.count().unwrap(), 1);
    refused(c.insert_one("{}"));
}

#[test]
fn levels_and_actions() {
    let (_db, c) = validated(&Env::in_memory(1));
    c.drop_validator().unwrap();
    c.insert_many([r#"{"_id":1,"n":-1}"#, r#"{"_id":2,"n":2}"#]).unwrap();
    c.set_validator(RULES).level(ValidationLevel::Moderate).run().unwrap();
    c.update_one(r#"{"_id":1}"#, r#"{"$set":{"a":1}}"#).run().unwrap();
    refused(c.update_one(r#"{"_id":2}"#, r#"{"$set":{"n":"x"}}"#).run());
    refused(c.insert_one("{}"));
    c.set_validator(RULES).run().unwrap();
    refused(c.update_one(r#"{"_id":1}"#, r#"{"$set":{"a":2}}"#).run());
    c.set_validator(RULES).action(ValidationAction::Warn).run().unwrap();
    c.insert_one(r#"{"_id":3}"#).unwrap();
    c.set_validator(RULES).level(ValidationLevel::Off).run().unwrap();
    c.insert_one(r#"{"_id":4}"#).unwrap();
    assert!(c.set_validator(r#"{"a":{"$gtt":1}}"#).run().is_err());
    assert_eq!(c.validator().unwrap().unwrap().level(), ValidationLevel::Off);
}

/// If a check takes long, the limits of the write end it. The error does not say that the document breaks the rules.
#[test]
fn checks_end_with_their_write() {
    let (_db, c) = validated(&Env::in_memory(1));
    c.insert_one(r#"{"_id":1,"n":1}"#).unwrap();
    let stopped = || c.clone().with_limits(Arc::new(AtomicBool::new(true)), Duration::ZERO);
    let code = |result: Result<(), Error>| result.err().and_then(|error| error.code()).map(|(code, _)| code);
    // A short check ends before it looks at the flag.
    stopped().insert_one(r#"{"_id":2,"n":1}"#).unwrap();
    let many = format!(r#"{{"_id":3,"n":1,"all":[{}0]}}"#, "0,".repeat(100_000));
    c.set_validator(r#"{"$jsonSchema":{"properties":{"all":{"items":{"bsonType":"int"}}}}}"#).run().unwrap();
    assert_eq!(code(stopped().insert_one(&many).map(drop)), Some(11601));
    assert_eq!(code(stopped().insert_many([&many, &many]).map(drop)), Some(11601));
    assert_eq!(code(stopped().put(3, &many[..]).map(drop)), Some(11601));
    c.insert_one(&many).unwrap();
    c.set_validator(r#"{"$expr":{"$gt":[{"$size":{"$range":[0,1000000]}},5]}}"#).run().unwrap();
    assert_eq!(code(stopped().insert_one(r#"{"_id":4,"n":1}"#).map(drop)), Some(11601));
    c.clone().with_limits(Arc::default(), Duration::ZERO).insert_one(r#"{"_id":4,"n":1}"#).unwrap();
}

#[test]
fn it_lives_as_long_as_its_collection() {
    let env = Env::in_memory(1);
    let (db, c) = validated(&env);
    c.insert_one(r#"{"_id":1,"n":1}"#).unwrap();
    c.create_index(r#"{"m":1}"#).run().unwrap();
    db.rename_collection("c", "d").unwrap();
    db.close().unwrap();
    let check = |db: &Database| {
        refused(db.collection("d").insert_one("{}"));
        assert_eq!(db.collection("d").count().unwrap(), 1);
    };
    let db = open(&env, "db");
    check(&db);
    db.dump("dump").run().unwrap();
    db.close().unwrap();
    let other = open(&env, "other");
    let dump = alluvium::dump::read("dump").env(env.clone()).run().unwrap();
    let restored = dump.restore(&other).run().unwrap();
    assert_eq!(restored.collections[0].validator_lost, None);
    check(&other);
    let report = alluvium::repair::repair("db", "repaired").env(env.clone()).run().unwrap();
    assert!(report.is_whole());
    check(&open(&env, "repaired"));
}
