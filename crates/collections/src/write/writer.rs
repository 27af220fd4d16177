//! Writes to one collection.

use super::txn::{DocumentLock, Named, Reads, WriteTxn, execute, retry};
use crate::engine::EngineHandle;
use crate::error::Result;
use crate::names::FullName;
use crate::state::CollectionState;
use alluvium_store::{Durability, LockMode};
use std::sync::Arc;

/// Writes to the collection that has a name.
#[derive(Clone, Copy)]
pub struct Writer<'a> {
    /// The database.
    pub engine: &'a EngineHandle,
    /// The collection.
    pub name: &'a FullName,
    /// When writes are acknowledged.
    pub durability: Durability,
}

impl<'a> Writer<'a> {
    /// Makes a write that reads no documents, and creates the collection if it does not exist.
    pub(crate) fn blind<T>(&self, mut encode: impl FnMut(&mut WriteTxn<'a>) -> Result<T>) -> Result<T> {
        retry(self.engine, || {
            let state = self.engine.catalog.find_or_create(self.name)?;
            self.blind_in(state, &mut encode)
        })
    }

    /// Makes a write that reads no documents; returns `None` and writes nothing if the collection
    /// does not exist.
    pub(crate) fn blind_existing<T>(
        &self,
        mut encode: impl FnMut(&mut WriteTxn<'a>) -> Result<T>,
    ) -> Result<Option<T>> {
        retry(self.engine, || {
            let Some(state) = self.existing()? else { return Ok(None) };
            self.blind_in(state, &mut encode).map(Some)
        })
    }

    fn blind_in<T>(
        &self,
        state: Arc<CollectionState>,
        encode: &mut impl FnMut(&mut WriteTxn<'a>) -> Result<T>,
    ) -> Result<T> {
        let group = Named { name: self.name, state };
        execute(self.engine.store(), &[group], self.durability, None, encode)
    }

    /// The collection; `None` if it does not exist and the database takes writes.
    fn existing(&self) -> Result<Option<Arc<CollectionState>>> {
        let state = self.engine.catalog.find(self.name)?;
        if state.is_none() {
            // After a lost write the catalogue may not have what was acknowledged.
            self.engine.store().check_writable()?;
        }
        Ok(state)
    }

    /// Makes a write that depends on the document with this key, which is locked while `encode`
    /// runs; returns `None` and writes nothing if the collection does not exist.
    pub(crate) fn reading<T>(
        &self,
        key: &[u8],
        mut encode: impl FnMut(&Arc<CollectionState>, &mut WriteTxn<'a>) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        let locks = [DocumentLock { group: 0, key: key.to_vec(), mode: LockMode::Exclusive }];
        retry(self.engine, || {
            let Some(state) = self.existing()? else { return Ok(None) };
            let reads = Reads { locks: &locks, reserve_bytes: state.change_size.reserve() };
            let group = Named { name: self.name, state: state.clone() };
            execute(self.engine.store(), &[group], self.durability, Some(reads), |txn| encode(&state, txn))
        })
    }
}
