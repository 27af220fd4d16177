//! The steps of the client.

use super::{Checkpoint, FaultClient};
use crate::model::{Id, Phase, State};
use alluvium::load::{Input, OnDuplicate};
use alluvium::{ChangeScope, ChangeToken, Collection, Durability, ErrorKind, Map, Snapshot, Value};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// The names of all possible collections.
const NAMES: [&str; 4] = ["main.a", "other.b", "main.c", "other.d"];
/// Definitions of indexes that accept all of the documents.
const INDEXES: [(&str, &str); 4] = [
    (r#"{"k":1}"#, "{}"),
    (r#"{"n":-1}"#, r#"{"unique":true}"#),
    (r#"{"by.name":1}"#, r#"{"sparse":true}"#),
    (r#"{"tags":1,"_id":1}"#, r#"{"partialFilterExpression":{"n":{"$gt":3}}}"#),
];
/// The maximum number of snapshots kept.
const SNAPSHOTS: usize = 3;

/// A kind of step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A batch of puts, deletes and deltas.
    Write,
    /// One or several new documents are inserted.
    Insert,
    /// A document is changed by operators, with a checked or a blind update.
    Update,
    /// Documents are written in a transaction, which is committed or aborted.
    Transaction,
    /// Recorded changes are read.
    Changes,
    /// Lines are loaded.
    Load,
    /// A collection is created, renamed or dropped.
    Schema,
    /// An index is created or dropped, builds are continued, or entries are swept.
    Index,
    /// Memtables are written to files.
    Flush,
    /// Pending merges are executed.
    Pending,
    /// Everything is merged.
    Compact,
    /// `sync` is called.
    Sync,
    /// A checkpoint is made.
    Checkpoint,
    /// A snapshot is taken or dropped.
    Snapshot,
    /// Everything is read.
    Look,
    /// The database is closed and opened again.
    Reopen,
}

impl Step {
    /// The weights of the steps, about one hundred in total.
    const WEIGHTS: [(Self, u32); 16] = [
        (Self::Write, 28),
        (Self::Insert, 8),
        (Self::Update, 10),
        (Self::Transaction, 10),
        (Self::Changes, 4),
        (Self::Load, 3),
        (Self::Schema, 4),
        (Self::Index, 16),
        (Self::Flush, 8),
        (Self::Pending, 4),
        (Self::Compact, 4),
        (Self::Sync, 4),
        (Self::Checkpoint, 3),
        (Self::Snapshot, 4),
        (Self::Look, 4),
        (Self::Reopen, 3),
    ];

    /// A random step, according to the weights.
    pub fn random(rng: &mut fastrand::Rng) -> Self {
        let mut at = rng.u32(0..Self::WEIGHTS.iter().map(|(_, weight)| weight).sum());
        for (step, weight) in Self::WEIGHTS {
            match at.checked_sub(weight) {
                Some(left) => at = left,
                None => return step,
            }
        }
        Self::Look
    }
}

impl FaultClient {
    /// Executes one random operation, determined by the seed of the sequence and the number of the step. Opens the
    /// database first if it is not open. Returns true if the operation succeeded.
    pub fn numbered_step(&mut self, seed: u64, number: u32) -> bool {
        self.rng = crate::replay::sequence::rng_of(seed, number);
        self.step()
    }

    /// Executes one random operation. Opens the database first if it is not open. Returns true if the operation
    /// succeeded.
    pub fn step(&mut self) -> bool {
        let step = Step::random(&mut self.rng);
        self.take(step)
    }

    /// Executes one operation of the given kind. Returns true if it succeeded.
    pub fn take(&mut self, step: Step) -> bool {
        self.of_step.clear();
        self.given_before = self.given_out.len();
        if self.db.is_none() {
            return self.open();
        }
        match step {
            Step::Write => self.write(),
            Step::Insert => self.insert(),
            Step::Update => self.update(),
            Step::Transaction => self.transaction(),
            Step::Changes => self.changes(),
            Step::Load => self.load(),
            Step::Schema => self.schema(),
            Step::Index => self.index(),
            Step::Flush => self.flush(),
            Step::Pending => {
                self.attempt(Phase::Compaction, "pending", None, false, |db| Ok(db.store().run_pending()?)).is_ok()
            }
            Step::Compact => self.compact(),
            Step::Sync => self.attempt(Phase::Sync, "sync", None, true, |db| db.sync()).is_ok(),
            Step::Checkpoint => self.checkpoint(),
            Step::Snapshot => self.snapshot(),
            Step::Look => {
                self.look("between");
                true
            }
            Step::Reopen => self.reopen(),
        }
    }

    pub(super) fn flush(&mut self) -> bool {
        self.attempt(Phase::Flush, "flush", None, true, |db| db.flush()).is_ok()
    }

    pub(super) fn compact(&mut self) -> bool {
        self.attempt(Phase::Compaction, "compact", None, true, |db| db.compact().run()).is_ok()
    }

    /// The name of an existing collection. Creates the first collection if none exists.
    fn any_name(&mut self) -> Option<String> {
        // Collections that exist whether or not the operation with unknown outcome took effect.
        let there = |name: &&String| self.unknown.as_ref().is_none_or(|state| state.collections.contains_key(*name));
        let names: Vec<String> = self.acknowledged.collections.keys().filter(there).cloned().collect();
        if names.is_empty() && !self.create("main.a") {
            return None;
        }
        let none = "main.a".to_owned();
        Some(if names.is_empty() { none } else { names[self.rng.usize(0..names.len())].clone() })
    }

    /// The `_id` of an existing document, or a random one.
    fn any_id(&mut self, name: &str) -> Id {
        match self.acknowledged.documents(name) {
            Some(documents) if !documents.is_empty() && self.rng.u8(0..4) > 0 => {
                let at = self.rng.usize(0..documents.len());
                documents.keys().nth(at).cloned().expect("within")
            }
            _ => Id::random(&mut self.rng),
        }
    }

    /// Writes a batch of some documents and deltas.
    pub fn write(&mut self) -> bool {
        let Some(_) = self.any_name() else { return false };
        let mut batch = self.db().write_batch();
        let mut durable = self.durability == Durability::Sync;
        if self.rng.u8(0..8) == 0 {
            (batch, durable) = (batch.with_durability(Durability::Sync), true);
        }
        let mut next = self.acknowledged.clone();
        let mut words = "write".to_owned();
        for _ in 0..self.rng.usize(1..4) {
            let Some(name) = self.any_name() else { return false };
            let collection = self.db().collection(&name);
            let id = self.any_id(&name);
            let value = id.value(&mut self.rng);
            let added = match (self.rng.u8(0..6), next.get(&name, &id).cloned()) {
                (0, _) => {
                    words += &format!(" delete {name} {value:?}");
                    next.delete(&name, &id);
                    batch.delete(&collection, value)
                }
                (1..=2, Some(old)) => {
                    let (update, change) = any_update(&mut self.rng);
                    words += &format!(" apply {name} {value:?} {update}");
                    let mut map = Map::clone(&old);
                    change(&mut map);
                    next.put(&name, id, map);
                    batch.update_blind(&collection, value, update.as_str())
                }
                _ => {
                    words += &format!(" put {name} {value:?}");
                    let map = self.documents.with_id(&id, &mut self.rng);
                    next.put(&name, id, map.clone());
                    batch.put(&collection, value, map)
                }
            };
            // Adding to the batch may require a read, which can fail.
            if let Err(error) = added {
                self.note(&error);
                return false;
            }
        }
        self.attempt(Phase::Write, &words, Some(next), durable, |_| batch.commit()).is_ok()
    }

    /// Inserts documents with `_id`s that do not exist.
    fn insert(&mut self) -> bool {
        let Some(name) = self.any_name() else { return false };
        let mut next = self.acknowledged.clone();
        let mut maps = Vec::new();
        for _ in 0..self.rng.usize(1..4) {
            let id = Id::random(&mut self.rng);
            if next.get(&name, &id).is_none() {
                let map = self.documents.with_id(&id, &mut self.rng);
                maps.push(map.clone());
                next.put(&name, id, map);
            }
        }
        if maps.is_empty() {
            return true;
        }
        let durable = self.durability == Durability::Sync;
        let done = self.attempt(Phase::Write, "insert", Some(next), durable, |db| match maps.as_slice() {
            [one] => db.collection(&name).insert_one(one).map(drop),
            many => db.collection(&name).insert_many(many).map(drop),
        });
        done.is_ok()
    }

    /// Changes an existing document by an operator.
    pub(super) fn update(&mut self) -> bool {
        let Some(name) = self.any_name() else { return false };
        let id = self.any_id(&name);
        let value = id.value(&mut self.rng);
        let Some(old) = self.acknowledged.get(&name, &id).cloned() else { return self.write() };
        let (update, change) = any_update(&mut self.rng);
        let mut map = Map::clone(&old);
        change(&mut map);
        // An update without effect writes nothing, so its success would not show that the disk works.
        if map == *old {
            return self.write();
        }
        let mut next = self.acknowledged.clone();
        next.put(&name, id, map);
        let durable = self.durability == Durability::Sync;
        // If a delete with unknown outcome took effect, a checked update finds no document and writes nothing. Only a
        // blind update is certain to write.
        let blind = self.rng.bool() || self.poisoned;
        let words = format!("{} {name} {value:?} {update}", if blind { "apply" } else { "update" });
        let before = self.log.clone();
        let done = self.attempt(Phase::Write, &words, Some(next), durable, |db| match blind {
            true => db.collection(&name).update_blind(value, update.as_str()),
            false => db.collection(&name).update_one(Map::from([("_id", value)]), update.as_str()).run().map(|done| {
                assert_eq!(done.matched_count, 1, "{words} finds nothing, after {before:?}");
            }),
        });
        done.is_ok()
    }

    /// Writes documents in a transaction, and commits it, or aborts it.
    fn transaction(&mut self) -> bool {
        let Some(first) = self.any_name() else { return false };
        let mut durable = self.durability == Durability::Sync;
        let transaction = match self.rng.u8(0..4) {
            0 => {
                durable = true;
                self.db().begin_with(Durability::Sync)
            }
            _ => self.db().begin(),
        };
        let mut next = self.acknowledged.clone();
        let mut words = "transaction".to_owned();
        for at in 0..self.rng.usize(1..5) {
            let other = NAMES[self.rng.usize(0..NAMES.len())];
            // The first statement always puts, so the transaction writes something. A later put may create a collection.
            let name = match at {
                0 => first.clone(),
                _ if self.unknown.is_none() && self.rng.u8(0..4) == 0 => other.to_owned(),
                _ => self.any_name().unwrap_or_else(|| first.clone()),
            };
            let puts = next.create(&name) || at == 0;
            let collection = transaction.collection(&name);
            if let Err(error) = self.statement(&collection, &name, puts, &mut next, &mut words) {
                self.note(&error);
                return false;
            }
        }
        if self.rng.u8(0..6) == 0 {
            transaction.abort();
            self.log.push(format!("aborted: {words}"));
            return true;
        }
        self.attempt(Phase::Write, &words, Some(next), durable, |_| transaction.commit()).is_ok()
    }

    /// Executes a statement of a transaction.
    fn statement(
        &mut self,
        collection: &Collection,
        name: &str,
        puts: bool,
        next: &mut State,
        words: &mut String,
    ) -> alluvium::Result<()> {
        let id = self.any_id(name);
        let value = id.value(&mut self.rng);
        match (self.rng.u8(0..6), next.get(name, &id).cloned()) {
            (0, _) if !puts => {
                *words += &format!(" delete {name} {value:?}");
                next.delete(name, &id);
                collection.delete(value)
            }
            (blind @ 1..=3, Some(old)) if !puts => {
                let (update, change) = any_update(&mut self.rng);
                *words += &format!(" update {name} {value:?} {update}");
                let mut map = Map::clone(&old);
                change(&mut map);
                next.put(name, id, map);
                // Only a blind update writes also if the document was deleted by a write whose outcome is unknown.
                match blind > 1 || self.poisoned {
                    true => collection.update_blind(value, update.as_str()),
                    false => collection.update_one(Map::from([("_id", value)]), update.as_str()).run().map(drop),
                }
            }
            _ => {
                *words += &format!(" put {name} {value:?}");
                let map = self.documents.with_id(&id, &mut self.rng);
                next.put(name, id, map.clone());
                collection.put(value, map)
            }
        }
    }

    /// Reads the recorded changes that were not read before. A power cut must not take them back.
    pub(super) fn changes(&mut self) -> bool {
        let Some(since) = self.recorded else { return true };
        let number = self.given_out.last().map_or(since, |change| change.number);
        let after = ChangeToken { database: self.db().store().database_id(), number };
        let mut found = Vec::new();
        let done = self.attempt(Phase::Sync, "changes", None, false, |db| {
            for change in db.changes(&ChangeScope::Everything, Some(after))? {
                found.push(change?);
            }
            Ok(())
        });
        self.given_out.extend(found);
        done.is_ok()
    }

    /// Loads some lines as one batch, which is durable at the end. If the load fails, the lines may still have been
    /// written.
    fn load(&mut self) -> bool {
        // The load must be able to read existing documents.
        let Some(name) = self.any_name().filter(|_| !self.reads_may_fail) else { return true };
        let replace = self.rng.bool();
        let (mut next, mut lines) = (self.acknowledged.clone(), Vec::new());
        for _ in 0..self.rng.usize(1..9) {
            let id = self.any_id(&name);
            let map = self.documents.for_json(&id, &mut self.rng);
            let from = lines.len();
            alluvium_document::json::print_map(&map, alluvium_document::json::Format::CANONICAL, &mut lines)
                .expect("it can be printed");
            let read = crate::model::map_of(std::str::from_utf8(&lines[from..]).expect("text"));
            lines.push(b'\n');
            if replace || next.get(&name, &id).is_none() {
                next.put(&name, id, read);
            }
        }
        let on_duplicate = if replace { OnDuplicate::Replace } else { OnDuplicate::Skip };
        let words = format!("load {name} {on_duplicate:?} of {} bytes", lines.len());
        let input = Input::stream("lines", std::io::Cursor::new(lines));
        // If all lines are skipped, nothing is written.
        let writes = (next != self.acknowledged).then(|| next.clone());
        let done = self.attempt(Phase::Load, &words, writes.clone(), true, |db| {
            db.collection(&name).load(input).readers(1).on_duplicate(on_duplicate).alluvium_types(true).run()
        });
        match (done, writes) {
            (Ok(_), _) => return true,
            (Err(_), Some(next)) if self.unknown.is_none() => self.find_out(next),
            _ => {}
        }
        false
    }

    /// Checks whether a failed operation has written anything.
    fn find_out(&mut self, next: State) {
        let found = crate::model::read_state(self.db());
        let found = found.unwrap_or_else(|e| panic!("reads do not go on: {e}\nafter {:?}", self.log));
        match found.without_indexes() == next {
            true if self.poisoned => self.in_doubt(next),
            true => {
                self.acknowledged = next.clone();
                self.since_durable.push(next);
            }
            false => {}
        }
    }

    pub(super) fn create(&mut self, name: &str) -> bool {
        let mut next = self.acknowledged.clone();
        if !next.create(name) {
            return self.poisoned || self.write();
        }
        let durable = self.durability == Durability::Sync;
        let done = self.attempt(Phase::Schema, &format!("create {name}"), Some(next), durable, |db| {
            db.create_collection(name).run().map(drop)
        });
        done.is_ok()
    }

    /// Creates, renames or drops a collection.
    fn schema(&mut self) -> bool {
        let Some(name) = self.any_name() else { return false };
        let other = NAMES[self.rng.usize(0..NAMES.len())];
        let mut next = self.acknowledged.clone();
        let durable = self.durability == Durability::Sync;
        match self.rng.u32(0..3) {
            0 => self.create(other),
            1 => {
                next.collections.remove(&name);
                let drop = |db: &alluvium::Database| db.drop_collection(&name);
                self.attempt(Phase::Schema, &format!("drop {name}"), Some(next), durable, drop).is_ok()
            }
            _ if next.collections.contains_key(other) => true,
            _ => {
                let contents = next.collections.remove(&name).expect("it is there");
                next.collections.insert(other.to_owned(), contents);
                let rename = |db: &alluvium::Database| db.rename_collection(&name, other);
                self.attempt(Phase::Schema, &format!("rename {name} {other}"), Some(next), durable, rename).is_ok()
            }
        }
    }

    /// Creates or drops an index, continues builds, or sweeps. The documents must not change, even if the operation
    /// fails.
    fn index(&mut self) -> bool {
        let Some(name) = self.any_name() else { return false };
        let collection = self.db().collection(&name);
        let (keys, options) = INDEXES[self.rng.usize(0..INDEXES.len())];
        let name = crate::model::indexes::definition(keys, options).name().to_owned();
        let what = self.rng.u32(0..8);
        let done = self.attempt(Phase::Index, &format!("index {what} {name}"), None, false, |db| match what {
            0..=3 => collection.create_index(keys).options(options).run().map(drop),
            4 => collection.create_index(keys).options(options).start().map(drop),
            5 => db.finish_indexes(),
            6 => db.sweep_indexes().map(drop),
            _ => match collection.drop_index(&name) {
                // The index may not exist.
                Err(alluvium::Error::NoSuchIndex { .. }) => Ok(()),
                done => done,
            },
        });
        matches!(done, Ok(()) | Err(ErrorKind::Namespace))
    }

    /// Makes a checkpoint, either complete or based on an earlier one.
    fn checkpoint(&mut self) -> bool {
        let dir = PathBuf::from(format!("checkpoint-{}", self.checkpoints.len()));
        let whole: Vec<PathBuf> =
            self.checkpoints.iter().filter(|one| one.acknowledged).map(|one| one.dir.clone()).collect();
        let base = (!whole.is_empty() && self.rng.bool()).then(|| whole[self.rng.usize(0..whole.len())].clone());
        let copy = self.rng.bool();
        let states = std::iter::once(self.acknowledged.clone()).chain(self.unknown.clone()).collect();
        self.checkpoints.push(Checkpoint { dir: dir.clone(), states, acknowledged: false });
        let done =
            self.attempt(Phase::Checkpoint, &format!("checkpoint copy: {copy}, base: {base:?}"), None, false, |db| {
                let checkpoint = db.checkpoint(&dir).copy(copy);
                match &base {
                    Some(base) => checkpoint.base(base).run().map(drop),
                    None => checkpoint.run().map(drop),
                }
            });
        self.checkpoints.last_mut().expect("it was pushed").acknowledged = done.is_ok();
        done.is_ok()
    }

    fn snapshot(&mut self) -> bool {
        if self.snapshots.len() >= SNAPSHOTS {
            let at = self.rng.usize(0..self.snapshots.len());
            self.snapshots.swap_remove(at);
        } else if self.unknown.is_none() {
            self.snapshots.push((self.db().snapshot(), self.acknowledged.clone()));
        }
        true
    }

    /// Reads the state at a snapshot.
    pub(super) fn at_snapshot(&self, snapshot: &Snapshot) -> alluvium::Result<State> {
        let mut state = State::default();
        for info in self.db().collections_at(snapshot)? {
            let name = info.full_name();
            let mut documents = BTreeMap::new();
            for document in self.db().collection(&name).at(snapshot).scan().run()? {
                let document = document?;
                let map = document.to_map().map_err(|e| alluvium::Error::InvalidDocument(e.to_string()))?;
                documents.insert(Id::of(document.id()).expect("an _id of ours"), Arc::new(map));
            }
            state.create(&name);
            state.collections.get_mut(&name).expect("it was created").documents = Arc::new(documents);
        }
        Ok(state)
    }
}

/// A change to a document.
type Change = Box<dyn Fn(&mut Map)>;

/// An update that applies to any document, and its effect on a document.
fn any_update(rng: &mut fastrand::Rng) -> (String, Change) {
    let k = rng.i32(0..1000);
    match rng.u8(0..4) {
        0 => (format!(r#"{{"$set":{{"set":{k}}}}}"#), Box::new(move |map| drop(map.insert("set", k)))),
        // An index may depend on this field.
        1 => (format!(r#"{{"$set":{{"k":{k}}}}}"#), Box::new(move |map| drop(map.insert("k", k)))),
        2 => (
            format!(r#"{{"$push":{{"list":{k}}}}}"#),
            Box::new(move |map| match map.get_mut("list") {
                Some(Value::Array(list)) => list.push(Value::from(k)),
                _ => map.push("list", Value::Array(vec![Value::from(k)])),
            }),
        ),
        _ => (
            format!(r#"{{"$inc":{{"inc":{k}}}}}"#),
            Box::new(move |map| {
                let before = map.get("inc").and_then(Value::as_i64).unwrap_or(0);
                map.insert("inc", i32::try_from(before).expect("small") + k);
            }),
        ),
    }
}
