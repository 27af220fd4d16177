//! A second process, and another number of partitions, are refused with a clear error.

#![allow(clippy::disallowed_methods)]

mod common;

use common::{Place, ended};
use std::io::Write;

#[test]
fn a_database_in_use_is_refused_and_left_alone() {
    let place = Place::new();
    let mut child = place.start(&["load", "db", "c", "-", "--progress-json", "p", "--progress-ms", "5"]);
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(b"{\"_id\":1}\n").expect("a reader");
    // Progress is written by a load whose database is open.
    while std::fs::metadata(place.path("p")).map_or(0, |file| file.len()) == 0 {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    for arguments in [vec!["count", "db", "c"], vec!["put", "db", "c", "1", "{}"], vec!["stats", "db"]] {
        let said = place.bad(6, &arguments);
        assert!(said.contains("is in use by another process"), "{said}");
    }
    drop(stdin);
    let ended = ended(child);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert_eq!(place.good(&["count", "db", "c"]), "1\n");
}

#[test]
fn another_partition_count_is_refused() {
    let place = Place::new();
    place.write("in.jsonl", "{\"_id\":1}\n");
    place.good(&["load", "db", "c", "in.jsonl", "--partitions", "3"]);
    let said = place.bad(2, &["load", "db", "c", "in.jsonl", "--partitions", "2"]);
    assert!(said.contains("has 3 partitions, not 2"), "{said}");
    place.good(&["load", "db", "c", "in.jsonl", "--partitions", "3"]);
    assert_eq!(place.json(&["stats", "db", "--json"])["partitions"].as_array().map(Vec::len), Some(3));
}
