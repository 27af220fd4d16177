//! Of documents with one `_id` in a load one is kept; it is that one's unique keys that must be free.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

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
