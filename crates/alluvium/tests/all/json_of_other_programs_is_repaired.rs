//! Bad records of JSON and BSON are repaired; values that BSON cannot hold are refused, rounded or kept; the elements
//! of an array within an object are streamed; a load of a file that has grown continues after the loaded part.

use alluvium::load::{Format, Input, OnBad, Outcome};
use alluvium::{Collection, Database};
use alluvium_env::Env;
use std::io::Cursor;

fn collection() -> Collection {
    Database::builder().env(Env::in_memory(1)).memory(8 << 20).open("db").unwrap().collection("c")
}

fn all(collection: &Collection) -> Vec<String> {
    collection.scan().run().unwrap().map(|document| document.unwrap().to_string()).collect()
}

fn input(bytes: &[u8]) -> Input {
    Input::stream("input", Cursor::new(bytes.to_owned()))
}

#[test]
fn bad_lines_are_repaired() {
    let text = b"{\"_id\":1,\"x\":NaN,\"y\":-Infinity}\n{\"_id\":2,\"s\":\"\\ud800\"}\n{\"_id\":3,\"s\":\"caf\xe9\"}\n\
        {\"_id\":4}{\"_id\":5}\n{\"_id\":6}\n{\"_id\":7,\"n\":1e-7000}\n";
    let repaired = collection();
    let report = repaired.load(input(text)).on_bad(OnBad::Repair).run().unwrap();
    assert_eq!((report.documents, report.repaired), (7, 5));
    assert_eq!(
        all(&repaired),
        [
            "{\"_id\":1,\"x\":{\"$numberDouble\":\"NaN\"},\"y\":{\"$numberDouble\":\"-Infinity\"}}",
            "{\"_id\":2,\"s\":\"\u{fffd}\"}",
            "{\"_id\":3,\"s\":\"caf\u{fffd}\"}",
            "{\"_id\":4}",
            "{\"_id\":5}",
            "{\"_id\":6}",
            "{\"_id\":7,\"n\":{\"$numberDecimal\":\"0E-6176\"}}",
        ]
    );
    let error = collection().load(input(b"{\"_id\":1}\n{\"_id\":\n")).on_bad(OnBad::Repair).run().unwrap_err();
    assert!(error.to_string().contains("input line 2"), "{error}");
}

#[test]
fn what_bson_cannot_hold_is_refused_by_every_format_of_text() {
    let texts: [(Format, &[u8], &str); 5] = [
        (Format::JsonLines, b"{\"_id\":1,\"a\":[{\"n\":1e-7000}]}", "a.0.n"),
        (Format::JsonArray, b"[{\"_id\":1,\"a\\u0000b\":1}]", "a\\0b"),
        (Format::JsonFields, b"{\"x\":{\"n\":123456789012345678901234567890123456}}", "n"),
        (Format::JsonFields, b"{\"x\":123456789012345678901234567890123456}", "value"),
        (
            Format::JsonLines,
            b"{\"_id\":1,\"r\":{\"$regularExpression\":{\"pattern\":\"a\\u0000\",\"options\":\"\"}}}",
            "r",
        ),
    ];
    for (format, text, path) in texts {
        let c = collection();
        let error = c.load(input(text)).format(format.clone()).run().unwrap_err().to_string();
        assert!(error.contains("input line 1") && error.contains(&format!(" {path}: ")), "{path}: {error}");
        let report = c.load(input(text)).format(format.clone()).on_bad(OnBad::Repair).run().unwrap();
        assert_eq!((report.documents, report.repaired), (1, 1), "{path}");
        assert!(all(&c).len() == 1 && c.scan().run().unwrap().all(|d| d.unwrap().to_bson_bytes().is_ok()), "{path}");
        let kept = collection();
        kept.load(input(text)).format(format).alluvium_types(true).run().unwrap();
        assert!(kept.scan().run().unwrap().all(|d| d.unwrap().to_bson_bytes().is_err()), "{path}");
    }
}

#[test]
fn many_lines_of_one_shape_are_checked_as_the_first() {
    let mut text: String = (0..2000).map(|n| format!("{{\"_id\":{n},\"n\":{n}.5}}\n")).collect();
    text += "{\"_id\":2000,\"n\":1e-7000}\n";
    let error = collection().load(input(text.as_bytes())).run().unwrap_err().to_string();
    assert!(error.contains("input line 2001 column 1: n: a decimal does not fit"), "{error}");
}

#[test]
fn the_elements_of_an_inner_array_are_documents() {
    let mut text = "{\"type\":\"FeatureCollection\",\"meta\":[1,{\"features\":[]}],\n\"features\": [".to_owned();
    for n in 0..5000 {
        text += &format!("{}{{\"_id\":{n},\"t\":\"{}\"}}", if n == 0 { "" } else { ",\n" }, "x".repeat(100));
    }
    text += "], \"after\": [{\"_id\": -1}]} and more";
    let c = collection();
    let at = |path: &str| Format::JsonArrayAt(path.to_owned());
    let report = c.load(input(text.as_bytes())).format(at("features")).run().unwrap();
    assert_eq!((report.documents, c.count().unwrap()), (5000, 5000));
    let error = collection().load(input(text.as_bytes())).format(at("data.x")).run().unwrap_err().to_string();
    assert!(error.contains("there is no array at data.x; there are type, meta, features, after"), "{error}");
    let bad = text.replace("{\"_id\":4999", "{_id:4999");
    let error = collection().load(input(bad.as_bytes())).format(at("features")).run().unwrap_err().to_string();
    assert!(error.contains("input line 5001 column 2"), "{error}");
    let cut = &text.as_bytes()[..text.len() / 2];
    assert!(collection().load(input(cut)).format(at("features")).run().is_err());
}

#[test]
fn bson_with_other_text_is_repaired() {
    let mut bytes = Vec::new();
    let map = alluvium::doc! {"_id": 1, "name": "cafXXe"};
    alluvium_document::bson::encode_document(&map, &mut bytes).unwrap();
    let at = bytes.windows(2).position(|pair| pair == b"XX").unwrap();
    bytes[at] = 0xe9;
    let error = collection().load(input(&bytes)).format(Format::Bson).run().unwrap_err().to_string();
    assert!(
        error.contains("input document 1 (from byte 0): the document with _id 1: ") && error.contains("UTF-8"),
        "{error}"
    );
    let c = collection();
    let report = c.load(input(&bytes)).format(Format::Bson).on_bad(OnBad::Repair).run().unwrap();
    assert_eq!((report.documents, report.repaired), (1, 1));
    assert_eq!(all(&c), ["{\"_id\":1,\"name\":\"caf\u{fffd}Xe\"}"]);
}

#[test]
fn a_file_continues_behind_the_part_that_is_loaded() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log.jsonl");
    let db = Database::open(dir.path().join("db")).unwrap();
    let log = db.collection("log");
    let load = || log.load(Input::file(&path).unwrap());
    std::fs::write(&path, "{\"n\":1}\n{\"n\":2}\n").unwrap();
    assert_eq!(load().path_before().unwrap(), None);
    load().run().unwrap();
    assert_eq!(load().path_before().unwrap(), None, "the same input");
    std::fs::write(&path, "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n{\"n\":\n").unwrap();
    let before = load().path_before().unwrap().unwrap();
    assert!(before.continues && before.finished && before.generated && before.documents == 2, "{before:?}");
    let error = load().append(true).run().unwrap_err().to_string();
    assert!(error.contains("line 4"), "{error}");
    assert_eq!(log.count().unwrap(), 3);
    // The bad line is corrected.
    std::fs::write(&path, "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n{\"n\":4}\n").unwrap();
    let before = load().path_before().unwrap().unwrap();
    assert!(before.continues && !before.finished && before.lines == 3 && before.documents == 3, "{before:?}");
    assert_eq!(load().append(true).run().unwrap().outcome, Outcome::Done);
    assert_eq!(log.count().unwrap(), 4);
    // A file with other content does not continue the load.
    std::fs::write(&path, "{\"n\":9}\n{\"n\":2}\n{\"n\":3}\n{\"n\":4}\n{\"n\":5}\n").unwrap();
    assert!(load().path_before().unwrap().is_some_and(|before| !before.continues));
    assert_eq!(load().append(true).run().unwrap().documents, 5);
}
