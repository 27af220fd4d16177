//! `verify` reports damage; `repair` saves the undamaged data in a new database and reports the losses.

use crate::common::Place;

fn damaged() -> Place {
    let place = Place::new();
    place.comments("c.jsonl", 2000);
    place.good(&["load", "db", "comments", "c.jsonl", "--id-field", "id", "--partitions", "4"]);
    place.good(&["compact", "db"]);
    let names = std::fs::read_dir(place.path("db/p001")).expect("a directory").map(|e| e.expect("an entry").path());
    let sorted = names.filter(|path| path.extension().is_some_and(|e| e == "sst"));
    let largest = sorted.max_by_key(|path| path.metadata().expect("a file").len()).expect("a file");
    let mut bytes = std::fs::read(&largest).expect("a file");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&largest, bytes).expect("a file");
    place
}

#[test]
fn a_damaged_database_is_repaired() {
    let place = damaged();
    let ended = place.run(&["verify", "db"]);
    assert_eq!(ended.code, Some(5));
    assert!(ended.out.contains("p001") && ended.err.contains("alluvium repair"), "{ended:?}");
    let ended = place.run(&["repair", "db", "--to", "saved"]);
    assert_eq!(ended.code, Some(5), "{ended:?}");
    assert!(ended.err.contains("keep db until you have looked at saved"), "{ended:?}");
    for says in ["main.comments: ", "lost: db/p001/", "checksum", " from \""] {
        assert!(ended.out.contains(says), "{says}: {}", ended.out);
    }
    place.good(&["verify", "saved"]);
    let saved: u64 = place.good(&["count", "saved", "comments"]).trim().parse().expect("a number");
    assert!((1900..2000).contains(&saved), "{saved}");
    let ended = place.run(&["repair", "db", "--to", "again", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&ended.out).expect("JSON");
    assert_eq!((&report["whole"], &report["documents"]), (&false.into(), &saved.into()), "{report}");
    // A repair of an undamaged database loses nothing.
    let said = place.good(&["repair", "saved", "--to", "copy"]);
    assert!(said.contains("nothing is lost"), "{said}");
    assert_eq!(place.good(&["export", "saved", "comments"]), place.good(&["export", "copy", "comments"]));
}

#[test]
fn what_cannot_be_repaired_is_named() {
    let place = damaged();
    place.good(&["checkpoint", "db", "ck"]);
    assert!(place.bad(5, &["verify", "ck"]).contains("found damage"));
    assert!(place.bad(5, &["restore", "ck", "new"]).contains("checksum"));
    for (arguments, code, says) in [
        (&["repair", "nothing", "--to", "new"][..], 3, "not an Alluvium database"),
        (&["repair", "db", "--to", "db"], 1, "exists and is not empty"),
        (&["repair", "ck", "--to", "new"], 1, "is a checkpoint"),
        (&["repair", "db"], 2, "--to"),
        (&["repair", "db", "--to", "new", "--memory", "1k"], 2, "at least 8 MiB"),
    ] {
        let said = place.bad(code, arguments);
        assert!(said.contains(says), "{arguments:?}: {said}");
    }
    assert!(!place.path("new").exists() && !place.path("new.incomplete").exists());
}

/// Changes one byte in the middle of a file.
fn flip(path: &std::path::Path, at: usize) {
    let mut bytes = std::fs::read(path).expect("a file");
    bytes[at] ^= 1;
    std::fs::write(path, bytes).expect("a file");
}

/// The only file of a directory whose name has this prefix.
fn file(place: &Place, dir: &str, begins: &str) -> String {
    let names = std::fs::read_dir(place.path(dir)).expect("a directory").map(|e| e.expect("an entry").file_name());
    let mut names = names.map(|name| name.to_string_lossy().into_owned()).filter(|name| name.contains(begins));
    format!("{dir}/{}", names.next().expect("a file"))
}

#[test]
fn verify_goes_on_where_a_database_does_not_open() {
    let place = damaged();
    // Damage to any of these files prevents the database from opening.
    let (manifest, sorted) = (file(&place, "db/p000", "MANIFEST-"), file(&place, "db/p002", ".sst"));
    let log = file(&place, "db/wal", "wal-");
    std::fs::remove_file(place.path(&manifest)).expect("a file");
    std::fs::remove_file(place.path(&sorted)).expect("a file");
    flip(&place.path(&log), 20);
    let ended = place.run(&["verify", "db"]);
    assert_eq!(ended.code, Some(5), "{ended:?}");
    let naming = |name: &str| ended.out.lines().filter(|line| line.contains(name)).count();
    assert_eq!(naming("the manifest of db/p000 is missing"), 1, "{}", ended.out);
    assert_eq!(naming(&sorted), 1, "{}", ended.out);
    assert_eq!(naming(&log), 1, "{}", ended.out);
    assert_eq!(naming("db/p001/"), 1, "{}", ended.out);
    assert!(ended.out.contains("documents and indexes were not checked"), "{}", ended.out);
    // The damage is reported once, on standard output, followed by advice.
    assert!(!ended.err.contains("db/p000") && ended.err.contains("alluvium repair"), "{}", ended.err);
    let ended = place.run(&["verify", "db", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&ended.out).expect("JSON");
    assert!(report["damage"].as_array().is_some_and(|all| all.len() >= 4), "{report}");
}

#[test]
fn a_database_without_its_superblock_is_damaged_and_can_be_saved() {
    let place = Place::new();
    place.good(&["put", "db", "pets", "rex", "{\"kind\":\"dog\"}"]);
    std::fs::remove_file(place.path("db/ALLUVIUM")).expect("a file");
    for command in [&["verify", "db"][..], &["get", "db", "pets", "rex"], &["count", "db", "pets"]] {
        let ended = place.run(command);
        assert_eq!(ended.code, Some(5), "{command:?}: {ended:?}");
        assert!(format!("{}{}", ended.out, ended.err).contains("ALLUVIUM"), "{command:?}: {ended:?}");
    }
    place.run(&["repair", "db", "--to", "saved"]);
    assert_eq!(place.good(&["get", "saved", "pets", "rex"]), "{\"_id\":\"rex\",\"kind\":\"dog\"}\n");
}
