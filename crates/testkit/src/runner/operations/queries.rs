//! Queries by filter. Results are compared with the results of the model, which examines every document.

use super::maintenance::{compact, flush};
use crate::model::Id;
use crate::model::filters::{Filter, Projection, SortOrder, matching};
use crate::model::index_entries::has_entries;
use crate::model::values::{compare, distinct_at};
use crate::runner::draws::{any_filter, any_hint, any_projection, any_sort_order};
use crate::runner::session::Session;
use alluvium::{Document, Find, Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

type Documents = BTreeMap<Id, Arc<Map>>;

/// A random query.
struct Query {
    name: String,
    filter: Filter,
    order: Option<SortOrder>,
    projection: Option<Projection>,
    skip: u64,
    limit: Option<u64>,
    /// True if the query has the natural order or an index as a hint.
    hinted: bool,
    /// The kept snapshot that the query reads, if any.
    at: Option<usize>,
    words: String,
}

impl Query {
    /// The number of documents that the query returns if `matching` documents match.
    fn answered(&self, matching: usize) -> usize {
        let left = matching.saturating_sub(self.skip as usize);
        // A limit of 0 means no limit.
        match self.limit {
            None | Some(0) => left,
            Some(limit) => left.min(limit as usize),
        }
    }
}

pub(crate) fn step(session: &mut Session) {
    match session.rng.u8(0..20) {
        0..=9 => find(session),
        10..=11 => find_one(session),
        12..=14 => count_documents(session),
        15..=18 => distinct(session),
        _ => estimate(session),
    }
}

/// A random query, now or at a kept snapshot, and the documents of its collection. If there is no such collection,
/// checks that case and returns `None`.
fn any_query(session: &mut Session, what: &'static str) -> (Query, Find, Arc<Documents>) {
    let at = (!session.snapshots.is_empty() && session.rng.u8(0..3) == 0)
        .then(|| session.rng.usize(0..session.snapshots.len()));
    let name = session.any_name();
    let (filter, hint) = (any_filter(session, &name), any_hint(session, &name, at.is_none()));
    let order = session.rng.bool().then(|| any_sort_order(session));
    let projection = any_projection(session);
    let skip = if session.rng.u8(0..4) == 0 { session.rng.u64(0..4) } else { 0 };
    let limit = (session.rng.u8(0..3) == 0).then(|| session.rng.u64(1..8));
    let state = at.map_or(&session.state, |at| &session.snapshots[at].state);
    let mut words = format!("{what} {name} {:?} {order:?} {projection:?} skip {skip} limit {limit:?}", filter.to_map());
    words += &format!(" hint {:?} at {at:?}", hint.as_ref().map(|(hint, _)| hint));
    // A collection that does not exist reads as an empty one.
    let documents = state.collections.get(&name).map(|contents| contents.documents.clone()).unwrap_or_default();
    session.note(words.clone());
    let mut find = session.db().collection(&name).find(filter.to_map());
    if let Some(at) = at {
        find = find.at(&session.snapshots[at].snapshot);
    }
    let (hinted, mut documents) = (hint.is_some(), documents);
    if let Some((hint, few)) = hint {
        find = find.hint(hint);
        if let Some(index) = few {
            let before = documents.len();
            Arc::make_mut(&mut documents).retain(|_, map| has_entries(&index, map));
            session.effect("hint of few", documents.len() < before);
        }
    }
    (Query { name, filter, order, projection, skip, limit, hinted, at, words }, find, documents)
}

fn find(session: &mut Session) {
    let (query, mut find, documents) = any_query(session, "find");
    if let Some(order) = &query.order {
        find = find.sort(order.to_map());
    }
    if let Some(projection) = &query.projection {
        find = find.projection(projection.to_map());
    }
    find = find.skip(query.skip).batch_size(session.rng.usize(1..5));
    if let Some(limit) = query.limit {
        find = find.limit(limit);
    }
    let found = find.run().and_then(Iterator::collect::<alluvium::Result<Vec<Document>>>);
    let found = allowed(&query, found);
    let found: Vec<Map> = found.iter().map(|d| d.to_map().expect("it can be read")).collect();
    let mut expected = matching(&documents, &query.filter);
    let count = query.answered(expected.len());
    session.effect("find", count > 0);
    session.effect("find at a snapshot", count > 0 && query.at.is_some());
    let show = |map: &Map| query.projection.as_ref().map_or_else(|| map.clone(), |projection| projection.of(map));
    let Some(order) = &query.order else {
        // The query may return any matching documents, but none of them twice.
        assert_eq!(found.len(), count, "{}", query.words);
        let mut left: Vec<Map> = expected.iter().map(|(_, map)| show(map)).collect();
        for map in found {
            let at = left.iter().position(|other| *other == map);
            left.swap_remove(at.unwrap_or_else(|| panic!("{}: {map:?} should not be found", query.words)));
        }
        return;
    };
    order.sort(&mut expected);
    let expected: Vec<Map> =
        expected.into_iter().skip(query.skip as usize).take(count).map(|(_, map)| show(map)).collect();
    assert_eq!(found, expected, "{}", query.words);
}

fn find_one(session: &mut Session) {
    let (query, find, documents) = any_query(session, "find one");
    let found = match (query.at, query.hinted) {
        (None, false) if session.rng.bool() => session.db().collection(&query.name).find_one(query.filter.to_map()),
        _ => find.first(),
    };
    let found = allowed(&query, found);
    let expected = matching(&documents, &query.filter);
    session.effect("find one", !expected.is_empty());
    match found {
        None => assert!(expected.is_empty(), "{}: nothing was found", query.words),
        Some(found) => {
            let found = found.to_map().expect("it can be read");
            assert!(expected.iter().any(|(_, map)| ***map == found), "{}: {found:?}", query.words);
        }
    }
}

fn count_documents(session: &mut Session) {
    let (query, mut find, documents) = any_query(session, "count");
    find = find.skip(query.skip);
    if let Some(limit) = query.limit {
        find = find.limit(limit);
    }
    let found = allowed(&query, find.count());
    let expected = query.answered(matching(&documents, &query.filter).len());
    session.effect("count documents", expected > 0);
    assert_eq!(found, expected as u64, "{}", query.words);
}

fn distinct(session: &mut Session) {
    const PATHS: [&str; 9] = ["k", "set", "inc", "u", "tags", "list", "by.name", "deep.x", "missing"];
    let (query, find, documents) = any_query(session, "distinct");
    let path = PATHS[session.rng.usize(0..PATHS.len())];
    let found = allowed(&query, find.distinct(path));
    let mut expected = Vec::new();
    for (_, map) in matching(&documents, &query.filter) {
        distinct_at(map, path, &mut expected);
    }
    expected.sort_by(|a, b| compare(a, b));
    expected.dedup_by(|a, b| compare(a, b).is_eq());
    session.effect("distinct", !expected.is_empty());
    let same = |(a, b): (&Value, &&Value)| compare(a, b).is_eq();
    let words = || format!("{} of {path}: {found:?} and not {expected:?}", query.words);
    assert!(found.len() == expected.len() && found.iter().zip(&expected).all(same), "{}", words());
}

/// Checks an estimate. It is exact only if all documents are in one run with its own files, and no snapshot reads older
/// versions. In files shared with other trees, it is the share of the collection in the blocks.
fn estimate(session: &mut Session) {
    let name = session.any_name();
    let exact = !session.background && session.snapshots.is_empty() && session.cursors.is_empty() && session.rng.bool();
    if exact {
        flush(session);
        compact(session);
    }
    session.note(format!("estimate {name}, exact {exact}"));
    let found = session.db().collection(&name).estimated_count();
    if !session.state.collections.contains_key(&name) {
        assert_eq!(found.expect("an estimate"), 0, "{name} does not exist");
    } else {
        let (found, count) = (found.expect("an estimate"), session.state.documents(&name).map_or(0, Documents::len));
        session.effect("estimated document count", count > 0);
        let alone = session.db().collection(&name).stats().expect("statistics").shared_files == 0;
        let same = if alone { count as u64 == found } else { (count > 0) == (found > 0) };
        assert!(!exact || same, "{name} is said to have {found} documents, and has {count} (alone {alone})");
    }
}

fn allowed<T>(query: &Query, found: alluvium::Result<T>) -> T {
    found.unwrap_or_else(|error| panic!("{}: {error}", query.words))
}
