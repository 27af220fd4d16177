//! A collection at a snapshot.

use crate::engine::EngineHandle;
use crate::error::Result;
use crate::names::FullName;
use crate::read::decode;
use crate::snapshot::Snapshot;
use crate::state::CollectionState;
use alluvium_document::Document;
use alluvium_store::{Seq, Store};
use std::sync::Arc;

/// A collection at a snapshot. The operators of a plan read it.
pub struct CollectionView {
    /// Keeps the database open.
    pub(crate) engine: EngineHandle,
    pub(crate) state: Arc<CollectionState>,
    pub(crate) name: FullName,
    pub(crate) snapshot: Snapshot,
}

/// A document, and the sequence number of its last write.
pub(crate) struct Versioned {
    pub document: Document,
    pub seq: Seq,
}

impl CollectionView {
    pub(crate) fn new(
        engine: &EngineHandle,
        state: Arc<CollectionState>,
        name: &FullName,
        snapshot: Snapshot,
    ) -> Arc<Self> {
        Arc::new(Self { engine: engine.clone(), state, name: name.clone(), snapshot })
    }

    /// The collection at a snapshot, or now. A collection that does not exist is empty.
    ///
    /// # Errors
    /// Errors of reading the shapes.
    pub fn open(engine: &EngineHandle, name: &FullName, snapshot: Option<&Snapshot>) -> Result<Arc<Self>> {
        // The snapshot is taken first, and the name is looked up at the snapshot, so that a concurrent drop has no
        // effect.
        let snapshot = snapshot.cloned().unwrap_or_else(|| engine.snapshot());
        let state = engine.collection_at(name, Some(&snapshot))?;
        Ok(Self::new(engine, state, name, snapshot))
    }

    pub(crate) fn store(&self) -> &Store {
        self.engine.store()
    }

    /// The document with this key. The buffer `row` receives the row, and becomes part of the document.
    pub(crate) fn read(&self, key: &[u8], row: &mut Vec<u8>) -> Result<Option<Versioned>> {
        let seq = self.store().get_numbered_at(&self.snapshot.store, self.state.documents, key, row)?;
        let Some(seq) = seq else { return Ok(None) };
        let document = decode(&self.state.shapes, &self.name, key, std::mem::take(row))?;
        Ok(Some(Versioned { document, seq }))
    }
}
