//! The operations that write: drawn, done to both, compared.

use crate::runner::{Kept, Mix};
use crate::state::{State, brief};
use crate::{Id, Phase, Runner};
use alluvium::{Collection, Draft, Durability, ErrorKind, Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// The collections that operations choose from.
pub(crate) const NAMES: [&str; 6] = ["main.a", "main.b", "other.c", "other.a", "main.d.e", "third.ü"];

impl Runner {
    pub(crate) fn operation(&mut self) {
        if self.mix == Mix::All {
            match self.rng.u32(0..100) {
                0..=24 => return self.reading(),
                25..=32 => return self.asking(),
                33..=44 => return self.cursors(),
                45..=47 => return self.upkeep(),
                _ => {}
            }
        }
        if self.mix == Mix::Writes && self.rng.u32(0..100) < 4 {
            return self.writing_upkeep();
        }
        if self.rng.u32(0..100) < 22 {
            return if self.rng.bool() { self.writing_by_id() } else { self.writing_by_filter() };
        }
        match self.rng.u32(0..100) {
            0..=17 => self.put(),
            18..=25 => self.indexing(),
            26..=35 => self.insert(),
            36..=46 => self.delete(),
            47..=50 => self.modify(),
            51..=54 => self.update(),
            55..=64 => self.batch(),
            65..=67 => self.load(),
            68..=71 => self.schema(),
            72 => self.logical(),
            73..=75 => self.sync(),
            76..=81 => self.flush(),
            82..=87 => self.pending(),
            88..=89 => self.compact(),
            90..=92 => self.reopen(),
            93..=95 if self.mix == Mix::All => self.checkpoints(),
            _ => self.snapshots(),
        }
    }

    pub(crate) fn any_name(&mut self) -> String {
        // Mostly one that exists.
        let names: Vec<&String> = self.state.collections.keys().collect();
        if !names.is_empty() && self.rng.u8(0..8) > 0 {
            return names[self.rng.usize(0..names.len())].clone();
        }
        NAMES[self.rng.usize(0..NAMES.len())].to_owned()
    }

    pub(crate) fn any_id(&mut self, name: &str) -> Id {
        let known = self.state.documents(name).filter(|d| !d.is_empty());
        match known {
            Some(documents) if self.rng.bool() => {
                let at = self.rng.usize(0..documents.len());
                documents.keys().nth(at).cloned().expect("within")
            }
            _ => Id::random(&mut self.rng),
        }
    }

    /// A handle, and whether its writes are acknowledged when they are durable.
    pub(crate) fn handle(&mut self, name: &str) -> (Collection, bool) {
        let collection = self.db().collection(name);
        match self.rng.u8(0..10) {
            0 => (collection.with_durability(Durability::Sync), true),
            1 => (collection.with_durability(Durability::Bulk), false),
            _ => (collection, self.options.durability == Durability::Sync),
        }
    }

    /// The states on the way of a write to a collection that may have to be created first.
    pub(crate) fn created(&self, names: &[&str]) -> Vec<State> {
        let mut steps = Vec::new();
        let mut state = self.state.clone();
        for name in names {
            if state.create(name) {
                steps.push(state.clone());
            }
        }
        steps
    }

    pub(crate) fn after(&self, steps: &[State]) -> State {
        steps.last().unwrap_or(&self.state).clone()
    }

    fn put(&mut self) {
        let name = self.any_name();
        let id = self.any_id(&name);
        let (collection, durable) = self.handle(&name);
        let value = id.value(&mut self.rng);
        let given = match self.rng.bool() {
            true => self.documents.body(&mut self.rng),
            false => self.documents.with_id(&id, &mut self.rng),
        };
        let mut stored = given.clone();
        if !stored.contains("_id") {
            stored.entries.insert(0, (Value::from("_id"), value.clone()));
        }
        self.note(format!("put {name} {value:?} {}", brief(&given)));
        let mut steps = self.created(&[&name]);
        let mut state = self.after(&steps);
        state.put(&name, id.clone(), stored);
        let why = state.refusals(&name, &[id]);
        let refused = !why.is_empty();
        if !refused {
            steps.push(state);
        }
        let result = self.write(Phase::Write, &steps, durable && !refused, |_| collection.put(value, given));
        self.effect("put", !refused);
        expect_refused(result, &why);
    }

    fn insert(&mut self) {
        let name = self.any_name();
        let (collection, durable) = self.handle(&name);
        let count = if self.rng.bool() { 1 } else { self.rng.usize(0..6) };
        let mut ids: Vec<Id> = (0..count).map(|_| Id::random(&mut self.rng)).collect();
        if self.rng.u8(0..4) > 0 {
            // Mostly new ones.
            let taken = self.state.documents(&name).cloned().unwrap_or_default();
            let mut seen = BTreeSet::new();
            ids.retain(|id| !taken.contains_key(id) && seen.insert(id.clone()));
        }
        let maps: Vec<Map> = ids.iter().map(|id| self.documents.with_id(id, &mut self.rng)).collect();
        self.note(format!("insert {name} {ids:?}"));
        let mut steps = self.created(&[&name]);
        let mut state = self.after(&steps);
        let (mut fails, mut unindexable) = (false, false);
        for (id, map) in ids.iter().zip(&maps) {
            fails |= state.get(&name, id).is_some();
            state.put(&name, id.clone(), map.clone());
            // Also one whose _id another of them has.
            unindexable |= state.unindexable(&name, std::slice::from_ref(id));
        }
        let refused = unindexable || state.refuses(&name, &ids);
        if !fails && !refused {
            steps.push(state);
        }
        let durable = durable && !refused;
        self.effect("insert", !fails && !refused && !maps.is_empty());
        // Nothing is acknowledged where nothing was to be written.
        let durable = durable && !fails && !maps.is_empty();
        let result = self.write(Phase::Write, &steps, durable, |_| match maps.as_slice() {
            [one] => collection.insert_one(one).map(|_| ()),
            many => collection.insert_many(many).map(|done| assert_eq!(done.inserted_ids.len(), many.len())),
        });
        expect_duplicate(result, fails, refused);
    }

    /// What an operation that creates no collection answers about one that is not there.
    pub(crate) fn missing<T: std::fmt::Debug>(&self, name: &str, result: &alluvium::Result<T>) -> bool {
        if self.state.collections.contains_key(name) {
            return false;
        }
        match result {
            Err(error) if error.kind() == ErrorKind::Namespace => true,
            other => panic!("there is no collection {name}, and the answer is {other:?}"),
        }
    }

    fn delete(&mut self) {
        let name = self.any_name();
        let id = self.any_id(&name);
        let (collection, durable) = self.handle(&name);
        let value = id.value(&mut self.rng);
        let blind = self.rng.bool();
        self.note(format!("delete {name} {value:?} {}", if blind { "blind" } else { "" }));
        let mut state = self.state.clone();
        let was_there = state.delete(&name, &id);
        self.effect("delete", was_there);
        // What is refused, or not there to be deleted, makes nothing durable.
        let writes = was_there || blind && self.state.collections.contains_key(&name);
        let result = self.write(Phase::Write, &[state], durable && writes, |_| match blind {
            true => collection.delete(value).map(|()| was_there),
            false => collection.get_and_delete(value).map(|found| found.is_some()),
        });
        if !self.missing(&name, &result) {
            assert_eq!(result.expect("delete"), was_there, "{name} {id:?}");
        }
    }

    fn modify(&mut self) {
        let name = self.any_name();
        let id = self.any_id(&name);
        let (collection, durable) = self.handle(&name);
        let value = id.value(&mut self.rng);
        let (keep, remove, whole) = (self.rng.u8(0..6) == 0, self.rng.bool(), self.rng.u8(0..3) == 0);
        let serial = self.documents.body(&mut self.rng);
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
        self.note(format!("modify {name} {value:?} keep {keep} remove {remove}"));
        let mut state = self.state.clone();
        let old = state.get(&name, &id).cloned();
        let mut changed = false;
        if let Some(old) = &old {
            let mut map = Map::clone(old);
            changed = change(&mut map);
            state.put(&name, id.clone(), map);
        }
        let why = if changed { state.refusals(&name, std::slice::from_ref(&id)) } else { Vec::new() };
        if !why.is_empty() {
            (state, changed) = (self.state.clone(), false);
        }
        self.effect("modify", changed);
        // Field by field, or the document as a map: to the same end.
        let result = self.write(Phase::Write, &[state], durable && changed, |_| {
            collection.modify(value, |draft| if whole { Ok(change(draft.map()?)) } else { patch(draft) })
        });
        if !self.missing(&name, &result) && !expect_refused(result.clone(), &why) {
            assert_eq!(result.expect("modify"), old.is_some());
        }
    }

    /// An update by an operator, checked or blind, of a field that only updates write.
    fn update(&mut self) {
        let name = self.any_name();
        let id = self.any_id(&name);
        let (collection, durable) = self.handle(&name);
        let value = id.value(&mut self.rng);
        let blind = self.rng.bool();
        let change = if blind { self.any_blind_change() } else { self.any_change() };
        let update = change.update.as_str();
        self.note(format!("update {name} {value:?} {update} {}", if blind { "blind" } else { "" }));
        let mut state = self.state.clone();
        let old = state.get(&name, &id).cloned();
        let was_there = old.is_some();
        if let Some(old) = old {
            let mut map = Map::clone(&old);
            change.apply(&mut map);
            state.put(&name, id.clone(), map);
        }
        let mut changed = state.get(&name, &id) != self.state.get(&name, &id);
        // A blind one of a field that no index reads is refused by none, though the document could not be indexed before.
        let checked = !blind || change.is_read_by_index(&state, &name);
        let why = if changed && checked { state.refusals(&name, std::slice::from_ref(&id)) } else { Vec::new() };
        if !why.is_empty() {
            (state, changed) = (self.state.clone(), false);
        }
        let writes = match blind {
            // One that an index reads is checked.
            true if self.state.collections.get(&name).is_some_and(|c| !c.indexes.is_empty()) => changed,
            true => self.state.collections.contains_key(&name),
            false => changed,
        };
        let stale = self.stale(&name);
        let result = self.write(Phase::Write, &[state], durable && writes, |_| match blind {
            true => collection.apply(value, update).map(|()| was_there),
            false => collection.update(value, update).map(|result| {
                assert_eq!(result.modified_count, u64::from(changed), "modified by {update}");
                result.matched_count == 1
            }),
        });
        self.effect(if blind { "apply" } else { "update" }, changed);
        // Who has read the document knows the entries that go.
        let left = self.stale(&name);
        assert!(
            blind || left.is_subset(&stale),
            "an update that reads leaves stale entries: {left:?}, before {stale:?}"
        );
        if !self.missing(&name, &result) && !expect_refused(result.clone(), &why) {
            assert_eq!(result.expect("update"), was_there);
        }
    }

    fn batch(&mut self) {
        let mut batch = self.db().write_batch();
        let mut durable = self.options.durability == Durability::Sync;
        if self.rng.u8(0..8) == 0 {
            batch = batch.with_durability(Durability::Sync);
            durable = true;
        }
        let names: Vec<String> = (0..self.rng.usize(1..6)).map(|_| self.any_name()).collect();
        let mut steps = self.created(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let mut state = self.after(&steps);
        let creates = !steps.is_empty();
        let (mut fails, mut unindexable) = (false, false);
        let mut words = String::new();
        let mut written: BTreeMap<&str, Vec<Id>> = BTreeMap::new();
        for name in &names {
            let collection = self.db().collection(name);
            let id = self.any_id(name);
            written.entry(name).or_default().push(id.clone());
            let value = id.value(&mut self.rng);
            match self.rng.u32(0..5) {
                0 => {
                    words += &format!(" delete {name} {value:?}");
                    state.delete(name, &id);
                    batch.delete(&collection, value).expect("a delete in a batch");
                }
                1 if !creates || state.get(name, &id).is_none() => {
                    let map = self.documents.with_id(&id, &mut self.rng);
                    words += &format!(" insert {name} {value:?}");
                    fails |= state.get(name, &id).is_some();
                    state.put(name, id, map.clone());
                    batch.insert(&collection, map).expect("an insert in a batch");
                }
                2 if state.get(name, &id).is_some() => {
                    let change = self.any_change();
                    words += &format!(" apply {name} {value:?} {}", change.update);
                    let before = state.get(name, &id).expect("it is there");
                    let mut map = Map::clone(before);
                    change.apply(&mut map);
                    if map == **before || !change.is_read_by_index(&state, name) {
                        // No index looks at it for that.
                        written.entry(name).or_default().pop();
                    }
                    state.put(name, id, map);
                    batch.apply(&collection, value, change.update.as_str()).expect("an update in a batch");
                }
                _ => {
                    let mut map = self.documents.with_id(&id, &mut self.rng);
                    // Two of a batch may have one unique key.
                    if self.rng.u8(0..4) == 0 {
                        map.insert("u", 3);
                    }
                    words += &format!(" put {name} {value:?}");
                    state.put(name, id, map.clone());
                    batch.put(&collection, value, map).expect("a put in a batch");
                }
            }
            // Also what is there in between is indexed.
            unindexable |= state.unindexable(name, &written[name.as_str()]);
        }
        self.note(format!("batch{words}"));
        let refused = unindexable || written.iter().any(|(name, ids)| state.refuses(name, ids));
        if !fails && !refused {
            steps.push(state);
        }
        let result = self.write(Phase::Write, &steps, durable && !fails && !refused, |_| batch.commit());
        self.effect("batch", !fails && !refused);
        expect_duplicate(result, fails, refused);
    }

    fn schema(&mut self) {
        let durable = self.options.durability == Durability::Sync;
        let name = self.any_name();
        let mut state = self.state.clone();
        match self.rng.u32(0..4) {
            0 | 1 => {
                // Half of the time with all of it in files, which go while nothing but that has made
                // the drop durable.
                let in_files = self.rng.bool();
                if in_files {
                    self.flush();
                }
                self.note(format!("drop {name}"));
                let was_there = state.collections.remove(&name).is_some();
                self.dropped |= was_there;
                let result = self.write(Phase::Schema, &[state], durable && was_there, |db| db.drop_collection(&name));
                expect_there(result, was_there);
                if was_there && in_files {
                    self.pending();
                }
            }
            2 => {
                let to = NAMES[self.rng.usize(0..NAMES.len())];
                self.note(format!("rename {name} {to}"));
                let possible = state.collections.contains_key(&name) && !state.collections.contains_key(to);
                if possible {
                    let contents = state.collections.remove(&name).expect("it is there");
                    state.collections.insert(to.to_owned(), contents);
                }
                let result =
                    self.write(Phase::Schema, &[state], durable && possible, |db| db.rename_collection(&name, to));
                expect_there(result, possible);
                self.effect("rename", possible);
            }
            _ => {
                let name = NAMES[self.rng.usize(0..NAMES.len())];
                self.note(format!("create {name}"));
                let new = state.create(name);
                let result =
                    self.write(Phase::Schema, &[state], durable && new, |db| db.create_collection(name).map(|_| ()));
                expect_there(result, new);
            }
        }
    }

    fn sync(&mut self) {
        self.note("sync".to_owned());
        self.write(Phase::Sync, &[], true, |db| db.sync()).expect("sync");
    }

    /// Flushes.
    pub fn flush(&mut self) {
        self.note("flush".to_owned());
        self.write(Phase::Flush, &[], true, |db| db.flush()).expect("flush");
        self.flushes += u32::from(self.dirty);
        self.dirty = false;
    }

    fn pending(&mut self) {
        self.note("run pending".to_owned());
        let one = self.rng.bool();
        let phase = self.merging();
        let done = self.write(phase, &[], false, |db| match one {
            true => Ok(db.store().run_one_pending()?),
            false => Ok(db.store().run_pending().map(|()| false)?),
        });
        self.compactions += u32::from(done.expect("pending work"));
    }

    pub(crate) fn merging(&mut self) -> Phase {
        match std::mem::take(&mut self.dropped) {
            true => Phase::Purge,
            false => Phase::Compaction,
        }
    }

    /// Compacts everything.
    pub fn compact(&mut self) {
        self.note("compact".to_owned());
        if self.rng.bool() {
            self.flush();
        }
        let phase = self.merging();
        self.write(phase, &[], true, |db| db.compact()).expect("compact");
        self.dirty = false;
        self.compactions += 1;
    }

    fn reopen(&mut self) {
        if self.rng.bool() {
            self.note("kill".to_owned());
            self.kill();
            self.open();
            self.effect("kill and open", !self.state.collections.is_empty());
        } else {
            self.note("close".to_owned());
            self.close();
            self.open();
            self.effect("close and open", !self.state.collections.is_empty());
        }
    }

    fn snapshots(&mut self) {
        match self.rng.u32(0..3) {
            0 if !self.snapshots.is_empty() => {
                let at = self.rng.usize(0..self.snapshots.len());
                self.note(format!("drop snapshot {at}"));
                self.snapshots.swap_remove(at);
            }
            _ if self.snapshots.len() < 4 => {
                self.note("take a snapshot".to_owned());
                self.snapshots.push(Kept { snapshot: self.db().snapshot(), state: self.state.clone() });
                self.effect("snapshot", !self.state.collections.is_empty());
            }
            _ => {}
        }
    }
}

/// Whether something could be done with a name: else it is not there, or taken.
pub(crate) fn expect_there(result: alluvium::Result<()>, expected: bool) {
    match result {
        Ok(()) => assert!(expected, "it is not there, or taken, and nothing was said"),
        Err(error) => assert!(!expected && error.kind() == ErrorKind::Namespace, "{error}"),
    }
}

/// True if the write was refused, by an index, as it should have been: for one of these reasons, if there are any.
pub(crate) fn expect_refused<T: std::fmt::Debug>(result: alluvium::Result<T>, why: &[ErrorKind]) -> bool {
    match result {
        Ok(_) => assert!(why.is_empty(), "what an index refuses was written: {why:?}"),
        Err(error) => assert!(why.contains(&error.kind()), "{:?}, not {why:?}: {error}", error.kind()),
    }
    !why.is_empty()
}

/// `taken`: an `_id` is taken; `refused`: an index refuses a document.
pub(crate) fn expect_duplicate(result: alluvium::Result<()>, taken: bool, refused: bool) {
    match result {
        Ok(()) => assert!(!taken && !refused, "an _id or a key that is taken was not refused"),
        Err(error) if refused => {
            assert!(matches!(error.kind(), ErrorKind::DuplicateKey | ErrorKind::Invalid), "{error}");
        }
        Err(error) => assert!(taken && error.kind() == ErrorKind::DuplicateKey, "{error}"),
    }
}
