//! Files that commands write never replace an input or a part of a database.

use crate::common::Place;

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
    assert!(said.contains("is inside the database"), "{said}");
    place.good(&["verify", "db"]);
    assert_eq!(place.good(&["count", "db", "c"]), "2\n");
}

#[test]
fn a_database_has_no_other_things_within() {
    let place = place();
    place.good(&["checkpoint", "db", "checkpoint"]);
    let before = files(&place.path("db"));
    for arguments in [
        vec!["export", "db", "c", "-o", "db/new", "--force"],
        vec!["load", "new", "c", "in.jsonl", "--progress-json", "db/progress"],
        vec!["man", "db", "--force"],
        vec!["man", "db/p000/pages/man1"],
        vec!["build", "db/new", "c", "in.jsonl", "--skip-bad"],
        vec!["build", "new", "c", "in.jsonl", "--skip-bad", "--rejects", "db/rejects"],
        vec!["put", "db/new", "c", "1", "{}"],
        vec!["put", "db/p000", "c", "1", "{}"],
        vec!["load", "db/new/deep", "c", "in.jsonl"],
        vec!["index", "create", "db/new", "c", "{\"a\":1}"],
        vec!["shell", "db/new", "--create"],
        vec!["mv", "put", "db/new", "m", "k", "v"],
        vec!["repair", "db", "--to", "db/new"],
        vec!["restore", "checkpoint", "db/new"],
    ] {
        let said = place.bad(2, &arguments);
        assert!(said.contains("is inside the database"), "{arguments:?}: {said}");
    }
    let inside = place.command(&["export", "../../db", "c", "-o", "new"]).current_dir(place.path("db/p000")).status();
    assert_eq!(inside.expect("the binary").code(), Some(2));
    assert_eq!(files(&place.path("db")), before);
    place.good(&["verify", "db"]);
}

/// The paths of all files below a directory.
fn files(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
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
    place.write("mine", "mine\n");
    std::fs::create_dir(place.path("man1")).expect("a directory");
    place.write("man1/alluvium-load.1", "mine\n");
    for arguments in [vec!["export", "db", "c", "-o", "mine"], vec!["man", "man1"]] {
        let said = place.bad(1, &arguments);
        assert!(said.contains("exists") && said.contains("--force"), "{arguments:?}: {said}");
        assert_eq!((place.read("mine"), place.read("man1/alluvium-load.1")), ("mine\n".into(), "mine\n".into()));
        assert!(!place.path("man1/alluvium.1").exists(), "all pages or none");
        place.good(&[&arguments[..], &["--force"]].concat());
        place.write("mine", "mine\n");
    }
    assert!(place.read("man1/alluvium-load.1").contains(".SH SYNOPSIS"));
}

#[test]
fn a_file_of_progress_is_written_on() {
    let place = place();
    place.write("p", "mine\n");
    place.good(&["load", "db", "d", "in.jsonl", "--on-bad", "skip", "--progress-json", "p", "--progress-ms", "1"]);
    assert!(place.read("p").starts_with("mine\n"));
}
