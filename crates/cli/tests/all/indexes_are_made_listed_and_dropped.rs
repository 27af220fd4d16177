//! `index create`, `index list`, `index drop`, also in the shell; errors have messages and exit
//! codes.

use crate::common::Place;

fn pets() -> Place {
    let place = Place::new();
    place.write(
        "pets.jsonl",
        "{\"_id\":1,\"kind\":\"dog\",\"chip\":17}\n{\"_id\":2,\"kind\":\"cat\"}\n{\"_id\":3,\"kind\":\"dog\",\"chip\":18}\n",
    );
    place.good(&["load", "db", "pets", "pets.jsonl"]);
    place
}

#[test]
fn what_has_expired_is_deleted_when_that_is_asked_for() {
    let place = pets();
    assert_eq!(place.good(&["expire", "db"]), "deleted 0 expired documents\n");
    place.good(&["index", "create", "db", "pets", r#"{"seen": 1}"#, "--expire-after", "3600"]);
    for (id, seen) in [("4", r#"{"$date": "2001-01-01T00:00:00Z"}"#), ("5", r#"{"$date": "2901-01-01T00:00:00Z"}"#)] {
        place.good(&["put", "db", "pets", id, &format!("{{\"seen\": {seen}}}")]);
    }
    // The commands are too short for the background expiry to run.
    assert_eq!(place.good(&["count", "db", "pets"]), "5\n");
    assert_eq!(place.good(&["expire", "db"]), "deleted 1 expired document\n");
    assert_eq!(place.json(&["expire", "db", "--json"])["deleted"], 0);
    place.bad(3, &["get", "db", "pets", "4"]);
    assert_eq!(place.run_with(&["shell", "db"], b"expire\n").out, "deleted 0 expired documents\n");
    place.bad(3, &["expire", "nowhere"]);
}

#[test]
fn an_index_is_made_listed_checked_and_dropped() {
    let place = pets();
    let said = place.good(&["index", "create", "db", "pets", r#"{"kind": 1}"#]);
    assert!(said.starts_with("created the index kind_1 over 3 documents in "), "{said}");
    let said = place.good(&["index", "create", "db", "pets", r#"{"kind": 1}"#]);
    assert_eq!(said, "the index kind_1 exists already and is ready\n");
    let made = place.json(&["index", "create", "db", "pets", r#"{"chip": -1}"#, "--unique", "--sparse", "--json"]);
    assert_eq!((made["index"].as_str(), made["created"].as_bool()), (Some("chip_-1"), Some(true)));
    let filter = r#"{"chip": {"$gt": 17}}"#;
    place.good(&["index", "create", "db", "pets", r#"{"seen": 1}"#, "--expire-after", "3600"]);
    place.good(&["index", "create", "db", "pets", r#"{"kind": "hashed"}"#, "--partial", filter, "--name", "high"]);

    let list = place.good(&["index", "list", "db", "pets"]);
    let names: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, ["_id_", "kind_1", "chip_-1", "seen_1", "high"]);
    for part in [
        r#"{"chip":-1} unique sparse"#,
        "about 3 entries",
        "expires after 3600 s",
        r#"{"kind":"hashed"} partial {"chip":{"$gt":17}}"#,
    ] {
        assert!(list.contains(part), "{part}: {list}");
    }
    let listed = place.json(&["index", "list", "db", "--json"]);
    let chip = &listed["indexes"][2];
    assert_eq!(chip["definition"]["unique"], true);
    assert_eq!((chip["entries_estimated"].as_u64(), chip["ready"].as_bool()), (Some(2), Some(true)));
    assert!(place.good(&["index", "list", "db"]).starts_with("main.pets\n_id_"));

    let stats = place.good(&["stats", "db", "pets"]);
    assert!(stats.contains("index chip_-1\n") && !stats.contains("stale"), "{stats}");
    assert!(place.good(&["stats", "db", "pets", "--verbose"]).contains("stale"));
    let stats = place.json(&["stats", "db", "pets", "--json"]);
    assert_eq!(stats["indexes"].as_array().map(Vec::len), Some(4));
    assert_eq!(stats["indexes"][0]["uses"], 0);
    assert!(place.good(&["verify", "db"]).contains(", 4 indexes (9 entries, 0 of them stale), "));
    assert_eq!(place.json(&["verify", "db", "--json"])["indexes"][0]["entries"], 3);
    // An index is not a set of values, although it has its own tree.
    assert!(!place.run(&["dump", "db", "dump"]).err.contains("sets of values"));

    assert_eq!(place.good(&["index", "drop", "db", "pets", "kind_1", "high"]), "dropped 2 indexes\n");
    assert_eq!(place.json(&["index", "drop", "db", "pets", "--all", "--json"])["dropped"], 2);
    assert_eq!(place.json(&["index", "list", "db", "pets", "--json"])["indexes"].as_array().map(Vec::len), Some(1));
}

#[test]
fn what_is_wrong_is_said() {
    let place = pets();
    place.good(&["put", "db", "arrays", "1", r#"{"a": [1], "b": [2]}"#]);
    for (code, arguments, said) in [
        (2, &["db", "pets", "{\"a\":"][..], "KEYS must be JSON"),
        (2, &["db", "pets", "[1]"], "KEYS must be a JSON object"),
        (2, &["db", "pets", r#"{"a": 1}"#, "--partial", "x"], "the filter of --partial must be JSON"),
        (1, &["db", "pets", "{}"], "needs a key"),
        (1, &["db", "pets", r#"{"a": "sphere"}"#], "sphere"),
        (1, &["db", "pets", r#"{"a": "2dsphere"}"#, "--unique"], "cannot be unique"),
        (
            1,
            &["db", "pets", r#"{"_id": 1}"#, "--unique"],
            "The field 'unique' is not valid for an _id index specification",
        ),
        (1, &["db", "pets", r#"{"_id": -1}"#], "the index on _id is {_id: 1}"),
        (1, &["db", "pets", r#"{"a": 1}"#, "--partial", r#"{"a": {"$where": "x"}}"#], "$where"),
        (1, &["db", "pets", r#"{"a": 1, "b": 1}"#, "--expire-after", "60"], "expireAfterSeconds"),
        (1, &["db", "pets", r#"{"a": 1}"#, "--expire-after", "-1"], "between 0 and"),
        (1, &["db", "pets", r#"{"a": 1}"#, "--name", ""], "the name of an index"),
        (2, &["db", "pets", r#"{"a": 1}"#, "--uniqe"], "--unique"),
        (1, &["nowhere", "pets", r#"{"a": "sphere"}"#], "sphere"),
        (2, &["nowhere", "$pets", r#"{"a": 1}"#], "$"),
        (4, &["db", "pets", r#"{"kind": 1}"#, "--unique"], "the index kind_1 was not created"),
        (1, &["db", "arrays", r#"{"a": 1, "b": 1}"#], "document 1: cannot index parallel arrays: a and b"),
    ] {
        let error = place.bad(code, &[&["index", "create"], arguments].concat());
        assert!(error.contains(said), "{arguments:?}: {error}");
    }
    assert!(!place.path("nowhere").exists());
    // No index remains.
    assert_eq!(place.json(&["index", "list", "db", "pets", "--json"])["indexes"].as_array().map(Vec::len), Some(1));

    assert!(place.good(&["index", "create", "db", "pets", r#"{"_id": 1}"#]).contains("_id_ exists already"));
    place.good(&["index", "create", "db", "pets", r#"{"chip": 1}"#, "--unique", "--sparse"]);
    assert!(place.bad(1, &["index", "create", "db", "pets", r#"{"chip": 1}"#]).contains("drop it first"));
    let clash = place.bad(1, &["index", "create", "db", "pets", r#"{"kind": 1}"#, "--name", "chip_1"]);
    assert!(clash.contains("choose another name"), "{clash}");
    let error = place.bad(4, &["put", "db", "pets", "9", r#"{"chip": 17}"#]);
    assert!(error.contains("chip_1") && error.contains("17"), "{error}");
    assert!(place.bad(3, &["index", "drop", "db", "pets", "kind_1"]).contains("index list"));
    // Either all named indexes are dropped, or none.
    assert!(place.bad(3, &["index", "drop", "db", "pets", "chip_1", "kind_1"]).contains("no index kind_1"));
    place.bad(1, &["index", "drop", "db", "pets", "chip_1", "_id_"]);
    assert_eq!(place.json(&["index", "list", "db", "pets", "--json"])["indexes"].as_array().map(Vec::len), Some(2));
    assert!(place.bad(3, &["index", "drop", "db", "pots", "chip_1"]).contains("did you mean main.pets?"));
    place.bad(3, &["index", "list", "db", "pots"]);
    place.bad(2, &["index", "drop", "db", "pets"]);
    place.bad(2, &["index", "drop", "db", "pets", "chip_1", "--all"]);
    // A missing collection is created, and a note reports this.
    let made = place.run(&["index", "create", "db", "pots", r#"{"size": 1}"#]);
    assert_eq!(made.code, Some(0));
    assert!(made.err.contains("the collection main.pots did not exist"), "{}", made.err);
}

#[test]
fn an_index_may_come_first() {
    let place = Place::new();
    let made = place.run(&["index", "create", "db", "pets", r#"{"kind": 1}"#]);
    assert_eq!(
        (made.code, made.out.starts_with("created the index kind_1 over 0 documents")),
        (Some(0), true),
        "{made:?}"
    );
    assert!(
        made.err.contains("created the database db") && made.err.contains("the collection main.pets did not exist"),
        "{made:?}"
    );
    assert_eq!(place.good(&["count", "db", "pets"]), "0\n");
    assert!(place.bad(3, &["index", "list", "nowhere"]).contains("`alluvium index create`"));
}

#[test]
fn an_index_is_dropped_by_its_keys() {
    let place = pets();
    let create = |arguments: &[&str]| place.good(&[&["index", "create", "db", "pets"], arguments].concat());
    create(&[r#"{"b": 1, "a": 1}"#, "--name", "both"]);
    create(&[r#"{"chip": 1}"#]);
    create(&[r#"{"chip": 1}"#, "--sparse", "--name", "few"]);
    // If one of the indexes does not exist or is ambiguous, none is dropped.
    let both = r#"{"b":1,"a":1}"#;
    assert!(place.bad(3, &["index", "drop", "db", "pets", both, r#"{"a":1}"#]).contains("no index {\"a\":1}"));
    let error = place.bad(1, &["index", "drop", "db", "pets", both, r#"{"chip":1}"#]);
    assert!(error.contains("name one of chip_1, few"), "{error}");
    assert!(place.bad(1, &["index", "drop", "db", "pets", both, r#"{"_id":1}"#]).contains("cannot be dropped"));
    assert!(place.run(&["index", "drop", "db", "pets", "{bad"]).err.contains("INDEX must be JSON"));
    assert_eq!(place.good(&["index", "drop", "db", "pets", both, "both", "few"]), "dropped 2 indexes\n");
    assert_eq!(place.good(&["index", "drop", "db", "pets", r#"{"chip": 1}"#]), "dropped 1 index\n");
}

#[test]
fn a_shell_makes_indexes_too() {
    let place = pets();
    let script = "use pets\nindex create {\"kind\": 1} --name by_kind\nindex list\nindex drop by_kind\nindex list\n";
    let ended = place.run_with(&["shell", "db"], script.as_bytes());
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{}", ended.out);
    assert_eq!(ended.out.matches("by_kind").count(), 2, "{}", ended.out);
}

#[test]
fn read_only_stores_say_that_they_have_none() {
    let place = pets();
    place.good(&["build", "store", "documents", "pets.jsonl"]);
    for arguments in [
        &["index", "list", "store"][..],
        &["index", "create", "store", "documents", r#"{"a": 1}"#],
        &["index", "drop", "store", "documents", "a_1"],
    ] {
        let error = place.bad(1, arguments);
        assert!(error.contains("store is a read-only store: its only indexes are those on _id"), "{error}");
    }
}

#[test]
fn a_unique_build_that_fails_names_the_documents() {
    let place = pets();
    place.write(
        "twins.jsonl",
        "{\"_id\":1,\"a\":{\"b\":5}}\n{\"_id\":2,\"a\":{\"b\":6}}\n{\"_id\":3,\"a\":{\"b\":5}}\n",
    );
    place.good(&["load", "db", "twins", "twins.jsonl"]);
    let said = place.bad(4, &["index", "create", "db", "twins", "{a.b: 1}", "--unique"]);
    assert!(said.contains("was not created; documents with this key: 1, 3\n"), "{said}");
}
