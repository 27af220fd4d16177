//! Reads by `_id`, and scans.

use crate::model::Id;
use crate::runner::session::Session;
use alluvium::{Document, Map, Value};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// Paths that some documents have.
const PATHS: [&str; 10] = ["_id", "n", "score", "by.name", "by.flair", "tags.0", "tags.1", "deep.x.y", "a", "missing"];

type Documents = BTreeMap<Id, Arc<Map>>;

pub(crate) fn get(session: &mut Session) {
    let name = session.any_name();
    let id = session.any_id(&name);
    let value = id.value(&mut session.rng);
    let found = session.db().collection(&name).get(value);
    same(&name, &id, session.state.get(&name, &id), found.expect("get").as_ref());
}

pub(crate) fn get_many(session: &mut Session) {
    let name = session.any_name();
    let ids: Vec<Id> = (0..session.rng.usize(0..8)).map(|_| session.any_id(&name)).collect();
    let values: Vec<Value> = ids.iter().map(|id| id.value(&mut session.rng)).collect();
    let found = session.db().collection(&name).get_many(values);
    let found = found.expect("get_many");
    assert_eq!(found.len(), ids.len());
    for (id, document) in ids.iter().zip(&found) {
        same(&name, id, session.state.get(&name, id), document.as_ref());
    }
}

pub(crate) fn get_fields(session: &mut Session) {
    let name = session.any_name();
    let id = session.any_id(&name);
    let paths: Vec<&str> = (0..session.rng.usize(0..4)).map(|_| PATHS[session.rng.usize(0..PATHS.len())]).collect();
    let value = id.value(&mut session.rng);
    let found = session.db().collection(&name).get_fields(value, &paths);
    let expected = session.state.get(&name, &id).map(|map| fields(map, &paths));
    assert_eq!(found.expect("get_fields"), expected, "{name} {id:?} {paths:?}");
}

pub(crate) fn count(session: &mut Session) {
    let name = session.any_name();
    let found = session.db().collection(&name).count();
    assert_eq!(found.expect("count"), session.state.documents(&name).map_or(0, Documents::len) as u64);
}

pub(crate) fn scan(session: &mut Session) {
    let name = session.any_name();
    let mut scan = session.db().collection(&name).scan();
    let from = session.rng.bool().then(|| session.any_id(&name));
    let to = (session.rng.u8(0..3) == 0).then(|| session.any_id(&name));
    let limit = (session.rng.u8(0..3) == 0).then(|| session.rng.u64(0..6));
    let reverse = session.rng.bool();
    if let Some(id) = &from {
        scan = scan.from(id.value(&mut session.rng));
    }
    if let Some(id) = &to {
        scan = scan.to(id.value(&mut session.rng));
    }
    if let Some(limit) = limit {
        scan = scan.limit(limit);
    }
    if reverse {
        scan = scan.reverse();
    }
    let found = scan.run().and_then(Iterator::collect::<alluvium::Result<Vec<Document>>>);
    let nothing = Documents::new();
    let documents = session.state.documents(&name).unwrap_or(&nothing);
    let mut expected: Vec<(&Id, &Arc<Map>)> = match (&from, &to) {
        (Some(from), Some(to)) if from >= to => Vec::new(),
        _ => {
            let from = from.as_ref().map_or(Bound::Unbounded, Bound::Included);
            documents.range((from, to.as_ref().map_or(Bound::Unbounded, Bound::Excluded))).collect()
        }
    };
    if reverse {
        expected.reverse();
    }
    // A limit of 0 means no limit.
    expected.truncate(limit.filter(|limit| *limit > 0).map_or(usize::MAX, |limit| limit as usize));
    let words = format!("scan of {name} from {from:?} to {to:?} limit {limit:?} reverse {reverse}");
    let found = found.unwrap_or_else(|e| panic!("{words}: {e}"));
    let ids: Vec<Option<Id>> = found.iter().map(|d| Id::of(d.id())).collect();
    let wanted: Vec<Option<Id>> = expected.iter().map(|(id, _)| Some((*id).clone())).collect();
    assert_eq!(ids, wanted, "{words}");
    for ((id, map), document) in expected.iter().zip(&found) {
        same(&name, id, Some(*map), Some(document));
    }
}

pub(crate) fn same(name: &str, id: &Id, expected: Option<&Arc<Map>>, found: Option<&Document>) {
    let found = found.map(|d| d.to_map().unwrap_or_else(|e| panic!("{name} {id:?}: {e}")));
    assert_eq!(found.as_ref(), expected.map(|m| &**m), "{name} {id:?}");
}

/// The `_id` and the values at the paths, as documented for `get_fields`.
pub(crate) fn fields(map: &Map, paths: &[&str]) -> Map {
    let mut fields = Map::new();
    if !paths.contains(&"_id") {
        fields.push("_id", map.get("_id").cloned());
    }
    for path in paths {
        let whole = Value::Map(map.clone());
        let mut at = Some(&whole);
        for part in path.split('.') {
            at = match at {
                Some(Value::Map(map)) => map.get(part),
                Some(Value::Array(elements)) => part.parse::<usize>().ok().and_then(|n| elements.get(n)),
                _ => None,
            };
        }
        if let Some(value) = at {
            fields.push(*path, value.clone());
        }
    }
    fields
}
