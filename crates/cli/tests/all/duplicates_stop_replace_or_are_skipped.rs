//! `--on-duplicate`: a duplicate `_id` stops the load, or either the new or the existing document is kept.

use crate::common::Place;

const LINES: &str = "{\"_id\":1,\"v\":1}\n{\"_id\":2,\"v\":1}\n{\"_id\":1,\"v\":2}\n{\"_id\":3,\"v\":1}\n";

#[test]
fn an_error_names_line_and_id_and_has_its_exit_code() {
    let place = Place::new();
    place.write("in.jsonl", LINES);
    let said = place.bad(4, &["load", "db", "c", "in.jsonl"]);
    assert!(said.contains("in.jsonl line 3") && said.contains("_id 1"), "{said}");
    assert_eq!(place.good(&["scan", "db", "c"]), "{\"_id\":1,\"v\":1}\n{\"_id\":2,\"v\":1}\n");
}

#[test]
fn replace_keeps_the_later_line() {
    let place = Place::new();
    place.write("in.jsonl", LINES);
    place.good(&["load", "db", "c", "in.jsonl", "--on-duplicate", "replace"]);
    let expected = "{\"_id\":1,\"v\":2}\n{\"_id\":2,\"v\":1}\n{\"_id\":3,\"v\":1}\n";
    assert_eq!(place.good(&["scan", "db", "c"]), expected);
}

#[test]
fn skip_keeps_the_earlier_line_and_counts() {
    let place = Place::new();
    place.write("in.jsonl", LINES);
    let summary = place.json(&["load", "db", "c", "in.jsonl", "--on-duplicate", "skip", "--json"]);
    assert_eq!((&summary["documents"], &summary["duplicates"]), (&3.into(), &1.into()));
    let expected = "{\"_id\":1,\"v\":1}\n{\"_id\":2,\"v\":1}\n{\"_id\":3,\"v\":1}\n";
    assert_eq!(place.good(&["scan", "db", "c"]), expected);
}
