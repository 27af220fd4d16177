//! A view returns the results of its pipeline for every kind of query; it uses indexes, and refuses writes.

use alluvium::{Database, Error, Value};
use alluvium_env::Env;
use std::path::Path;

fn open(env: &Env) -> Database {
    Database::builder().env(env.clone()).memory(16 << 20).partitions(2).open(Path::new("db")).unwrap()
}

fn pets(env: &Env) -> Database {
    let db = open(env);
    let pet = |n: i32| {
        format!(r#"{{"_id":{n},"kind":"{}","age":{},"tags":["a","b{n}"]}}"#, ["dog", "cat"][n as usize % 2], n)
    };
    db.collection("pets").insert_many((0..20).map(pet)).unwrap();
    db.collection("pets").create_index(r#"{"age":1}"#).run().unwrap();
    db.create_view("old", "pets", r#"[{"$match":{"age":{"$gte":10}}},{"$set":{"months":{"$multiply":["$age",12]}}}]"#)
        .run()
        .unwrap();
    db.create_view("old_dogs", "old", r#"[{"$match":{"kind":"dog"}},{"$unset":"tags"}]"#).run().unwrap();
    db
}

fn ids(db: &Database, view: &str, filter: &str) -> Vec<i64> {
    let found = db.collection(view).find(filter).sort(r#"{"age":-1}"#).run().unwrap();
    found.map(|document| document.unwrap().id().as_i64().unwrap()).collect()
}

#[test]
fn every_question_is_answered() {
    let env = Env::in_memory(1);
    let db = pets(&env);
    let before = db.snapshot();
    let check = |db: &Database| {
        assert_eq!(ids(db, "old", "{}"), [19, 18, 17, 16, 15, 14, 13, 12, 11, 10]);
        assert_eq!(ids(db, "old_dogs", r#"{"months":{"$gt":150}}"#), [18, 16, 14]);
        let dogs = db.collection("old_dogs");
        assert_eq!((dogs.find("{}").count().unwrap(), dogs.find(r#"{"age":{"$lt":14}}"#).count().unwrap()), (5, 2));
        assert_eq!(dogs.find("{}").distinct("kind").unwrap(), [Value::from("dog")]);
        assert_eq!(db.collection("old").find("{}").distinct("tags").unwrap().len(), 11);
        let first = dogs.find("{}").sort(r#"{"age":1}"#).skip(1).limit(2).projection(r#"{"months":1}"#).run().unwrap();
        let first: Vec<String> = first.map(|document| document.unwrap().to_string()).collect();
        assert_eq!(first, [r#"{"_id":12,"months":144}"#, r#"{"_id":14,"months":168}"#]);
        let sliced = db.collection("old").find(r#"{"_id":11}"#).projection(r#"{"tags":{"$slice":1},"_id":0}"#).first();
        let sliced = sliced.unwrap().unwrap().to_string();
        assert_eq!(sliced, r#"{"kind":"cat","age":11,"tags":["a"],"months":132}"#);
        let counted = dogs.aggregate(r#"[{"$group":{"_id":null,"sum":{"$sum":"$months"}}}]"#).first().unwrap();
        assert_eq!(counted.unwrap().to_string(), r#"{"_id":null,"sum":840}"#);
    };
    check(&db);
    // Look-ups and unions read views, too.
    let joined = r#"[{"$match":{"_id":{"$in":[1,12]}}},{"$lookup":{"from":"old","localField":"_id","foreignField":"_id","as":"old"}},
        {"$project":{"n":{"$size":"$old"}}},{"$unionWith":{"coll":"old_dogs","pipeline":[{"$match":{"age":18}},{"$project":{"age":1}}]}}]"#;
    let joined = db.collection("pets").aggregate(joined).run().unwrap();
    let joined: Vec<String> = joined.map(|document| document.unwrap().to_string()).collect();
    assert_eq!(joined, [r#"{"_id":1,"n":0}"#, r#"{"_id":12,"n":1}"#, r#"{"_id":18,"age":18}"#]);
    db.collection("pets").delete_many("{}").run().unwrap();
    assert_eq!(db.collection("old").find("{}").count().unwrap(), 0);
    assert_eq!(db.collection("old").find("{}").at(&before).count().unwrap(), 10);
    let pet =
        |n: i32| format!(r#"{{"_id":{n},"kind":"{}","age":{n},"tags":["a","b{n}"]}}"#, ["dog", "cat"][n as usize % 2]);
    db.collection("pets").insert_many((0..20).map(pet)).unwrap();
    db.close().unwrap();
    check(&open(&env));
}

#[test]
fn indexes_are_used() {
    let db = pets(&Env::in_memory(1));
    let explained =
        db.collection("old_dogs").aggregate(r#"[{"$match":{"age":{"$lt":13}}}]"#).hint("age_1").explain().unwrap();
    let head = explained.head.unwrap();
    assert_eq!((head.keys_examined, explained.returned), (3, 2), "{head}");
}

#[test]
fn what_a_view_cannot_do_is_said() {
    let db = pets(&Env::in_memory(1));
    let old = db.collection("old");
    let code = |error: Error| error.code().map(|(code, _)| code);
    for error in [
        old.insert_one("{}").unwrap_err(),
        old.put(1, "{}").unwrap_err(),
        old.update_one("{}", r#"{"$set":{"a":1}}"#).run().unwrap_err(),
        old.delete_one("{}").run().unwrap_err(),
        old.create_index(r#"{"a":1}"#).run().unwrap_err(),
        old.get(1).unwrap_err(),
        db.rename_collection("old", "older").unwrap_err(),
        db.collection("pets").aggregate(r#"[{"$out":"old"}]"#).first().unwrap_err(),
    ] {
        assert_eq!(code(error), Some(166));
    }
    for (name, on, pipeline, expected) in [
        ("old", "pets", "[]", Some(48)),
        ("pets", "old", "[]", Some(48)),
        ("new", "pets", r#"[{"$grup":{}}]"#, Some(40324)),
        ("new", "pets", r#"[{"$out":"x"}]"#, Some(167)),
        ("new", "new", "[]", Some(5)),
    ] {
        assert_eq!(code(db.create_view(name, on, pipeline).run().unwrap_err()), expected, "{name} on {on}: {pipeline}");
    }
    db.create_view("a", "b", "[]").run().unwrap();
    assert_eq!(code(db.create_view("b", "a", "[]").run().unwrap_err()), Some(5));
    assert_eq!(db.collection("a").find("{}").count().unwrap(), 0);
    let names: Vec<String> = db.views().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["main.a", "main.old", "main.old_dogs"]);
    db.drop_collection("a").unwrap();
    assert_eq!(db.views().len(), 2);
    assert!(db.collections().iter().all(|info| info.name == "pets"));
}

#[test]
fn a_view_does_not_look_into_itself() {
    let db = pets(&Env::in_memory(1));
    let code = |pipeline: &str| db.create_view("v", "pets", pipeline).run().unwrap_err().code().map(|(code, _)| code);
    db.create_view("u", "pets", r#"[{"$facet":{"a":[{"$unionWith":{"coll":"v","pipeline":[]}}]}}]"#).run().unwrap();
    for pipeline in [
        r#"[{"$unionWith":"v"}]"#,
        r#"[{"$unionWith":{"coll":"v"}}]"#,
        r#"[{"$unionWith":{"coll":"pets","pipeline":[{"$unionWith":"v"}]}}]"#,
        r#"[{"$lookup":{"from":"v","localField":"a","foreignField":"a","as":"r"}}]"#,
        r#"[{"$lookup":{"from":"pets","pipeline":[{"$unionWith":"v"}],"as":"r"}}]"#,
        r#"[{"$graphLookup":{"from":"v","startWith":"$a","connectFromField":"a","connectToField":"b","as":"r"}}]"#,
        r#"[{"$facet":{"x":[{"$lookup":{"from":"v","pipeline":[],"as":"r"}}]}}]"#,
        r#"[{"$unionWith":"u"}]"#,
    ] {
        assert_eq!(code(pipeline), Some(5), "{pipeline}");
    }
    db.create_view("v", "pets", r#"[{"$unionWith":"pets"}]"#).run().unwrap();
    assert_eq!(db.collection("v").find("{}").count().unwrap(), 40);
}

#[test]
fn views_within_each_other_have_a_limit() {
    let db = pets(&Env::in_memory(1));
    let code = |error: Error| error.code().map(|(code, _)| code);
    // Views over views.
    let mut on = "pets".to_owned();
    for n in 1..=20 {
        let name = format!("over{n}");
        db.create_view(&name, &on, "[]").run().unwrap();
        on = name;
    }
    assert_eq!(code(db.create_view("over21", &on, "[]").run().unwrap_err()), Some(165));
    assert_eq!(db.collection(&on).find("{}").count().unwrap(), 20);
    // Views whose pipelines read another view. The pipeline of each view is nested in the pipeline of the next.
    for (kind, many) in [("union", 1), ("long", 60)] {
        let stages = r#"{"$addFields":{"x":1}},"#.repeat(many);
        let mut last = "pets".to_owned();
        let mut read = Vec::new();
        for n in 1..=21 {
            let name = format!("{kind}{n}");
            db.create_view(&name, "pets", format!(r#"[{stages}{{"$unionWith":"{last}"}}]"#)).run().unwrap();
            read.push(db.collection(&name).aggregate(r#"[{"$count":"n"}]"#).first().map_err(code));
            last = name;
        }
        let refused = read.iter().position(Result::is_err);
        assert_eq!(refused, Some(if many == 1 { 20 } else { 16 }), "{kind}: {read:?}");
        assert!(read.into_iter().flat_map(Result::err).all(|code| code == Some(232)), "{kind}");
    }
}

#[test]
fn a_dump_and_a_repair_keep_views() {
    let env = Env::in_memory(1);
    let db = pets(&env);
    assert_eq!(db.dump("dump").run().unwrap().views, 2);
    db.close().unwrap();
    let other = Database::builder().env(env.clone()).memory(16 << 20).open(Path::new("other")).unwrap();
    let dump = alluvium::dump::read("dump").env(env.clone()).run().unwrap();
    assert_eq!(dump.restore(&other).run().unwrap().views, ["main.old", "main.old_dogs"]);
    assert_eq!(dump.restore(&other).create_views().unwrap(), [""; 0], "they are there");
    assert_eq!(ids(&other, "old_dogs", "{}"), [18, 16, 14, 12, 10]);
    assert!(alluvium::repair::repair("db", "repaired").env(env.clone()).run().unwrap().is_whole());
    let repaired = Database::builder().env(env).memory(16 << 20).open(Path::new("repaired")).unwrap();
    assert_eq!(ids(&repaired, "old_dogs", "{}"), [18, 16, 14, 12, 10]);
}
