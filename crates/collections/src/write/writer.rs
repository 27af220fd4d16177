//! Writes to one collection.

use super::txn::{DocumentLock, Named, Reads, WriteTxn, execute, retry};
use crate::engine::EngineHandle;
use crate::error::Result;
use crate::names::FullName;
use crate::state::CollectionState;
use alluvium_store::{Durability, LockMode};
use std::sync::Arc;

/// Whether a write creates its collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existence {
    /// The collection is created if it does not exist.
    Create,
    /// [`crate::error::Error::NoSuchCollection`] if it does not exist.
    Require,
}

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
    /// Makes a write that reads no documents.
    pub(crate) fn blind<T>(
        &self,
        existence: Existence,
        mut encode: impl FnMut(&mut WriteTxn<'a>) -> Result<T>,
    ) -> Result<T> {
        retry(self.engine, || {
            let state = match existence {
                Existence::Create => self.engine.catalog.find_or_create(self.name)?,
                Existence::Require => self.engine.catalog.require(self.name)?,
            };
            let group = Named { name: self.name, state };
            execute(self.engine.store(), &[group], self.durability, None, &mut encode)
        })
    }

    /// Makes a write that depends on the document with this key, which is locked while `encode` runs.
    pub(crate) fn reading<T>(
        &self,
        key: &[u8],
        mut encode: impl FnMut(&Arc<CollectionState>, &mut WriteTxn<'a>) -> Result<T>,
    ) -> Result<T> {
        let locks = [DocumentLock { group: 0, key: key.to_vec(), mode: LockMode::Exclusive }];
        retry(self.engine, || {
            let state = self.engine.catalog.require(self.name)?;
            let reads = Reads { locks: &locks, reserve_bytes: state.change_size.reserve() };
            let group = Named { name: self.name, state: state.clone() };
            execute(self.engine.store(), &[group], self.durability, Some(reads), |txn| encode(&state, txn))
        })
    }
}
