//! The index entries of the documents in a batch.

use crate::error::{Error, Result};
use crate::ids::key_text;
use crate::index::{Index, IndexSet};
use crate::multikey::NewMarks;
use crate::names::FullName;
use alluvium_document::row::MapRef;
use alluvium_document::{Document, Map};
use alluvium_query::index::Keys;
use alluvium_store::{Seq, TreeId, WriteBatch};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The index entries of the documents of a batch, and the marks and unique keys that must be handled before the batch
/// is written.
pub(crate) struct Entries<'a> {
    set: Arc<IndexSet>,
    /// The collection.
    name: &'a FullName,
    /// Marks of indexes that are not recorded: see [`crate::multikey::record_marks`].
    marks: Vec<NewMarks>,
    /// The unique index keys that each document of the batch has after the batch, by the key of its `_id`. Empty
    /// without unique indexes.
    pub(super) claims: BTreeMap<Vec<u8>, Vec<Claim>>,
    /// The claims that a later put of the same document in the batch has replaced.
    replaced: Vec<Claim>,
    /// True if the batch puts a document twice.
    twice: bool,
    unique: bool,
    entry: Vec<u8>,
    value: Vec<u8>,
}

/// The entries of a changed document that a batch puts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Puts {
    /// All entries, because the batch writes the whole document.
    All,
    /// The entries that the document did not yield before, because the batch writes a delta.
    New,
}

/// A key of a unique index that a document of the batch has.
#[derive(Debug, Clone)]
pub(super) struct Claim {
    pub index: Arc<Index>,
    pub key: Vec<u8>,
}

impl<'a> Entries<'a> {
    /// Returns the entries, still none, of a batch under these indexes.
    pub fn new(set: Arc<IndexSet>, name: &'a FullName) -> Self {
        let unique = set.has_unique();
        let (marks, claims, replaced, entry, value) = Default::default();
        Self { set, name, marks, claims, replaced, twice: false, unique, entry, value }
    }

    /// The number of the schema that the batch is made under.
    pub fn schema(&self) -> Seq {
        self.set.schema
    }

    pub fn set(&self) -> &Arc<IndexSet> {
        &self.set
    }

    /// True if the collection has no index. Then the keys of documents are not computed.
    pub fn is_empty(&self) -> bool {
        self.set.indexes.is_empty()
    }

    /// Adds the entries of a document that the batch puts.
    pub fn put(&mut self, batch: &mut WriteBatch, id: &[u8], document: &Map) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        self.forget(id);
        let set = self.set.clone();
        for index in &set.indexes {
            self.entry.clear();
            self.value.clear();
            // The usual case: the document has one key, which sets no marks and is not unique.
            let plain = !index.definition.is_unique();
            if plain && index.definition.plain_key(document, &mut self.entry, &mut self.value) {
                self.entry.extend_from_slice(id);
                batch.put_entry(index.tree, &self.entry, &self.value);
                continue;
            }
            let keys = index.keys(document, id).map_err(|error| refused(error, index, id, self.name))?;
            self.put_keys_of(batch, id, index, &keys);
        }
        Ok(())
    }

    /// The keys of a document, for [`Entries::put_keys`].
    pub fn keys_of(&self, id: &[u8], document: MapRef<'_>) -> Result<Vec<Keys>> {
        let keys =
            |index: &Arc<Index>| index.keys_of_row(document, id).map_err(|error| refused(error, index, id, self.name));
        self.set.indexes.iter().map(keys).collect()
    }

    /// Called when the batch has deleted the document blindly, or has changed only fields that no index reads.
    pub fn forget(&mut self, id: &[u8]) {
        if self.unique
            && let Some(before) = self.claims.insert(id.to_vec(), Vec::new())
        {
            self.twice = true;
            self.replaced.extend(before);
        }
    }

    /// True if the batch puts a document twice. In that case the entries must be made again when one of the puts is
    /// removed.
    pub fn replaces(&self) -> bool {
        self.twice
    }

    /// Adds the changes of entries for a document that the batch changes from `before` to `after`; `None` means that
    /// the batch deletes it. Entries that the document no longer yields are deleted. Entries that it yields now are
    /// put, all or only the new ones.
    pub fn change(
        &mut self,
        batch: &mut WriteBatch,
        id: &[u8],
        before: &Document,
        after: Option<&Map>,
        puts: Puts,
    ) -> Result<()> {
        self.forget(id);
        let set = self.set.clone();
        for index in &set.indexes {
            let old = index.old_keys_of(before, id)?;
            let new = after.map(|after| index.keys(after, id)).transpose();
            let new = new.map_err(|error| refused(error, index, id, self.name))?.unwrap_or_default();
            let is_in = |keys: &Keys, key: &[u8]| keys.keys.binary_search_by(|k| k.bytes.as_slice().cmp(key)).ok();
            for key in &old.keys {
                if is_in(&new, &key.bytes).is_none() {
                    self.entry(&key.bytes, id);
                    batch.delete_entry(index.tree, &self.entry);
                }
            }
            self.note(index, id, &new);
            for key in &new.keys {
                let same = is_in(&old, &key.bytes).is_some_and(|at| old.keys[at] == *key);
                if puts == Puts::All || !same {
                    self.entry(&key.bytes, id);
                    batch.put_entry(index.tree, &self.entry, &key.values);
                }
            }
        }
        Ok(())
    }

    /// Adds the entries of a document that the batch puts. `keys` has the keys for each index.
    pub fn put_keys(&mut self, batch: &mut WriteBatch, id: &[u8], keys: &[Keys]) {
        if self.is_empty() {
            return;
        }
        self.forget(id);
        let set = self.set.clone();
        for (index, found) in set.indexes.iter().zip(keys) {
            self.put_keys_of(batch, id, index, found);
        }
    }

    fn put_keys_of(&mut self, batch: &mut WriteBatch, id: &[u8], index: &Arc<Index>, found: &Keys) {
        self.note(index, id, found);
        for key in &found.keys {
            self.entry(&key.bytes, id);
            batch.put_entry(index.tree, &self.entry, &key.values);
        }
    }

    fn entry(&mut self, key: &[u8], id: &[u8]) {
        self.entry.clear();
        self.entry.extend_from_slice(key);
        self.entry.extend_from_slice(id);
    }

    /// Records arrays, cut keys, and keys of unique indexes.
    fn note(&mut self, index: &Arc<Index>, id: &[u8], found: &Keys) {
        let marks = index.unmarked(found);
        if marks != 0 {
            match self.marks.iter_mut().find(|known| known.index == index.tree) {
                Some(known) => known.marks |= marks,
                None => self.marks.push(NewMarks { index: index.tree, marks }),
            }
        }
        if index.definition.is_unique() {
            let claims = self.claims.entry(id.to_vec()).or_default();
            claims.extend(found.keys.iter().map(|key| Claim { index: index.clone(), key: key.bytes.clone() }));
        }
    }

    /// The marks to record before the batch is written.
    pub fn take_marks(&mut self) -> Vec<NewMarks> {
        std::mem::take(&mut self.marks)
    }

    /// Removes the unique keys of documents that are removed from the batch.
    pub fn keep(&mut self, mut keeps: impl FnMut(&[u8]) -> bool) {
        self.claims.retain(|id, _| keeps(id));
    }

    /// True if unique keys have to be locked and looked up before the batch is written.
    pub fn has_claims(&self) -> bool {
        self.claims.values().any(|claims| !claims.is_empty())
    }

    /// The keys to be locked exclusively, including keys that a document has only until a later put of the batch.
    pub fn claimed(&self) -> impl Iterator<Item = (TreeId, &[u8])> {
        self.claims.values().flatten().chain(&self.replaced).map(|claim| (claim.index.tree, claim.key.as_slice()))
    }
}

/// Adds the names of the index, and of the document that the index cannot accept, to the error.
fn refused(error: Error, index: &Index, id: &[u8], name: &FullName) -> Error {
    match error {
        Error::Index(error) => Error::IndexOf {
            collection: name.to_string(),
            id: key_text(id),
            index: index.definition.name().to_owned(),
            error,
        },
        error => error,
    }
}
