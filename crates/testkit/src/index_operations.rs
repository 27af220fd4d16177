//! The operations on indexes: made, declared and built later, dropped, swept; and documents that expire.

use crate::indexes::{DEFINITIONS, Index, check_at, definition, refused, yielded};
use crate::operations::expect_there;
use crate::state::State;
use crate::{Id, Mix, Phase, Runner};
use alluvium::{Durability, ErrorKind, Value};
use alluvium_query::index::Definition;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What making an index comes to.
enum Made {
    /// It is there already.
    Same,
    /// Another is in its way.
    Conflict,
    /// It is new.
    New,
}

impl Runner {
    pub(crate) fn indexing(&mut self) {
        match self.rng.u32(0..20) {
            0..=8 => self.create_index(),
            9..=10 => self.finish_indexes(),
            11..=12 => self.drop_index(),
            13 => self.drop_indexes(),
            14..=16 => self.sweep(),
            _ => self.expire(),
        }
    }

    fn made(&self, name: &str, wanted: &Definition) -> Made {
        let Some(contents) = self.state.collections.get(name) else { return Made::New };
        let known = || contents.indexes.values().map(|index| &*index.definition);
        let in_its_way = |known: &Definition| {
            let same_keys = known.has_keys_of(wanted) && known.partial_filter() == wanted.partial_filter();
            known.name() == wanted.name() || same_keys
        };
        match known().any(|known| known == wanted) {
            true => Made::Same,
            false if known().any(in_its_way) => Made::Conflict,
            false => Made::New,
        }
    }

    /// Makes an index, or declares it to be built later.
    fn create_index(&mut self) {
        let name = self.any_name();
        let pair = self.any_definition();
        self.create_index_over(name, pair);
    }

    /// Under a scheduler a minute may pass at any step, and what expires be gone: by the last definition nothing does there.
    pub(crate) fn any_definition(&mut self) -> (&'static str, &'static str) {
        DEFINITIONS[self.rng.usize(0..DEFINITIONS.len() - usize::from(self.expires_by_itself()))]
    }

    fn expires_by_itself(&self) -> bool {
        self.background && cfg!(feature = "shuttle")
    }

    fn create_index_over(&mut self, name: String, pair: (&str, &str)) {
        let definition = Arc::new(definition(pair));
        // One that is not built yet does not know what documents it would refuse. Background threads build it at any time.
        let later = !self.background && !definition.is_unique() && self.rng.u8(0..4) == 0;
        self.note(format!("index {name} {pair:?} {}", if later { "later" } else { "" }));
        let made = self.made(&name, &definition);
        let mut steps: Vec<State> = Vec::new();
        let mut state = self.state.clone();
        if state.create(&name) {
            steps.push(state.clone());
        }
        self.serial += 1;
        let index = Index { definition: definition.clone(), serial: self.serial, ready: !later };
        let mut fails = false;
        if matches!(made, Made::New) {
            self.set_index(&mut state, &name, index);
            steps.push(state.clone());
            fails = !later && !buildable(&state, &name, &definition);
            if fails {
                remove_index(&mut state, &name, definition.name());
                self.dropped = true;
                steps.push(state);
            }
        } else if let (Made::Same, false) = (&made, later) {
            self.finish_one(&mut state, &name, definition.name(), &mut steps);
            fails = !state.collections[&name].indexes.contains_key(definition.name());
        }
        let durable = self.options.durability == Durability::Sync && !steps.is_empty() && !fails;
        let collection = self.db().collection(&name);
        let (keys, options) = pair;
        let result = self.write(Phase::Index, &steps, durable, |_| match later {
            true => collection.start_index(keys, options).map(|build| {
                assert_eq!(build.is_new(), matches!(made, Made::New));
            }),
            false => collection.create_index_with(keys, options).map(|made| assert_eq!(made, definition.name())),
        });
        match result {
            Ok(()) => assert!(!fails && !matches!(made, Made::Conflict), "an index was made that cannot be"),
            Err(error) => {
                let expected = [ErrorKind::Invalid, ErrorKind::DuplicateKey];
                assert!((fails || matches!(made, Made::Conflict)) && expected.contains(&error.kind()), "{error}");
            }
        }
    }

    fn set_index(&self, state: &mut State, name: &str, index: Index) {
        let contents = state.collections.get_mut(name).expect("the collection exists");
        contents.indexes.insert(index.definition.name().to_owned(), index);
    }

    /// What the model has when an index that is there was built: it is ready, or gone.
    fn finish_one(&mut self, state: &mut State, name: &str, index: &str, steps: &mut Vec<State>) {
        let known = state.collections[name].indexes[index].clone();
        if known.ready {
            return;
        }
        match buildable(state, name, &known.definition) {
            true => self.set_index(state, name, Index { ready: true, ..known }),
            false => {
                remove_index(state, name, index);
                self.dropped = true;
            }
        }
        steps.push(state.clone());
    }

    /// Goes on with all that was declared.
    fn finish_indexes(&mut self) {
        self.note("finish indexes".to_owned());
        let mut state = self.state.clone();
        let mut steps = Vec::new();
        // In the order in which the database takes them, which is that of collections and of their making.
        let mut unready: Vec<(String, u64, String)> = Vec::new();
        for (name, contents) in &state.collections {
            let indexes = contents.indexes.iter().filter(|(_, index)| !index.ready);
            unready.extend(indexes.map(|(index, known)| (name.clone(), known.serial, index.clone())));
        }
        unready.sort_by_key(|(name, serial, _)| (order_of(name), *serial));
        let mut fails = false;
        for (name, _, index) in &unready {
            self.finish_one(&mut state, name, index, &mut steps);
            fails |= !state.collections[name].indexes.contains_key(index);
        }
        let durable = self.options.durability == Durability::Sync && !steps.is_empty() && !fails;
        let result = self.write(Phase::Index, &steps, durable, |db| db.finish_indexes());
        match result {
            Ok(()) => assert!(!fails, "an index was made that cannot be"),
            Err(error) => assert!(fails && error.kind() == ErrorKind::Invalid, "{error}"),
        }
    }

    fn drop_index(&mut self) {
        let name = self.any_name();
        let known: Vec<String> =
            self.state.collections.get(&name).map(|c| c.indexes.keys().cloned().collect()).unwrap_or_default();
        let index = match known.len() {
            0 => "k_1".to_owned(),
            count => known[self.rng.usize(0..count)].clone(),
        };
        self.note(format!("drop index {name} {index}"));
        let mut state = self.state.clone();
        let was_there = known.contains(&index);
        if was_there {
            remove_index(&mut state, &name, &index);
            self.dropped = true;
        }
        let durable = self.options.durability == Durability::Sync && was_there;
        let collection = self.db().collection(&name);
        let result = self.write(Phase::Index, &[state], durable, |_| collection.drop_index(&index));
        expect_there(result, was_there);
    }

    fn drop_indexes(&mut self) {
        let name = self.any_name();
        self.note(format!("drop indexes {name}"));
        let mut state = self.state.clone();
        let there = state.collections.contains_key(&name);
        let mut any = false;
        if let Some(contents) = state.collections.get_mut(&name) {
            any = !contents.indexes.is_empty();
            self.dropped |= any;
            contents.indexes.clear();
        }
        let collection = self.db().collection(&name);
        let durable = self.options.durability == Durability::Sync && any;
        let result = self.write(Phase::Index, &[state], durable, |_| collection.drop_indexes());
        expect_there(result, there);
    }

    fn sweep(&mut self) {
        self.note("sweep".to_owned());
        let (flushed, changed) = (self.rng.bool(), self.rng.bool());
        if flushed {
            self.flush();
        }
        if changed {
            self.delete_indexed();
        }
        let phase = self.merging();
        self.write(phase, &[], false, |db| db.sweep_indexes()).expect("sweep");
        if !flushed || changed || self.background || !self.snapshots.is_empty() || !self.cursors.is_empty() {
            return;
        }
        // All is in files, and no snapshot reads what is stale: nothing of that is left.
        let now = self.db().snapshot();
        for (name, contents) in &self.state.collections {
            for index in contents.indexes.values().filter(|index| index.ready) {
                let entries = |raw| self.db().collection(name).index_entries(&now, index.definition.name(), raw);
                let (raw, proved) = (entries(true).expect("it reads"), entries(false).expect("it reads"));
                assert_eq!(raw, proved, "stale entries of {} in {name} after a sweep", index.definition.name());
            }
        }
    }

    /// Deletes some documents that have entries: these may be in files, while only the log has that they are to go.
    fn delete_indexed(&mut self) {
        let collections = self.state.collections.iter();
        let ready = collections.filter(|(_, contents)| contents.indexes.values().any(|index| index.ready));
        let Some(name) = self.rng.choice(ready.map(|(name, _)| name.clone()).collect::<Vec<_>>()) else { return };
        let ids: Vec<Id> = self.state.collections[&name].documents.keys().cloned().collect();
        for _ in 0..self.rng.usize(1..6).min(ids.len()) {
            let id = ids[self.rng.usize(0..ids.len())].clone();
            self.note(format!("delete {name} {id:?}"));
            let mut state = self.state.clone();
            state.delete(&name, &id);
            let (value, durable) = (id.value(&mut self.rng), self.options.durability == Durability::Sync);
            self.write(Phase::Write, &[state], durable, |db| db.collection(&name).delete(value)).expect("delete");
        }
    }

    /// Deletes what has expired, one document after the other.
    fn expire(&mut self) {
        if self.rng.bool() && !self.expires_by_itself() {
            // By the last one documents do.
            let name = self.any_name();
            self.create_index_over(name, DEFINITIONS[DEFINITIONS.len() - 1]);
        }
        let now = self.world.env.clock.unix_millis();
        self.note(format!("expire at {now}"));
        let mut state = self.state.clone();
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
        let durable = self.options.durability == Durability::Sync && !steps.is_empty();
        let deleted = self.write(Phase::Write, &steps, durable, |db| db.delete_expired()).expect("expire");
        self.effect("expire", deleted > 0);
        assert_eq!(deleted, steps.len() as u64);
    }

    /// Compares all indexes with what the documents yield, as they are now and at the snapshots.
    pub(crate) fn check_indexes(&self) {
        crate::indexes::check_now(self.db()).unwrap_or_else(|broken| panic!("{broken}"));
        for kept in &self.snapshots {
            for (name, contents) in &self.state.collections {
                for index in contents.indexes.values() {
                    self.check_index_at(kept, name, index);
                }
            }
        }
    }

    /// The entries that no document yields now, of all indexes of a collection that are ready.
    pub(crate) fn stale(&self, name: &str) -> BTreeSet<(String, Vec<u8>, Vec<u8>)> {
        let mut stale = BTreeSet::new();
        // Nobody sweeps at times of its own.
        let looks = self.mix == Mix::All && !self.background;
        let Some(contents) = self.state.collections.get(name).filter(|_| looks) else { return stale };
        let (collection, now) = (self.db().collection(name), self.db().snapshot());
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

    /// An index serves the snapshots that were taken since it was ready, and no others.
    fn check_index_at(&self, kept: &crate::runner::Kept, name: &str, index: &Index) {
        let collection = self.db().collection(name);
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
                collection
                    .index_entries(&kept.snapshot, index.definition.name(), false)
                    .expect("it serves the snapshot");
            }
            None => {
                let found = collection.index_entries(&kept.snapshot, index.definition.name(), false);
                let kind = found.as_ref().err().map(alluvium::Error::kind);
                // The collection itself may have been made later, or not be there any more.
                let none = kind == Some(ErrorKind::Namespace);
                assert!(none, "{}: index {} was not ready then: {kind:?}", context(), index.definition.name());
            }
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

/// Documents whose first date in the index is not above the cutoff, in the index's order.
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
