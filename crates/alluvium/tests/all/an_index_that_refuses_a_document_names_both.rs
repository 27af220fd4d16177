//! If an index refuses a document, the error of every kind of write names the document and the
//! index, and has MongoDB's code.

use alluvium::load::{Format, Input};
use alluvium::{Collection, Database, Error, ErrorKind, Result, WriteModel};
use std::path::Path;

fn open() -> (Database, Collection) {
    let db = Database::builder().env(alluvium_env::Env::in_memory(1)).partitions(2).open(Path::new("db")).unwrap();
    let t = db.collection("t");
    t.create_index(r#"{"x": 1, "y": 1}"#).run().unwrap();
    t.create_index(r#"{"h": "hashed"}"#).run().unwrap();
    t.create_index(r#"{"long": 1, "many": 1}"#).run().unwrap();
    t.put(3, r#"{"x": [1, 2], "n": 1}"#).unwrap();
    (db, t)
}

fn load(t: &Collection, document: &str) -> Result<()> {
    let lines = format!("{{\"_id\": \"before\"}}\n{document}\n");
    t.load(Input::stream("lines", std::io::Cursor::new(lines.into_bytes()))).format(Format::JsonLines).run().map(drop)
}

#[test]
fn every_write_names_document_and_index() {
    let (db, t) = open();
    let whole = r#"{"_id": 3, "x": [1, 2], "y": [3]}"#;
    let set = r#"{"$set": {"y": [3]}}"#;
    let batch = |apply: bool| {
        let mut batch = db.write_batch();
        if apply {
            batch.update_blind(&t, 3, set)?
        } else {
            batch.put(&t, 3, whole)?
        }
        batch.commit()
    };
    let writes: [(&str, Result<()>); 13] = [
        ("put", t.put(3, whole)),
        ("insert", t.insert_one(whole).map(drop)),
        ("update", t.update_one(r#"{"_id": 3}"#, set).run().map(drop)),
        ("upsert", t.update_one(r#"{"_id": 3}"#, set).upsert(true).run().map(drop)),
        ("apply", t.update_blind(3, set)),
        ("replace", t.replace_one(r#"{"_id": 3}"#, whole).run().map(drop)),
        ("update one", t.update_one(r#"{"n": 1}"#, set).run().map(drop)),
        ("update many", t.update_many(r#"{"n": 1}"#, set).run().map(drop)),
        ("find and update", t.find_one_and_update(r#"{"n": 1}"#, set).run().map(drop)),
        ("bulk", t.bulk_write([WriteModel::insert_one(whole)]).run().map(drop)),
        ("batch", batch(false)),
        ("batch that reads", batch(true)),
        ("load", load(&t, whole)),
    ];
    for (how, write) in writes {
        let error = write.unwrap_err();
        let said = "document 3 of main.t: index x_1_y_1: cannot index parallel arrays: x and y";
        assert!(error.to_string().contains(said), "{how}: {error}");
        assert_eq!(error.code(), Some((171, "CannotIndexParallelArrays")), "{how}");
        assert_eq!(error.kind(), ErrorKind::Invalid, "{how}");
        assert_eq!(matches!(error, Error::LoadOf { line: 2, .. }), how == "load", "{how}: {error}");
    }
    assert_eq!(t.get(3).unwrap().unwrap().to_string(), r#"{"_id":3,"x":[1,2],"n":1}"#);
}

#[test]
fn whatever_the_reason_is() {
    let (_db, t) = open();
    // Each key has 8208 bytes.
    let numbers: Vec<String> = (0..4100).map(|n| n.to_string()).collect();
    let many = format!(r#"{{"long": "{}", "many": [{}]}}"#, "x".repeat(9000), numbers.join(","));
    for (document, said, code) in [
        (r#"{"h": [1]}"#, "index h_hashed: a hashed index cannot be over arrays, and h has one", 16766),
        (&*many, "index long_1_many_1: a document has more than 33554432 bytes of keys", 17280),
    ] {
        let error = t.put("tom", document).unwrap_err();
        assert!(error.to_string().starts_with(&format!(r#"document "tom" of main.t: {said}"#)), "{error}");
        assert_eq!(error.code().unwrap().0, code, "{error}");
    }
}
