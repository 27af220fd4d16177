//! `alluvium-bench demo`, small: every step, the kill, and the table.

#![allow(clippy::disallowed_methods)]

#[path = "../../cli/tests/common/mod.rs"]
mod common;

use common::Place;

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
    assert!(!table.contains("not known"), "{table}");
    // It may be run again.
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
