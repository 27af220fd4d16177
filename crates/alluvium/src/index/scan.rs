//! Entries that are proved: those whose documents yield them at the snapshot.

use super::Index;
use super::build::damaged_entry;
use crate::Result;
use crate::find::Moment;
use crate::marks;
use alluvium_document::{Document, Value};
use alluvium_store::Bounds;
use std::sync::Arc;

/// What a scan did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Examined {
    /// Entries looked at.
    pub keys: u64,
    /// Entries that were not proved by their number alone, so that keys were made of the document.
    pub validated: u64,
    /// Entries that their documents do not yield.
    pub stale: u64,
    /// Documents read.
    pub documents: u64,
    /// Ranges begun.
    pub seeks: u64,
}

/// A scan over an index within bounds of entry keys, in their order.
pub(crate) struct IndexScan {
    moment: Arc<Moment>,
    index: Arc<Index>,
    scan: alluvium_store::Scan,
    pub examined: Examined,
    /// What is examined is counted for the index: see [`IndexScan::for_question`].
    counted: bool,
    entry: Vec<u8>,
    value: Vec<u8>,
    key_len: usize,
    row: Vec<u8>,
}

impl IndexScan {
    /// A scan at a snapshot, which is not older than the index is ready.
    pub fn new(moment: Arc<Moment>, index: Arc<Index>, bounds: Bounds) -> Result<Self> {
        let scan = moment.store().scan(index.tree, bounds, Some(&moment.snapshot.store))?;
        let (entry, value, row) = (Vec::new(), Vec::new(), Vec::new());
        let examined = Examined::default();
        Ok(Self { moment, index, scan, examined, counted: false, entry, value, key_len: 0, row })
    }

    /// The same scan, counted as a use of the index.
    pub fn for_question(mut self) -> Self {
        self.counted = true;
        self.index.usage.begin(self.moment.database.inner.env.clock.unix_millis());
        self
    }

    /// Begins anew within other bounds, which lie within those that it was made with.
    pub fn restart(&mut self, bounds: &Bounds) {
        self.examined.seeks += 1;
        self.scan.restart(bounds);
    }

    pub fn index(&self) -> &Arc<Index> {
        &self.index
    }

    /// Moves to the next entry, proved or not; false at the end.
    pub fn advance(&mut self) -> Result<bool> {
        let Some((entry, value)) = self.scan.next()? else { return Ok(false) };
        self.entry.clear();
        self.entry.extend_from_slice(entry);
        self.value.clear();
        self.value.extend_from_slice(value);
        self.examined.keys += 1;
        let len = self.index.definition.key_len(&self.entry);
        self.key_len = len.map_err(|e| damaged_entry(&self.moment.name, &self.index, &e))?;
        Ok(true)
    }

    /// The next document of a proved entry. One that yields several entries comes several times.
    pub fn next_document(&mut self) -> Result<Option<Document>> {
        while self.advance()? {
            if let Some(document) = self.prove()? {
                return Ok(Some(document));
            }
        }
        Ok(None)
    }

    /// Moves to the next proved entry, and reads its document only if the numbers do not prove it. False at the end.
    pub fn next_entry(&mut self) -> Result<bool> {
        while self.advance()? {
            if self.is_proved()? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// True if the document of the entry at hand yields that. The document is read only if the numbers do not tell.
    pub fn is_proved(&mut self) -> Result<bool> {
        let (moment, id) = (&self.moment, &self.entry[self.key_len..]);
        let (snapshot, number) = (&moment.snapshot.store, self.scan.version());
        // Only writes that leave the document there put entries, and each has a number of its own.
        let version = moment.store().version_at_expecting(snapshot, moment.open.documents, id, number)?;
        if version == Some(number) || (version.is_some() && self.prove()?.is_some()) {
            return Ok(true);
        }
        self.examined.stale += u64::from(version.is_none());
        Ok(false)
    }

    /// The document of the entry at hand, if it yields that; the entry's value is then as the document has it.
    pub fn prove(&mut self) -> Result<Option<Document>> {
        let (moment, id) = (&self.moment, &self.entry[self.key_len..]);
        let Some((document, number)) = moment.read(id, &mut self.row)? else {
            self.examined.stale += 1;
            return Ok(None);
        };
        self.examined.documents += 1;
        if number == self.scan.version() {
            return Ok(Some(document));
        }
        self.examined.validated += 1;
        let keys = self.index.stored_keys_of(&document)?.keys;
        let own = &self.entry[..self.key_len];
        match keys.binary_search_by(|key| key.bytes.as_slice().cmp(own)) {
            Ok(at) => {
                self.value.clone_from(&keys[at].values);
                Ok(Some(document))
            }
            Err(_) => {
                self.examined.stale += 1;
                Ok(None)
            }
        }
    }

    /// The whole key of the entry at hand.
    pub fn entry(&self) -> &[u8] {
        &self.entry
    }

    /// The index key of the entry at hand.
    pub fn key(&self) -> &[u8] {
        &self.entry[..self.key_len]
    }

    /// The key of the `_id` of the entry at hand.
    pub fn id(&self) -> &[u8] {
        &self.entry[self.key_len..]
    }

    /// The values of the parts, as they are stored; `None` for what is missing.
    pub fn values(&self) -> Result<Vec<Option<Value>>> {
        let values = self.index.definition.values(self.key(), &self.value);
        values.map_err(|e| damaged_entry(&self.moment.name, &self.index, &e))
    }
}

impl Drop for IndexScan {
    fn drop(&mut self) {
        if self.examined.stale > 0 {
            marks::STALE_ENTRY.hit();
        }
        if self.counted {
            self.index.usage.examined(&self.examined);
        }
    }
}
