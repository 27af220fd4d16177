//! Files that commands write beside databases never take the place of an input or of a part of a database.
#![allow(clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

mod common;

use common::Place;

const LINES: &str = "{\"_id\":1}\n{\"_id\":2}\nno document\n";

fn place() -> Place {
    let place = Place::new();
    place.write("in.jsonl", LINES);
    place.good(&["load", "db", "c", "in.jsonl", "--on-bad", "skip"]);
    place
}

#[test]
fn a_load_keeps_its_input() {
    let place = place();
    std::os::unix::fs::symlink("in.jsonl", place.path("link")).expect("a link");
    for written in ["in.jsonl", "./in.jsonl", "link"] {
        for option in ["--progress-json", "--rejects"] {
            let said = place.bad(2, &["load", "db", "d", "in.jsonl", "--on-bad", "skip", option, written]);
            assert!(said.contains("is read, too"), "{said}");
        }
    }
    assert_eq!(place.read("in.jsonl"), LINES);
}

#[test]
fn a_database_keeps_its_files() {
    let place = place();
    for written in ["db/ALLUVIUM", "db/wal/new", "db/new"] {
        place.bad(2, &["load", "db", "d", "in.jsonl", "--on-bad", "skip", "--progress-json", written]);
        place.bad(2, &["load", "db", "d", "in.jsonl", "--on-bad", "skip", "--rejects", written]);
        place.bad(2, &["export", "db", "c", "-o", written, "--force"]);
    }
    let said = place.bad(2, &["dump", "db", "db/dump"]);
    assert!(said.contains("lies within the database"), "{said}");
    place.good(&["verify", "db"]);
    assert_eq!(place.good(&["count", "db", "c"]), "2\n");
}

#[test]
fn a_file_of_progress_is_written_on() {
    let place = place();
    place.write("p", "mine\n");
    place.good(&["load", "db", "d", "in.jsonl", "--on-bad", "skip", "--progress-json", "p", "--progress-ms", "1"]);
    assert!(place.read("p").starts_with("mine\n"));
}
