//! Operations on indexes: they are created, declared and built later, dropped, and swept. Also stopped builds, and the
//! expiry of documents.

use super::maintenance::{flush, merging};
use crate::model::indexes::{DEFINITIONS, Index, check_at, check_now, definition, refused, yielded};
use crate::model::{Id, Phase, State, index_entries};
use crate::read_entries::IndexEntries;
use crate::runner::expectations::expect_there;
use crate::runner::kept::KeptSnapshot;
use crate::runner::session::{Mix, Session};
use alluvium::{Durability, ErrorKind, Value};
use alluvium_query::index::Definition;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The result of creating an index.
enum Creation {
    /// The same index already exists.
    Same,
    /// Another index has the same name or the same keys.
    Conflict,
    /// The index is new.
    New,
}

pub(crate) fn step(session: &mut Session) {
    match session.rng.u32(0..20) {
        0..=8 => create_index(session),
        9..=10 => finish_indexes(session),
        11..=12 => drop_index(session),
        13 => drop_indexes(session),
        14..=16 => sweep(session),
        _ => expire(session),
    }
}

fn made(session: &Session, name: &str, wanted: &Definition) -> Creation {
    let Some(contents) = session.state.collections.get(name) else { return Creation::New };
    let known = || contents.indexes.values().map(|index| &*index.definition);
    let in_its_way = |known: &Definition| {
        let same_keys = known.has_keys_of(wanted) && known.partial_filter() == wanted.partial_filter();
        known.name() == wanted.name() || same_keys
    };
    match known().any(|known| known == wanted) {
        true => Creation::Same,
        false if known().any(in_its_way) => Creation::Conflict,
        false => Creation::New,
    }
}

/// Creates an index, or declares it to be built later.
fn create_index(session: &mut Session) {
    let name = session.any_name();
    let pair = any_definition(session);
    create_index_over(session, name, pair);
}

/// A random definition. Under a scheduler a minute may pass at any step, so that the background thread may delete
/// expired documents. In this case the last definition, the only one with which documents expire, is not used.
pub(crate) fn any_definition(session: &mut Session) -> (&'static str, &'static str) {
    DEFINITIONS[session.rng.usize(0..DEFINITIONS.len() - usize::from(expires_by_itself(session)))]
}

fn expires_by_itself(session: &Session) -> bool {
    session.background && cfg!(feature = "shuttle")
}

fn create_index_over(session: &mut Session, name: String, pair: (&str, &str)) {
    let definition = Arc::new(definition(pair.0, pair.1));
    // A unique index that is not built does not know which documents it will refuse, so its build is not delayed. With
    // background threads, a declared index may be built at any time.
    let later = !session.background && !definition.is_unique() && session.rng.u8(0..4) == 0;
    session.note(format!("index {name} {pair:?} {}", if later { "later" } else { "" }));
    let made = made(session, &name, &definition);
    let mut steps: Vec<State> = Vec::new();
    let mut state = session.state.clone();
    if state.create(&name) {
        steps.push(state.clone());
    }
    session.serial += 1;
    let index = Index { definition: definition.clone(), serial: session.serial, ready: !later };
    let mut fails = false;
    if matches!(made, Creation::New) {
        set_index(&mut state, &name, index);
        steps.push(state.clone());
        fails = !later && !buildable(&state, &name, &definition);
        if fails {
            remove_index(&mut state, &name, definition.name());
            session.dropped = true;
            steps.push(state);
        }
    } else if let (Creation::Same, false) = (&made, later) {
        finish_one(session, &mut state, &name, definition.name(), &mut steps);
        fails = !state.collections[&name].indexes.contains_key(definition.name());
    }
    let durable = session.options.durability == Durability::Sync && !steps.is_empty() && !fails;
    let collection = session.db().collection(&name);
    let (keys, options) = pair;
    let result = session.write(Phase::Index, &steps, durable, |_| match later {
        true => collection.create_index(keys).options(options).start().map(|build| {
            assert_eq!(build.is_new(), matches!(made, Creation::New));
        }),
        false => collection.create_index(keys).options(options).run().map(|made| assert_eq!(made, definition.name())),
    });
    match result {
        Ok(()) => assert!(!fails && !matches!(made, Creation::Conflict), "an index was made that cannot be"),
        Err(error) => {
            let expected = [ErrorKind::Invalid, ErrorKind::DuplicateKey];
            assert!((fails || matches!(made, Creation::Conflict)) && expected.contains(&error.kind()), "{error}");
        }
    }
}

fn set_index(state: &mut State, name: &str, index: Index) {
    let contents = state.collections.get_mut(name).expect("the collection exists");
    contents.indexes.insert(index.definition.name().to_owned(), index);
}

/// Updates the model after the build of a declared index: the index is ready, or was removed.
fn finish_one(session: &mut Session, state: &mut State, name: &str, index: &str, steps: &mut Vec<State>) {
    let known = state.collections[name].indexes[index].clone();
    if known.ready {
        return;
    }
    match buildable(state, name, &known.definition) {
        true => set_index(state, name, Index { ready: true, ..known }),
        false => {
            remove_index(state, name, index);
            session.dropped = true;
        }
    }
    steps.push(state.clone());
}

/// Continues the builds of all declared indexes.
fn finish_indexes(session: &mut Session) {
    session.note("finish indexes".to_owned());
    let mut state = session.state.clone();
    let mut steps = Vec::new();
    // The database builds them in this order: by collection, then by time of creation.
    let mut unready: Vec<(String, u64, String)> = Vec::new();
    for (name, contents) in &state.collections {
        let indexes = contents.indexes.iter().filter(|(_, index)| !index.ready);
        unready.extend(indexes.map(|(index, known)| (name.clone(), known.serial, index.clone())));
    }
    unready.sort_by_key(|(name, serial, _)| (order_of(name), *serial));
    let mut fails = false;
    for (name, _, index) in &unready {
        finish_one(session, &mut state, name, index, &mut steps);
        fails |= !state.collections[name].indexes.contains_key(index);
    }
    let durable = session.options.durability == Durability::Sync && !steps.is_empty() && !fails;
    let result = session.write(Phase::Index, &steps, durable, |db| db.finish_indexes());
    match result {
        Ok(()) => assert!(!fails, "an index was made that cannot be"),
        Err(error) => assert!(fails && error.kind() == ErrorKind::Invalid, "{error}"),
    }
}

/// Stops the build of an index, so that the index exists, but is not ready.
pub(crate) fn stop_index(session: &mut Session) {
    let name = session.any_name();
    let pair = any_definition(session);
    let definition = Arc::new(definition(pair.0, pair.1));
    let Some(contents) = session.state.collections.get(&name) else { return };
    let known = || contents.indexes.values().map(|index| &*index.definition);
    let in_its_way = known().any(|known| known.name() == definition.name() || known.has_keys_of(&definition));
    // Background threads would continue the build, and a unique index might be refused.
    if session.background || in_its_way || definition.is_unique() || !buildable(&session.state, &name, &definition) {
        return;
    }
    session.note(format!("index {name} {pair:?}, stopped"));
    session.serial += 1;
    let mut state = session.state.clone();
    let index = Index { definition: definition.clone(), serial: session.serial, ready: false };
    let indexes = &mut state.collections.get_mut(&name).expect("it is there").indexes;
    indexes.insert(definition.name().to_owned(), index);
    let collection = session.db().collection(&name);
    let result = session.write(Phase::Index, &[state], false, |_| {
        let stop = Arc::new(AtomicBool::new(true));
        collection.create_index(pair.0).options(pair.1).stop_when(stop).start()?.run()
    });
    session.effect("stop an index build", result.is_err());
    match result {
        // The build may finish before it checks the flag.
        Ok(_) => {
            let contents = session.state.collections.get_mut(&name).expect("it is there");
            contents.indexes.get_mut(definition.name()).expect("it was made").ready = true;
        }
        Err(error) => assert_eq!(error.kind(), ErrorKind::Stopped, "{error}"),
    }
}

fn drop_index(session: &mut Session) {
    let name = session.any_name();
    let known: Vec<String> =
        session.state.collections.get(&name).map(|c| c.indexes.keys().cloned().collect()).unwrap_or_default();
    let index = match known.len() {
        0 => "k_1".to_owned(),
        count => known[session.rng.usize(0..count)].clone(),
    };
    session.note(format!("drop index {name} {index}"));
    let mut state = session.state.clone();
    let was_there = known.contains(&index);
    if was_there {
        remove_index(&mut state, &name, &index);
        session.dropped = true;
    }
    let durable = session.options.durability == Durability::Sync && was_there;
    let collection = session.db().collection(&name);
    let result = session.write(Phase::Index, &[state], durable, |_| collection.drop_index(&index));
    expect_there(result, was_there);
}

fn drop_indexes(session: &mut Session) {
    let name = session.any_name();
    session.note(format!("drop indexes {name}"));
    let mut state = session.state.clone();
    let there = state.collections.contains_key(&name);
    let mut any = false;
    if let Some(contents) = state.collections.get_mut(&name) {
        any = !contents.indexes.is_empty();
        session.dropped |= any;
        contents.indexes.clear();
    }
    let collection = session.db().collection(&name);
    let durable = session.options.durability == Durability::Sync && any;
    let result = session.write(Phase::Index, &[state], durable, |_| collection.drop_indexes());
    expect_there(result, there);
}

fn sweep(session: &mut Session) {
    session.note("sweep".to_owned());
    let (flushed, changed) = (session.rng.bool(), session.rng.bool());
    if flushed {
        flush(session);
    }
    if changed {
        delete_indexed(session);
    }
    let phase = merging(session);
    session.write(phase, &[], false, |db| db.sweep_indexes()).expect("sweep");
    if !flushed || changed || session.background || !session.snapshots.is_empty() || !session.cursors.is_empty() {
        return;
    }
    // All entries are in files, and no snapshot reads stale entries, so none may remain.
    let now = session.db().snapshot();
    for (name, contents) in &session.state.collections {
        for index in contents.indexes.values().filter(|index| index.ready) {
            let entries = |raw| session.db().collection(name).index_entries(&now, index.definition.name(), raw);
            let (raw, proved) = (entries(true).expect("it reads"), entries(false).expect("it reads"));
            assert_eq!(raw, proved, "stale entries of {} in {name} after a sweep", index.definition.name());
        }
    }
}

/// Deletes some documents that have entries: the entries may be in files while the deletes are only in the log.
fn delete_indexed(session: &mut Session) {
    let collections = session.state.collections.iter();
    let ready = collections.filter(|(_, contents)| contents.indexes.values().any(|index| index.ready));
    let Some(name) = session.rng.choice(ready.map(|(name, _)| name.clone()).collect::<Vec<_>>()) else { return };
    let ids: Vec<Id> = session.state.collections[&name].documents.keys().cloned().collect();
    for _ in 0..session.rng.usize(1..6).min(ids.len()) {
        let id = ids[session.rng.usize(0..ids.len())].clone();
        session.note(format!("delete {name} {id:?}"));
        let mut state = session.state.clone();
        state.delete(&name, &id);
        let (value, durable) = (id.value(&mut session.rng), session.options.durability == Durability::Sync);
        session.write(Phase::Write, &[state], durable, |db| db.collection(&name).delete(value)).expect("delete");
    }
}

/// Deletes expired documents, one after the other.
fn expire(session: &mut Session) {
    if session.rng.bool() && !expires_by_itself(session) {
        // Documents expire with the last definition.
        let name = session.any_name();
        create_index_over(session, name, DEFINITIONS[DEFINITIONS.len() - 1]);
    }
    let now = session.world.env.clock.unix_millis();
    session.note(format!("expire at {now}"));
    let mut state = session.state.clone();
    let mut steps = Vec::new();
    let mut names: Vec<String> = state.collections.keys().cloned().collect();
    names.sort_by_key(|name| order_of(name));
    for name in names {
        let mut indexes: Vec<Index> = state.collections[&name].indexes.values().cloned().collect();
        indexes.sort_by_key(|index| index.serial);
        for index in indexes.iter().filter(|index| index.ready) {
            let Some(after_s) = index.definition.expire_after_s() else { continue };
            let cutoff = now - i64::from(after_s) * 1000;
            for id in expired(&state, &name, index, cutoff) {
                state.delete(&name, &id);
                steps.push(state.clone());
            }
        }
    }
    let durable = session.options.durability == Durability::Sync && !steps.is_empty();
    let deleted = session.write(Phase::Write, &steps, durable, |db| db.delete_expired()).expect("expire");
    session.effect("expire", deleted > 0);
    assert_eq!(deleted, steps.len() as u64);
}

/// Compares all indexes with the entries of the documents, now and at the snapshots.
pub(crate) fn check_indexes(session: &Session) {
    check_now(session.db()).unwrap_or_else(|broken| panic!("{broken}"));
    for kept in &session.snapshots {
        for (name, contents) in &session.state.collections {
            for index in contents.indexes.values() {
                check_index_at(session, kept, name, index);
            }
        }
    }
}

/// Compares all ready indexes with the entries that the model derives from its documents.
pub(crate) fn check_derived(session: &Session) {
    let db = session.db();
    let now = db.snapshot();
    for (name, contents) in &session.state.collections {
        for index in contents.indexes.values().filter(|index| index.ready) {
            index_entries::check(&db.collection(name), &now, index.definition.name(), &contents.documents)
                .unwrap_or_else(|broken| panic!("{name}: {broken}"));
        }
    }
}

/// The stale entries in all ready indexes of a collection: entries that belong to no current document.
pub(crate) fn stale(session: &Session, name: &str) -> BTreeSet<(String, Vec<u8>, Vec<u8>)> {
    let mut stale = BTreeSet::new();
    // Without background threads, sweeps run only as operations.
    let looks = session.mix == Mix::All && !session.background;
    let Some(contents) = session.state.collections.get(name).filter(|_| looks) else { return stale };
    let (collection, now) = (session.db().collection(name), session.db().snapshot());
    for index in contents.indexes.values().filter(|index| index.ready) {
        let documents = contents.documents.values().map(|map| &**map);
        let yielded: BTreeSet<_> =
            yielded(&index.definition, documents).into_iter().map(|(key, id, _)| (key, id)).collect();
        let raw = collection.index_entries(&now, index.definition.name(), true).expect("the entries of an index");
        let left = raw.into_iter().filter(|entry| !yielded.contains(entry));
        stale.extend(left.map(|(key, id)| (index.definition.name().to_owned(), key, id)));
    }
    stale
}

/// Checks that an index serves a snapshot exactly if the snapshot was taken after the index was ready.
fn check_index_at(session: &Session, kept: &KeptSnapshot, name: &str, index: &Index) {
    let collection = session.db().collection(name);
    let then = kept.state.collections.values().find_map(|contents| {
        let known = contents.indexes.get(index.definition.name())?;
        (known.serial == index.serial && known.ready).then_some(contents)
    });
    let context = || format!("{name} at {:?}", kept.snapshot);
    match then {
        Some(contents) => {
            let documents = contents.documents.values().map(|map| &**map);
            check_at(&collection, &index.definition, &kept.snapshot, documents)
                .unwrap_or_else(|broken| panic!("{}: {broken}", context()));
            collection.index_entries(&kept.snapshot, index.definition.name(), false).expect("it serves the snapshot");
        }
        None => {
            let found = collection.index_entries(&kept.snapshot, index.definition.name(), false);
            let kind = found.as_ref().err().map(alluvium::Error::kind);
            // The collection itself may have been created later, or may no longer exist.
            let none = kind == Some(ErrorKind::Namespace);
            assert!(none, "{}: index {} was not ready then: {kind:?}", context(), index.definition.name());
        }
    }
}

/// The database's order of names: by logical database, then by collection.
fn order_of(name: &str) -> (String, String) {
    let (logical, collection) = name.split_once('.').expect("a full name");
    (logical.to_owned(), collection.to_owned())
}

pub(crate) fn buildable(state: &State, name: &str, definition: &Arc<Definition>) -> bool {
    let contents = &state.collections[name];
    let ids: Vec<Id> = contents.documents.keys().cloned().collect();
    let index = Index { definition: definition.clone(), serial: 0, ready: false };
    refused(&[(String::new(), index)].into(), &contents.documents, &ids).is_empty()
}

fn remove_index(state: &mut State, name: &str, index: &str) {
    state.collections.get_mut(name).expect("the collection exists").indexes.remove(index);
}

/// The documents whose first date in the index is not above the cutoff, in the order of the index.
fn expired(state: &State, name: &str, index: &Index, cutoff: i64) -> Vec<Id> {
    let mut found: Vec<(Vec<u8>, Vec<u8>, Id)> = Vec::new();
    for (id, map) in &*state.collections[name].documents {
        let keys = index.definition.keys(map).expect("it is indexed");
        let dates = keys.keys.iter().filter_map(|key| {
            let values = index.definition.values(&key.bytes, &key.values).expect("values");
            match values.first() {
                Some(Some(Value::DateTime(date))) if *date <= cutoff => Some(key.bytes.clone()),
                _ => None,
            }
        });
        if let Some(first) = dates.min() {
            let key = alluvium_document::key::id_key(map.get("_id").expect("an _id")).expect("a key");
            found.push((first, key, id.clone()));
        }
    }
    found.sort();
    found.into_iter().map(|(_, _, id)| id).collect()
}
