//! Generated files never replace a part of a database, and replace another file only with `--force`.

use crate::common::Place;
use alluvium::Database;
use std::path::{Path, PathBuf};

fn place() -> Place {
    let place = Place::new();
    let database = Database::open(place.path("db")).expect("a database");
    database.collection("c").put(1, "{}").expect("a write");
    database.close().expect("a close");
    place
}

#[test]
fn a_database_has_no_other_things_within() {
    let place = place();
    let before = files(&place.path("db"));
    for arguments in [
        vec!["gen", "comments", "--docs", "3", "-o", "db/new", "--force"],
        vec!["gen", "keys", "--keys", "3", "-o", "db/ALLUVIUM", "--force"],
        vec!["load", "db/new", "c", "--docs", "10"],
        vec!["load", "new", "c", "--docs", "10", "--progress-json", "db/progress"],
        vec!["kv", "db/new", "--seconds", "0.1"],
        vec!["multivalue", "db/new", "--entries", "10"],
        vec!["readonly", "db/new"],
        vec!["iibench", "db/new", "--rows", "10"],
        vec!["demo", "--docs", "100000", "--dir", "db/p000"],
    ] {
        let said = place.bad(2, &arguments);
        assert!(said.contains("is inside the database"), "{arguments:?}: {said}");
    }
    let inside =
        place.command(&["gen", "comments", "--docs", "3", "-o", "new"]).current_dir(place.path("db/p000")).status();
    assert_eq!(inside.expect("the binary").code(), Some(2));
    assert_eq!(files(&place.path("db")), before);
    let database = Database::open(place.path("db")).expect("a database");
    assert!(database.verify().run().expect("a check").damage.is_empty());
}

/// The paths of all files and directories below a directory.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path));
        }
        found.push(path);
    }
    found.sort();
    found
}

#[test]
fn a_file_is_replaced_only_by_force() {
    let place = place();
    for arguments in [["gen", "comments", "--docs", "3", "-o", "mine"], ["gen", "keys", "--keys", "3", "-o", "mine"]] {
        place.write("mine", "mine\n");
        let said = place.bad(1, &arguments);
        assert!(said.contains("exists") && said.contains("--force"), "{arguments:?}: {said}");
        assert_eq!(place.read("mine"), "mine\n");
        place.good(&[&arguments[..], &["--force"]].concat());
        assert_ne!(place.read("mine"), "mine\n");
    }
}
