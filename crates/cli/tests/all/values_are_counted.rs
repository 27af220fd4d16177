//! `count --by` and `distinct --counts`: the values of fields, each with the number of its documents, the most frequent
//! first.

use crate::common::Place;
use serde_json::json;

const LINES: &str = r#"{"_id":1,"kind":"dog","age":3,"tags":["a","b","a"],"at":[{"x":1},{"x":2}]}
{"_id":2,"kind":"cat","age":3.0,"tags":["b"]}
{"_id":3,"kind":"dog","age":5,"tags":[]}
{"_id":4,"kind":null,"tags":"b","at":[{"x":2}]}
{"_id":5,"age":3,"count":7}
"#;

fn pets() -> Place {
    let place = Place::new();
    place.write("pets.jsonl", LINES);
    place.good(&["load", "db", "pets", "pets.jsonl"]);
    place
}

#[test]
fn documents_are_counted_by_the_values_of_fields() {
    let place = pets();
    let table = "kind  count\n----  -----\nnull      2\ndog       2\ncat       1\n";
    assert_eq!(place.good(&["count", "db", "pets", "--by", "kind"]), table);
    let csv = |arguments: &[&str]| place.good(&[&["count", "db", "pets", "--format", "csv"], arguments].concat());
    assert_eq!(csv(&["--by", "age"]), "age,count\n3,3\n,1\n5,1\n");
    assert_eq!(csv(&["--by", "kind,age"]), "kind,age,count\n,,1\n,3,1\ncat,3.0,1\ndog,3,1\ndog,5,1\n");
    assert_eq!(csv(&["{age: {$gt: 3}}", "--by", "kind"]), "kind,count\ndog,1\n");
    // An array is one value. A path leads into the maps of an array.
    assert_eq!(csv(&["--by", "at.x", "{at: {$exists: true}}"]), "at.x,count\n\"[1,2]\",1\n[2],1\n");
    assert_eq!(csv(&["--by", "count"]), "count,documents\n,4\n7,1\n");
    let rows = place.json(&["count", "db", "pets", "--by", "kind", "--json"]);
    assert_eq!(
        rows,
        json!([{ "kind": null, "count": 2 }, { "kind": "dog", "count": 2 }, { "kind": "cat", "count": 1 }])
    );
}

#[test]
fn the_answers_are_the_same_with_an_index_and_in_a_shell() {
    let place = pets();
    let question = ["count", "db", "pets", "{age: {$gte: 3}}", "--by", "kind", "--format", "csv"];
    let answer = place.good(&question);
    place.good(&["index", "create", "db", "pets", "{\"age\": 1}"]);
    assert_eq!(place.good(&question), answer);
    let ended = place.run_with(&["shell", "db"], b"use pets\ncount {age: {$gte: 3}} --by kind --format csv\n");
    assert_eq!((ended.code, ended.out), (Some(0), answer), "{}", ended.err);
    assert!(place.good(&[&question[..6], &["--explain"]].concat()).contains("returned"));
}

#[test]
fn a_limit_prints_the_most_frequent_and_counts_the_rest() {
    let place = pets();
    let ended = place.run(&["count", "db", "pets", "--by", "kind", "--limit", "1", "--format", "csv"]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), "kind,count\n,2\n"));
    assert_eq!(ended.err, "note: 2 more values, with 3 documents\n");
    let ended = place.run(&["count", "db", "pets", "--by", "kind", "--limit", "0", "--format", "csv"]);
    assert_eq!((ended.out.lines().count(), ended.err.as_str()), (4, ""));
}

#[test]
fn distinct_values_have_the_number_of_documents_that_contain_them() {
    let place = pets();
    let counts = ["distinct", "db", "pets", "tags", "--counts"];
    assert_eq!(place.good(&counts), "tags  count\n----  -----\nb         3\na         1\n");
    for (value, count) in [("b", "3\n"), ("a", "1\n")] {
        assert_eq!(place.good(&["count", "db", "pets", &format!("{{tags: '{value}'}}")]), count);
    }
    let csv = place.good(&[&counts[..], &["{kind: 'dog'}", "--format", "csv"]].concat());
    assert_eq!(csv, "tags,count\na,1\nb,1\n");
    assert_eq!(place.json(&[&counts[..], &["--json"]].concat())[0], json!({ "tags": "b", "count": 3 }));
    assert_eq!(place.good(&[&counts[..], &["--limit", "1", "--format", "csv"]].concat()), "tags,count\nb,3\n");
    assert!(place.good(&["distinct", "db", "pets", "at.x", "--counts", "--format", "csv"]).ends_with("2,2\n1,1\n"));
}

#[test]
fn distinct_values_have_formats() {
    let place = pets();
    let of = |format: &str| place.good(&["distinct", "db", "pets", "kind", "--format", format]);
    let lines = "null\n\"cat\"\n\"dog\"\n";
    assert_eq!(place.good(&["distinct", "db", "pets", "kind"]), lines);
    assert_eq!(of("jsonl"), lines);
    assert_eq!(of("json"), "[\nnull,\n\"cat\",\n\"dog\"\n]\n");
    assert_eq!(of("csv"), "kind\n\"\"\ncat\ndog\n");
    assert_eq!(of("table"), "kind\n----\nnull\ncat\ndog\n");
    assert_eq!(place.good(&["distinct", "db", "pets", "kind", "--limit", "2"]), "null\n\"cat\"\n");
    assert_eq!(place.good(&["distinct", "db", "pets", "none", "--format", "json"]), "[]\n");
}

#[test]
fn what_is_wrong_is_named() {
    let place = pets();
    for (code, arguments, message) in [
        (2, &["count", "db", "pets", "--by", "a..b"][..], "\"a..b\" is not a path"),
        (2, &["count", "db", "pets", "--by", "kind,kind"], "--by names kind twice"),
        (2, &["count", "db", "pets", "--by", "kind,"], "--by: a field has no name"),
        (2, &["count", "db", "pets", "--limit", "1"], "--by"),
        (2, &["count", "db", "pets", "--format", "csv"], "--format is for --by"),
        (2, &["count", "db", "pets", "--by", "kind", "--json", "--format", "csv"], "--format"),
        (2, &["distinct", "db", "pets", "a..b", "--counts"], "a..b"),
    ] {
        let error = place.bad(code, arguments);
        assert!(error.contains(message), "{arguments:?}: {error}");
    }
    let ended = place.run(&["count", "db", "pets", "--by", "kimd"]);
    assert_eq!(ended.code, Some(0));
    assert!(ended.err.contains("no field kimd is known in main.pets: did you mean kind?"), "{}", ended.err);
    assert_eq!(place.good(&["count", "db", "pots", "--by", "kind"]), "kind  count\n----  -----\n");
}

#[test]
fn a_read_only_store_counts_by_values_too() {
    let place = pets();
    place.good(&["build", "store", "pets", "pets.jsonl"]);
    let csv = place.good(&["count", "store", "pets", "--by", "kind", "--format", "csv"]);
    assert_eq!(csv, "kind,count\n,2\ndog,2\ncat,1\n");
    let filtered = ["pets", "{kind: {$ne: null}}", "--by", "kind"];
    let on = |store: &str| place.good(&[&["count", store], &filtered[..]].concat());
    assert_eq!(on("store"), on("db"));
}
