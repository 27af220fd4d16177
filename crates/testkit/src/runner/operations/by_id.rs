//! Writes by `_id` that read first: upserts, replacements, compare-and-set by version, and updates that return the
//! document.

use crate::model::{Id, Phase, State, brief};
use crate::runner::draws::any_change;
use crate::runner::expectations::expect_refused;
use crate::runner::kept::ReadVersion;
use crate::runner::session::Session;
use alluvium::{ErrorKind, Map, ReturnDocument, Value};
use std::sync::Arc;

/// The maximum number of versions kept.
const MOST: usize = 6;

pub(crate) fn step(session: &mut Session) {
    match session.rng.u8(0..9) {
        0..=2 => upsert(session),
        3 => replace(session),
        4..=5 => get_and_update(session),
        6 => read_version(session),
        _ => replace_if(session),
    }
}

fn upsert(session: &mut Session) {
    let name = session.any_name();
    let id = session.any_id(&name);
    let (collection, durable) = session.handle(&name);
    let (value, change) = (id.value(&mut session.rng), any_change(session));
    let on_insert = session.rng.bool().then(|| session.rng.i32(0..9));
    let mut update = change.update.clone();
    if let Some(score) = on_insert {
        update.insert_str(update.len() - 1, &format!(r#","$setOnInsert":{{"a":{score}}}"#));
    }
    session.note(format!("upsert {name} {value:?} {update}"));
    let old = session.state.get(&name, &id).cloned();
    let mut steps = if old.is_none() { session.created(&[&name]) } else { Vec::new() };
    let mut state = session.after(&steps);
    let mut map = match &old {
        Some(old) => Map::clone(old),
        None => Map::from([("_id", value.clone())]),
    };
    if let (None, Some(score)) = (&old, on_insert) {
        // This name sorts before all others.
        map.push("a", score);
    }
    change.apply(&mut map);
    let changed = old.as_ref().is_none_or(|old| **old != map);
    if changed {
        state.put(&name, id.clone(), map);
    }
    let why = if changed { state.refusals(&name, std::slice::from_ref(&id)) } else { Vec::new() };
    let refused = !why.is_empty();
    if !refused {
        steps.push(state);
    }
    session.effect("upsert", old.is_some() && changed && !refused);
    session.effect("upsert inserts", old.is_none() && !refused);
    let durable = durable && changed && !refused;
    let result = session.write(Phase::Write, &steps, durable, |_| {
        collection.update_one(Map::from([("_id", value.clone())]), update.as_str()).upsert(true).run()
    });
    if expect_refused(result.clone(), &why) {
        return;
    }
    let result = result.expect("upsert");
    let expected = (u64::from(old.is_some()), u64::from(old.is_some() && changed));
    assert_eq!((result.matched_count, result.modified_count), expected);
    assert_eq!(result.upserted_id, old.is_none().then_some(value));
}

/// A new body for a document, and the document after the replacement, which keeps the stored `_id`.
fn replaced(session: &mut Session, old: &Map) -> (Map, Map) {
    let body = session.documents.body(&mut session.rng);
    let mut stored = body.clone();
    stored.entries.insert(0, (Value::from("_id"), old.get("_id").cloned().expect("an _id")));
    (body, stored)
}

fn replace(session: &mut Session) {
    let name = session.any_name();
    let id = session.any_id(&name);
    let (collection, durable) = session.handle(&name);
    let value = id.value(&mut session.rng);
    let old = session.state.get(&name, &id).cloned();
    let nothing = Map::from([("_id", Value::Null)]);
    let (given, stored) = replaced(session, old.as_deref().unwrap_or(&nothing));
    session.note(format!("replace {name} {value:?} {}", brief(&given)));
    let (states, why) = put_in_place(session, &name, &id, old.is_some().then_some(stored));
    let writes = !states.is_empty();
    let result = session.write(Phase::Write, &states, durable && writes, |_| {
        collection.replace_one(Map::from([("_id", value)]), given).run()
    });
    session.effect("replace", writes);
    if !expect_refused(result.clone(), &why) {
        assert_eq!(result.expect("replace").matched_count, u64::from(old.is_some()));
    }
}

/// The state after a document is replaced, if the document exists and no index refuses the replacement; otherwise the
/// reasons of the indexes.
fn put_in_place(session: &Session, name: &str, id: &Id, stored: Option<Map>) -> (Vec<State>, Vec<ErrorKind>) {
    let Some(stored) = stored else { return (Vec::new(), Vec::new()) };
    let mut state = session.state.clone();
    state.put(name, id.clone(), stored);
    let why = state.refusals(name, std::slice::from_ref(id));
    (if why.is_empty() { vec![state] } else { Vec::new() }, why)
}

fn get_and_update(session: &mut Session) {
    let name = session.any_name();
    let id = session.any_id(&name);
    let (collection, durable) = session.handle(&name);
    let (value, change) = (id.value(&mut session.rng), any_change(session));
    let which = if session.rng.bool() { ReturnDocument::Before } else { ReturnDocument::After };
    session.note(format!("get and update {name} {value:?} {} {which:?}", change.update));
    let old = session.state.get(&name, &id).cloned();
    let new = old.as_ref().map(|old| {
        let mut map = Map::clone(old);
        change.apply(&mut map);
        map
    });
    let changed = new.as_ref() != old.as_deref();
    let (states, why) = put_in_place(session, &name, &id, new.clone().filter(|_| changed));
    let writes = !states.is_empty();
    let result = session.write(Phase::Write, &states, durable && writes, |_| {
        collection.find_one_and_update(Map::from([("_id", value)]), change.update.as_str()).return_document(which).run()
    });
    session.effect("get and update", writes);
    if !expect_refused(result.clone(), &why) {
        let found = result.expect("get and update").map(|document| document.to_map().expect("it can be read"));
        let expected = match which {
            ReturnDocument::Before => old.as_deref().cloned(),
            ReturnDocument::After => new,
        };
        assert_eq!(found, expected, "{which:?}");
    }
}

/// Reads a document with its version, and keeps both.
fn read_version(session: &mut Session) {
    let name = session.any_name();
    let id = session.any_id(&name);
    session.note(format!("get versioned {name} {id:?}"));
    let value = id.value(&mut session.rng);
    let result = session.db().collection(&name).get_versioned(value);
    let found = result.expect("get versioned");
    let expected = session.state.get(&name, &id).cloned();
    let shown = found.as_ref().map(|(document, _)| document.to_map().expect("it can be read"));
    assert_eq!(shown.as_ref(), expected.as_deref());
    let (Some((_, version)), Some(was)) = (found, expected) else { return };
    let same = |known: &&ReadVersion| known.name == name && known.id == id && Arc::ptr_eq(&known.was, &was);
    if let Some(known) = session.versions.iter().find(same) {
        assert_eq!(known.version, version, "the document was not written");
    }
    if session.versions.len() == MOST {
        session.versions.remove(0);
    }
    session.versions.push(ReadVersion { name, id, version, was });
}

/// Replaces a document if it still has the version that was read.
fn replace_if(session: &mut Session) {
    if session.versions.is_empty() {
        return read_version(session);
    }
    let known = session.versions.swap_remove(session.rng.usize(0..session.versions.len()));
    let ReadVersion { name, id, version, was } = known;
    let (collection, durable) = session.handle(&name);
    let value = id.value(&mut session.rng);
    let now = session.state.get(&name, &id).cloned();
    let same = now.as_ref().is_some_and(|now| Arc::ptr_eq(now, &was));
    // If a document was rewritten with the same content, it may have a new version or not, because such a write may be
    // left out.
    let doubtful = !same && now.as_ref().is_some_and(|now| *now == was);
    let (given, stored) = replaced(session, &was);
    session.note(format!("replace {name} {value:?} if it is {version:?} by {} (same: {same})", brief(&given)));
    let (states, why) = put_in_place(session, &name, &id, same.then_some(stored));
    if doubtful {
        return;
    }
    let writes = !states.is_empty();
    let result =
        session.write(Phase::Write, &states, durable && writes, |_| collection.replace_if(value, version, given));
    session.effect("replace if", writes);
    session.effect("replace if, too late", now.is_some() && !same);
    if !expect_refused(result.clone(), &why) {
        assert_eq!(result.expect("replace if"), same, "whether the document was replaced");
    }
}
