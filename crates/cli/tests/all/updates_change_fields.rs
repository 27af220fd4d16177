//! `update`: changes of fields by checked updates, blind updates and upserts; mistakes are reported.

use crate::common::Place;

#[test]
fn fields_are_changed() {
    let place = Place::new();
    place.write("c.jsonl", "{\"_id\":\"a\",\"score\":1,\"text\":\"x\"}\n");
    place.good(&["load", "db", "c", "c.jsonl"]);
    assert_eq!(place.good(&["update", "db", "c", "a", r#"{"$inc":{"score":2}}"#]), "updated \"a\"\n");
    assert_eq!(place.good(&["update", "db", "c", "a", r#"{"$set":{"score":3}}"#]), "unchanged \"a\"\n");
    place.good(&["update", "db", "c", "a", r#"{"$inc":{"score":10},"$set":{"x.y":1}}"#, "--blind"]);
    assert_eq!(place.good(&["get", "db", "c", "a"]), "{\"_id\":\"a\",\"score\":13,\"text\":\"x\",\"x\":{\"y\":1}}\n");
    let message = place.bad(3, &["update", "db", "c", "b", r#"{"$inc":{"score":1}}"#]);
    assert!(message.contains("not found"), "{message}");
    assert_eq!(place.run(&["update", "db", "c", "b", r#"{"$inc":{"score":1}}"#]).out, "", "it is message once");
    let help = place.good(&["update", "--help"]);
    assert!(help.contains(r#"'[{"name.score": {"$gte": 5}}]'"#), "{help}");
    let result = place.json(&["update", "db", "c", "b", r#"{"$inc":{"score":1}}"#, "--upsert", "--json"]);
    assert_eq!((&result["matched"], &result["upserted"]), (&0.into(), &1.into()));
    assert_eq!(place.good(&["get", "db", "c", "b"]), "{\"_id\":\"b\",\"score\":1}\n");
    place.good(&["compact", "db"]);
    assert!(place.good(&["get", "db", "c", "a"]).contains("\"score\":13"));
}

#[test]
fn mistakes_are_reported() {
    let place = Place::new();
    place.write("c.jsonl", "{\"_id\":\"a\",\"text\":\"x\"}\n");
    place.good(&["load", "db", "c", "c.jsonl"]);
    for (code, update, says) in [
        (1, r#"{"$inc":{"text":1}}"#, "text"),
        (2, r#"{"$frob":{"text":1}}"#, "$frob"),
        (2, r#"{"text":1}"#, "`alluvium put`"),
        (2, r#"{"set":{"text":1}}"#, "did you mean $set?"),
        (1, r#"{"$set":{"_id":1}}"#, "_id"),
        (2, r#"{"$set":"#, "the update must be JSON, such as {\"a\": 1}: line 1, column"),
    ] {
        let message = place.bad(code, &["update", "db", "c", "a", update]);
        assert!(message.contains(says), "{update}: {message}");
    }
}

#[test]
fn what_does_not_go_with_a_document_names_it() {
    let place = Place::new();
    place.good(&["put", "db", "c", "1", "{\"a\": 1}"]);
    place.good(&["put", "db", "c", "2", "{\"a\": \"x\"}"]);
    let update = ["update", "db", "c", "--where", "{}", "{\"$inc\":{\"a\":10}}", "--many"];
    let said = place.bad(1, &update);
    assert!(said.contains("document 2 of main.c: ") && said.contains("$inc"), "{said}");
    let said = place.bad(1, &["update", "db", "c", "2", "{\"$inc\":{\"a\":10}}"]);
    assert!(said.contains("document 2 of main.c: "), "{said}");
    // Errors as JSON, with MongoDB's code if one exists.
    let error = |code: i32, arguments: &[&str]| -> serde_json::Value {
        let said = place.bad(code, &[arguments, &["--json"]].concat());
        assert_eq!(said.lines().count(), 1, "{said}");
        serde_json::from_str(&said).expect("JSON")
    };
    let found = error(1, &update);
    assert_eq!(
        (&found["code"], &found["code_name"], &found["exit_code"]),
        (&14.into(), &"TypeMismatch".into(), &1.into())
    );
    assert!(found["error"].as_str().is_some_and(|text| text.contains("document 2 of main.c")), "{found}");
    let found = error(3, &["count", "nothing", "c"]);
    assert!(found["code"].is_null() && found["exit_code"] == 3, "{found}");
}

#[test]
fn stages_of_a_pipeline_are_an_update() {
    let place = Place::new();
    place.good(&["put", "db", "c", "1", r#"{"price":3,"count":4}"#]);
    let total = "[{$set: {total: {$multiply: ['$price', '$count']}}}, {$unset: 'price'}]";
    assert_eq!(place.good(&["update", "db", "c", "1", total]), "updated 1\n");
    assert_eq!(place.good(&["get", "db", "c", "1"]), "{\"_id\":1,\"count\":4,\"total\":12}\n");
    let all = ["update", "db", "c", "--where", "{}", "[{$set: {count: {$add: ['$count', 1]}}}]", "--many"];
    assert_eq!(place.good(&all), "updated 1 of 1 matching document\n");
    assert_eq!(place.good(&["get", "db", "c", "1", "--fields", "count"]), "{\"_id\":1,\"count\":5}\n");
    assert!(place.bad(2, &["update", "db", "c", "1", total, "--blind"]).contains("--blind is for operators"));
    assert!(place.bad(2, &["update", "db", "c", "1", "[{$group: {_id: 1}}]"]).contains("$group"));
    assert!(place.bad(2, &["update", "db", "c", "1", "[5]"]).contains("array of stages"));
}

#[test]
fn compact_folds_deltas() {
    let place = Place::new();
    place.good(&["put", "db", "c", "1", r#"{"n":1}"#]);
    place.good(&["compact", "db"]);
    for _ in 0..3 {
        place.good(&["update", "db", "c", "1", r#"{"$inc":{"n":1}}"#, "--blind"]);
    }
    place.good(&["compact", "db"]);
    let entries = |kind: &str| -> usize {
        let partitions = std::fs::read_dir(place.path("db")).expect("a database");
        let dirs = partitions.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_dir());
        let files =
            dirs.flat_map(|dir| std::fs::read_dir(dir).expect("a directory").map(|file| file.expect("a file").path()));
        let sorted = files.filter(|path| path.extension().is_some_and(|kind| kind == "sst"));
        let said = sorted.map(|path| place.good(&["inspect", &path.display().to_string(), "--entries"]));
        said.map(|said| said.matches(kind).count()).sum()
    };
    assert!(entries("kind put") > 0);
    assert_eq!(entries("kind delta"), 0);
    assert!(place.good(&["get", "db", "c", "1"]).contains("\"n\":4"));
}
