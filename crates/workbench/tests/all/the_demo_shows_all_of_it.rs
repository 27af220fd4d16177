//! `alluvium-bench demo` with few documents: every step, the kill, and the table.

use crate::common::Place;

#[test]
fn the_demo_shows_all_of_it() {
    let place = Place::new();
    let table = place.good(&["demo", "--docs", "50000", "--memory", "32M"]);
    for row in
        ["documents/s", "on disk / JSON", "written / JSON", "peak memory", "random get", "update", "open after kill -9"]
    {
        assert!(table.contains(row), "{row}: {table}");
    }
    assert!(table.contains("all whole"), "{table}");
    // A filter, its plan without and with an index, and the index.
    for shown in ["filter {\"author\": ", "without an index: 3 documents in ", "index author_1_score_-1 created in "] {
        assert!(table.contains(shown), "{shown}: {table}");
    }
    let (_, with_index) = table.split_once("with the index: 3 documents in ").expect("the second answer");
    assert!(with_index.contains("author_1_score_-1"), "{table}");
    // The report at the end names the files that remain, and commands to try next.
    let (_, left) = table.split_once("Left:").expect("what is left");
    for shown in ["comments.jsonl", "demo.alluvium", "Try next:", " find ", " --explain", " shell ", "rm -r "] {
        assert!(left.contains(shown), "{shown}: {table}");
    }
    assert!(!table.contains('\x1b'), "colours are for terminals: {table}");
    assert!(!table.contains("not known"), "{table}");
    // The demo can be run again.
    place.good(&["demo", "--docs", "20000", "--memory", "32M"]);
    let said = place.bad(2, &["demo", "--docs", "19999"]);
    assert!(said.contains("at least 20,000 documents"), "{said}");
}

#[test]
fn the_demo_removes_no_directory_of_others() {
    let place = Place::new();
    std::fs::create_dir(place.path("demo.alluvium")).expect("space");
    place.write("demo.alluvium/precious", "data");
    place.bad(1, &["demo", "--docs", "20000"]);
    assert_eq!(place.read("demo.alluvium/precious"), "data");
}
