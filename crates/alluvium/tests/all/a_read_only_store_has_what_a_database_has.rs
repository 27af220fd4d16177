//! A read-only store has the same documents as a database that loaded the same input. Duplicates
//! and bad lines are reported.

use alluvium::export::{Encoder, Format as Exported};
use alluvium::load::{Csv, Format, Input, OnBad};
use alluvium::{BuildReadOnly, Database, Error, ErrorKind, ReadOnly, ReadOnlyContent, Scan};
use alluvium_env::Env;
use std::io::Cursor;
use std::path::Path;

fn input(name: &str, text: impl Into<Vec<u8>>) -> Input {
    Input::stream(name, Cursor::new(text.into()))
}

/// The options of a build with runs so small that they are written to disk.
fn small(env: &Env, path: &str) -> BuildReadOnly {
    ReadOnly::build(path, "c").env(env.clone()).run_bytes(3000).merge_width(3).index_intervals([5, 50])
}

fn exported(scan: Scan, format: Exported) -> Vec<u8> {
    let mut encoder = Encoder::new(format).canonical(true);
    let mut out = Vec::new();
    encoder.begin(&mut out).unwrap();
    let mut cursor = scan.run().unwrap();
    while encoder.write_next(&mut cursor, &mut out).unwrap() {}
    encoder.end(&mut out);
    out
}

fn lines(count: u32) -> String {
    let line = |n: u32| {
        let n = n * 7919 % count;
        match n % 5 {
            0 => format!(r#"{{"_id": {n}, "odd": {{"field{}": [1, 2.5, null]}}}}"#, n % 40),
            1 => format!(r#"{{"name": "name {n}", "_id": "{n}", "at": {{"$date": "2024-05-06T07:08:09Z"}}}}"#),
            _ => format!(r#"{{"_id": {n}, "name": "name {n}", "score": {}, "tags": ["a", "b"]}}"#, n * 3),
        }
    };
    (0..count).map(|n| line(n) + "\n").collect()
}

#[test]
fn every_format_and_scan() {
    let jsonl = lines(500);
    let array = format!("[{}]", jsonl.trim_end().replace('\n', ",\n"));
    let env = Env::in_memory(1);
    let db = Database::builder().env(env.clone()).open("/db").unwrap();
    let collection = db.collection("first");
    collection.load(input("lines", jsonl.clone())).run().unwrap();
    let bson = exported(collection.scan(), Exported::Bson);
    let csv = Format::Csv(Csv { fields: Some(vec!["_id".into(), "b".into()]), ..Csv::default() });
    for (path, format, bytes) in [
        ("/a", Format::JsonLines, jsonl.clone().into_bytes()),
        ("/b", Format::JsonArray, array.into_bytes()),
        ("/c", Format::JsonObjects, jsonl.replace('\n', " ").into_bytes()),
        ("/d", Format::Bson, bson),
        ("/e", csv, b"1,x\n2,y\n".to_vec()),
    ] {
        let mut build = small(&env, path).start().unwrap();
        let report = build.load(input("it", bytes.clone())).format(format.clone()).run().unwrap();
        let built = build.finish().unwrap();
        assert_eq!(built.pairs, report.documents);
        let other = db.collection(&path[1..]);
        other.load(input("it", bytes)).format(format).run().unwrap();
        for index_interval in [Some(5), Some(50)] {
            let open = ReadOnly::options().env(env.clone()).index_interval(index_interval);
            let store = open.open(path).unwrap();
            assert_eq!((store.content(), store.collection().as_str()), (ReadOnlyContent::Documents, "main.c"));
            assert_eq!(store.count(), other.count().unwrap());
            assert!(store.verify().unwrap().is_empty());
            let narrow = |scan: Scan| scan.from(100).to(300).reverse().limit(70);
            for (here, there) in [(store.scan(), other.scan()), (narrow(store.scan()), narrow(other.scan()))] {
                assert_eq!(exported(here, Exported::JsonLines), exported(there, Exported::JsonLines), "{path}");
            }
            for document in other.scan().run().unwrap() {
                let id = document.unwrap().id().clone();
                let found = store.get(id.clone()).unwrap().unwrap();
                assert_eq!(found.to_string(), other.get(id.clone()).unwrap().unwrap().to_string());
                assert_eq!(store.get_fields(id.clone(), &["name"]).unwrap(), other.get_fields(id, &["name"]).unwrap());
            }
            assert!(store.get("absent").unwrap().is_none());
        }
    }
}

#[test]
fn a_duplicate_is_named_by_its_place_in_its_input() {
    let env = Env::in_memory(1);
    let mut build = small(&env, "/ro").start().unwrap();
    build.load(input("one.jsonl", lines(200))).run().unwrap();
    let twice = r#"{"_id": "new"}
{"_id": 42}
{"_id": "new"}
"#;
    let result = build.load(input("two.jsonl", twice)).run().map(drop);
    let error = result.and_then(|()| build.finish().map(drop)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DuplicateKey);
    let text = error.to_string();
    assert!(text.starts_with("two.jsonl document 2: collection main.c already has a document with _id 42"), "{text}");
    assert!(!env.fs.exists(Path::new("/ro")).unwrap(), "nothing is left");
}

#[test]
fn bad_lines_end_a_build_or_are_rejected() {
    let env = Env::in_memory(1);
    let text = "{\"_id\": 1}\nno document\n{\"_id\": 2}\n";
    let mut build = small(&env, "/ro").start().unwrap();
    let error = build.load(input("it", text)).run().unwrap_err();
    assert!(error.to_string().starts_with("it line 2 column 2:"), "{error}");
    drop(build);
    assert!(!env.fs.exists(Path::new("/ro")).unwrap());

    let mut build = small(&env, "/ro").start().unwrap();
    assert_eq!(build.load(input("it", text)).on_bad(OnBad::Skip).run().unwrap().rejected, 1);
    build.add(r#"{"name": "without an _id"}"#).unwrap();
    assert_eq!(build.finish().unwrap().pairs, 3);
}

#[test]
fn a_database_is_not_opened_over_a_read_only_store_nor_built_over_a_database() {
    let env = Env::in_memory(1);
    let mut build = ReadOnly::build("/ro", "c").env(env.clone()).start().unwrap();
    let open = |path: &str| Database::builder().env(env.clone()).open(path).map(drop);
    assert!(matches!(open("/ro"), Err(Error::NeverChanges(_))));
    build.add(r#"{"_id": 1}"#).unwrap();
    build.finish().unwrap();
    let error = open("/ro").unwrap_err();
    assert!(error.to_string().contains("/ro is a read-only store, which never changes"), "{error}");
    open("/db").unwrap();
    let error = ReadOnly::build("/db", "c").env(env.clone()).start().map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Open);
    assert!(error.to_string().contains("/db is not empty"), "{error}");
    let error = ReadOnly::options().env(env.clone()).open("/db").map(drop).unwrap_err();
    assert!(error.to_string().contains("/db is not a read-only store"), "{error}");
}
