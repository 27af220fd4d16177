//! Scans of indexes. An entry is proved if its document yields it at the snapshot.

use crate::engine::EngineHandle;
use crate::error::{Error, Result};
use crate::index::Index;
use crate::marks;
use crate::names::FullName;
use crate::snapshot::Snapshot;
use crate::view::{CollectionView, Versioned};
use alluvium_document::{Document, Value};
use alluvium_exec::{EntryRef, Examined};
use alluvium_store::{Bounds, Prover, Seq};
use std::sync::Arc;

/// How a scan proves the entries that it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// All entries are returned, without a proof.
    None,
    /// Entries are proved by the sequence numbers if these suffice, otherwise by the documents.
    Numbers,
    /// Entries are proved by the documents.
    Documents,
}

/// An entry of an index.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundEntry {
    /// The index key.
    pub key: Vec<u8>,
    /// The key of the document's `_id`.
    pub id: Vec<u8>,
    /// The values of the parts; `None` for a missing value.
    pub values: Vec<Option<Value>>,
}

impl IndexScan {
    /// Opens a scan of an index by name, at a snapshot. For tools; queries use the planner instead.
    ///
    /// # Errors
    /// [`Error::NoSuchIndex`] if there is no such index, or if it is not ready at the snapshot and
    /// entries are to be proved; as for any read.
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

    /// The current entry.
    ///
    /// # Errors
    /// [`Error::DamagedIndex`].
    pub fn found(&self) -> Result<FoundEntry> {
        Ok(FoundEntry { key: self.key().to_vec(), id: self.id().to_vec(), values: self.values()? })
    }
}

/// A scan of the entries of an index within bounds, in the order of their keys. Holds the current entry.
pub struct IndexScan {
    entries: EntryScan,
    entry: Vec<u8>,
    value: Vec<u8>,
    key_len: usize,
}

impl IndexScan {
    /// A scan at a snapshot at which the index is complete ([`Index::serves`]).
    pub fn new(view: Arc<CollectionView>, index: Arc<Index>, bounds: Bounds) -> Result<Self> {
        let entries = EntryScan::new(view, index, bounds)?;
        Ok(Self { entries, entry: Vec::new(), value: Vec::new(), key_len: 0 })
    }

    /// The numbers of entries and documents that were examined.
    pub fn examined(&self) -> &Examined {
        &self.entries.examined
    }

    /// Moves to the next entry, without a proof; false at the end.
    pub fn advance(&mut self) -> Result<bool> {
        let Some(entry) = self.entries.next()? else { return Ok(false) };
        self.entry.clear();
        self.entry.extend_from_slice(entry.bytes);
        self.value.clear();
        self.value.extend_from_slice(entry.value);
        self.key_len = entry.key_len;
        Ok(true)
    }

    /// The document of the next proved entry. A document that yields several entries is returned several times.
    pub fn next_document(&mut self) -> Result<Option<Document>> {
        while self.advance()? {
            if let Some(document) = self.prove()? {
                return Ok(Some(document));
            }
        }
        Ok(None)
    }

    /// True if the document of the current entry yields it. The document is read only if the
    /// sequence numbers do not decide.
    pub fn is_proved(&mut self) -> Result<bool> {
        let version = self.entries.seq();
        let entry = EntryRef { bytes: &self.entry, key_len: self.key_len, value: &self.value, version };
        let yielded = self.entries.prove_entry(entry)?;
        Ok(self.take_value(yielded).is_some())
    }

    /// The document of the current entry, if it yields the entry. In that case the value of the entry is taken from the
    /// document.
    pub fn prove(&mut self) -> Result<Option<Document>> {
        let version = self.entries.seq();
        let entry = EntryRef { bytes: &self.entry, key_len: self.key_len, value: &self.value, version };
        let yielded = self.entries.prove(entry)?;
        Ok(self.take_value(yielded).and_then(|yielded| yielded.document))
    }

    fn take_value(&mut self, yielded: Option<Yielded>) -> Option<Yielded> {
        let mut yielded = yielded?;
        if let Some(value) = yielded.value.take() {
            self.value = value;
        }
        Some(yielded)
    }

    /// The index key of the current entry.
    pub fn key(&self) -> &[u8] {
        &self.entry[..self.key_len]
    }

    /// The key of the `_id` of the current entry.
    pub fn id(&self) -> &[u8] {
        &self.entry[self.key_len..]
    }

    /// The stored values of the parts; `None` for a missing value.
    pub fn values(&self) -> Result<Vec<Option<Value>>> {
        self.entries.values(self.key(), &self.value)
    }
}

/// Reads the entries of an index at a view, and proves them.
pub(crate) struct EntryScan {
    view: Arc<CollectionView>,
    index: Arc<Index>,
    scan: alluvium_store::Scan,
    /// The numbers of entries and documents that were examined so far.
    pub examined: Examined,
    /// True if the scan counts as a use of the index: see [`EntryScan::for_query`].
    counted: bool,
    row: Vec<u8>,
    /// Set after [`PROVER_AFTER`] proofs.
    prover: Option<Prover>,
    /// The number of proofs since the scan began or was paused.
    proofs: u32,
}

/// Scans of few entries prove each one alone: a prover of all partitions costs as much as some proofs.
const PROVER_AFTER: u32 = 16;

/// The result of proving an entry.
pub(crate) struct Yielded {
    /// The document, if it was read.
    pub document: Option<Document>,
    /// The value of the entry, if it was computed again from the document.
    pub value: Option<Vec<u8>>,
}

impl EntryScan {
    /// A scan at a snapshot at which the index is complete ([`Index::serves`]).
    pub fn new(view: Arc<CollectionView>, index: Arc<Index>, bounds: Bounds) -> Result<Self> {
        let scan = view.store().scan(index.tree, bounds, Some(&view.snapshot.store))?;
        Ok(Self {
            view,
            index,
            scan,
            examined: Examined::default(),
            counted: false,
            row: Vec::new(),
            prover: None,
            proofs: 0,
        })
    }

    /// The same scan, counted as a use of the index.
    pub fn for_query(mut self) -> Self {
        self.counted = true;
        self.index.usage.begin(self.view.engine.env.clock.unix_millis());
        self
    }

    /// Restarts the scan with narrower bounds, within the bounds that it was opened with.
    pub fn restart(&mut self, bounds: &Bounds) {
        self.examined.seeks += 1;
        self.scan.restart(bounds);
    }

    /// Releases the entries and documents that the scan holds. Called before a pause between reads.
    pub fn pause(&mut self) {
        self.scan.pause();
        self.row = Vec::new();
        (self.prover, self.proofs) = (None, 0);
    }

    /// The next entry, without its version.
    #[inline(always)]
    pub fn next(&mut self) -> Result<Option<EntryRef<'_>>> {
        let Some((bytes, value)) = self.scan.next()? else { return Ok(None) };
        self.examined.keys += 1;
        let len = self.index.definition.key_len(bytes);
        let key_len = len.map_err(|e| self.index.damaged_entry(&self.view.name, &e))?;
        Ok(Some(EntryRef { bytes, key_len, value, version: 0 }))
    }

    /// The version of the last entry read, which is its sequence number.
    #[inline]
    pub fn seq(&self) -> Seq {
        self.scan.version()
    }

    /// Proves an entry. The document is read only if the sequence numbers do not decide.
    #[inline]
    pub fn prove_entry(&mut self, entry: EntryRef<'_>) -> Result<Option<Yielded>> {
        // Entries are put only by writes after which the document exists, and each write has its own sequence number.
        match &self.prover {
            Some(prover) if prover.proves(entry.id(), entry.version) => {
                Ok(Some(Yielded { document: None, value: None }))
            }
            _ => self.prove_alone(entry),
        }
    }

    /// As [`EntryScan::prove_entry`], where the prover does not decide.
    fn prove_alone(&mut self, entry: EntryRef<'_>) -> Result<Option<Yielded>> {
        let view = &self.view;
        let (snapshot, documents) = (&view.snapshot.store, view.state.documents);
        self.proofs = self.proofs.saturating_add(1);
        if self.proofs == PROVER_AFTER {
            self.prover = Some(view.store().prover(snapshot, documents)?);
        }
        let version = view.store().version_at_expecting(snapshot, documents, entry.id(), entry.version)?;
        if version == Some(entry.version) {
            return Ok(Some(Yielded { document: None, value: None }));
        }
        if version.is_some() {
            return self.prove(entry);
        }
        self.examined.stale += 1;
        Ok(None)
    }

    /// Proves an entry by its document, which is returned.
    #[inline(always)]
    pub fn prove(&mut self, entry: EntryRef<'_>) -> Result<Option<Yielded>> {
        let Some(Versioned { document, seq }) = self.view.read(entry.id(), &mut self.row)? else {
            self.examined.stale += 1;
            return Ok(None);
        };
        self.examined.documents += 1;
        if seq == entry.version {
            return Ok(Some(Yielded { document: Some(document), value: None }));
        }
        self.examined.validated += 1;
        let mut keys = self.index.stored_keys_of(&document)?.keys;
        match keys.binary_search_by(|yielded| yielded.bytes.as_slice().cmp(entry.key())) {
            Ok(at) => Ok(Some(Yielded { document: Some(document), value: Some(keys.swap_remove(at).values) })),
            Err(_) => {
                self.examined.stale += 1;
                Ok(None)
            }
        }
    }

    /// The stored values of the parts of an entry; `None` for a missing value.
    pub fn values(&self, key: &[u8], value: &[u8]) -> Result<Vec<Option<Value>>> {
        let values = self.index.definition.values(key, value);
        values.map_err(|e| self.index.damaged_entry(&self.view.name, &e))
    }
}

impl Drop for EntryScan {
    fn drop(&mut self) {
        if self.examined.stale > 0 {
            marks::STALE_ENTRY.hit();
        }
        if self.counted {
            self.index.usage.examined(&self.examined);
        }
    }
}

#[cfg(test)]
mod tests;
