//! The filter of a partial index is refused if it nests too deep for the index description, or a
//! dump, to be read again.

use alluvium::dump;
use alluvium::{Database, Error, IndexError, MAX_DEPTH, Map, Value};
use alluvium_document::Code;

const MOST: usize = alluvium_query::index::MAX_PARTIAL_LEVELS;

/// Index options with a partial filter of `levels` levels.
fn options(levels: usize) -> Map {
    filtered((0..levels - 1).fold(Value::Null, |inner, _| Value::Array(vec![inner])))
}

fn filtered(value: Value) -> Map {
    Map::from([("partialFilterExpression", Map::from([("a", value)]))])
}

/// Nested code values, each in the scope of the next outer one.
fn codes(levels: usize) -> Value {
    (0..levels).fold(Value::Null, |inner, _| {
        Value::Code(Box::new(Code { code: "f".into(), scope: Some(Map::from([("s", inner)])) }))
    })
}

#[test]
fn codes_with_scopes_count_as_one_level_each() {
    let env = alluvium_env::Env::in_memory(1);
    let open = || Database::builder().env(env.clone()).memory(8 << 20).open("db").unwrap();
    let db = open();
    let c = db.collection("c");
    for levels in [51, MOST - 1] {
        c.create_index(format!(r#"{{"n{levels}": 1}}"#)).options(filtered(codes(levels))).run().unwrap();
    }
    for levels in [MOST, MAX_DEPTH - 1, MAX_DEPTH, MAX_DEPTH + 1] {
        let error = c.create_index(r#"{"n": 1}"#).options(filtered(codes(levels))).run().unwrap_err();
        assert_eq!(error.code().map(|(code, _)| code), Some(15), "{levels}: {error}");
    }
    for levels in [51, MAX_DEPTH - 2, MAX_DEPTH - 1, MAX_DEPTH, MAX_DEPTH + 1] {
        let put = c.insert_one(Map::from([("_id", Value::from(levels as i32)), ("a", codes(levels))]));
        assert_eq!(put.is_ok(), levels < MAX_DEPTH, "{levels}");
        let put = c.insert_one(Map::from([("_id", Value::from(1000 + levels as i32)), ("a", within_arrays(levels))]));
        assert!(put.is_err(), "{levels}");
    }
    db.close().unwrap();

    let db = open();
    let c = db.collection("c");
    let indexes = c.indexes().unwrap();
    assert_eq!(indexes.len(), 3);
    assert_eq!(c.count().unwrap(), 3);
    for levels in [51, MAX_DEPTH - 2, MAX_DEPTH - 1] {
        let read = c.get(levels as i32).unwrap().unwrap().to_map().unwrap();
        assert_eq!(read.get("a"), Some(&codes(levels)), "{levels}");
    }
    assert!(db.verify().run().unwrap().damage.is_empty());
}

/// Code values within arrays: their levels together exceed the limit.
fn within_arrays(levels: usize) -> Value {
    (0..MAX_DEPTH - 50).fold(codes(levels), |inner, _| Value::Array(vec![inner]))
}

#[test]
fn a_filter_that_could_not_be_read_again_is_refused() {
    let env = alluvium_env::Env::in_memory(1);
    let open = |path: &str| Database::builder().env(env.clone()).memory(8 << 20).open(path).unwrap();
    let db = open("db");
    let c = db.collection("c");
    c.put(1, r#"{"n": 1}"#).unwrap();
    for levels in [MOST + 1, MAX_DEPTH - 2, MAX_DEPTH - 1, MAX_DEPTH] {
        let error = c.create_index(r#"{"n": 1}"#).options(options(levels)).run().unwrap_err();
        assert!(matches!(&error, Error::Index(IndexError::Filter(_))), "{levels}: {error}");
        assert_eq!(error.code().map(|(code, _)| code), Some(15), "{levels}: {error}");
        assert!(alluvium::check_index(r#"{"n": 1}"#, options(levels)).is_err(), "{levels}");
    }
    let name = c.create_index(r#"{"n": 1}"#).options(options(MOST)).run().unwrap();
    db.close().unwrap();

    let db = open("db");
    let indexes = db.collection("c").indexes().unwrap();
    assert_eq!(indexes.len(), 2);
    db.dump("dump").run().unwrap();
    let other = open("other");
    dump::read("dump").env(env.clone()).run().unwrap().restore(&other).run().unwrap();
    let restored = other.collection("c").indexes().unwrap();
    assert_eq!(restored[1].definition, indexes[1].definition, "{name}");
    assert_eq!(other.collection("c").count().unwrap(), 1);
}
