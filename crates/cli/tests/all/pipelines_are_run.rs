//! `aggregate` and `export --pipeline`: results in every format, from arguments and files, in the
//! shell; explanations; errors with MongoDB's codes.

use crate::common::Place;
use serde_json::json;

fn pets() -> Place {
    let place = Place::new();
    let lines: String = (0..30)
        .map(|n| {
            let kind = ["dog", "cat", "fish"][n % 3];
            format!("{{\"_id\":{n},\"kind\":\"{kind}\",\"age\":{},\"toys\":[\"a\",\"b{}\"]}}\n", n / 3, n % 2)
        })
        .collect();
    place.write("pets.jsonl", lines);
    place.good(&["load", "db", "pets", "pets.jsonl"]);
    place
}

const GROUP: &str = r#"[{"$match": {"age": {"$lt": 5}}}, {"$group": {"_id": "$kind", "n": {"$sum": 1}, "age": {"$avg": "$age"}}}, {"$sort": {"_id": 1}}]"#;

#[test]
fn results_are_printed_in_every_format() {
    let place = pets();
    let lines = "{\"_id\":\"cat\",\"n\":5,\"age\":2.0}\n{\"_id\":\"dog\",\"n\":5,\"age\":2.0}\n{\"_id\":\"fish\",\"n\":5,\"age\":2.0}\n";
    assert_eq!(place.good(&["aggregate", "db", "pets", GROUP]), lines);
    let csv = place.good(&["aggregate", "db", "pets", GROUP, "--format", "csv"]);
    assert_eq!(csv, "_id,n,age\ncat,5,2.0\ndog,5,2.0\nfish,5,2.0\n");
    let table = place.good(&["aggregate", "db", "pets", GROUP, "--format", "table"]);
    assert!(table.starts_with("_id   n  age\n----  -  ---\ncat   5  2.0\n"), "{table}");
    // A single stage, and names without quotes.
    let counted = place.good(&["aggregate", "db", "pets", "{$count: 'all'}"]);
    assert_eq!(counted, "{\"all\":30}\n");
    assert_eq!(place.good(&["aggregate", "db", "pets", "[]"]).lines().count(), 30);
    let toys = "[{$unwind: '$toys'}, {$sortByCount: '$toys'}]";
    assert!(place.good(&["aggregate", "db", "pets", toys]).starts_with("{\"_id\":\"a\",\"count\":30}\n"));
}

#[test]
fn pipelines_come_from_files_and_have_variables() {
    let place = pets();
    place.write("p.json", GROUP);
    let by_argument = place.good(&["aggregate", "db", "pets", GROUP]);
    assert_eq!(place.good(&["aggregate", "db", "pets", "-f", "p.json"]), by_argument);
    let ended = place.run_with(&["aggregate", "db", "pets", "--file", "-"], GROUP.as_bytes());
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), by_argument.as_str()), "{}", ended.err);
    let over = "[{$match: {$expr: {$gte: ['$age', '$$least']}}}, {$count: 'n'}]";
    assert_eq!(place.good(&["aggregate", "db", "pets", over, "--let", "{least: 8}"]), "{\"n\":6}\n");
    let script =
        format!("use pets\naggregate {GROUP}\naggregate -f {}\naggregate -f -\n", place.path("p.json").display());
    let ended = place.run_with(&["shell", "db"], script.as_bytes());
    assert_eq!((ended.code, ended.out), (Some(2), by_argument.repeat(2)), "{}", ended.err);
    assert!(ended.err.contains("line 4: standard input is the shell's own"), "{}", ended.err);
}

#[test]
fn the_execution_is_explained() {
    let place = pets();
    place.good(&["index", "create", "db", "pets", "{\"age\": 1}"]);
    let text = place.good(&["aggregate", "db", "pets", GROUP, "--explain"]);
    assert!(text.contains("$group -> 3") && text.contains("age_1"), "{text}");
    let json = place.json(&["aggregate", "db", "pets", GROUP, "--explain", "--json"]);
    assert!(json["stages"][0]["$cursor"].is_object(), "{json}");
    assert!(place.good(&["count", "db", "pets", "{age: 3}", "--by", "kind", "--explain"]).contains("$group -> 3"));
}

#[test]
fn results_are_written_to_collections_and_files() {
    let place = pets();
    assert_eq!(place.good(&["aggregate", "db", "pets", "[{$match: {kind: 'dog'}}, {$out: 'dogs'}]"]), "");
    assert_eq!(place.good(&["count", "db", "dogs"]), "10\n");
    let merge = "[{$group: {_id: '$kind', n: {$sum: 1}}}, {$merge: 'kinds'}]";
    assert_eq!(place.good(&["aggregate", "db", "pets", merge]), "");
    assert_eq!(place.good(&["get", "db", "kinds", "cat"]), "{\"_id\":\"cat\",\"n\":10}\n");
    let explained = place.bad(2, &["aggregate", "db", "pets", merge, "--explain"]);
    assert!(explained.contains("leave $merge out"), "{explained}");
    let export = |arguments: &[&str]| place.good(&[&["export", "db", "pets"], arguments].concat());
    assert_eq!(export(&["--pipeline", GROUP]), place.good(&["aggregate", "db", "pets", GROUP]));
    let csv = ["--pipeline", GROUP, "--format", "csv", "--limit", "1"];
    assert_eq!(export(&csv), "_id,n,age\ncat,5,2.0\n");
    assert_eq!(export(&["--pipeline", GROUP, "--format", "csv", "--fields", "n,_id"]), "n,_id\n5,cat\n5,dog\n5,fish\n");
    for (arguments, message) in [
        (&["--pipeline", "[{$out: 'x'}]"][..], "none to export"),
        (&["--pipeline", "[]", "--where", "{}"], "--where"),
        (&["--pipeline", "[]", "--from", "3"], "--from is for an export in order of _id"),
        (&["--pipeline", "5"], "must be a JSON array of stages"),
    ] {
        let error = place.bad(2, &[&["export", "db", "pets"], arguments].concat());
        assert!(error.contains(message), "{arguments:?}: {error}");
    }
}

#[test]
fn what_is_wrong_is_named_with_mongodbs_code() {
    let place = pets();
    for (pipeline, code, message) in [
        ("[{$grup: {}}]", 40324, "did you mean $group"),
        ("[{$group: {n: {$sum: 1}}}]", 15955, "must include an _id"),
        ("[5]", 14, "has one of type int"),
        ("'text'", 14, "not of type string"),
        ("[{", 9, "the pipeline must be JSON"),
        ("[{$set: {a: {$ad: [1]}}}]", 168, "did you mean $add"),
    ] {
        let error = place.bad(2, &["aggregate", "db", "pets", pipeline, "--json"]);
        let error: serde_json::Value = serde_json::from_str(&error).expect("JSON");
        assert_eq!(error["code"], json!(code), "{pipeline}: {error}");
        assert!(error["error"].as_str().is_some_and(|text| text.contains(message)), "{pipeline}: {error}");
    }
    // This error occurs only when a document is processed.
    let error = place.bad(1, &["aggregate", "db", "pets", "[{$set: {a: {$divide: ['$age', 0]}}}]", "--json"]);
    assert!(error.contains("\"code\":") && error.contains("\"exit_code\":1"), "{error}");
    for arguments in [&["[]", "-f", "p.json"][..], &[], &["[]", "--let", "5"], &["[]", "--allow-disk-use=maybe"]] {
        place.bad(2, &[&["aggregate", "db", "pets"], arguments].concat());
    }
    place.bad(3, &["aggregate", "db", "pets", "-f", "nowhere.json"]);
    let ended = place.run(&["aggregate", "db", "pots", "[]"]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), ""), "{}", ended.err);
    assert!(ended.err.contains("did you mean main.pets?"), "{}", ended.err);
    place.good(&["build", "store", "pets", "pets.jsonl"]);
    assert!(place.bad(1, &["aggregate", "store", "pets", "{$out: 'x'}"]).contains("read-only store"));
}

#[test]
fn limits_of_memory_and_time_end_a_pipeline() {
    let place = Place::new();
    place.comments("c.jsonl", 20_000);
    place.good(&["load", "db", "c", "c.jsonl", "--id-field", "id"]);
    let sort = "[{$sort: {body: 1}}, {$limit: 3}, {$project: {_id: 1}}]";
    assert_eq!(place.good(&["aggregate", "db", "c", sort, "--allow-disk-use"]).lines().count(), 3);
    assert_eq!(place.good(&["aggregate", "db", "c", sort, "--allow-disk-use=false"]).lines().count(), 3);
    let error = place.bad(1, &["aggregate", "db", "c", "[{$group: {_id: '$body'}}]", "--max-time", "1"]);
    assert!(error.contains("time"), "{error}");
}
