//! Of documents with one `_id` in a load one is kept; it is that one's unique keys that must be free.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

use alluvium::load::{Input, LoadOptions, OnDuplicate};
use alluvium::{Collection, Database, ErrorKind};
use std::path::Path;

fn load(pets: &Collection, lines: &'static str, on_duplicate: OnDuplicate) -> alluvium::Result<u64> {
    let options = LoadOptions { readers: 1, writers: 1, on_duplicate, ..LoadOptions::default() };
    let input = Input::stream("lines", std::io::Cursor::new(lines.as_bytes().to_vec()));
    pets.load(input, options).map(|report| report.documents)
}

#[test]
fn a_load_keeps_unique_keys() {
    let env = env::Env::in_memory(7);
    let db = Database::builder().env(env).partitions(2).open(Path::new("db")).unwrap();
    let pets = db.collection("pets");
    pets.create_index_with(r#"{"u":1}"#, r#"{"unique":true}"#).unwrap();
    pets.put("has it", r#"{"u":5}"#).unwrap();
    // The first is kept, and its key is taken.
    let twice = "{\"_id\":1,\"u\":5}\n{\"_id\":1,\"u\":6}\n";
    for on_duplicate in [OnDuplicate::Skip, OnDuplicate::Error] {
        let error = load(&pets, twice, on_duplicate).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DuplicateKey, "{error}");
        assert_eq!(pets.count().unwrap(), 1, "{on_duplicate:?}");
    }
    // One is passed over, and the load ends at the third line: the second is still looked at.
    let ends = "{\"_id\":\"has it\",\"u\":50}\n{\"_id\":6,\"u\":5}\nnonsense\n";
    let error = load(&pets, ends, OnDuplicate::Skip).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DuplicateKey, "{error}");
    assert_eq!(pets.count().unwrap(), 1);
    // The first is kept, and only the other's key is taken.
    let other = "{\"_id\":2,\"u\":7}\n{\"_id\":2,\"u\":5}\n{\"_id\":3,\"u\":8}\n";
    assert_eq!(load(&pets, other, OnDuplicate::Skip).unwrap(), 2);
    // The last is kept.
    let last = "{\"_id\":4,\"u\":5}\n{\"_id\":4,\"u\":9}\n";
    assert_eq!(load(&pets, last, OnDuplicate::Replace).unwrap(), 2);
    assert_eq!(pets.index_entries(&db.snapshot(), "u_1", false).unwrap().len(), 4);
    assert_eq!(pets.put("late", r#"{"u":9}"#).unwrap_err().kind(), ErrorKind::DuplicateKey);
}

#[test]
fn the_line_that_would_take_a_key_is_named_and_those_before_it_are_loaded() {
    for on_duplicate in [OnDuplicate::Skip, OnDuplicate::Error, OnDuplicate::Replace] {
        let env = env::Env::in_memory(7);
        let db = Database::builder().env(env).partitions(2).open(Path::new("db")).unwrap();
        let pets = db.collection("pets");
        pets.create_index_with(r#"{"u":1}"#, r#"{"unique":true}"#).unwrap();
        pets.put("has it", r#"{"u":5}"#).unwrap();
        let refused = |lines: &'static str, documents: u64| {
            let error = load(&pets, lines, on_duplicate).unwrap_err();
            assert_eq!((error.kind(), error.code()), (ErrorKind::DuplicateKey, Some((11000, "DuplicateKey"))));
            assert_eq!(pets.count().unwrap(), documents, "{on_duplicate:?}: {error}");
            error.to_string()
        };
        // Of the collection: the fourth line is not the first that is wrong.
        let stored = "{\"_id\":1,\"u\":1}\n\n{\"_id\":2,\"u\":5}\n{\"_id\":3,\"u\":5}\nnonsense\n";
        let error = refused(stored, 2);
        assert!(
            error.contains("lines line 3: document \"has it\" of collection main.pets has the key {u: 5}"),
            "{error}"
        );
        // Of the input: the later one is refused, and the earlier one has it.
        let error =
            refused("{\"_id\":11,\"u\":11}\n{\"_id\":12,\"u\":12}\n{\"_id\":13,\"u\":11}\n{\"_id\":14,\"u\":12}\n", 4);
        assert!(error.contains("lines line 3: document 11 of collection main.pets has the key {u: 11}"), "{error}");
        assert_eq!(pets.index_entries(&db.snapshot(), "u_1", false).unwrap().len(), 4);
    }
}

#[test]
fn a_load_that_was_refused_a_key_goes_on_with_its_line() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pets.jsonl");
    let many = (0..30_000).map(|n| format!("{{\"_id\":{n},\"u\":{}}}\n", if n == 20_000 { -1 } else { n }));
    std::fs::write(&file, many.collect::<String>()).unwrap();
    let db = Database::builder().partitions(2).open(dir.path().join("db")).unwrap();
    let pets = db.collection("pets");
    pets.create_index_with(r#"{"u":1}"#, r#"{"unique":true}"#).unwrap();
    pets.put("has it", r#"{"u":-1}"#).unwrap();
    let load = || pets.load(Input::file(&env::Env::os(), &file).unwrap(), LoadOptions::default());
    for _ in 0..2 {
        let error = load().unwrap_err().to_string();
        assert!(error.contains("line 20001: document \"has it\""), "{error}");
        assert_eq!(pets.count().unwrap(), 20_001);
    }
    pets.delete("has it").unwrap();
    let report = load().unwrap();
    assert_eq!((report.documents, report.documents_before, pets.count().unwrap()), (10_000, 20_000, 30_000));
}

#[test]
fn a_put_that_is_left_out_claims_no_key() {
    let env = env::Env::in_memory(7);
    let db = Database::builder().env(env).partitions(2).open(Path::new("db")).unwrap();
    let pets = db.collection("pets");
    pets.create_index_with(r#"{"u":1}"#, r#"{"unique":true,"sparse":true}"#).unwrap();
    pets.put(9, r#"{"u":"x"}"#).unwrap();
    // The first is kept, and has no key.
    assert_eq!(load(&pets, "{\"_id\":1}\n{\"_id\":1,\"u\":\"x\"}\n", OnDuplicate::Skip).unwrap(), 1);
    assert_eq!(
        load(&pets, "{\"_id\":2}\n{\"_id\":2,\"u\":\"y\"}\n{\"_id\":3,\"u\":\"y\"}\n", OnDuplicate::Skip).unwrap(),
        2
    );
    let error = load(&pets, "{\"_id\":4}\n{\"_id\":4,\"u\":\"x\"}\n", OnDuplicate::Replace).unwrap_err().to_string();
    assert!(error.contains("line 2"), "{error}");
    assert_eq!(pets.count().unwrap(), 5);
}
