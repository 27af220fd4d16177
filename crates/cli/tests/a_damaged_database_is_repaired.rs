//! `verify` names damage, `repair` saves the rest in a new database and reports what is lost.

#![allow(clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

mod common;

use common::Place;

fn damaged() -> Place {
    let place = Place::new();
    place.comments("c.jsonl", 2000);
    place.good(&["load", "db", "comments", "c.jsonl", "--id-field", "id"]);
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
    // A whole one loses nothing.
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
        (&["repair", "nothing", "--to", "new"][..], 3, "no Alluvium database"),
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
