//! If several documents of a load have the same `_id`, one of them is kept. Only the unique keys of
//! the kept document are checked.

use alluvium::load::{Input, LoadReport, OnBad, OnDuplicate};
use alluvium::{Collection, Database, ErrorKind};
use alluvium_env::sync::Mutex;
use alluvium_testkit::IndexEntries;
use std::path::Path;
use std::sync::Arc;

fn load(pets: &Collection, lines: &'static str, on_duplicate: OnDuplicate) -> alluvium::Result<u64> {
    let input = Input::stream("lines", std::io::Cursor::new(lines.as_bytes().to_vec()));
    pets.load(input).readers(1).writers(1).on_duplicate(on_duplicate).run().map(|report| report.documents)
}

#[test]
fn a_load_keeps_unique_keys() {
    let env = alluvium_env::Env::in_memory(7);
    let db = Database::builder().env(env).partitions(2).open(Path::new("db")).unwrap();
    let pets = db.collection("pets");
    pets.create_index(r#"{"u":1}"#).unique(true).run().unwrap();
    pets.put("has it", r#"{"u":5}"#).unwrap();
    // The first document would be kept, but its key exists already.
    let twice = "{\"_id\":1,\"u\":5}\n{\"_id\":1,\"u\":6}\n";
    for on_duplicate in [OnDuplicate::Skip, OnDuplicate::Error] {
        let error = load(&pets, twice, on_duplicate).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DuplicateKey, "{error}");
        assert_eq!(pets.count().unwrap(), 1, "{on_duplicate:?}");
    }
    // The first line is skipped, and the load ends at the third line: the second line is still
    // checked.
    let ends = "{\"_id\":\"has it\",\"u\":50}\n{\"_id\":6,\"u\":5}\nnonsense\n";
    let error = load(&pets, ends, OnDuplicate::Skip).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DuplicateKey, "{error}");
    assert_eq!(pets.count().unwrap(), 1);
    // The first document with `_id` 2 is kept; only the skipped one has a key that exists.
    let other = "{\"_id\":2,\"u\":7}\n{\"_id\":2,\"u\":5}\n{\"_id\":3,\"u\":8}\n";
    assert_eq!(load(&pets, other, OnDuplicate::Skip).unwrap(), 2);
    // The last document is kept.
    let last = "{\"_id\":4,\"u\":5}\n{\"_id\":4,\"u\":9}\n";
    assert_eq!(load(&pets, last, OnDuplicate::Replace).unwrap(), 2);
    assert_eq!(pets.index_entries(&db.snapshot(), "u_1", false).unwrap().len(), 4);
    assert_eq!(pets.put("late", r#"{"u":9}"#).unwrap_err().kind(), ErrorKind::DuplicateKey);
}

#[test]
fn the_line_that_would_take_a_key_is_named_and_those_before_it_are_loaded() {
    for on_duplicate in [OnDuplicate::Skip, OnDuplicate::Error, OnDuplicate::Replace] {
        let env = alluvium_env::Env::in_memory(7);
        let db = Database::builder().env(env).partitions(2).open(Path::new("db")).unwrap();
        let pets = db.collection("pets");
        pets.create_index(r#"{"u":1}"#).unique(true).run().unwrap();
        pets.put("has it", r#"{"u":5}"#).unwrap();
        let refused = |lines: &'static str, documents: u64| {
            let error = load(&pets, lines, on_duplicate).unwrap_err();
            assert_eq!((error.kind(), error.code()), (ErrorKind::DuplicateKey, Some((11000, "DuplicateKey"))));
            assert_eq!(pets.count().unwrap(), documents, "{on_duplicate:?}: {error}");
            error.to_string()
        };
        // A key that the collection has already: line 3 is reported, and not a later bad line.
        let stored = "{\"_id\":1,\"u\":1}\n\n{\"_id\":2,\"u\":5}\n{\"_id\":3,\"u\":5}\nnonsense\n";
        let error = refused(stored, 2);
        assert!(
            error.contains("lines line 3: document \"has it\" of collection main.pets already has the key {u: 5}"),
            "{error}"
        );
        // A key that occurs twice in the input: the later document is refused.
        let error =
            refused("{\"_id\":11,\"u\":11}\n{\"_id\":12,\"u\":12}\n{\"_id\":13,\"u\":11}\n{\"_id\":14,\"u\":12}\n", 4);
        assert!(
            error.contains("lines line 3: document 11 of collection main.pets already has the key {u: 11}"),
            "{error}"
        );
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
    pets.create_index(r#"{"u":1}"#).unique(true).run().unwrap();
    pets.put("has it", r#"{"u":-1}"#).unwrap();
    let load = || pets.load(Input::file(&file).unwrap()).run();
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
    let env = alluvium_env::Env::in_memory(7);
    let db = Database::builder().env(env).partitions(2).open(Path::new("db")).unwrap();
    let pets = db.collection("pets");
    pets.create_index(r#"{"u":1}"#).options(r#"{"unique":true,"sparse":true}"#).run().unwrap();
    pets.put(9, r#"{"u":"x"}"#).unwrap();
    // The first document is kept, and has no key in the index.
    assert_eq!(load(&pets, "{\"_id\":1}\n{\"_id\":1,\"u\":\"x\"}\n", OnDuplicate::Skip).unwrap(), 1);
    assert_eq!(
        load(&pets, "{\"_id\":2}\n{\"_id\":2,\"u\":\"y\"}\n{\"_id\":3,\"u\":\"y\"}\n", OnDuplicate::Skip).unwrap(),
        2
    );
    let error = load(&pets, "{\"_id\":4}\n{\"_id\":4,\"u\":\"x\"}\n", OnDuplicate::Replace).unwrap_err().to_string();
    assert!(error.contains("line 2"), "{error}");
    assert_eq!(pets.count().unwrap(), 5);
}

/// A writer of rejected lines whose content the test can read.
#[derive(Clone, Default)]
struct Rejects(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Rejects {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Rejects {
    fn lines(&self) -> Vec<serde_json::Value> {
        let bytes = self.0.lock();
        std::str::from_utf8(&bytes).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn numbers(&self) -> Vec<u64> {
        self.lines().iter().map(|line| line["line"].as_u64().unwrap()).collect()
    }
}

fn figures(report: &LoadReport) -> (u64, u64, u64) {
    (report.documents, report.duplicates, report.rejected)
}

#[test]
fn lines_whose_key_is_taken_are_passed_over() {
    for (on_duplicate, lines, counts, rejected, left) in [
        // Keys that the collection or the input has already, and a line that is not a document, are
        // rejected. The rest is loaded.
        (
            OnDuplicate::Error,
            "{\"_id\":1,\"u\":5}\n{\"_id\":2,\"u\":6}\nx\n{\"_id\":3,\"u\":6}\n{\"_id\":4,\"u\":[7,5]}\n{\"_id\":5,\"u\":7}\n",
            (2, 0, 4),
            &[1, 3, 4, 5][..],
            "2 5",
        ),
        // The first document with the _id is rejected, so the second is not a duplicate.
        (OnDuplicate::Skip, "{\"_id\":1,\"u\":5}\n{\"_id\":1,\"u\":6}\n{\"_id\":1,\"u\":8}\n", (1, 1, 1), &[1], "1"),
        (OnDuplicate::Error, "{\"_id\":1,\"u\":5}\n{\"_id\":1,\"u\":6}\n", (1, 0, 1), &[1], "1"),
        (OnDuplicate::Skip, "{\"_id\":1,\"u\":5}\n{\"_id\":1}\n", (1, 0, 1), &[1], "1"),
        // The last document with the _id is rejected, so the one before it is kept.
        (
            OnDuplicate::Replace,
            "{\"_id\":1,\"u\":6}\n{\"_id\":1,\"u\":5}\n{\"_id\":2,\"u\":6}\n",
            (1, 0, 2),
            &[2, 3],
            "1",
        ),
        // An existing document is kept, and keeps its key.
        (
            OnDuplicate::Skip,
            "{\"_id\":\"has it\",\"u\":1}\n{\"_id\":1,\"u\":5}\n{\"_id\":2,\"u\":1}\n",
            (1, 1, 1),
            &[2],
            "2",
        ),
        (OnDuplicate::Replace, "{\"_id\":\"has it\",\"u\":1}\n{\"_id\":1,\"u\":5}\n", (2, 0, 0), &[], "1"),
    ] {
        let db = Database::builder().env(alluvium_env::Env::in_memory(7)).partitions(2).open(Path::new("db")).unwrap();
        let pets = db.collection("pets");
        pets.create_index(r#"{"u":1}"#).options(r#"{"unique":true,"sparse":true}"#).run().unwrap();
        pets.put("has it", r#"{"u":5}"#).unwrap();
        let rejects = Rejects::default();
        let input = Input::stream("lines", std::io::Cursor::new(lines.as_bytes().to_vec()));
        let load = pets.load(input).on_bad(OnBad::Skip).on_duplicate(on_duplicate).rejects(rejects.clone());
        let report = load.run().unwrap();
        assert_eq!((figures(&report), rejects.numbers().as_slice()), (counts, rejected), "{on_duplicate:?} {lines}");
        let ids: Vec<String> = pets
            .find(r#"{"_id":{"$type":"number"}}"#)
            .run()
            .unwrap()
            .map(|d| d.unwrap().id().as_i64().unwrap().to_string())
            .collect();
        assert_eq!(ids.join(" "), left, "{on_duplicate:?} {lines}");
        for (reject, line) in rejects.lines().iter().zip(rejected) {
            assert_eq!(reject["text"], lines.lines().nth(*line as usize - 1).unwrap());
            let reason = reject["reason"].as_str().unwrap();
            assert!(reject["text"] == "x" || reason.contains("unique index u_1"), "{reason}");
        }
        assert!(db.verify().run().unwrap().damage.is_empty());
    }
}

#[test]
fn a_load_that_passes_over_keys_goes_on_where_it_ended() {
    const LINES: u64 = 60_000;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pets.jsonl");
    // Every tenth document has the key of the previous one; one document has the _id of an existing
    // document.
    let line = |n: u64| {
        format!("{{\"_id\":{n},\"u\":{},\"filler\":\"{}\"}}\n", if n % 10 == 9 { n - 1 } else { n }, "x".repeat(60))
    };
    std::fs::write(&file, (0..LINES).map(line).collect::<String>()).unwrap();
    let db = Database::builder().partitions(2).open(dir.path().join("db")).unwrap();
    let pets = db.collection("pets");
    pets.create_index(r#"{"u":1}"#).unique(true).run().unwrap();
    pets.put(45_000, r#"{"u":-1}"#).unwrap();
    let rejects = Rejects::default();
    let load = || pets.load(Input::file(&file).unwrap()).on_bad(OnBad::Skip).rejects(rejects.clone()).run();
    assert!(load().unwrap_err().to_string().contains("line 45001: "));
    assert_eq!((pets.count().unwrap(), rejects.numbers().len()), (45_000 - 4_500 + 1, 4_500));
    pets.delete(45_000).unwrap();
    let report = load().unwrap();
    assert_eq!((figures(&report), report.documents_before), ((13_500, 0, 1_500), 40_500));
    assert_eq!(rejects.numbers(), (0..LINES).filter(|n| n % 10 == 9).map(|n| n + 1).collect::<Vec<_>>());
    assert_eq!(pets.count().unwrap(), LINES - LINES / 10);
}
