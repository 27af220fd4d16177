//! Builds an index over the existing documents.
//!
//! 1. The definition is stored with a new schema number. From then on every batch carries entries
//!    of the index.
//! 2. For each partition: a snapshot is taken, which sees every write that was numbered before the definition. The
//!    documents are scanned. Their entries get the sequence numbers of the *documents*, are sorted, and are ingested
//!    into the partition as runs. After each run the position is recorded, and at the end the partition is recorded as
//!    built, so that the build resumes there after a crash.
//! 3. After all partitions are built, a unique index is scanned for keys that two documents share.
//! 4. The index is recorded as ready, from the sequence number that is visible at that time. Older snapshots do not use
//!    it.
//!
//! Other threads write during the build. A write after the snapshot has its own entries, with
//! higher numbers. An entry of the build whose document has changed is stale, and readers detect it
//! like any other stale entry.

use crate::engine::EngineHandle;
use crate::error::{Error, Result};
use crate::gathering::gather_bytes;
use crate::ids::key_text;
use crate::index::Index;
use crate::marks;
use crate::multikey::{NewMarks, record_marks};
use crate::names::FullName;
use crate::read::decode_copy;
use crate::state::CollectionState;
use crate::write::{Collection, duplicate_key};
use alluvium_exec::Limits;
use alluvium_store::{Bounds, EntryRun};
use std::ops::Bound;
use std::sync::Arc;

/// The maximum number of bytes of a run of entries, which is gathered in memory.
const RUN_BYTES_MAX: usize = 64 << 20;

/// A run also ends when the number of scanned documents reaches its limit in bytes divided by this, even if few
/// documents have entries. This bounds the age of the snapshot, which would be ended if it were kept too long, and the
/// work that is lost if the build is interrupted.
const DOCUMENT_BYTES: usize = 16;

/// The number of documents visited between two checks for a request to stop.
const STOP_EVERY: u64 = 256;

/// The check of a unique index examines one entry per this many bytes of the gathering limit in one snapshot.
const UNIQUE_ENTRY_BYTES: usize = 64;

/// The parameters of a build.
#[derive(Clone, Copy)]
pub(crate) struct Build<'a> {
    pub engine: &'a EngineHandle,
    /// The collection.
    pub name: &'a FullName,
    /// The index as it was declared.
    pub index: &'a Arc<Index>,
    /// The limits, which end the build with [`Error::Stopped`] or [`Error::MaxTimeExpired`].
    pub limits: &'a Limits,
    /// True if the index is dropped when the limits end the build. Otherwise a later build continues.
    pub drops: bool,
}

impl Build<'_> {
    /// An error if the build shall stop.
    fn check_stop(&self) -> Result<()> {
        self.limits.check(&self.engine.env)?;
        self.engine.tasks.check()
    }
}

/// Builds an index that was added, or waits for the thread that builds it and then checks the
/// result. An index that cannot accept the documents is dropped. If the database fails or is
/// closed, or the build is stopped, the build resumes when the database is opened again, or on the
/// next request.
pub(crate) fn finish(build: &Build<'_>) -> Result<Arc<Index>> {
    let Build { engine, index, limits, .. } = *build;
    let _one_at_a_time = index.building.enter(limits, &engine.env)?;
    let mut name = build.name.clone();
    loop {
        let built = finish_under(&Build { name: &name, ..*build });
        if matches!(built, Err(Error::Store(alluvium_store::Error::NoSuchTree(_)))) {
            // The tree of an index is removed before the index is removed from the catalogue.
            engine.catalog.settle()?;
        }
        // If the collection was renamed concurrently, the build continues under the new name, with the remaining
        // partitions.
        match (&built, engine.catalog.holder_of(index.tree)) {
            (Err(Error::NoSuchCollection { .. } | Error::NoSuchIndex { .. }), Some(now)) if now != name => name = now,
            (Err(Error::Store(alluvium_store::Error::NoSuchTree(_))), None) => return Err(dropped(&name, index)),
            _ => return built,
        }
    }
}

/// As [`finish`], for a collection that has this name.
fn finish_under(build: &Build<'_>) -> Result<Arc<Index>> {
    let Build { engine, name, index, .. } = *build;
    let state = engine.catalog.require(name)?;
    let now = state.indexes().indexes.iter().find(|known| known.tree == index.tree).cloned();
    match now {
        Some(now) if now.ready.is_some() => Ok(now),
        Some(now) => {
            let built = build_all(&Build { index: &now, ..*build }, &state);
            if let Err(error) = &built
                && (is_permanent(error) || build.drops && is_interruption(error))
            {
                index.building.fail(error);
                // Another thread may have dropped it already, or renamed the collection.
                let name = engine.catalog.holder_of(index.tree);
                let _gone = name.map(|name| engine.catalog.drop_tree(&name, index.tree));
            }
            built
        }
        None => Err(index.building.failed().unwrap_or_else(|| dropped(name, index))),
    }
}

fn dropped(name: &FullName, index: &Index) -> Error {
    Error::NoSuchIndex { collection: name.to_string(), index: index.definition.name().to_owned() }
}

/// True if the index cannot accept a document, so that another attempt would not help.
fn is_permanent(error: &Error) -> bool {
    matches!(error, Error::Index(_) | Error::DuplicateIndexKey { .. })
}

/// True if the limits have ended the build.
fn is_interruption(error: &Error) -> bool {
    matches!(error, Error::Stopped | Error::MaxTimeExpired { .. })
}

fn build_all(build: &Build<'_>, state: &CollectionState) -> Result<Arc<Index>> {
    let Build { engine, name, index, .. } = *build;
    let (store, catalog) = (engine.store(), &engine.catalog);
    let mut built = index.built.clone();
    if !built.is_empty() {
        marks::BUILD_RESUMED.hit();
    }
    let built_to = index.built_to.clone();
    let left = u64::from(store.partitions()).saturating_sub(built.len() as u64);
    let documents = store.tree_stats(state.documents)?.keys;
    index.building.progress().begin(documents * left / u64::from(store.partitions()).max(1));
    for partition in 0..store.partitions() {
        if built.contains(&partition) {
            continue;
        }
        let from = built_to.as_ref().filter(|(within, _)| *within == partition).map(|(_, key)| key.clone());
        build_partition(build, state, partition, from)?;
        built.push(partition);
        catalog.update_index(name, index.tree, |index| {
            (index.built, index.built_to) = (built.clone(), None);
        })?;
    }
    if index.definition.is_unique() {
        check_unique(build, state)?;
    }
    // No sequence number in the runs is higher than this one.
    let ready = store.visible();
    catalog.update_index(name, index.tree, |index| (index.ready, index.built) = (Some(ready), Vec::new()))
}

/// Builds the index over the documents of a partition, or over the documents after the key `after`.
fn build_partition(build: &Build<'_>, state: &CollectionState, partition: u32, after: Option<Vec<u8>>) -> Result<()> {
    let Build { engine, name, index, .. } = *build;
    let (store, progress) = (engine.store(), index.building.progress());
    let limit = gather_bytes(store).min(RUN_BYTES_MAX);
    let most_documents = (limit / DOCUMENT_BYTES).max(1);
    let _place = engine.gathering.enter(store, limit, || build.check_stop())?;
    let mut run = EntryRun::new(index.tree);
    let mut from = Bounds::all();
    if let Some(key) = after {
        marks::BUILD_RESUMED_WITHIN.hit();
        from.lower = Bound::Excluded(key);
    }
    loop {
        build.check_stop()?;
        // Runs add compaction debt, as writes do, so the build is admitted like a write. The admission is dropped
        // immediately: the gathered memory is charged to the cache, so writers do not wait for it.
        drop(store.admit(0)?);
        // Each run takes a new snapshot, because a snapshot that is kept for long would be ended.
        let snapshot = store.snapshot();
        let mut found_marks = 0;
        let mut scan = store.scan_partition(state.documents, partition, from.clone(), &snapshot)?;
        let (mut next, mut documents) = (None, 0);
        loop {
            let version = match scan.next()? {
                None => break,
                Some((key, row)) => {
                    let document = decode_copy(&state.shapes, name, key, row)?;
                    let keys = index.keys_of(&document, key).map_err(|error| of_document(error, key))?;
                    found_marks |= index.unmarked(&keys);
                    (key.to_vec(), keys)
                }
            };
            let (key, keys) = version;
            for found in &keys.keys {
                run.push(&[found.bytes.as_slice(), &key].concat(), scan.version(), &found.values);
            }
            if progress.add().is_multiple_of(STOP_EVERY) {
                // On a stop the gathered entries are discarded. A later build begins this run again, after the last
                // recorded run.
                build.check_stop()?;
            }
            documents += 1;
            if run.bytes() >= limit || documents >= most_documents {
                next = Some(key);
                break;
            }
        }
        drop((scan, snapshot));
        if found_marks != 0 {
            record_marks(store, state, &[NewMarks { index: index.tree, marks: found_marks }])?;
        }
        store.ingest(partition, &mut run)?;
        run.clear();
        match next {
            Some(key) => {
                engine.catalog.note_build(name, index.tree, (partition, key.clone()))?;
                from.lower = Bound::Excluded(key);
            }
            None => return Ok(()),
        }
    }
}

/// Adds the `_id` to the error for a document that cannot be indexed.
fn of_document(error: Error, key: &[u8]) -> Error {
    use alluvium_query::index::IndexError as E;
    let named = |what: String| format!("document {}: {what}", key_text(key));
    match error {
        Error::Index(E::ParallelArrays(what)) => E::ParallelArrays(named(what)).into(),
        Error::Index(E::HashedArray(what)) => E::HashedArray(named(what)).into(),
        Error::Index(E::AmbiguousPath(what)) => E::AmbiguousPath(named(what)).into(),
        Error::Index(E::KeyTooLong(what)) => E::KeyTooLong(named(what)).into(),
        error => error,
    }
}

/// Returns an error if two documents have the same key. The last record of progress ("the note") has a sequence number
/// below the first snapshot. Writes that were numbered before the note are visible in that snapshot; batches that were
/// encoded before the note, and not yet numbered, were refused and encoded again. So every write that the snapshot does
/// not see looks up its keys among all entries. Therefore, once at most one document has a key, a second document can
/// never get the key, and each key may be checked in a snapshot of its own. With a large index, a single snapshot for
/// all keys would be ended before the check is complete.
fn check_unique(build: &Build<'_>, state: &CollectionState) -> Result<()> {
    let mut from = Bounds::all();
    while let Some(next) = check_unique_from(build, state, from)? {
        from = Bounds { lower: Bound::Included(next), ..Bounds::all() };
    }
    Ok(())
}

/// Checks a limited number of entries in one snapshot. All entries of a key are checked in the same snapshot, because
/// in different snapshots two documents may have had the key at different times. Returns the next key, if one follows.
fn check_unique_from(build: &Build<'_>, state: &CollectionState, from: Bounds) -> Result<Option<Vec<u8>>> {
    let Build { engine, name, index, .. } = *build;
    let store = engine.store();
    let snapshot = store.snapshot();
    let within = Collection { store, state, name, at: Some(&snapshot) };
    let mut scan = store.scan(index.tree, from, Some(&snapshot))?;
    // The current key, and the last document found that yields it.
    let (mut key, mut owner): (Vec<u8>, Option<Vec<u8>>) = (Vec::new(), None);
    // The first entry of a key is proved only if the key has a second entry.
    let mut proved = false;
    let (mut entries, most) = (0u64, (gather_bytes(store) / UNIQUE_ENTRY_BYTES) as u64);
    while let Some((entry, _)) = scan.next()? {
        let len = index.definition.key_len(entry).map_err(|e| index.damaged_entry(name, &e))?;
        let (found, id) = entry.split_at(len);
        entries += 1;
        if entries.is_multiple_of(STOP_EVERY) {
            build.check_stop()?;
        }
        if found != key.as_slice() {
            if entries > most.max(1) {
                return Ok(Some(found.to_vec()));
            }
            (key, owner, proved) = (found.to_vec(), Some(id.to_vec()), false);
            continue;
        }
        if let Some(first) = &owner
            && !proved
        {
            proved = true;
            if !within.yields(index, first, &key)? {
                owner = None;
            }
        }
        if within.yields(index, id, &key)? {
            if let Some(first) = &owner
                && first.as_slice() != id
            {
                return Err(duplicate_key(name, index, &key, first));
            }
            (owner, proved) = (Some(id.to_vec()), true);
        }
    }
    Ok(None)
}
