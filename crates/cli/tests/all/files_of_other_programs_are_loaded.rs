//! Files as other programs write them are loaded, with notes about the decisions made; with options, files that are
//! refused by default are loaded.

use crate::common::Place;
use std::io::Write;

#[test]
fn columns_of_mixed_types_are_noted_with_the_option_that_helps() {
    let place = Place::new();
    let rows: String = (0..100)
        .map(|n| format!("{n},{},{}\n", if n < 8 { "00501" } else { "10001" }, if n == 5 { "NA" } else { "1.5" }))
        .collect();
    place.write("zips.csv", format!("_id,zip_code,score\n{rows}"));
    let ended = place.run(&["load", "db", "zips", "zips.csv"]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    for note in [
        "zip_code: text, since 8% of the first 100 values are no numbers, such as 00501; --types zip_code:auto",
        "score: text, since 1% of the first 100 values are no numbers, all of them NA; --null NA takes it as null",
    ] {
        assert!(ended.err.contains(note), "{note}: {}", ended.err);
    }
    place.good(&["load", "db", "nulls", "zips.csv", "--null", "NA", "--types", "zip_code:auto"]);
    assert_eq!(place.good(&["get", "db", "nulls", "5"]), "{\"_id\":5,\"zip_code\":\"00501\",\"score\":null}\n");
    assert_eq!(place.good(&["get", "db", "nulls", "9"]), "{\"_id\":9,\"zip_code\":10001,\"score\":1.5}\n");
    // Null, a missing field and an empty text are loaded from the export unchanged.
    place.good(&["put", "db", "three", "{_id: 1, t: ''}"]);
    place.good(&["put", "db", "three", "{_id: 2, t: null}"]);
    place.good(&["put", "db", "three", "{_id: 3}"]);
    place.good(&["export", "db", "three", "-o", "three.csv", "--null", "NULL"]);
    assert_eq!(place.read("three.csv"), "_id,t\n1,\"\"\n2,NULL\n3,\n");
    place.good(&["load", "db", "back", "three.csv", "--null", "NULL"]);
    assert_eq!(place.good(&["scan", "db", "back"]), place.good(&["scan", "db", "three"]));
}

#[test]
fn headers_that_make_no_document_get_names() {
    let place = Place::new();
    place.write("pandas.csv", ",a,a\n0,1,2\n");
    let ended = place.run(&["load", "db", "c", "pandas.csv"]);
    assert!(
        ended.err.contains("names of pandas.csv are made up: column_1 for field 1, a_2 for the a of field 3"),
        "{}",
        ended.err
    );
    place.good(&["load", "db", "d", "pandas.csv", "--skip-lines", "1", "--names", "_id,x,y"]);
    assert_eq!(place.good(&["scan", "db", "d"]), "{\"_id\":0,\"x\":1,\"y\":2}\n");
    place.write("bad.csv", "_id,a\n1,\"a\"b\n");
    let said = place.bad(1, &["load", "db", "e", "bad.csv"]);
    assert!(
        said.contains("bad.csv line 2 column 2: text follows the closing quote") && said.contains("--no-quotes"),
        "{said}"
    );
    place.good(&["load", "db", "e", "bad.csv", "--no-quotes"]);
    assert_eq!(place.good(&["scan", "db", "e"]), "{\"_id\":1,\"a\":\"\\\"a\\\"b\"}\n");
}

#[test]
fn one_json_object_is_noted_and_an_array_in_it_loaded() {
    let place = Place::new();
    place.write("geo.json", "{\"type\": \"FeatureCollection\",\n\"features\": [{\"_id\": 1}, {\"_id\": 2}]}\n");
    let ended = place.run(&["load", "db", "c", "geo.json"]);
    assert!(
        ended.err.contains("is one JSON object, and was loaded as one document: --array features loads the 2 elements"),
        "{}",
        ended.err
    );
    place.good(&["load", "db", "d", "geo.json", "--array", "features"]);
    assert_eq!(place.good(&["count", "db", "d"]), "2\n");
    let said = place.bad(1, &["load", "db", "e", "geo.json", "--array", "rows"]);
    assert!(said.contains("there is no array at rows; there are type, features"), "{said}");
    // Documents on several lines of standard input.
    let piped = place.run_with(&["load", "db", "f", "-"], b"{\n  \"_id\": 1\n}\n{\n  \"_id\": 2\n}\n");
    assert_eq!(piped.code, Some(0), "{}", piped.err);
    let piped = place.run_with(&["load", "db", "f", "-"], b"[{\"_id\": 3}]");
    assert_eq!(piped.code, Some(0), "{}", piped.err);
    assert_eq!(place.good(&["count", "db", "f"]), "3\n");
}

#[test]
fn errors_name_the_option_that_helps() {
    let place = Place::new();
    for (text, option) in [
        (&b"{\"_id\":1,\"x\":NaN}\n"[..], "--on-bad repair takes NaN and Infinity"),
        (b"{\"_id\":1,\"x\":\"\\ud800\"}\n", "--on-bad repair puts U+FFFD in the place of half a surrogate pair"),
        (b"{\"_id\":1,\"x\":\"\xe9\"}\n", "--on-bad repair puts U+FFFD in the place of bytes"),
        (b"{\"_id\":1} {\"_id\":2}\n", "--on-bad repair takes each of several objects"),
        (b"{\"_id\":1,\"x\":1e-7000}\n", "--on-bad repair rounds to decimal128, and --alluvium-types keeps the number"),
    ] {
        place.write("in.jsonl", text);
        let said = place.bad(1, &["load", "db", "c", "in.jsonl"]);
        assert!(said.contains("in.jsonl line 1 column ") && said.contains(option), "{option}: {said}");
        let repaired = place.good(&["load", "db", "c", "in.jsonl", "--on-bad", "repair", "--on-duplicate", "replace"]);
        assert!(repaired.contains("repaired 1 bad line"), "{repaired}");
    }
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    let text: String = (0..20_000).map(|n| format!("{{\"_id\":{n},\"t\":{}}}\n", n * 7919)).collect();
    packed.write_all(text.as_bytes()).expect("memory");
    let packed = packed.finish().expect("memory");
    place.write("cut.jsonl.gz", &packed[..packed.len() / 2]);
    let said = place.bad(1, &["load", "db", "cut", "cut.jsonl.gz"]);
    assert!(said.contains("cannot read cut.jsonl.gz after line ") && said.contains("truncated"), "{said}");
}

#[test]
fn a_file_that_was_loaded_in_part_is_not_loaded_twice() {
    let place = Place::new();
    place.write("log.jsonl", "{\"n\":1}\n{\"n\":2}\n{\"n\":\n");
    let said = place.bad(1, &["load", "db", "log", "log.jsonl"]);
    assert!(said.contains("log.jsonl line 3") && said.contains("load it again with --append"), "{said}");
    place.write("log.jsonl", "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n");
    let said = place.bad(1, &["load", "db", "log", "log.jsonl"]);
    assert!(said.contains("the first 2 documents of log.jsonl were loaded before: nothing is loaded"), "{said}");
    place.good(&["load", "db", "log", "log.jsonl", "--append"]);
    assert_eq!(place.good(&["count", "db", "log"]), "3\n");
    place.write("log.jsonl", "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n{\"n\":4}\n");
    let said = place.bad(1, &["load", "db", "log", "log.jsonl"]);
    assert!(said.contains("log.jsonl was loaded before (3 documents), and has grown since"), "{said}");
    place.good(&["load", "db", "log", "log.jsonl", "--append"]);
    assert_eq!(place.good(&["count", "db", "log"]), "4\n");
    for changed in ["{\"n\":7}\n", "{\"n\":1}\n{\"n\":9}\n{\"n\":3}\n{\"n\":4}\n{\"n\":5}\n"] {
        place.write("log.jsonl", changed);
        let said = place.bad(1, &["load", "db", "log", "log.jsonl", "--append"]);
        assert!(said.contains("(4 documents), and this part of it has changed: nothing is loaded"), "{said}");
        assert!(said.contains("without --append all of it is loaded"), "{said}");
        assert_eq!(place.good(&["count", "db", "log"]), "4\n");
    }
    let said = place.bad(2, &["load", "db", "log", "-", "--append"]);
    assert!(said.contains("--append is for plain files"), "{said}");
    place.write("log.jsonl", "{\"n\":7}\n");
    let ended = place.run(&["load", "db", "log", "log.jsonl"]);
    assert!(
        ended.code == Some(0) && ended.err.contains("loaded before with other content (4 documents)"),
        "{}",
        ended.err
    );
}

#[test]
fn a_document_alone_is_put() {
    let place = Place::new();
    let id = place.good(&["put", "db", "c", "{a: 1}"]);
    assert!(id.contains("$oid"), "{id}");
    place.good(&["put", "db", "c", "{_id: 7, a: 2}"]);
    assert_eq!(place.good(&["get", "db", "c", "7"]), "{\"_id\":7,\"a\":2}\n");
    let ended = place.run_with(&["put", "db", "c", "8", "-"], b"{\"a\": 3}");
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert_eq!(place.good(&["get", "db", "c", "8"]), "{\"_id\":8,\"a\":3}\n");
    let said = place.bad(2, &["put", "db", "c", "{a: 1"]);
    assert!(said.contains("not JSON"), "{said}");
    let said = place.bad(2, &["export", "db", "c", "-o", "c.parquet"]);
    assert!(said.contains("Parquet") && !place.path("c.parquet").exists(), "{said}");
    place.good(&["export", "db", "c", "-o", "c.jsonl", "--format", "jsonl"]);
    place.good(&["load", "db", "d", "c.jsonl", "--format", "jsonl"]);
}
