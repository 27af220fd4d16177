//! The filter of a partial index nests no deeper than can be read again: where it is described, and in a dump.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use alluvium::dump::{Dump, DumpOptions, RestoreOptions};
use alluvium::{Database, Error, IndexError, Map, Value};
use std::path::Path;

const MOST: usize = query::index::MAX_PARTIAL_LEVELS;

/// Options with a filter of so many levels.
fn options(levels: usize) -> Map {
    let value = (0..levels - 1).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
    Map::from([("partialFilterExpression", Map::from([("a", value)]))])
}

#[test]
fn a_filter_that_could_not_be_read_again_is_refused() {
    let env = env::Env::in_memory(1);
    let open = |path: &str| Database::builder().env(env.clone()).memory(8 << 20).open(path).unwrap();
    let db = open("db");
    let c = db.collection("c");
    c.put(1, r#"{"n": 1}"#).unwrap();
    for levels in [MOST + 1, 98, 99, 100] {
        let error = c.create_index_with(r#"{"n": 1}"#, options(levels)).unwrap_err();
        assert!(matches!(&error, Error::Index(IndexError::Filter(_))), "{levels}: {error}");
        assert_eq!(error.code().map(|(code, _)| code), Some(15), "{levels}: {error}");
        assert!(alluvium::check_index(r#"{"n": 1}"#, options(levels)).is_err(), "{levels}");
    }
    let name = c.create_index_with(r#"{"n": 1}"#, options(MOST)).unwrap();
    db.close().unwrap();

    let db = open("db");
    let indexes = db.collection("c").indexes().unwrap();
    assert_eq!(indexes.len(), 2);
    db.dump(Path::new("dump"), &DumpOptions::default(), |_, _| {}).unwrap();
    let other = open("other");
    Dump::read(&env, Path::new("dump")).unwrap().restore(&other, &RestoreOptions::default()).unwrap();
    let restored = other.collection("c").indexes().unwrap();
    assert_eq!(restored[1].definition, indexes[1].definition, "{name}");
    assert_eq!(other.collection("c").count().unwrap(), 1);
}
