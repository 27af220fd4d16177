//! `dump` and `restore` of a whole database, plain and compressed.

use crate::common::{Place, signal};

fn database() -> Place {
    let place = Place::new();
    place.comments("c.jsonl", 500);
    place.good(&["load", "db", "comments", "c.jsonl", "--id-field", "id"]);
    place.good(&[
        "put",
        "db",
        "shop.pets",
        "rex",
        "{\"n\":{\"$numberLong\":\"1\"},\"a\":{\"$date\":\"2024-01-01T00:00:00Z\"}}",
    ]);
    place
}

fn same(place: &Place, one: &str, other: &str) {
    assert_eq!(place.good(&["collections", one]), place.good(&["collections", other]));
    for name in ["comments", "shop.pets"] {
        let scan = |db: &str| place.good(&["export", db, name, "--canonical"]);
        assert_eq!(scan(one), scan(other), "{name}");
    }
}

#[test]
fn a_dump_is_restored_as_it_was() {
    let place = database();
    let dumped = place.good(&["dump", "db", "plain"]);
    assert!(dumped.contains("dumped 501 documents of 2 collections"), "{dumped}");
    let figures = place.json(&["dump", "db", "packed", "--gzip", "--json"]);
    assert_eq!((&figures["documents"], &figures["alluvium_types"]), (&501.into(), &0.into()));
    for file in ["plain/main/comments.bson", "plain/shop/pets.metadata.json", "packed/shop/pets.bson.gz"] {
        assert!(place.path(file).exists(), "{file}");
    }
    for (dir, db) in [("plain", "one"), ("packed", "two")] {
        let restored = place.good(&["restore", dir, db]);
        assert!(restored.contains("restored 501 documents of 2 collections"), "{restored}");
        same(&place, "db", db);
        // A document was changed since, so the collection would differ from the dump without notice.
        place.good(&["put", db, "shop.pets", "huge", "{\"mine\":true}"]);
        let again = place.bad(1, &["restore", dir, db]);
        assert!(again.contains("restored before") && again.contains("--on-duplicate replace"), "{again}");
        let skipped = place.good(&["restore", dir, db, "--on-duplicate", "skip"]);
        assert!(skipped.contains("501 documents left out"), "{skipped}");
    }
    // A single file of the dump can be loaded, too.
    place.good(&["load", "three", "shop.pets", "packed/shop/pets.bson.gz"]);
    assert_eq!(place.good(&["count", "three", "shop.pets"]), "1\n");
}

#[test]
fn what_bson_cannot_hold_is_refused_or_kept_beside() {
    let place = database();
    let huge = "{\"n\":1234567890123456789012345678901234567890}";
    place.good(&["put", "db", "shop.pets", "huge", huge]);
    let said = place.bad(1, &["dump", "db", "dump"]);
    assert!(said.contains("document \"huge\" of shop.pets") && said.contains("--alluvium-types"), "{said}");
    // The dump was removed, so the same directory may be used again.
    assert!(!place.path("dump").exists());
    let dumped = place.good(&["dump", "db", "dump", "--alluvium-types"]);
    assert!(dumped.contains("1 document in .alluvium.jsonl"), "{dumped}");
    place.good(&["restore", "dump", "other"]);
    same(&place, "db", "other");
}

#[test]
fn a_restore_tells_what_it_does_not_keep() {
    let place = database();
    place.good(&["dump", "db", "dump"]);
    place.write(
        "dump/shop/pets.metadata.json",
        "{\"options\":{\"capped\":true},\"indexes\":[{\"name\":\"_id_\",\"key\":{\"_id\":1}},\
         {\"name\":\"n_text\",\"key\":{\"n\":\"text\"},\"unique\":true},{\"name\":\"n_1\",\"key\":{\"n\":1}}]}",
    );
    place.write("dump/shop/notes.txt", "");
    place.good(&["put", "other", "shop.pets", "rex", "{}"]);
    let said = place.bad(1, &["restore", "dump", "other"]);
    assert!(said.contains("shop.pets has documents already") && said.contains("--on-duplicate"), "{said}");
    assert_eq!(place.good(&["collections", "other"]).lines().count(), 1);
    place.bad(4, &["restore", "dump", "other", "--on-duplicate", "error"]);
    let ended = place.run(&["restore", "dump", "other", "--on-duplicate", "replace", "--json"]);
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    assert!(ended.err.contains("1 index of the dump is not restored"), "{}", ended.err);
    for note in [
        "the index n_text is skipped: text, geographic and wildcard indexes are not built, so they cannot be unique",
        "options are not kept: capped",
        "notes.txt is not restored",
    ] {
        assert!(ended.err.contains(note), "{}", ended.err);
    }
    let figures: serde_json::Value = serde_json::from_str(&ended.out).expect("JSON");
    assert_eq!(figures["collections"][1]["indexes_not_built"], serde_json::json!(["n_text"]));
    let list = place.good(&["index", "list", "other", "shop.pets"]);
    assert!(list.contains("n_1") && !list.contains("n_text"), "{list}");
    same(&place, "db", "other");
    place.bad(3, &["restore", "nothing", "other"]);
    place.bad(3, &["dump", "nothing", "dump2"]);
    assert!(!place.path("dump2").exists());
}

#[test]
fn sets_of_values_are_not_dumped_and_that_is_said() {
    let place = database();
    place.good(&["mv", "put", "db", "by_author", "ann", "x"]);
    let ended = place.run(&["dump", "db", "dump"]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(ended.err.contains("not dumped: by_author"), "{}", ended.err);
}

#[test]
fn a_killed_dump_is_begun_anew() {
    let place = Place::new();
    place.comments("c.jsonl", 40_000);
    place.good(&["load", "db", "c", "c.jsonl", "--id-field", "id"]);
    let mut child = place.start(&["dump", "db", "dump", "--gzip"]);
    while !place.path("dump/main/c.bson.gz.part").exists() {
        assert!(child.try_wait().expect("a child").is_none());
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    signal(&child, "KILL");
    child.wait().expect("a child");
    assert!(place.bad(1, &["restore", "dump", "other"]).contains("cut short"));
    // Other files are not removed.
    place.write("dump/main/notes.txt", "mine");
    let said = place.bad(1, &["dump", "db", "dump"]);
    assert!(said.contains("dump/main/notes.txt"), "{said}");
    assert!(place.path("dump/main/notes.txt").exists() && place.path("dump/dump.incomplete").exists());
    std::fs::remove_file(place.path("dump/main/notes.txt")).expect("a file");
    place.good(&["dump", "db", "dump"]);
    let entries = std::fs::read_dir(place.path("dump/main")).expect("a directory").count();
    assert_eq!(entries, 2, "what the killed dump had written is gone");
    assert!(place.good(&["restore", "dump", "other"]).contains("restored 40,000 documents"));
}

#[test]
fn a_killed_restore_goes_on() {
    let place = Place::new();
    place.comments("c.jsonl", 40_000);
    place.good(&["load", "db", "c", "c.jsonl", "--id-field", "id"]);
    place.good(&["dump", "db", "dump"]);
    let arguments = ["restore", "dump", "other", "--memory", "8M", "--json"];
    let mut child = place.start(&arguments);
    while !place.path("other").exists() {
        assert!(child.try_wait().expect("a child").is_none());
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    std::thread::sleep(std::time::Duration::from_millis(150));
    signal(&child, "KILL");
    child.wait().expect("a child");
    let figures = place.json(&arguments);
    let (now, before) = (&figures["documents"], &figures["collections"][0]["documents_before"]);
    println!("{before} before, {now} now");
    assert_eq!(now.as_u64().expect("a number") + before.as_u64().expect("a number"), 40_000);
    let count = |db: &str| place.good(&["export", db, "c"]);
    assert!(count("other") == count("db"));
}

/// A BSON document with a text whose last byte is not UTF-8.
fn latin() -> Vec<u8> {
    let mut bytes = vec![0; 4];
    bytes.extend_from_slice(b"\x10_id\0\x01\0\0\0\x02t\0\x05\0\0\0caf\xe9\0\0");
    let len = bytes.len() as u32;
    bytes[..4].copy_from_slice(&len.to_le_bytes());
    bytes
}

#[test]
fn a_part_of_a_dump_is_restored_and_what_is_lost_is_a_failure() {
    let place = database();
    place.good(&["dump", "db", "dump"]);
    place.write("dump/prelude.json", "{\"ServerVersion\":\"8.0.0\"}");
    let ended = place.run(&["restore", "dump/shop", "one"]);
    assert!(ended.code == Some(0) && !ended.err.contains("note"), "{}", ended.err);
    assert_eq!(place.good(&["collections", "one"]), "shop.pets\n");
    place.write("dump/shop/system.buckets.weather.bson", latin());
    place
        .write("dump/shop/pets.metadata.json", "{\"indexes\":[{\"name\":\"n_1\",\"key\":{\"n\":true},\"safe\":null}]}");
    let said = place.bad(1, &["restore", "dump", "strict", "--strict"]);
    assert!(
        said.contains("system.buckets.weather.bson cannot be restored") && !place.path("strict").exists(),
        "{said}"
    );
    let said = place.bad(1, &["restore", "dump", "whole"]);
    for part in [
        "the index n_1 is converted, as by mongorestore --convertLegacyIndexes: the order of n, the option safe",
        "system.buckets.weather.bson is not restored",
        "1 collection or view of the dump is not restored",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(place.good(&["index", "list", "whole", "shop.pets"]).contains("n_1"));
}

#[test]
fn text_that_is_not_utf8_is_refused_skipped_or_repaired() {
    let place = Place::new();
    for dump in ["dump/shop", "two/shop"] {
        std::fs::create_dir_all(place.path(dump)).expect("a directory");
    }
    place.write("dump/shop/old.bson", latin());
    let said = place.bad(1, &["restore", "dump", "db"]);
    assert!(said.contains("the document with _id 1") && said.contains("--on-bad repair"), "{said}");
    let out = place.good(&["restore", "dump", "db", "--on-bad", "skip", "--rejects", "bad.jsonl"]);
    assert!(out.contains("1 document left out, because it cannot be stored"), "{out}");
    assert!(place.read("bad.jsonl").contains("\"base64\""));
    place.write("two/shop/old.bson", latin().repeat(2));
    let out = place.good(&["restore", "two", "third", "--on-bad", "skip"]);
    assert!(out.contains("2 documents left out, because they cannot be stored"), "{out}");
    place.good(&["restore", "dump", "other", "--on-bad", "repair"]);
    assert_eq!(place.good(&["scan", "other", "shop.old"]), "{\"_id\":1,\"t\":\"caf\u{fffd}\"}\n");
}
