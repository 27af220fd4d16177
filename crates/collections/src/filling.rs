//! A collection that is filled under a temporary name.

use crate::catalog::Incarnation;
use crate::engine::EngineHandle;
use crate::error::Result;
use crate::ids;
use crate::names::FullName;
use crate::options::CollectionOptions;
use crate::write::{WriteLimits, Writer};
use alluvium_document::{Map, bson};
use alluvium_query::expression::Interrupt;
use alluvium_store::Durability;

/// The maximum number of documents of one write.
pub(crate) const BATCH: usize = 1000;
/// The size in bytes at which the gathered documents are written.
pub(crate) const BATCH_BYTES: usize = 16 << 20;

/// A new collection under a temporary name, which no list shows. The collection is dropped unless it gets its final
/// name. After a crash, the next open drops it.
pub(crate) struct Filling<'e> {
    engine: &'e EngineHandle,
    /// The temporary name.
    pub name: FullName,
    has_its_name: bool,
}

impl<'e> Filling<'e> {
    /// Creates the collection.
    pub fn begin(engine: &'e EngineHandle, logical: &str, options: CollectionOptions) -> Result<Self> {
        let name = FullName::temporary(logical, engine.env.rng.next_u64());
        engine.catalog.create(&name, options)?;
        Ok(Self { engine, name, has_its_name: false })
    }

    /// Inserts the documents that `next` returns. Those without an `_id` get one.
    pub fn insert_all(
        &self,
        durability: Durability,
        validates: bool,
        interrupt: Option<&Interrupt>,
        mut next: impl FnMut() -> Result<Option<Map>>,
    ) -> Result<()> {
        let writer = Writer {
            engine: self.engine,
            name: &self.name,
            durability,
            validates,
            limits: WriteLimits { interrupt, patience: None },
            record: None,
            transaction: None,
        };
        let (mut batch, mut bytes): (Vec<Map>, usize) = (Vec::with_capacity(BATCH), 0);
        loop {
            let document = next()?;
            let is_end = document.is_none();
            if let Some(mut map) = document {
                ids::ensure_id(&mut map, &self.engine.env);
                bytes += bson::document_size(&map);
                batch.push(map);
            }
            if batch.len() == BATCH || bytes > BATCH_BYTES || is_end {
                Writer { ..writer }.insert(&batch)?;
                (batch, bytes) = (Vec::with_capacity(BATCH), 0);
            }
            if is_end {
                return Ok(());
            }
        }
    }

    /// Renames the collection to a name that no collection has.
    pub fn name(mut self, name: &FullName, durability: Durability) -> Result<()> {
        self.engine.catalog.rename(&self.name, name)?;
        self.end(durability)
    }

    /// Renames the collection to the name of another collection and drops the other one, provided that the latter is
    /// unchanged.
    pub fn replace(mut self, name: &FullName, former: Option<Incarnation>, durability: Durability) -> Result<()> {
        self.engine.catalog.replace_unchanged(&self.name, name, former)?;
        self.end(durability)
    }

    /// Makes the name durable as requested. The documents already are; until here, the name has the durability of the
    /// database.
    fn end(&mut self, durability: Durability) -> Result<()> {
        self.has_its_name = true;
        match durability {
            Durability::Sync => Ok(self.engine.store().sync()?),
            Durability::Periodic | Durability::Bulk => Ok(()),
        }
    }
}

impl Drop for Filling<'_> {
    fn drop(&mut self) {
        if !self.has_its_name {
            // The caller has the error that ended the filling. If the collection cannot be dropped now, the next open
            // drops it.
            let _dropped = self.engine.catalog.drop(&self.name);
        }
    }
}
