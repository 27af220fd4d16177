//! `export` writes every format, complete files or none, and its output loads as identical
//! documents.

use crate::common::Place;
use std::io::Write;

const LINES: &str = "{\"_id\":1,\"a\":{\"b\":\"x\"},\"n\":[1,2.5,null]}\n{\"_id\":2,\"a\":{},\"t\":{\"$date\":\"2024-01-02T03:04:05Z\"}}\n{\"_id\":\"z\"}\n";

fn pets() -> Place {
    let place = Place::new();
    place.write("in.jsonl", LINES);
    place.good(&["load", "db", "pets", "in.jsonl"]);
    place
}

#[test]
fn what_is_exported_can_be_loaded() {
    let place = pets();
    let names = ["e.jsonl", "e.json", "e.bson", "e.jsonl.gz", "e.json.zst", "e.bson.gz", "e"];
    for (at, name) in names.iter().enumerate() {
        let ended = place.run(&["export", "db", "pets", "-o", name]);
        assert_eq!((ended.code, ended.out.as_str()), (Some(0), ""), "{}", ended.err);
        assert!(ended.err.contains("exported 3 documents"), "{}", ended.err);
        assert!(!place.path(&format!("{name}.part")).exists());
        let collection = format!("c{at}");
        place.good(&["load", "db", &collection, name]);
        assert_eq!(place.good(&["scan", "db", &collection]), LINES, "{name}");
    }
    assert_eq!(place.good(&["export", "db", "pets"]), LINES);
    assert_eq!(place.read("e.jsonl"), LINES);
    let bytes = std::fs::read(place.path("e.bson.gz")).expect("a file");
    assert_eq!(bytes[..2], [0x1f, 0x8b]);
}

#[test]
fn types_and_parts_are_as_asked_for() {
    let place = pets();
    place.good(&["put", "db", "pets", "3", "{\"n\":{\"$numberLong\":\"5\"}}"]);
    let canonical = place.good(&["export", "db", "pets", "--canonical", "--from", "3", "--limit", "1"]);
    assert_eq!(canonical, "{\"_id\":{\"$numberInt\":\"3\"},\"n\":{\"$numberLong\":\"5\"}}\n");
    let rows = place.good(&["export", "db", "pets", "--format", "csv", "--fields", "_id,a.b,n", "--to", "3"]);
    assert_eq!(rows, "_id,a.b,n\n1,x,\"[1,2.5,null]\"\n2,,\n");
    let rows = place.good(&["export", "db", "pets", "--format", "tsv", "--fields", "t", "--reverse"]);
    assert_eq!(rows, "t\n\"\"\n\"\"\n2024-01-02T03:04:05Z\n\"\"\n");
    assert_eq!(place.good(&["export", "db", "pets", "--fields", "a.b", "--limit", "1"]), "{\"_id\":1,\"a.b\":\"x\"}\n");
}

#[test]
fn the_result_of_a_query_is_exported() {
    let place = Place::new();
    let lines: String = (0..9)
        .map(|n| format!("{{\"_id\":{n},\"kind\":\"{}\",\"at\":{{\"x\":{}}}}}\n", ["dog", "cat", "fish"][n % 3], n * 2))
        .collect();
    place.write("in.jsonl", &lines);
    place.good(&["load", "db", "pets", "in.jsonl"]);
    let export = |arguments: &[&str]| place.good(&[&["export", "db", "pets"], arguments].concat());
    let dogs = export(&["--where", "{kind: 'dog'}"]);
    assert_eq!(dogs, place.good(&["find", "db", "pets", "{kind: 'dog'}"]));
    assert_eq!(dogs.lines().count(), 3);
    let two =
        export(&["--where", "{kind: {$ne: 'dog'}}", "--sort", "{_id: -1}", "--limit", "2", "--project", "{at: 1}"]);
    assert_eq!(two, "{\"_id\":8,\"at\":{\"x\":16}}\n{\"_id\":7,\"at\":{\"x\":14}}\n");
    let csv = export(&["--sort", "{_id: -1}", "--limit", "1", "--format", "csv"]);
    assert_eq!(csv, "_id,kind,at.x\n8,fish,16\n");
    let computed = ["--project", "{_id: 0, y: {$add: ['$at.x', 1]}}", "--where", "{_id: 4}", "--format", "csv"];
    assert_eq!(export(&computed), "y\n9\n");
    let fields = ["--where", "{kind: 'cat'}", "--fields", "at.x", "--format", "csv", "--sort", "{_id: 1}"];
    assert_eq!(export(&fields), "at.x\n2\n8\n14\n");
    place.good(&["index", "create", "db", "pets", "{\"kind\": 1}"]);
    assert_eq!(export(&["--where", "{kind: 'dog'}"]).lines().count(), 3);
    let collated = |arguments: &[&str]| export(&[arguments, &["--collation", "{locale: 'en', strength: 2}"]].concat());
    assert_eq!(collated(&["--where", "{kind: 'DOG'}"]), dogs);
    assert_eq!(collated(&["--pipeline", "[{$match: {kind: 'DOG'}}, {$sort: {_id: 1}}]"]).lines().count(), 3);
    assert_eq!(export(&["--where", "{kind: 'bird'}", "--format", "json"]), "[\n]\n");
    place.good(&["export", "db", "pets", "--where", "{kind: 'dog'}", "-o", "dogs.bson"]);
    place.good(&["load", "db", "dogs", "dogs.bson"]);
    assert_eq!(place.good(&["scan", "db", "dogs"]), dogs);
    let ended = place.run_with(&["shell", "db"], b"use pets\nexport --where {kind: 'dog'} --format csv\n");
    assert_eq!((ended.code, ended.out.lines().count()), (Some(0), 4), "{}", ended.err);
    for (code, arguments, message) in [
        (2, &["--where", "{kind: 'dog'}", "--from", "3"][..], "--from is for an export in order of _id"),
        (2, &["--sort", "{_id: 1}", "--reverse"], "--reverse is for an export"),
        (2, &["--where", "{"], "the filter of --where must be JSON"),
        (2, &["--sort", "{_id: 3}"], "sort"),
        (2, &["--collation", "{locale: 'en'}"], "--collation is for the result of a query"),
        (2, &["--project", "{a: 1, b: 0}"], "b"),
        (2, &["--project", "{a: 1}", "--fields", "a"], "--fields and --project cannot be combined"),
    ] {
        let error = place.bad(code, &[&["export", "db", "pets"], arguments].concat());
        assert!(error.contains(message), "{arguments:?}: {error}");
    }
    place.good(&["build", "store", "pets", "in.jsonl"]);
    assert_eq!(
        place.good(&["export", "store", "pets", "--where", "{}"]).lines().count(),
        place.good(&["scan", "store", "pets"]).lines().count()
    );
    assert_eq!(place.good(&["export", "store", "pets", "--from", "8"]).lines().count(), 1);
}

#[test]
fn arguments_that_do_not_go_together_are_refused() {
    let place = pets();
    place.bad(2, &["export", "db", "pets", "--format", "csv", "--canonical"]);
    place.bad(2, &["export", "db", "pets", "--format", "bson", "--canonical"]);
    place.bad(2, &["export", "db", "pets", "--fields", "a,,b"]);
    place.bad(3, &["export", "db", "cats", "-o", "no/such/directory/e.jsonl"]);
    place.bad(3, &["export", "nothing", "pets", "-o", "e.jsonl"]);
    place.bad(3, &["export", "db", "pets", "-o", "no/such/directory/e.jsonl"]);
    assert!(!place.path("e.jsonl").exists() && !place.path("e.jsonl.part").exists());
}

#[test]
fn a_file_is_replaced_only_by_force_and_only_by_a_whole_one() {
    let place = pets();
    place.write("e.jsonl", "mine");
    assert!(place.bad(1, &["export", "db", "pets", "-o", "e.jsonl"]).contains("--force"));
    assert_eq!(place.read("e.jsonl"), "mine");
    // JSON would parse this document differently: the export fails after it has written the other documents.
    let bson = b"\x1b\0\0\0\x02_id\0\x02\0\0\0y\0\x02$oid\0\x01\0\0\0\0\0\0";
    place.write("odd.bson", &bson[..bson.len() - 1]);
    place.good(&["load", "db", "pets", "odd.bson"]);
    let said = place.bad(1, &["export", "db", "pets", "-o", "e.jsonl", "--force"]);
    assert!(said.contains("document \"y\" of main.pets") && said.contains("$oid"), "{said}");
    assert_eq!(place.read("e.jsonl"), "mine");
    assert!(!place.path("e.jsonl.part").exists());
    place.good(&["delete", "db", "pets", "y"]);
    place.good(&["export", "db", "pets", "-o", "e.jsonl", "--force"]);
    assert_eq!(place.read("e.jsonl"), LINES);
}

#[test]
#[cfg(target_os = "linux")]
fn devices_and_closed_pipes_are_written_to_as_ever() {
    let place = Place::new();
    place.comments("c.jsonl", 2000);
    place.good(&["load", "db", "c", "c.jsonl", "--id-field", "id"]);
    place.bad(7, &["export", "db", "c", "-o", "/dev/full"]);
    let mut child = place.start(&["export", "db", "c"]);
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().expect("a pipe");
    let _unread = stdin.write_all(b"");
    assert_eq!(child.wait().expect("a child").code(), Some(0));
    let ended = place.run(&["export", "db", "c", "-o", "-"]);
    assert_eq!((ended.out.lines().count(), ended.err.as_str()), (2000, ""));
    assert!(!place.path("-").exists());
}

#[test]
fn dates_of_all_years_go_through_csv() {
    let place = Place::new();
    let dates = ["-62167219200001", "-312768000000", "0", "1704067200123", "253402300800000", "9223372036854775807"];
    let line =
        |(n, millis): (usize, &&str)| format!("{{\"_id\":{n},\"d\":{{\"$date\":{{\"$numberLong\":\"{millis}\"}}}}}}\n");
    place.write("d.jsonl", dates.iter().enumerate().map(line).collect::<String>());
    place.good(&["load", "db", "d", "d.jsonl"]);
    let csv = place.good(&["export", "db", "d", "--format", "csv", "--fields", "_id,d"]);
    assert!(csv.contains("1,1960-02-03T00:00:00Z\n") && csv.contains("4,+010000-01-01T00:00:00Z\n"), "{csv}");
    place.write("d.csv", &csv);
    place.good(&["load", "again", "d", "d.csv", "--types", "d:date"]);
    let all = |db: &str| place.good(&["export", db, "d", "--canonical"]);
    assert_eq!(all("db"), all("again"));
    place.write("people.csv", "_id,d\n1,1960-02-03\n2,1960-02-03 00:00:00\n3,1960-02-03T00:00:00\n");
    place.good(&["load", "people", "d", "people.csv", "--types", "d:date"]);
    let people = place.good(&["export", "people", "d", "--canonical"]);
    assert_eq!(people.matches("\"-312768000000\"").count(), 3, "{people}");
}

#[test]
fn wrong_fields_and_targets_are_refused_by_name() {
    let place = Place::new();
    place.good(&["put", "db", "c", "1", "{\"s\": 1, \"$schema\": 2}"]);
    for command in [&["get", "db", "c", "1"][..], &["scan", "db", "c"], &["export", "db", "c"]] {
        for (fields, says) in
            [("s,s", "names s twice"), ("", "no name"), ("a,,b", "no name"), ("a.", "\"a.\" is not a path")]
        {
            let said = place.bad(2, &[command, &["--fields", fields]].concat());
            assert!(said.contains(says), "{command:?} {fields}: {said}");
        }
        assert_eq!(place.good(&[command, &["--fields", "$schema"]].concat()), "{\"_id\":1,\"$schema\":2}\n");
    }
    std::fs::create_dir(place.path("dir")).expect("space");
    assert!(place.bad(2, &["export", "db", "c", "-o", "dir", "--force"]).contains("dir is a directory"));
    assert!(!place.path("dir.part").exists());
}
