//! Lines that are not documents stop the load, or are written to the rejects with line, column and
//! reason.

use crate::common::Place;
use serde_json::Value;

const LINES: &[u8] =
    b"{\"_id\":1}\n{\"_id\":2,}\n\n[1,2]\n{\"_id\":3,\"a\":1,\"a\":2}\n{\"_id\":[1]}\n\xff\n{\"_id\":4}";

#[test]
fn bad_lines_go_to_the_rejects() {
    let place = Place::new();
    place.write("in.jsonl", LINES);
    let arguments =
        ["load", "db", "c", "in.jsonl", "--on-bad", "skip", "--rejects", "bad.jsonl", "--json", "--readers", "1"];
    let summary = place.json(&arguments);
    assert_eq!(summary["documents"], 2);
    assert_eq!(summary["rejected"], 5);
    assert_eq!(place.good(&["scan", "db", "c"]), "{\"_id\":1}\n{\"_id\":4}\n");
    let text = place.read("bad.jsonl");
    let rejects: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let places: Vec<_> = rejects.iter().map(|reject| reject["line"].as_u64().expect("a line")).collect();
    // Empty lines are neither documents nor errors, but they count in line numbers.
    assert_eq!(places, [2, 4, 5, 6, 7]);
    assert_eq!(rejects[0]["file"], "in.jsonl");
    assert_eq!(rejects[0]["column"], 10);
    assert_eq!(rejects[0]["text"], "{\"_id\":2,}");
    assert!(rejects[2]["reason"].as_str().expect("text").contains("duplicate field \"a\""), "{text}");
    assert!(rejects[4]["reason"].as_str().expect("text").contains("UTF-8"), "{text}");
}

#[test]
fn lines_whose_unique_key_is_taken_go_to_the_rejects() {
    let place = Place::new();
    place.good(&["put", "db", "c", "0", "{\"u\":7}"]);
    place.good(&["index", "create", "db", "c", "{\"u\":1}", "--unique", "--name", "chip"]);
    place.write("in.jsonl", "{\"_id\":1,\"u\":1}\n{\"_id\":2,\"u\":7}\n{\"_id\":3,\"u\":1}\n{\"_id\":4,\"u\":4}\n");
    let said = place.bad(4, &["load", "db", "c", "in.jsonl"]);
    assert!(
        said.contains("in.jsonl line 2: ") && said.contains("--on-bad skip skips documents that an index refuses"),
        "{said}"
    );
    let skip = ["load", "db", "c", "in.jsonl", "--on-bad", "skip", "--rejects", "bad.jsonl"];
    assert!(place.good(&skip).contains("left out 2 bad lines"));
    let text = place.read("bad.jsonl");
    let rejects: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(rejects.iter().map(|reject| &reject["line"]).collect::<Vec<_>>(), [&Value::from(2), &Value::from(3)]);
    assert_eq!(rejects[0]["text"], "{\"_id\":2,\"u\":7}");
    assert!(rejects[1]["reason"].as_str().expect("text").contains("unique index chip"), "{text}");
    assert_eq!(place.good(&["count", "db", "c"]), "3\n");
    // All lines were processed, so the file counts as completely loaded.
    assert!(place.good(&skip).contains("was loaded completely before"));
}

#[test]
fn a_bad_line_stops_the_load_and_what_was_before_stays() {
    let place = Place::new();
    place.write("in.jsonl", LINES);
    let said = place.bad(1, &["load", "db", "c", "in.jsonl"]);
    assert!(said.contains("in.jsonl line 2 column 10"), "{said}");
    assert!(said.contains("1 document loaded before") && said.contains("--on-bad skip"), "{said}");
    assert_eq!(place.good(&["scan", "db", "c"]), "{\"_id\":1}\n");
    // The same file is loaded with another treatment of bad lines: the load continues after the first document.
    let said = place.good(&["load", "db", "c", "in.jsonl", "--on-bad", "skip"]);
    assert!(said.starts_with("continued after 1 document loaded before\nloaded 1 document"), "{said}");
}

#[test]
fn rejects_without_skipping_make_no_sense() {
    let place = Place::new();
    place.write("in.jsonl", LINES);
    let said = place.bad(2, &["load", "db", "c", "in.jsonl", "--rejects", "bad.jsonl"]);
    assert!(said.contains("--on-bad skip"), "{said}");
    assert!(!place.path("db").exists() && !place.path("bad.jsonl").exists());
}
