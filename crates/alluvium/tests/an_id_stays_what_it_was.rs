//! A change of a document never gives it another `_id`, of whatever type that is and whatever indexes there are.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use alluvium::{Database, Error, Map, Value};

/// An `_id`, one that equals it, and one that does not.
fn ids() -> [(Value, Value, Value); 4] {
    let map = |n: f64| Value::Map(Map::from([("k", Value::from(n))]));
    [
        (map(2.0), Value::Map(Map::from([("k", 2)])), map(3.0)),
        (Value::from(10.0), Value::from(10), Value::from(11.0)),
        (Value::from(12i64), Value::from(12.0), Value::from(13i64)),
        (Value::from(20), Value::from(20i64), Value::from(21)),
    ]
}

#[test]
fn no_change_gives_a_document_another_id() {
    for index in [None, Some(r#"{"n": 1}"#)] {
        let db = Database::builder().env(env::Env::in_memory(1)).memory(8 << 20).open("db").unwrap();
        let c = db.collection("c");
        index.map(|keys| c.create_index(keys).unwrap());
        // So often that documents of this form have a shape.
        for (id, ..) in ids().into_iter().cycle().take(16) {
            c.put(id, r#"{"n": 1}"#).unwrap();
        }
        for (id, same, other) in ids() {
            let set = |to: &Value, in_place: bool| {
                c.modify(id.clone(), |draft| {
                    draft.set("n", 2)?;
                    match draft.get_mut("_id")?.filter(|_| in_place) {
                        Some(own) => *own = to.clone(),
                        None => draft.set("_id", to.clone())?,
                    }
                    Ok(true)
                })
            };
            let before = c.get(id.clone()).unwrap();
            for in_place in [false, true] {
                let error = set(&other, in_place).unwrap_err();
                assert!(matches!(error, Error::InvalidId { code: 2, .. }), "{id:?} {index:?}: {error}");
                assert_eq!(c.get(id.clone()).unwrap(), before, "{id:?} {index:?}");
            }
            assert!(c.get(other).unwrap().is_none());
            assert!(set(&same, false).unwrap(), "{id:?} {index:?}");
            let after = c.get(id.clone()).unwrap().unwrap().to_map().unwrap();
            assert_eq!(after.get("n"), Some(&Value::Int32(2)));
        }
        assert!(db.verify().unwrap().is_empty(), "{index:?}");
    }
}
