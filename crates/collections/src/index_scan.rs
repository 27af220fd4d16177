//! Entries that are proved: those whose documents yield them at the snapshot.

use crate::engine::EngineHandle;
use crate::error::{Error, Result};
use crate::index::{Examined, Index};
use crate::marks;
use crate::names::FullName;
use crate::snapshot::Snapshot;
use crate::view::{CollectionView, Versioned};
use alluvium_document::{Document, Value};
use alluvium_store::Bounds;
use std::sync::Arc;

/// How a scan treats the entries that it meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// All entries, proved or not.
    None,
    /// Proved by the sequence numbers where these suffice.
    Numbers,
    /// Proved by the documents.
    Documents,
}

/// An entry of an index.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundEntry {
    /// The index key.
    pub key: Vec<u8>,
    /// The key of the document's `_id`.
    pub id: Vec<u8>,
    /// The values of the parts; `None` for a missing one.
    pub values: Vec<Option<Value>>,
}

impl IndexScan {
    /// Opens a scan of an index by name, at a snapshot. For tools: queries plan for themselves.
    ///
    /// # Errors
    /// [`Error::NoSuchIndex`], also if the index is not ready at the snapshot and entries are to be proved; as for any read.
    pub fn open(
        engine: &EngineHandle,
        name: &FullName,
        snapshot: &Snapshot,
        index: &str,
        bounds: Bounds,
        proof: Proof,
    ) -> Result<Self> {
        let state = engine.catalog.require(name)?;
        let found = state.indexes().find(index).cloned();
        let found = found.filter(|found| proof == Proof::None || found.serves(snapshot.seq()));
        let Some(found) = found else {
            return Err(Error::NoSuchIndex { collection: name.to_string(), index: index.to_owned() });
        };
        Self::new(CollectionView::new(engine, state, name, snapshot.clone()), found, bounds)
    }

    /// Moves to the next entry; false at the end.
    ///
    /// # Errors
    /// As for any read.
    pub fn next_by(&mut self, proof: Proof) -> Result<bool> {
        while self.advance()? {
            let is_proved = match proof {
                Proof::None => true,
                Proof::Numbers => self.is_proved()?,
                Proof::Documents => self.prove()?.is_some(),
            };
            if is_proved {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The entry at hand.
    ///
    /// # Errors
    /// [`Error::DamagedIndex`].
    pub fn found(&self) -> Result<FoundEntry> {
        Ok(FoundEntry { key: self.key().to_vec(), id: self.id().to_vec(), values: self.values()? })
    }
}

/// A scan over an index within bounds of entry keys, in their order.
pub struct IndexScan {
    view: Arc<CollectionView>,
    index: Arc<Index>,
    scan: alluvium_store::Scan,
    /// Counts of what the scan did.
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
    pub fn new(view: Arc<CollectionView>, index: Arc<Index>, bounds: Bounds) -> Result<Self> {
        let scan = view.store().scan(index.tree, bounds, Some(&view.snapshot.store))?;
        let (entry, value, row) = (Vec::new(), Vec::new(), Vec::new());
        let examined = Examined::default();
        Ok(Self { view, index, scan, examined, counted: false, entry, value, key_len: 0, row })
    }

    /// The same scan, counted as a use of the index.
    pub fn for_question(mut self) -> Self {
        self.counted = true;
        self.index.usage.begin(self.view.engine.env.clock.unix_millis());
        self
    }

    /// Begins anew within other bounds, which lie within those that it was made with.
    pub fn restart(&mut self, bounds: &Bounds) {
        self.examined.seeks += 1;
        self.scan.restart(bounds);
    }

    /// The index.
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
        self.key_len = len.map_err(|e| self.index.damaged_entry(&self.view.name, &e))?;
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

    /// True if the document of the entry at hand yields that. The document is read only if the numbers do not tell.
    pub fn is_proved(&mut self) -> Result<bool> {
        let (view, id) = (&self.view, &self.entry[self.key_len..]);
        let (snapshot, number) = (&view.snapshot.store, self.scan.version());
        // Only writes that leave the document there put entries, and each has a number of its own.
        let version = view.store().version_at_expecting(snapshot, view.state.documents, id, number)?;
        if version == Some(number) || (version.is_some() && self.prove()?.is_some()) {
            return Ok(true);
        }
        self.examined.stale += u64::from(version.is_none());
        Ok(false)
    }

    /// The document of the entry at hand, if it yields that; the entry's value is then as the document has it.
    pub fn prove(&mut self) -> Result<Option<Document>> {
        let (view, id) = (&self.view, &self.entry[self.key_len..]);
        let Some(Versioned { document, seq }) = view.read(id, &mut self.row)? else {
            self.examined.stale += 1;
            return Ok(None);
        };
        self.examined.documents += 1;
        if seq == self.scan.version() {
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
        values.map_err(|e| self.index.damaged_entry(&self.view.name, &e))
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
