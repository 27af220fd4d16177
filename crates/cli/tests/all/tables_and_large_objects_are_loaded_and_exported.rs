//! Delimiters are detected or given; errors about unsupported formats list alternatives; CSV is exported with the
//! fields that exist.

use crate::common::Place;

#[test]
fn other_delimiters_are_found_or_given() {
    let place = Place::new();
    place.write("semi.csv", "_id;name;price\n1;tea;\"1,5\"\n2;\"a;b\";2\n");
    let ended = place.run(&["load", "db", "semi", "semi.csv"]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(ended.err.contains("note: the fields of semi.csv are separated by semicolons, ';'"), "{}", ended.err);
    assert_eq!(place.good(&["get", "db", "semi", "2"]), "{\"_id\":2,\"name\":\"a;b\",\"price\":\"2\"}\n");
    place.write("odd.csv", "_id:name\n1:tea\n");
    place.good(&["load", "db", "odd", "odd.csv", "--delimiter", ":"]);
    assert_eq!(place.good(&["scan", "db", "odd"]), "{\"_id\":1,\"name\":\"tea\"}\n");
    let ended = place.run(&["load", "db", "one", "semi.csv", "--delimiter", ",", "--on-bad", "skip"]);
    assert!(ended.code == Some(0) && !ended.err.contains("semicolons"), "{ended:?}");
    assert!(place.good(&["scan", "db", "one"]).contains("_id;name;price"));
    place.write("tabs", "_id\tname\n1\ttea\n");
    place.good(&["load", "db", "tabs", "tabs", "--format", "csv", "--delimiter", "tab"]);
    assert_eq!(place.good(&["scan", "db", "tabs"]), "{\"_id\":1,\"name\":\"tea\"}\n");
    place.write("in.jsonl", "{}\n");
    assert!(place.bad(2, &["load", "db", "c", "in.jsonl", "--delimiter", ";"]).contains("--delimiter is for CSV"));
    assert!(place.bad(2, &["load", "db", "c", "semi.csv", "--delimiter", "ab"]).contains("one ASCII character"));
}

#[test]
fn what_is_not_supported_is_named() {
    let place = Place::new();
    place.write("a.parquet", "PAR1");
    place.write("b.bin", "PAR1 and more");
    for (file, kind) in
        [("a.parquet", "a file of Parquet"), ("b.bin", "a file of Parquet"), ("c.xlsx", "a file of Excel")]
    {
        let said = place.bad(2, &["load", "db", "c", file]);
        assert!(said.contains(kind) && said.contains("convert it to CSV or JSON lines"), "{said}");
    }
    place.write("c.bin", b"SQLite format 3\0 and more");
    for file in ["a.feather", "a.orc", "a.avro", "a.xls", "a.xml.gz", "a.sqlite", "c.bin"] {
        let said = place.bad(2, &["load", "db", "c", file]);
        assert!(said.contains("which is not supported: convert it to CSV or JSON lines"), "{file}: {said}");
    }
    for file in ["a.json.bz2", "a.jsonl.xz", "a.zip"] {
        let said = place.bad(2, &["load", "db", "c", file]);
        assert!(said.contains("which is not supported:") && said.contains("| alluvium load DB COLLECTION -"), "{said}");
    }
    let said = place.bad(2, &["load", "db", "c", "https://example.org/x.jsonl"]);
    assert!(said.contains("is a web address, which is not supported") && said.contains("curl"), "{said}");
    assert!(!place.path("db").exists());
}

#[test]
fn nothing_is_written_into_a_name_of_another_format() {
    let place = Place::new();
    place.good(&["put", "db", "c", "{_id: 1, a: 2}"]);
    let names = [
        "a.arrow",
        "a.feather",
        "a.orc",
        "a.avro",
        "a.xls",
        "a.xlsx",
        "a.xml",
        "a.zip",
        "a.sqlite",
        "a.json.bz2",
        "a.jsonl.xz",
        "a.geojson",
        "a.parquet.gz",
    ];
    for name in names {
        let said = place.bad(2, &["export", "db", "c", "-o", name]);
        assert!(said.contains("which cannot be written: name it .jsonl"), "{name}: {said}");
        assert!(!place.path(name).exists(), "{name}");
    }
    let said = place.bad(2, &["export", "db", "c", "-o", "a.jsonl.xz", "--format", "jsonl"]);
    assert!(said.contains(".gz or .zst") && !said.contains("add --format"), "{said}");
    place.good(&["export", "db", "c", "-o", "a.db", "--format", "csv"]);
    place.good(&["export", "db", "c", "-o", "A.JSONL.GZ"]);
    assert!(std::fs::read(place.path("A.JSONL.GZ")).unwrap().starts_with(&[0x1f, 0x8b]));
    // GeoJSON is JSON in which an array contains the documents.
    place.write("a.geojson", "{\"type\": \"FeatureCollection\",\n\"features\": [{\"_id\": 1}, {\"_id\": 2}]}\n");
    place.good(&["load", "db", "geo", "a.geojson", "--array", "features"]);
    assert_eq!(place.good(&["count", "db", "geo"]), "2\n");
}

#[test]
fn a_json_object_that_is_too_large_is_answered_with_split_object() {
    let place = Place::new();
    let fields: Vec<String> = (0..20).map(|n| format!("\"f{n}\": {{\"text\": \"{}\"}}", "x".repeat(1 << 20))).collect();
    place.write("large.json", format!("{{\n{}\n}}\n", fields.join(",\n")));
    let said = place.bad(1, &["load", "db", "c", "large.json"]);
    assert!(said.contains("--split-object loads each field of one large object as a document"), "{said}");
    place.good(&["load", "db", "c", "large.json", "--split-object"]);
    assert_eq!(place.good(&["count", "db", "c"]), "20\n");
}

#[test]
fn a_load_that_fails_leaves_no_empty_collection() {
    let place = Place::new();
    place.write("bad.jsonl", "nonsense\n");
    place.good(&["put", "db", "pets", "1", "{}"]);
    place.bad(1, &["load", "db", "c", "bad.jsonl"]);
    assert_eq!(place.good(&["collections", "db"]), "main.pets\n");
    // A collection that was empty before the load remains, and so do documents that were loaded.
    place.good(&["delete", "db", "pets", "1"]);
    place.bad(1, &["load", "db", "pets", "bad.jsonl"]);
    place.write("half.jsonl", "{}\nnonsense\n");
    place.bad(1, &["load", "db", "d", "half.jsonl"]);
    assert_eq!(place.good(&["collections", "db"]), "main.d\nmain.pets\n");
}

#[test]
fn csv_is_exported_with_the_fields_that_are_there() {
    let place = Place::new();
    let documents = "{\"_id\":1,\"a\":{\"b\":1,\"c\":[1]},\"x.y\":1}\n{\"_id\":2,\"d\":null,\"a\":{\"e\":\"t\"}}\n{\"_id\":3,\"d\":{}}\n";
    place.write("in.jsonl", documents);
    place.good(&["load", "db", "c", "in.jsonl"]);
    assert_eq!(
        place.good(&["export", "db", "c", "--format", "csv"]),
        "_id,a.b,a.c,a.e,d\n1,1,[1],,\n2,,,t,\n3,,,,{}\n"
    );
    assert_eq!(place.good(&["export", "db", "c", "--format", "tsv", "--from", "3"]), "_id\td\n3\t{}\n");
    place.good(&["export", "db", "c", "-o", "c.csv", "--to", "3"]);
    place.good(&["load", "back", "c", "c.csv"]);
    assert_eq!(place.good(&["get", "back", "c", "2"]), "{\"_id\":2,\"a\":{\"e\":\"t\"}}\n");
    // A field that is a value in one document and a map in another becomes a column of JSON.
    place.write("mixed.jsonl", "{\"_id\":1,\"a\":{\"b\":1}}\n{\"_id\":2,\"a\":5}\n");
    place.good(&["load", "db", "mixed", "mixed.jsonl"]);
    assert_eq!(place.good(&["export", "db", "mixed", "--format", "csv"]), "_id,a\n1,\"{\"\"b\"\":1}\"\n2,5\n");
    let ended = place.run_with(&["shell", "db"], b"export mixed --format csv --from 2\n");
    assert_eq!(ended.out, "_id,a\n2,5\n", "{}", ended.err);
}
