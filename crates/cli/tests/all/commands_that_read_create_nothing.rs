//! A wrong path is an error with advice; no directory is created, and no other file is touched.

use crate::common::Place;

const READING: &[&[&str]] = &[
    &["get", "db", "c", "1"],
    &["scan", "db", "c"],
    &["count", "db", "c"],
    &["delete", "db", "c", "1"],
    &["stats", "db"],
    &["verify", "db"],
    &["compact", "db"],
    &["collections", "db"],
    &["drop", "db", "c", "--yes"],
    &["rename", "db", "c", "d"],
];

#[test]
fn a_path_without_a_database_is_not_found() {
    let place = Place::new();
    for arguments in READING {
        let said = place.bad(3, arguments);
        assert!(said.contains("db is not an Alluvium database"), "{said}");
        assert!(!place.path("db").exists(), "{arguments:?} created something");
    }
}

#[test]
fn a_foreign_directory_is_not_touched() {
    let place = Place::new();
    std::fs::create_dir(place.path("db")).expect("space");
    place.write("db/notes.txt", "mine");
    for arguments in READING {
        place.bad(3, arguments);
    }
    let said = place.bad(1, &["put", "db", "c", "1", "{}"]);
    assert!(said.contains("is not empty and holds no Alluvium database"), "{said}");
    place.write("in.jsonl", "{\"_id\":1}\n");
    place.bad(1, &["load", "db", "c", "in.jsonl"]);
    let names: Vec<_> =
        std::fs::read_dir(place.path("db")).expect("there").map(|e| e.expect("one").file_name()).collect();
    assert_eq!(names, ["notes.txt"]);
}

#[test]
fn a_file_is_no_database() {
    let place = Place::new();
    place.write("db", "text");
    place.write("in.jsonl", "{\"_id\":1}\n");
    let writing: &[&[&str]] = &[
        &["put", "db", "c", "1", "{}"],
        &["load", "db", "c", "in.jsonl"],
        &["dump", "db", "dump"],
        &["checkpoint", "db", "checkpoint"],
        &["repair", "db", "--to", "repaired"],
        &["shell", "db"],
        &["index", "list", "db", "c"],
    ];
    for arguments in READING.iter().chain(writing) {
        let said = place.bad(3, arguments);
        assert!(said.contains("db is not an Alluvium database"), "{arguments:?}: {said}");
    }
    // A file exists at the path where a directory or a dump is to be created.
    place.good(&["load", "other", "c", "in.jsonl"]);
    assert!(place.bad(1, &["dump", "other", "db"]).contains("db is a file"));
    let said = place.bad(1, &["restore", "db", "third"]);
    assert!(said.contains("db is a file and no archive of mongodump: name the directory of a dump"), "{said}");
    place.bad(1, &["build", "db", "c", "in.jsonl"]);
    place.bad(1, &["checkpoint", "other", "db"]);
    assert!(!place.path("third").exists() && !place.path("dump").exists());
    assert_eq!(place.read("db"), "text");
}

#[test]
fn a_missing_input_creates_no_database() {
    let place = Place::new();
    let said = place.bad(3, &["load", "db", "c", "absent.jsonl"]);
    assert!(said.contains("absent.jsonl"), "{said}");
    assert!(!place.path("db").exists());
}

#[test]
fn what_is_refused_creates_no_database() {
    let place = Place::new();
    place.write("in.jsonl", "{\"_id\":1}\n");
    for (code, arguments, said) in [
        (2, &["put", "db", "c", "rex", "{\"_id\":\"tom\"}"][..], "the document has _id \"tom\", which is not \"rex\""),
        (2, &["put", "db", "c", "[1]", "{}"], "the _id cannot be used"),
        (2, &["put", "db", "c", "{\"$a\":1}", "{}"], "the _id cannot be used"),
        (2, &["put", "db", "c", "-", "{\"_id\":[1]}"], "the _id cannot be used"),
        (2, &["put", "db", "c", "1", "{bad"], "the document is not JSON"),
        (3, &["load", "db", "c", "in.jsonl", "--progress-json", "nowhere/progress"], "nowhere/progress"),
        (3, &["load", "db", "c", "in.jsonl", "--on-bad", "skip", "--rejects", "nowhere/rejects"], "nowhere/rejects"),
    ] {
        let error = place.bad(code, arguments);
        assert!(error.contains(said), "{arguments:?}: {error}");
        assert!(!place.path("db").exists(), "{arguments:?}");
    }
    place.good(&["put", "db", "c", "tom", "{\"_id\":\"tom\"}"]);
}
