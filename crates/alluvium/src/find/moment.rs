//! A collection at a snapshot.

use crate::catalog::Open;
use crate::names::FullName;
use crate::read::decode;
use crate::{Collection, Database, Result, Snapshot};
use alluvium_document::Document;
use alluvium_store::{Seq, Store};
use std::sync::Arc;

/// A collection at a snapshot: what every step of a plan reads.
pub(crate) struct Moment {
    /// Kept open.
    pub database: Database,
    pub open: Arc<Open>,
    pub name: FullName,
    pub snapshot: Snapshot,
}

impl Moment {
    pub fn new(collection: &Collection, open: Arc<Open>, snapshot: Snapshot) -> Result<Arc<Self>> {
        let (database, name) = (collection.database.clone(), collection.name()?.clone());
        Ok(Arc::new(Self { database, open, name, snapshot }))
    }

    /// The collection as it was at a snapshot, or is now.
    pub fn of(collection: &Collection, snapshot: Option<&Snapshot>) -> Result<Arc<Self>> {
        // First the moment, then the name at it: no drop comes between.
        let snapshot = snapshot.cloned().unwrap_or_else(|| collection.database.snapshot());
        let open = collection.open_at(Some(&snapshot))?;
        Self::new(collection, open, snapshot)
    }

    pub fn store(&self) -> &Store {
        &self.database.inner.store
    }

    /// The document with this key, and the number of the last write of it. `row` is taken for its row.
    pub fn read(&self, key: &[u8], row: &mut Vec<u8>) -> Result<Option<(Document, Seq)>> {
        let number = self.store().get_numbered_at(&self.snapshot.store, self.open.documents, key, row)?;
        let Some(number) = number else { return Ok(None) };
        let document = decode(&self.open.shapes, &self.name, key, std::mem::take(row))?;
        Ok(Some((document, number)))
    }
}
