//! Building an index over documents that are there already.
//!
//! 1. The definition is written down, under a new schema number: from then on every batch carries entries of the index.
//! 2. Per partition: a snapshot is taken, which sees all that was numbered before the definition. The documents are
//!    walked, and their entries, with the *documents'* numbers, are sorted and put into the partition as runs. After each
//!    run it is noted how far that is, and at the end that the partition is built, so that after a kill the build goes on there.
//! 3. All partitions are built. A unique index is looked through for keys that two documents have.
//! 4. The index is written down as ready from the number on that is visible then; older snapshots do not use it.
//!
//! Others write all the while. What is written after the snapshot has its own entries, with higher numbers; an entry of the
//! build whose document has changed is stale, and is found to be so as any other.

use crate::engine::EngineHandle;
use crate::error::{Error, Result};
use crate::gathering::gather_bytes;
use crate::ids::key_text;
use crate::index::Index;
use crate::marks;
use crate::multikey::{MultikeyParts, record_multikey};
use crate::names::FullName;
use crate::read::decode;
use crate::state::CollectionState;
use crate::write::{Collection, duplicate_key};
use alluvium_store::{Bounds, EntryRun};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The most bytes of a run of entries that is gathered in memory.
const RUN_BYTES_MAX: usize = 64 << 20;

/// A run ends after a document for each so many bytes that it may have, also where few documents have entries: its
/// snapshot would be ended if it were kept for long, and a build that goes on begins after the last run.
const DOCUMENT_BYTES: usize = 16;

/// So many documents are gone over before somebody who wants to stop is heard.
const STOP_EVERY: u64 = 256;

/// An entry of a unique index is looked at in one snapshot with others of so many bytes each, as many as are gathered at a time.
const UNIQUE_ENTRY_BYTES: usize = 64;

/// What a build needs to know.
#[derive(Clone, Copy)]
pub(crate) struct Build<'a> {
    pub engine: &'a EngineHandle,
    /// The collection.
    pub name: &'a FullName,
    /// As it was declared.
    pub index: &'a Arc<Index>,
    /// Set to true by anybody, the build ends with [`Error::Stopped`].
    pub stop: Option<&'a AtomicBool>,
}

impl Build<'_> {
    /// An error if the build is to end where it stands.
    fn check_stop(&self) -> Result<()> {
        if self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Err(Error::Stopped);
        }
        self.engine.tasks.check()
    }
}

/// Builds an index that was added, or waits for whoever does, and then looks again. If it cannot be built, it is
/// dropped, unless the database fails or is closed, or the build is stopped: then it goes on when the database is opened
/// again, or when somebody asks for it.
pub(crate) fn finish(build: &Build<'_>) -> Result<Arc<Index>> {
    let Build { engine, index, stop, .. } = *build;
    let _one_at_a_time = index.building.enter(stop)?;
    let mut name = build.name.clone();
    loop {
        let built = finish_under(&Build { name: &name, ..*build });
        if matches!(built, Err(Error::Store(alluvium_store::Error::NoSuchTree(_)))) {
            // The tree goes before its name does.
            engine.catalog.settle()?;
        }
        // Renamed meanwhile: it goes on under the new name, with the partitions that are left.
        match (&built, engine.catalog.holder_of(index.tree)) {
            (Err(Error::NoSuchCollection { .. } | Error::NoSuchIndex { .. }), Some(now)) if now != name => name = now,
            (Err(Error::Store(alluvium_store::Error::NoSuchTree(_))), None) => return Err(dropped(&name, index)),
            _ => return built,
        }
    }
}

/// As [`finish`], of a collection that has this name.
fn finish_under(build: &Build<'_>) -> Result<Arc<Index>> {
    let Build { engine, name, index, .. } = *build;
    let state = engine.catalog.require(name)?;
    let now = state.indexes().indexes.iter().find(|known| known.tree == index.tree).cloned();
    match now {
        Some(now) if now.ready.is_some() => Ok(now),
        Some(now) => {
            let built = build_all(&Build { index: &now, ..*build }, &state);
            if let Err(error) = &built
                && ends_the_index(error)
            {
                index.building.fail(error);
                // Somebody else may have dropped it already, or renamed the collection.
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

/// True if documents do not go with the index: trying again would not help.
fn ends_the_index(error: &Error) -> bool {
    matches!(error, Error::Index(_) | Error::DuplicateIndexKey { .. })
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
    // Everything in the runs has numbers up to here.
    let ready = store.visible();
    catalog.update_index(name, index.tree, |index| (index.ready, index.built) = (Some(ready), Vec::new()))
}

/// Builds the index over the documents of a partition, or over those after the key `after`.
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
        // Its runs are debt, as writes are. What it gathers is paid for by the cache: memory that others wait for is not held.
        drop(store.admit(0)?);
        // A snapshot of its own for each run: one that is kept for long would be ended.
        let snapshot = store.snapshot();
        let mut arrays: Vec<MultikeyParts> = Vec::new();
        let mut scan = store.scan_partition(state.documents, partition, from.clone(), &snapshot)?;
        let (mut next, mut documents) = (None, 0);
        loop {
            let version = match scan.next()? {
                None => break,
                Some((key, row)) => {
                    let document = decode(&state.shapes, name, key, row.to_vec())?;
                    let keys = index.keys_of(&document, key).map_err(|error| of_document(error, key))?;
                    if keys.multikey & !index.multikey.load(Ordering::SeqCst) != 0 {
                        arrays.push(MultikeyParts { index: index.tree, parts: keys.multikey });
                    }
                    (key.to_vec(), keys)
                }
            };
            let (key, keys) = version;
            for found in &keys.keys {
                run.push(&[found.bytes.as_slice(), &key].concat(), scan.version(), &found.values);
            }
            if progress.add().is_multiple_of(STOP_EVERY) {
                // What is gathered is thrown away: the run begins anew, behind the last one that is noted.
                build.check_stop()?;
            }
            documents += 1;
            if run.bytes() >= limit || documents >= most_documents {
                next = Some(key);
                break;
            }
        }
        drop((scan, snapshot));
        if !arrays.is_empty() {
            record_multikey(store, state, &arrays)?;
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

/// Names the document that cannot be indexed.
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

/// Errors if two documents have one key. The last note has a number below the first snapshot, so what was numbered before
/// the note is visible in it, and what was encoded before the note was sent back: whoever is not visible looks for its keys
/// among all entries. So a key that only one document has at any moment from then on is never given to a second, and each
/// key may be looked at in a snapshot of its own; one for all of them would be ended where there are many.
fn check_unique(build: &Build<'_>, state: &CollectionState) -> Result<()> {
    let mut from = Bounds::all();
    while let Some(next) = check_unique_from(build, state, from)? {
        from = Bounds { lower: Bound::Included(next), ..Bounds::all() };
    }
    Ok(())
}

/// Looks at so many entries, and at those of the last key, in one snapshot: documents of different moments may have had the
/// same key one after the other. The next key then, if there is one.
fn check_unique_from(build: &Build<'_>, state: &CollectionState, from: Bounds) -> Result<Option<Vec<u8>>> {
    let Build { engine, name, index, .. } = *build;
    let store = engine.store();
    let snapshot = store.snapshot();
    let within = Collection { store, state, name };
    let mut scan = store.scan(index.tree, from, Some(&snapshot))?;
    // The entries of one key so far: those whose documents yield it.
    let (mut key, mut owner): (Vec<u8>, Option<Vec<u8>>) = (Vec::new(), None);
    // The first entry of a key is proved only when there is a second.
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
            if !within.yields(Some(&snapshot), index, first, &key)? {
                owner = None;
            }
        }
        if within.yields(Some(&snapshot), index, id, &key)? {
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
