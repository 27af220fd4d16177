//! Writes of documents: single documents, several at once, and batches.

use super::indexes::stale;
use crate::model::{Id, Phase, brief};
use crate::runner::draws::{any_blind_change, any_change};
use crate::runner::expectations::{expect_duplicate, expect_refused};
use crate::runner::session::Session;
use alluvium::{Draft, Durability, Map, Value};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) fn put(session: &mut Session) {
    let name = session.any_name();
    let id = session.any_id(&name);
    let (collection, durable) = session.handle(&name);
    let value = id.value(&mut session.rng);
    let given = match session.rng.bool() {
        true => session.documents.body(&mut session.rng),
        false => session.documents.with_id(&id, &mut session.rng),
    };
    let mut stored = given.clone();
    if !stored.contains("_id") {
        stored.entries.insert(0, (Value::from("_id"), value.clone()));
    }
    session.note(format!("put {name} {value:?} {}", brief(&given)));
    let mut steps = session.created(&[&name]);
    let mut state = session.after(&steps);
    state.put(&name, id.clone(), stored);
    let why = state.refusals(&name, &[id]);
    let refused = !why.is_empty();
    if !refused {
        steps.push(state);
    }
    let result = session.write(Phase::Write, &steps, durable && !refused, |_| collection.put(value, given));
    session.effect("put", !refused);
    expect_refused(result, &why);
}

pub(crate) fn insert(session: &mut Session) {
    let name = session.any_name();
    let (collection, durable) = session.handle(&name);
    let count = if session.rng.bool() { 1 } else { session.rng.usize(0..6) };
    let mut ids: Vec<Id> = (0..count).map(|_| Id::random(&mut session.rng)).collect();
    if session.rng.u8(0..4) > 0 {
        // Usually only new `_id`s are used.
        let taken = session.state.documents(&name).cloned().unwrap_or_default();
        let mut seen = BTreeSet::new();
        ids.retain(|id| !taken.contains_key(id) && seen.insert(id.clone()));
    }
    let maps: Vec<Map> = ids.iter().map(|id| session.documents.with_id(id, &mut session.rng)).collect();
    session.note(format!("insert {name} {ids:?}"));
    let mut steps = session.created(&[&name]);
    let mut state = session.after(&steps);
    let (mut fails, mut unindexable) = (false, false);
    for (id, map) in ids.iter().zip(&maps) {
        fails |= state.get(&name, id).is_some();
        state.put(&name, id.clone(), map.clone());
        // A document is checked even if another one of the same insert has the same `_id`.
        unindexable |= state.unindexable(&name, std::slice::from_ref(id));
    }
    let refused = unindexable || state.refuses(&name, &ids);
    if !fails && !refused {
        steps.push(state);
    }
    let durable = durable && !refused;
    session.effect("insert", !fails && !refused && !maps.is_empty());
    // An empty write makes nothing durable.
    let durable = durable && !fails && !maps.is_empty();
    let result = session.write(Phase::Write, &steps, durable, |_| match maps.as_slice() {
        [one] => collection.insert_one(one).map(|_| ()),
        many => collection.insert_many(many).map(|done| assert_eq!(done.inserted_ids.len(), many.len())),
    });
    expect_duplicate(result, fails, refused);
}

pub(crate) fn delete(session: &mut Session) {
    let name = session.any_name();
    let id = session.any_id(&name);
    let (collection, durable) = session.handle(&name);
    let value = id.value(&mut session.rng);
    let blind = session.rng.bool();
    session.note(format!("delete {name} {value:?} {}", if blind { "blind" } else { "" }));
    let mut state = session.state.clone();
    let was_there = state.delete(&name, &id);
    session.effect("delete", was_there);
    // A refused write, or a delete of a missing document, makes nothing durable.
    let writes = was_there || blind && session.state.collections.contains_key(&name);
    let result = session.write(Phase::Write, &[state], durable && writes, |_| match blind {
        true => collection.delete(value).map(|()| was_there),
        false => collection.find_one_and_delete(Map::from([("_id", value)])).run().map(|found| found.is_some()),
    });
    assert_eq!(result.expect("delete"), was_there, "{name} {id:?}");
}

pub(crate) fn modify(session: &mut Session) {
    let name = session.any_name();
    let id = session.any_id(&name);
    let (collection, durable) = session.handle(&name);
    let value = id.value(&mut session.rng);
    let (keep, remove, whole) = (session.rng.u8(0..6) == 0, session.rng.bool(), session.rng.u8(0..3) == 0);
    let serial = session.documents.body(&mut session.rng);
    let patch = |draft: &mut Draft| -> alluvium::Result<bool> {
        if keep {
            return Ok(false);
        }
        draft.set("n", serial.get("n").cloned())?;
        match remove {
            true => drop(draft.remove("score")?),
            false => draft.set("score", serial.get("score").cloned())?,
        }
        Ok(true)
    };
    let change = |map: &mut Map| {
        if keep {
            return false;
        }
        map.insert("n", serial.get("n").cloned());
        if remove {
            map.remove("score");
        } else {
            map.insert("score", serial.get("score").cloned());
        }
        true
    };
    session.note(format!("modify {name} {value:?} keep {keep} remove {remove}"));
    let mut state = session.state.clone();
    let old = state.get(&name, &id).cloned();
    let mut changed = false;
    if let Some(old) = &old {
        let mut map = Map::clone(old);
        changed = change(&mut map);
        state.put(&name, id.clone(), map);
    }
    let why = if changed { state.refusals(&name, std::slice::from_ref(&id)) } else { Vec::new() };
    if !why.is_empty() {
        (state, changed) = (session.state.clone(), false);
    }
    session.effect("modify", changed);
    // The change is made by fields, or on a whole map, with the same result.
    let result = session.write(Phase::Write, &[state], durable && changed, |_| {
        collection.modify(value, |draft| if whole { Ok(change(draft.map()?)) } else { patch(draft) })
    });
    if !expect_refused(result.clone(), &why) {
        assert_eq!(result.expect("modify"), old.is_some());
    }
}

/// An update by an operator, checked or blind, of a field that only updates write.
pub(crate) fn update(session: &mut Session) {
    let name = session.any_name();
    let id = session.any_id(&name);
    let (collection, durable) = session.handle(&name);
    let value = id.value(&mut session.rng);
    let blind = session.rng.bool();
    let change = if blind { any_blind_change(session) } else { any_change(session) };
    let update = change.update.as_str();
    session.note(format!("update {name} {value:?} {update} {}", if blind { "blind" } else { "" }));
    let mut state = session.state.clone();
    let old = state.get(&name, &id).cloned();
    let was_there = old.is_some();
    if let Some(old) = old {
        let mut map = Map::clone(&old);
        change.apply(&mut map);
        state.put(&name, id.clone(), map);
    }
    let mut changed = state.get(&name, &id) != session.state.get(&name, &id);
    // A blind update of a field on which no index depends is never refused, even if the document could not be indexed
    // before.
    let checked = !blind || change.is_read_by_index(&state, &name);
    let why = if changed && checked { state.refusals(&name, std::slice::from_ref(&id)) } else { Vec::new() };
    if !why.is_empty() {
        (state, changed) = (session.state.clone(), false);
    }
    let writes = match blind {
        // A blind update of a field on which an index depends is checked.
        true if session.state.collections.get(&name).is_some_and(|c| !c.indexes.is_empty()) => changed,
        true => session.state.collections.contains_key(&name),
        false => changed,
    };
    let before = stale(session, &name);
    let result = session.write(Phase::Write, &[state], durable && writes, |_| match blind {
        true => collection.update_blind(value, update).map(|()| was_there),
        false => collection.update_one(Map::from([("_id", value)]), update).run().map(|result| {
            assert_eq!(result.modified_count, u64::from(changed), "modified by {update}");
            result.matched_count == 1
        }),
    });
    session.effect(if blind { "apply" } else { "update" }, changed);
    // A write that has read the document knows its old entries, so it leaves no stale ones.
    let after = stale(session, &name);
    assert!(
        blind || after.is_subset(&before),
        "an update that reads leaves stale entries: {after:?}, before {before:?}"
    );
    if !expect_refused(result.clone(), &why) {
        assert_eq!(result.expect("update"), was_there);
    }
}

/// An `_id` of a collection. It is often one that the batch has written, because later operations see the effects of
/// earlier ones.
fn id_of_batch(session: &mut Session, name: &str, written: &mut Vec<Id>) -> Id {
    let mut id = session.any_id(name);
    if !written.is_empty() && session.rng.bool() {
        id = written[session.rng.usize(0..written.len())].clone();
    }
    written.push(id.clone());
    id
}

pub(crate) fn batch(session: &mut Session) {
    let mut batch = session.db().write_batch();
    let mut durable = session.options.durability == Durability::Sync;
    if session.rng.u8(0..8) == 0 {
        batch = batch.with_durability(Durability::Sync);
        durable = true;
    }
    let names: Vec<String> = (0..session.rng.usize(1..6)).map(|_| session.any_name()).collect();
    let mut steps = session.created(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let mut state = session.after(&steps);
    let creates = !steps.is_empty();
    let (mut fails, mut unindexable) = (false, false);
    let mut words = String::new();
    let mut written: BTreeMap<&str, Vec<Id>> = BTreeMap::new();
    let mut ids: BTreeMap<&str, Vec<Id>> = BTreeMap::new();
    for name in &names {
        let collection = session.db().collection(name);
        let id = id_of_batch(session, name, ids.entry(name).or_default());
        written.entry(name).or_default().push(id.clone());
        let value = id.value(&mut session.rng);
        match session.rng.u32(0..5) {
            0 => {
                words += &format!(" delete {name} {value:?}");
                state.delete(name, &id);
                batch.delete(&collection, value).expect("a delete in a batch");
            }
            1 if !creates || state.get(name, &id).is_none() => {
                let map = session.documents.with_id(&id, &mut session.rng);
                words += &format!(" insert {name} {value:?}");
                fails |= state.get(name, &id).is_some();
                state.put(name, id, map.clone());
                batch.insert(&collection, map).expect("an insert in a batch");
            }
            2 if state.get(name, &id).is_some() => {
                let change = any_change(session);
                words += &format!(" apply {name} {value:?} {}", change.update);
                let before = state.get(name, &id).expect("it is there");
                let mut map = Map::clone(before);
                change.apply(&mut map);
                if map == **before || !change.is_read_by_index(&state, name) {
                    // No index depends on the changed field, so the document need not be indexable.
                    written.entry(name).or_default().pop();
                }
                state.put(name, id, map);
                batch.update_blind(&collection, value, change.update.as_str()).expect("an update in a batch");
            }
            _ => {
                let mut map = session.documents.with_id(&id, &mut session.rng);
                // This allows two documents of a batch to have the same unique key.
                if session.rng.u8(0..4) == 0 {
                    map.insert("u", 3);
                }
                words += &format!(" put {name} {value:?}");
                state.put(name, id, map.clone());
                batch.put(&collection, value, map).expect("a put in a batch");
            }
        }
        // Intermediate states of a batch must be indexable, too.
        unindexable |= state.unindexable(name, &written[name.as_str()]);
    }
    session.note(format!("batch{words}"));
    let refused = unindexable || written.iter().any(|(name, ids)| state.refuses(name, ids));
    if !fails && !refused {
        steps.push(state);
    }
    let result = session.write(Phase::Write, &steps, durable && !fails && !refused, |_| batch.commit());
    session.effect("batch", !fails && !refused);
    expect_duplicate(result, fails, refused);
}
