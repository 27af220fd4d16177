//! Checks the indexes of a collection: no entry is missing, and readers detect every stale entry.
//!
//! First the documents are scanned, and the keys that they yield are counted. Then the entries are scanned, and each
//! entry is compared with its document. No two entries are equal, so if the number of yielded entries equals the number
//! of keys, the index has an entry for each key. If the numbers differ, each key is looked up to find the missing
//! entries.

use super::{MOST_OF_A_COLLECTION, Shapes, VerifiedIndex, record};
use crate::error::{Error, Result, id_text};
use crate::ids::key_text;
use crate::index::Index;
use crate::names::FullName;
use crate::read::{decode, decode_copy};
use alluvium_document::Document;
use alluvium_store::{Bounds, Snapshot, Store, TreeId};
use std::ops::Bound;
use std::sync::Arc;

/// The parameters of a check.
pub(super) struct Checking<'a> {
    pub store: &'a Store,
    pub name: &'a FullName,
    pub documents: TreeId,
    pub shapes: &'a Shapes<'a>,
    pub snapshot: &'a Snapshot,
    pub check_stop: super::CheckStop<'a>,
}

/// An index, and the number of keys that the documents yield.
pub(super) struct Counted {
    index: Arc<Index>,
    /// True if the index is complete at the snapshot.
    serves: bool,
    keys: u64,
}

impl Counted {
    pub fn new(index: &Arc<Index>, snapshot: &Snapshot) -> Self {
        Self { index: index.clone(), serves: index.serves(snapshot.seq()), keys: 0 }
    }

    /// Counts the keys of a document. Skips an index that is being built, or was built after the snapshot, because it
    /// may lack the document or be unable to accept it.
    pub fn add(&mut self, name: &FullName, document: &Document) -> Result<()> {
        if !self.serves {
            return Ok(());
        }
        let id = || id_text(document.id());
        let bad = |what: String| self.index.damaged(name, what);
        let keys = self.index.stored_keys_of(document);
        let keys = keys.map_err(|error| bad(format!("document {} cannot be indexed: {error}", id())))?;
        self.keys += keys.keys.len() as u64;
        let unknown = self.index.unmarked(&keys);
        match (unknown as u32, unknown >> 32) {
            (0, 0) => Ok(()),
            (0, _) => Err(bad(format!("document {} has a long key, and the index is not marked for that", id()))),
            _ => Err(bad(format!("document {} has an array, and the index is not marked as multikey", id()))),
        }
    }
}

/// An error if the bytes are not the key of an `_id`.
fn is_id(mut key: &[u8]) -> std::result::Result<(), alluvium_codec::DecodeError> {
    alluvium_document::key::skip(&mut key, false)?;
    if key.is_empty() { Ok(()) } else { Err(alluvium_codec::DecodeError::Invalid("the key of an _id")) }
}

/// The relation of an entry to its document.
enum EntryState {
    /// The document yields the entry.
    Yielded,
    /// The document does not yield the entry, and readers detect that.
    Stale,
    /// The entry is wrong: readers would return a wrong result.
    Wrong(String),
}

impl Checking<'_> {
    /// Checks an index, and adds its damage to `damage`.
    pub fn check(&self, counted: &Counted, damage: &mut Vec<Error>) -> Result<Option<VerifiedIndex>> {
        let index = &counted.index;
        let name = index.definition.name().to_owned();
        let mut found = VerifiedIndex { collection: self.name.to_string(), name, ready: true, entries: 0, stale: 0 };
        let most = damage.len() + MOST_OF_A_COLLECTION;
        for partition in 0..self.store.partitions() {
            match self.entries(index, partition, &mut found, damage, most) {
                Ok(()) => {}
                // Dropped concurrently.
                Err(Error::Store(alluvium_store::Error::NoSuchTree(_))) => return Ok(None),
                Err(error) => record(error, damage)?,
            }
        }
        found.ready = counted.serves;
        if found.ready && found.entries - found.stale != counted.keys && damage.len() < most {
            self.name_missing(index, damage, most)?;
        }
        if index.definition.is_unique() && found.ready && damage.len() < most {
            self.check_unique(index, damage)?;
        }
        Ok(Some(found))
    }

    fn entries(
        &self,
        index: &Arc<Index>,
        partition: u32,
        found: &mut VerifiedIndex,
        damage: &mut Vec<Error>,
        most: usize,
    ) -> Result<()> {
        let mut scan = self.store.scan_partition(index.tree, partition, Bounds::all(), self.snapshot)?;
        while let Some((entry, value)) = scan.next()? {
            (self.check_stop)()?;
            let (entry, value) = (entry.to_vec(), value.to_vec());
            found.entries += 1;
            let len = index.definition.key_len(&entry);
            let state = match len.and_then(|len| is_id(&entry[len..]).map(|()| len)) {
                Ok(len) if self.store.partition_of(&entry[len..]) != partition => {
                    let place = self.store.partition_of(&entry[len..]);
                    EntryState::Wrong(format!("an entry in partition {partition} belongs to partition {place}"))
                }
                Ok(len) => self.classify(index, &entry[..len], &entry[len..], &value, scan.version())?,
                Err(error) => {
                    damage.push(index.damaged_entry(self.name, &error));
                    EntryState::Stale
                }
            };
            match state {
                EntryState::Yielded => {}
                EntryState::Stale => found.stale += 1,
                EntryState::Wrong(what) => {
                    found.stale += 1;
                    damage.push(index.damaged(self.name, what));
                }
            }
            if damage.len() >= most {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Compares an entry, which consists of an index key and the key of an `_id`, with its document.
    fn classify(
        &self,
        index: &Index,
        key: &[u8],
        id: &[u8],
        value: &[u8],
        version: alluvium_codec::entry::Seq,
    ) -> Result<EntryState> {
        let mut row = Vec::new();
        let Some(written) = self.store.get_numbered_at(self.snapshot, self.documents, id, &mut row)? else {
            return Ok(EntryState::Stale);
        };
        let document = decode(&self.shapes.of_row(&row)?, self.name, id, row)?;
        let keys = index.old_keys_of(&document, id)?.keys;
        let yielded = keys.binary_search_by(|found| found.bytes.as_slice().cmp(key)).ok().map(|at| &keys[at]);
        let shown = || key_text(id);
        Ok(match yielded {
            Some(_) if version > written => {
                EntryState::Wrong(format!("an entry of document {} is newer than the document", shown()))
            }
            Some(yielded) if version == written && yielded.values != value => {
                EntryState::Wrong(format!("an entry of document {} has other values than the document", shown()))
            }
            Some(_) => EntryState::Yielded,
            // Readers trust an entry that has the sequence number of its document.
            None if version == written => EntryState::Wrong(format!(
                "an entry leads to document {} by a key that the document does not have",
                shown()
            )),
            None => EntryState::Stale,
        })
    }

    /// Looks up the entry of each key of each document, and reports the missing ones.
    fn name_missing(&self, index: &Index, damage: &mut Vec<Error>, most: usize) -> Result<()> {
        let mut scan = self.store.scan(self.documents, Bounds::all(), Some(self.snapshot))?;
        while let Some((id, row)) = scan.next()? {
            (self.check_stop)()?;
            let document = decode_copy(&self.shapes.of_row(row)?, self.name, id, row)?;
            for key in index.stored_keys_of(&document)?.keys {
                let entry = [key.bytes.as_slice(), id].concat();
                let bounds =
                    Bounds { lower: Bound::Included(entry.clone()), upper: Bound::Included(entry), reverse: false };
                let partition = self.store.partition_of(id);
                let there = self.store.scan_partition(index.tree, partition, bounds, self.snapshot)?.next()?.is_some();
                if !there {
                    let what = format!("document {} has no entry in it", key_text(id));
                    damage.push(index.damaged(self.name, what));
                }
                if damage.len() >= most {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Reports two documents with the same key.
    fn check_unique(&self, index: &Arc<Index>, damage: &mut Vec<Error>) -> Result<()> {
        let mut scan = self.store.scan(index.tree, Bounds::all(), Some(self.snapshot))?;
        let (mut key, mut ids): (Vec<u8>, Vec<Vec<u8>>) = (Vec::new(), Vec::new());
        loop {
            (self.check_stop)()?;
            let next = scan.next()?.map(|(entry, _)| entry.to_vec());
            let split = next.as_deref().and_then(|entry| Some(entry.split_at(index.definition.key_len(entry).ok()?)));
            if let Some((found, id)) = split
                && found == key.as_slice()
            {
                ids.push(id.to_vec());
                continue;
            }
            if ids.len() > 1 {
                let mut owners = Vec::new();
                for id in &ids {
                    let state = self.classify(index, &key, id, &[], 0)?;
                    if matches!(state, EntryState::Yielded) {
                        owners.push(key_text(id));
                    }
                }
                if let [first, second, ..] = &owners[..] {
                    let what = format!("documents {first} and {second} have the same key in it, and it is unique");
                    damage.push(index.damaged(self.name, what));
                }
            }
            match (split, next.is_some()) {
                (Some((found, id)), _) => (key, ids) = (found.to_vec(), vec![id.to_vec()]),
                // The malformed entry was reported already.
                (None, true) => ids.clear(),
                (None, false) => return Ok(()),
            }
        }
    }
}
