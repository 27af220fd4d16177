//! A change of a document never changes its `_id`, whatever its type, and whatever indexes exist.

use alluvium::{Database, Error, Map, ReturnDocument, Value};

/// An `_id`, an equal `_id` of another type, and a different `_id`.
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
        let db = Database::builder().env(alluvium_env::Env::in_memory(1)).memory(8 << 20).open("db").unwrap();
        let c = db.collection("c");
        index.map(|keys| c.create_index(keys).run().unwrap());
        // Write enough documents of this form that they get a shape.
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
            assert_eq!(after.get("_id"), Some(&id), "{index:?}");
        }
        assert!(db.verify().run().unwrap().damage.is_empty(), "{index:?}");
    }
}

/// 1 and 1.0 are the same `_id`; a stored `_id` keeps the type with which it was first stored.
#[test]
fn no_change_gives_an_id_another_type() {
    for index in [None, Some(r#"{"n": 1}"#)] {
        let db = Database::builder().env(alluvium_env::Env::in_memory(1)).memory(8 << 20).open("db").unwrap();
        let c = db.collection("c");
        index.map(|keys| c.create_index(keys).run().unwrap());
        for (id, same, _) in ids() {
            let with = |own: &Value, n: i32| Map::from([("n", Value::from(n)), ("_id", own.clone())]);
            let stored = |n: i32| {
                let map = c.get(id.clone()).unwrap().unwrap().to_map().unwrap();
                let names: Vec<_> = map.entries.iter().filter_map(|(name, _)| name.as_str()).collect();
                assert_eq!(names, ["_id", "n"], "{index:?}");
                assert_eq!(map.entries[0].1, id, "{index:?}");
                assert_eq!(map.entries[1].1, Value::from(n), "{id:?} {index:?}");
            };
            c.put(id.clone(), r#"{"n": 1}"#).unwrap();
            stored(1);
            assert_eq!(
                c.replace_one(Map::from([("_id", same.clone())]), with(&same, 2)).run().unwrap().matched_count,
                1
            );
            stored(2);
            let (_, version) = c.get_versioned(id.clone()).unwrap().unwrap();
            assert!(c.replace_if(id.clone(), version, with(&same, 3)).unwrap());
            stored(3);
            let whole = |draft: &mut alluvium::Draft| {
                *draft.map()? = with(&same, 4);
                Ok(true)
            };
            assert!(c.modify(same.clone(), whole).unwrap());
            stored(4);
            let filter = Map::from([("_id", same.clone())]);
            assert_eq!(c.replace_one(filter.clone(), with(&same, 5)).run().unwrap().matched_count, 1);
            stored(5);
            let after = c.find_one_and_replace(filter, with(&same, 6)).return_document(ReturnDocument::After);
            assert_eq!(after.run().unwrap().unwrap().id(), &id);
            stored(6);
        }
        assert!(db.verify().run().unwrap().damage.is_empty(), "{index:?}");
    }
}
