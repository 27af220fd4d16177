//! Operations on the names of fields, and on collections of typed documents.

use crate::model::{Id, Phase};
use crate::runner::expectations::expect_refused;
use crate::runner::session::Session;
use alluvium::{Map, Value};
use std::collections::BTreeMap;

/// All field names in documents, at any depth.
const NAMES: [&str; 30] = [
    "", "_id", "a", "a.b", "age", "b", "body", "by", "c", "deep", "flair", "inc", "k", "list", "long", "moved", "n",
    "name", "score", "set", "tags", "text", "u", "when", "wide", "x", "y", "z", "zero", "ü",
];

/// Checks the field names that documents share. Some names may be missing, and some may belong to documents that no
/// longer exist.
pub(crate) fn field_names(session: &mut Session) {
    let name = session.any_name();
    session.note(format!("field names {name}"));
    let found = session.db().collection(&name).field_names();
    let found = found.expect("field names");
    assert!(found.is_empty() || session.state.collections.contains_key(&name), "{found:?}");
    session.effect("field names", !found.is_empty());
    assert!(found.windows(2).all(|two| two[0] < two[1]), "{found:?}");
    assert!(found.iter().all(|name| NAMES.contains(&name.as_str())), "{found:?}");
}

/// Writes a document as a value of a Rust type, and reads it as one.
pub(crate) fn typed(session: &mut Session) {
    let name = session.any_name();
    let id = Id::whole(i64::from(session.rng.i32(-3..12)));
    let (collection, durable) = session.handle(&name);
    let typed = collection.typed::<BTreeMap<String, i64>>();
    let number = id.to_whole().expect("a whole number");
    let given = BTreeMap::from([("inc".to_owned(), i64::from(session.rng.i32(0..9))), ("x".to_owned(), i64::MAX)]);
    session.note(format!("typed {name} {number} {given:?}"));
    let stored: Map = given.iter().map(|(name, n)| (name.as_str(), Value::Int64(*n))).collect();
    let mut map = Map::from([("_id", Value::Int64(number))]);
    map.entries.extend(stored.entries);
    let mut steps = session.created(&[&name]);
    let mut state = session.after(&steps);
    state.put(&name, id.clone(), map);
    let why = state.refusals(&name, &[id]);
    let refused = !why.is_empty();
    if !refused {
        steps.push(state);
    }
    let result = session.write(Phase::Write, &steps, durable && !refused, |_| typed.put(number, &given));
    if expect_refused(result, &why) {
        return;
    }
    session.effect("typed", true);
    let found = typed.get(number).expect("it is of the type");
    let expected = given.into_iter().chain([("_id".to_owned(), number)]).collect();
    assert_eq!(found, Some(expected), "{name} {number}");
}
