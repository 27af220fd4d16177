//! Unique indexes: nobody else may have a key.
//!
//! Who is about to write a key holds its lock exclusively, looks for the key in every partition, and proves what is
//! found: an entry counts if its document, as it is now, yields the key. Whoever else writes the key waits for the lock, so
//! a document that does not yield it now cannot come to do so meanwhile.

use super::entries::Claim;
use super::{Entries, Index};
use crate::catalog::Open;
use crate::error::id_text;
use crate::names::FullName;
use crate::read::{decode, key_text};
use crate::{Error, Result};
use document::Value;
use env::marks::{Rare, mark};
use hashbrown::HashMap;
use std::ops::Bound;
use store::{Bounds, Snapshot, Store, TreeId};

/// A unique key that two documents would have.
pub(crate) struct Taken<'a> {
    /// A document of the batch.
    pub id: &'a [u8],
    /// The other one, of the batch or of the collection.
    pub other: Vec<u8>,
    claim: &'a Claim,
}

impl Taken<'_> {
    /// The error for it, which names the document `other` as the one that has the key.
    pub fn error(&self, name: &FullName, other: &[u8]) -> Error {
        duplicate_key(name, &self.claim.index, &self.claim.key, other)
    }
}

impl Entries {
    /// Errors if a document of the batch would have a unique key that another has, in the batch or in the collection. The
    /// caller holds locks on all that [`Entries::claimed`] says.
    pub fn check_unique(&self, store: &Store, open: &Open, name: &FullName) -> Result<()> {
        let Some(taken) = self.taken(store, open, name)? else { return Ok(()) };
        // Who has it may be a document whose outcome is unknown.
        store.check_writable()?;
        Err(taken.error(name, &taken.other))
    }

    /// A unique key of the batch that two documents would have, as for [`Entries::check_unique`].
    pub fn taken(&self, store: &Store, open: &Open, name: &FullName) -> Result<Option<Taken<'_>>> {
        let mut own: HashMap<(TreeId, &[u8]), &[u8]> = HashMap::new();
        for (id, claims) in &self.claims {
            for claim in claims {
                if let Some(other) = own.insert((claim.index.tree, &claim.key), id)
                    && other != id.as_slice()
                {
                    mark(Rare::KeyTakenInBatch);
                    return Ok(Some(Taken { id, other: other.to_vec(), claim }));
                }
            }
        }
        for (id, claims) in &self.claims {
            for claim in claims {
                if let Some(other) = self.stored(store, open, name, id, claim)? {
                    return Ok(Some(Taken { id, other, claim }));
                }
            }
        }
        Ok(None)
    }

    /// The document of the collection that has the key already.
    fn stored(&self, store: &Store, open: &Open, name: &FullName, id: &[u8], claim: &Claim) -> Result<Option<Vec<u8>>> {
        let bounds = of_key(&claim.key);
        let mut scan = store.scan(claim.index.tree, bounds, None)?;
        while let Some((entry, _)) = scan.next()? {
            let other = entry.get(claim.key.len()..).unwrap_or_default();
            // A document that the batch writes too has the keys that the batch gives it.
            if other == id || self.claims.contains_key(other) {
                continue;
            }
            if yields((store, None), open, name, &claim.index, other, &claim.key)? {
                mark(Rare::KeyTaken);
                return Ok(Some(other.to_vec()));
            }
        }
        Ok(None)
    }
}

/// The entries with this index key. The key of an `_id` follows, which begins with a type, below 128.
pub(crate) fn of_key(key: &[u8]) -> Bounds {
    let end = [key, &[0xff]].concat();
    Bounds { lower: Bound::Included(key.to_vec()), upper: Bound::Excluded(end), reverse: false }
}

/// True if the document with this key, as it is at a snapshot or now, yields the index key.
pub(super) fn yields(
    (store, snapshot): (&Store, Option<&Snapshot>),
    open: &Open,
    name: &FullName,
    index: &Index,
    id: &[u8],
    key: &[u8],
) -> Result<bool> {
    let mut row = Vec::new();
    let found = match snapshot {
        Some(snapshot) => store.get_at(snapshot, open.documents, id, &mut row)?,
        None => store.get(open.documents, id, &mut row)?,
    };
    if !found {
        return Ok(false);
    }
    let document = decode(&open.shapes, name, id, row)?;
    let keys = index.stored_keys_of(&document)?.keys;
    Ok(keys.binary_search_by(|found| found.bytes.as_slice().cmp(key)).is_ok())
}

/// The error for a document whose key another one has.
pub(super) fn duplicate_key(name: &FullName, index: &Index, key: &[u8], other: &[u8]) -> Error {
    let values = index.definition.values(key, &[]).unwrap_or_default();
    let parts = index.definition.parts().iter().zip(values);
    let parts = parts.map(|(part, value)| format!("{}: {}", part.path, id_text(&value.unwrap_or(Value::Null))));
    Error::DuplicateIndexKey {
        collection: name.to_string(),
        index: index.definition.name().to_owned(),
        key: format!("{{{}}}", parts.collect::<Vec<_>>().join(", ")),
        id: key_text(other),
    }
}
