//! Arrays, objects, rows and BSON, plain and compressed, recognized by their names.

use crate::common::Place;

/// `{"_id":1,"a":"x"}` and `{"_id":2}`.
const BSON: &[u8] = b"\x17\0\0\0\x10_id\0\x01\0\0\0\x02a\0\x02\0\0\0x\0\0\x0e\0\0\0\x10_id\0\x02\0\0\0\0";
const EXPECTED: &str = "{\"_id\":1,\"a\":\"x\"}\n{\"_id\":2}\n";

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).expect("memory")
}

#[test]
fn files_of_every_format_are_loaded() {
    let place = Place::new();
    let array = "[{\"_id\":1,\"a\":\"x\"},\n{\"_id\":2}]\n";
    place.write("lines.json", "{\"_id\":1,\"a\":\"x\"}\n{\"_id\":2}");
    place.write("array.json", array);
    place.write("array.json.zst", zstd(array.as_bytes()));
    place.write("objects.json", "{\n\"_id\":1,\"a\":\"x\"}\n{\"_id\":2}");
    place.write("rows.csv", "\u{feff}_id,a\r\n1,x\r\n2,\r\n");
    place.write("rows.tsv", "_id\ta\n1\tx\n2\t\n");
    place.write("dump.bson", BSON);
    place.write("dump.bson.zst", zstd(BSON));
    let files = [
        "lines.json",
        "array.json",
        "array.json.zst",
        "objects.json",
        "rows.csv",
        "rows.tsv",
        "dump.bson",
        "dump.bson.zst",
    ];
    for (at, file) in files.iter().enumerate() {
        let name = format!("c{at}");
        let summary = place.json(&["load", "db", &name, file, "--json"]);
        assert_eq!(summary["documents"], 2, "{file}");
        assert_eq!(place.good(&["scan", "db", &name]), EXPECTED, "{file}");
        let again = place.json(&["load", "db", &name, file, "--json"]);
        assert_eq!(again["outcome"], "already_done", "{file}");
    }
    for (format, text) in [("json-array", array.as_bytes()), ("csv", b"_id,a\n1,x\n2,\n"), ("bson", BSON)] {
        let ended = place.run_with(&["load", "db", format, "-", "--format", format], text);
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        assert!(ended.err.contains("not resumable"), "{}", ended.err);
        assert_eq!(place.good(&["scan", "db", format]), EXPECTED, "{format}");
    }
}

#[test]
fn one_large_object_is_split() {
    let place = Place::new();
    place.write("o.json", "{\n \"b\": {\"n\": 1},\n \"a\": [2]\n}\n");
    place.good(&["load", "db", "c", "o.json", "--split-object"]);
    assert_eq!(place.good(&["scan", "db", "c"]), "{\"_id\":\"a\",\"value\":[2]}\n{\"_id\":\"b\",\"n\":1}\n");
    place.good(&["load", "db", "whole", "o.json"]);
    assert_eq!(place.good(&["count", "db", "whole"]), "1\n");
    place.bad(2, &["load", "db", "c", "o.json", "--split-object", "--id-field", "n"]);
    place.bad(2, &["load", "db", "c", "o.json", "--split-object", "--format", "csv"]);
}

#[test]
fn names_and_types_of_fields_can_be_given() {
    let place = Place::new();
    place.write("rows.csv", "007,1,x\n008,2,\n");
    let arguments = ["load", "db", "c", "rows.csv", "--fields", "_id,a.n,a.t", "--types", "_id:string,a.n:long"];
    place.good(&arguments);
    assert_eq!(
        place.good(&["scan", "db", "c"]),
        "{\"_id\":\"007\",\"a\":{\"n\":1,\"t\":\"x\"}}\n{\"_id\":\"008\",\"a\":{\"n\":2}}\n"
    );
    let said = place.bad(2, &["load", "db", "c", "rows.csv", "--types", "a:number"]);
    assert!(said.contains("objectId"), "{said}");
    place.write("bad.csv", "_id,a\n1,2\n3\n");
    let said = place.bad(1, &["load", "db", "d", "bad.csv"]);
    assert!(said.contains("bad.csv line 3 column 1: the row has 1 field"), "{said}");
    place.good(&["load", "db", "d", "bad.csv", "--on-bad", "skip", "--rejects", "r.jsonl"]);
    assert!(place.read("r.jsonl").starts_with("{\"file\":\"bad.csv\",\"line\":3,\"column\":1,"));
}

#[test]
fn metadata_beside_a_dump_are_reported() {
    let place = Place::new();
    place.write("pets.bson", BSON);
    place.write(
        "pets.metadata.json",
        "{\"options\":{\"capped\":true},\"indexes\":[{\"name\":\"_id_\",\"key\":{\"_id\":1}},\
         {\"name\":\"a_1\",\"key\":{\"a\":1}},{\"name\":\"b_2d\",\"key\":{\"b\":\"2d\"},\"unique\":true}]}",
    );
    let ended = place.run(&["load", "db", "pets", "pets.bson", "--json"]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(
        ended.err.contains(
            "pets.metadata.json: the index b_2d is skipped: text, geographic and wildcard indexes are not built"
        ),
        "{}",
        ended.err
    );
    assert!(ended.err.contains("options are not kept: capped"), "{}", ended.err);
    let summary: serde_json::Value = serde_json::from_str(&ended.out).expect("JSON");
    assert_eq!(summary["metadata"][0]["indexes_not_built"], serde_json::json!(["b_2d"]));
    assert!(place.good(&["index", "list", "db", "pets"]).contains("a_1"));
    // A load that was finished before changes nothing: an index that was dropped since then is not created again.
    place.good(&["index", "drop", "db", "pets", "a_1"]);
    place.good(&["load", "db", "pets", "pets.bson"]);
    assert!(!place.good(&["index", "list", "db", "pets"]).contains("a_1"));
    place.bad(1, &["load", "strict", "pets", "pets.bson", "--strict"]);
    assert!(!place.path("strict").exists());
    assert_eq!(summary["metadata"][0]["options"], serde_json::json!({"capped": true}));
    place.write("pets.metadata.json", "nonsense");
    let said = place.bad(1, &["load", "db", "other", "pets.bson"]);
    assert!(said.contains("cannot read pets.metadata.json"), "{said}");
}
