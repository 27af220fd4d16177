//! Unique indexes: no two documents have the same key.
//!
//! A writer locks a key exclusively, looks up the key in every partition, and proves the entries that it finds: an
//! entry counts if the current version of its document yields the key. Another writer of the key waits for the lock, so
//! no other document can get the key concurrently.

use super::entries::{Claim, Entries};
use crate::error::{Error, Result, id_text};
use crate::ids::key_text;
use crate::index::{Index, IndexSet};
use crate::marks;
use crate::names::FullName;
use crate::read::decode;
use crate::state::CollectionState;
use alluvium_document::{Document, Value};
use alluvium_query::filter::Filter;
use alluvium_store::{Bounds, Snapshot, Store, TreeId};
use hashbrown::HashMap;
use std::collections::BTreeMap;
use std::ops::Bound;

/// A collection whose unique keys are looked up.
#[derive(Clone, Copy)]
pub(crate) struct Collection<'a> {
    pub store: &'a Store,
    pub state: &'a CollectionState,
    pub name: &'a FullName,
    /// The snapshot at which keys are looked up; `None` for the latest state.
    pub at: Option<&'a Snapshot>,
}

/// A unique key that two documents would have.
pub struct Taken<'a> {
    /// The key of a document of the batch.
    pub id: &'a [u8],
    /// The key of the other document, of the batch or of the collection.
    pub other: Vec<u8>,
    claim: &'a Claim,
}

impl Taken<'_> {
    /// The error for this key. It names `other` as the document that has the key.
    pub fn error(&self, name: &FullName, other: &[u8]) -> Error {
        duplicate_key(name, &self.claim.index, &self.claim.key, other)
    }
}

impl Entries<'_> {
    /// Returns an error if a document of the batch would have the unique key of another document, in the batch or in
    /// the collection. The caller holds locks on the keys of [`Entries::claimed`].
    pub(crate) fn check_unique(&self, within: Collection<'_>) -> Result<()> {
        let Some(taken) = self.taken(within)? else { return Ok(()) };
        // The write of the other document may have an unknown outcome if the store is poisoned.
        within.store.check_writable()?;
        Err(taken.error(within.name, &taken.other))
    }

    /// A unique key of the batch that two documents would have, as for [`Entries::check_unique`].
    pub(crate) fn taken(&self, within: Collection<'_>) -> Result<Option<Taken<'_>>> {
        let mut own: HashMap<(TreeId, &[u8]), &[u8]> = HashMap::new();
        for (id, claims) in &self.claims {
            for claim in claims {
                if let Some(other) = own.insert((claim.index.tree, &claim.key), id)
                    && other != id.as_slice()
                {
                    marks::KEY_TAKEN_IN_BATCH.hit();
                    return Ok(Some(Taken { id, other: other.to_vec(), claim }));
                }
            }
        }
        within.taken_of(&self.claims)
    }
}

/// The unique keys of documents that are written one after the other in one batch.
#[derive(Default)]
pub struct Sequence {
    owners: HashMap<(TreeId, Vec<u8>), Vec<u8>>,
    keys: HashMap<Vec<u8>, Vec<(TreeId, Vec<u8>)>>,
}

impl Sequence {
    /// True if the document is among them.
    pub fn contains(&self, id: &[u8]) -> bool {
        self.keys.contains_key(id)
    }

    /// Adds a document, or replaces the document with the same `_id`. If another document, of the sequence or of the
    /// collection, has one of its keys, nothing is added, and an error is returned. The caller holds locks on all keys.
    pub(crate) fn add(
        &mut self,
        within: Collection<'_>,
        set: &IndexSet,
        id: &[u8],
        document: &Document,
    ) -> Result<Option<Error>> {
        let mut claims = Vec::new();
        for index in set.indexes.iter().filter(|index| index.definition.is_unique()) {
            let keys = index.keys_of(document, id)?.keys;
            claims.extend(keys.into_iter().map(|key| Claim { index: index.clone(), key: key.bytes }));
        }
        let place = |claim: &Claim| (claim.index.tree, claim.key.clone());
        for claim in &claims {
            let here = self.owners.get(&place(claim)).filter(|other| other.as_slice() != id);
            let other = match here {
                Some(other) => Some(other.clone()),
                None => within.stored(id, claim, |other| self.contains(other))?,
            };
            if let Some(other) = other {
                return Ok(Some(duplicate_key(within.name, &claim.index, &claim.key, &other)));
            }
        }
        let keys: Vec<_> = claims.iter().map(place).collect();
        for before in self.keys.insert(id.to_vec(), keys.clone()).unwrap_or_default() {
            self.owners.remove(&before);
        }
        self.owners.extend(keys.into_iter().map(|key| (key, id.to_vec())));
        Ok(None)
    }
}

impl Collection<'_> {
    /// A claimed key that a stored document has already. Of the documents that have claims, these count alone.
    pub(super) fn taken_of<'c>(&self, claims: &'c BTreeMap<Vec<u8>, Vec<Claim>>) -> Result<Option<Taken<'c>>> {
        for (id, own) in claims {
            for claim in own {
                if let Some(other) = self.stored(id, claim, |other| claims.contains_key(other))? {
                    return Ok(Some(Taken { id, other, claim }));
                }
            }
        }
        Ok(None)
    }

    /// The key of a stored document that has the claimed key already. Documents that are also written are ignored,
    /// because their new keys count.
    fn stored(&self, id: &[u8], claim: &Claim, is_written: impl Fn(&[u8]) -> bool) -> Result<Option<Vec<u8>>> {
        let mut scan = self.store.scan(claim.index.tree, of_key(&claim.key), self.at)?;
        while let Some((entry, _)) = scan.next()? {
            let other = entry.get(claim.key.len()..).unwrap_or_default();
            if other == id || is_written(other) {
                continue;
            }
            if self.yields(&claim.index, other, &claim.key)? {
                marks::KEY_TAKEN.hit();
                return Ok(Some(other.to_vec()));
            }
        }
        Ok(None)
    }

    /// True if the document with the key `id` yields the index key.
    pub fn yields(&self, index: &Index, id: &[u8], key: &[u8]) -> Result<bool> {
        let mut row = Vec::new();
        let found = match self.at {
            Some(snapshot) => self.store.get_at(snapshot, self.state.documents, id, &mut row)?,
            None => self.store.get(self.state.documents, id, &mut row)?,
        };
        if !found {
            return Ok(false);
        }
        let document = decode(&self.state.shapes, self.name, id, row)?;
        let keys = index.stored_keys_of(&document)?.keys;
        Ok(keys.binary_search_by(|found| found.bytes.as_slice().cmp(key)).is_ok())
    }
}

/// The bounds of the entries with this index key. In an entry, the key of an `_id` follows, which begins with a type
/// below 128.
pub(crate) fn of_key(key: &[u8]) -> Bounds {
    let end = [key, &[0xff]].concat();
    Bounds { lower: Bound::Included(key.to_vec()), upper: Bound::Excluded(end), reverse: false }
}

/// The error for a document whose unique key belongs to another document.
pub(crate) fn duplicate_key(name: &FullName, index: &Index, key: &[u8], other: &[u8]) -> Error {
    let values = index.definition.values_to_show(key);
    let paths = index.definition.parts().iter().map(|part| part.path.as_str());
    Error::DuplicateIndexKey {
        collection: name.to_string(),
        index: index.definition.name().to_owned(),
        key_pattern: Box::new(index.definition.keys_map()),
        key_value: Box::new(paths.zip(values.iter().cloned()).collect()),
        key: shown(index, values.into_iter()),
        id: key_text(other),
    }
}

/// The text of an index key with these values.
fn shown(index: &Index, values: impl Iterator<Item = Value>) -> String {
    let parts = index.definition.parts().iter().zip(values);
    let parts = parts.map(|(part, value)| format!("{}: {}", part.path, id_text(&value)));
    format!("{{{}}}", parts.collect::<Vec<_>>().join(", "))
}

/// True if a filter demands one value at each path of the index and nothing else, and these values are the key in the
/// text of an error. In that case the document with the key matches the filter.
pub(crate) fn demands_key(filter: &Filter, index: &Index, key: &str) -> bool {
    // Values that are equal under one collation may differ under another.
    if filter.collation() != index.definition.collation() {
        return false;
    }
    let parts = index.definition.parts();
    if !filter.is_equalities() || filter.equalities().count() != parts.len() {
        return false;
    }
    let demanded = |path: &str| filter.equalities().find(|(demanded, _)| *demanded == path);
    let values: Option<Vec<&Value>> =
        parts.iter().map(|part| demanded(part.path.as_str()).map(|(_, value)| value)).collect();
    let Some(values) = values else { return false };
    // The values in the form that an entry would have.
    let kept = index.definition.values_to_show(&index.definition.key_of_values(values));
    shown(index, kept.into_iter()) == key
}
