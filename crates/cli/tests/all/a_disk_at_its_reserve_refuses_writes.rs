//! With less free space than `--disk-reserve`, writes end with the exit code for a full disk, and all other commands
//! work.

use crate::common::Place;

const NO_SPACE: i32 = 7;
/// A reserve that is larger than any disk.
const RESERVE: [&str; 2] = ["--disk-reserve", "8000000G"];

#[test]
fn a_disk_at_its_reserve_refuses_writes() {
    let place = Place::new();
    place.good(&["put", "db", "pets", "rex", r#"{"kind":"dog"}"#]);
    let with = |command: &[&'static str]| [command, &RESERVE].concat();
    let said = place.bad(NO_SPACE, &with(&["put", "db", "pets", "tom", r#"{"kind":"cat"}"#]));
    assert!(said.contains("disk_reserve_bytes"), "{said}");
    assert_eq!(place.good(&with(&["count", "db", "pets"])), "1\n");
    place.good(&with(&["compact", "db"]));
    place.good(&with(&["delete", "db", "pets", "rex"]));
    place.good(&["put", "db", "pets", "tom", r#"{"kind":"cat"}"#, "--disk-reserve", "0"]);
    assert_eq!(place.good(&["count", "db", "pets"]), "1\n");
}

#[test]
fn a_load_without_room_is_refused_before_it_begins() {
    let place = Place::new();
    place.write("pets.jsonl", "{\"_id\":\"rex\"}\n");
    let load = ["load", "db", "pets", "pets.jsonl"];
    let said = place.bad(NO_SPACE, &[&load, &RESERVE[..]].concat());
    assert!(said.contains("the load needs about") && said.contains("--no-space-check"), "{said}");
    // Without the check of free space, the load starts, and the reserve refuses it.
    let said = place.bad(NO_SPACE, &[&load, &RESERVE[..], &["--no-space-check"]].concat());
    assert!(said.contains("disk_reserve_bytes"), "{said}");
    assert!(said.contains("free some space and run the same command again"), "{said}");
    assert!(said.contains("--disk-reserve 0 lets it use the space"), "{said}");
    place.good(&load);
    // A file that was already loaded needs no space.
    place.good(&[&load, &RESERVE[..]].concat());
    place.good(&["dump", "db", "dumped"]);
    let restore = ["restore", "dumped", "other"];
    let said = place.bad(NO_SPACE, &[&restore, &RESERVE[..]].concat());
    assert!(said.contains("the load needs about") && said.contains("--no-space-check"), "{said}");
    place.good(&restore);
    assert_eq!(place.good(&["count", "other", "pets"]), "1\n");
}

/// A sparse file of ten terabytes.
fn vast(path: std::path::PathBuf) {
    std::fs::File::create(path).expect("a file").set_len(10 << 40).expect("a length");
}

#[test]
fn a_build_that_cannot_fit_is_refused_before_it_begins() {
    let place = Place::new();
    vast(place.path("vast.jsonl"));
    let said = place.bad(NO_SPACE, &["build", "pets.ro", "pets", "vast.jsonl"]);
    assert!(said.contains("the build needs about") && said.contains("--no-space-check"), "{said}");
    assert!(!place.path("pets.ro").exists());
    place.write("pets.jsonl", "{\"_id\":\"rex\"}\n");
    place.good(&["build", "pets.ro", "pets", "pets.jsonl"]);
    place.good(&["build", "again.ro", "pets", "pets.jsonl", "--no-space-check"]);
}

#[test]
fn a_repair_that_cannot_fit_is_refused_before_it_begins() {
    let place = Place::new();
    place.good(&["put", "db", "pets", "rex", "{\"kind\":\"dog\"}"]);
    vast(place.path("db/p000/vast"));
    let said = place.bad(NO_SPACE, &["repair", "db", "--to", "new"]);
    assert!(said.contains("the repair needs about") && !place.path("new").exists(), "{said}");
    place.good(&["repair", "db", "--to", "new", "--no-space-check"]);
}

#[test]
fn what_is_refused_creates_no_database() {
    let place = Place::new();
    place.write("pets.jsonl", "{\"_id\": 1}\n");
    place.good(&["load", "db", "pets", "pets.jsonl"]);
    place.good(&["dump", "db", "dumped"]);
    let metadata = place.read("dumped/main/pets.metadata.json");
    let text = "{\"v\": 2, \"key\": {\"t\": \"text\"}, \"name\": \"t_text\", \"unique\": true}";
    for (arguments, code) in [
        (&["load", "new", "pets", "pets.jsonl"][..], NO_SPACE),
        (&["restore", "dumped", "new"], NO_SPACE),
        (&["load", "new", "p$ts", "pets.jsonl", "--no-space-check"], 2),
        (&["put", "new", "p$ts", "1", "{}"], 2),
    ] {
        place.bad(code, &[arguments, &RESERVE[..]].concat());
        assert!(!place.path("new").exists(), "{arguments:?}");
    }
    let mut metadata: serde_json::Value = serde_json::from_str(&metadata).expect("JSON");
    metadata["indexes"].as_array_mut().expect("a list").push(serde_json::from_str(text).expect("JSON"));
    place.write("dumped/main/pets.metadata.json", metadata.to_string());
    assert!(place.bad(1, &["restore", "dumped", "new", "--strict"]).contains("t_text"));
    assert!(!place.path("new").exists());
    // Everything except the index is restored, and the exit code reports the difference.
    place.bad(1, &["restore", "dumped", "new"]);
    assert_eq!(place.good(&["count", "new", "pets"]), "1\n");
}
