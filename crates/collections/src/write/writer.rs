//! Writes to one collection.

use super::txn::{DocumentLock, Named, Reads, WriteTxn, execute, retry};
use crate::engine::EngineHandle;
use crate::error::Result;
use crate::ids;
use crate::names::FullName;
use crate::results::{WriteRecord, Written};
use crate::state::CollectionState;
use alluvium_document::Value;
use alluvium_query::expression::Interrupt;
use alluvium_store::{Durability, LockMode};
use std::sync::Arc;

/// Writes to the collection with this name.
#[derive(Clone, Copy)]
pub struct Writer<'a> {
    /// The database.
    pub engine: &'a EngineHandle,
    /// The collection.
    pub name: &'a FullName,
    /// The durability at which writes are acknowledged.
    pub durability: Durability,
    /// False if the validator of the collection is skipped.
    pub validates: bool,
    /// Ends long checks of a document by the validator.
    pub interrupt: Option<&'a Interrupt>,
    /// The record of each write, and its collection.
    pub record: Option<Record<'a>>,
}

/// The record of a write, and the name of its collection.
#[derive(Clone, Copy)]
pub struct Record<'a> {
    /// The record.
    pub record: &'a WriteRecord,
    /// Its collection.
    pub name: &'a FullName,
}

/// The index of the record's collection in the list of collections of a write.
const OF_RECORD: usize = 1;

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
        let group = Named { name: self.name, state, validates: self.validates, interrupt: self.interrupt };
        match self.record_group()? {
            None => execute(self.engine.store(), &[group], self.durability, None, encode),
            Some(record) => execute(self.engine.store(), &[group, record], self.durability, None, encode),
        }
    }

    /// The collection of the record, which is created if it does not exist.
    fn record_group(&self) -> Result<Option<Named<'a>>> {
        let Some(Record { name, .. }) = self.record else { return Ok(None) };
        let state = self.engine.catalog.find_or_create(name)?;
        Ok(Some(Named { name, state, validates: false, interrupt: None }))
    }

    /// Adds the record of a write with this result to its batch.
    pub(crate) fn put_record(&self, txn: &mut WriteTxn<'a>, written: &Written) -> Result<()> {
        let Some(Record { record, .. }) = self.record else { return Ok(()) };
        let mut map = (record.fields)(written);
        map.entries.insert(0, (Value::from(ids::ID), record.id.clone()));
        txn.put_record(OF_RECORD, &map)
    }

    /// The collection; `None` if it does not exist. An error if the database accepts no writes.
    fn existing(&self) -> Result<Option<Arc<CollectionState>>> {
        let state = self.engine.catalog.find(self.name)?;
        if state.is_none() {
            // After a failed write, the catalogue may lack a collection whose creation was acknowledged.
            self.engine.store().check_writable()?;
        }
        Ok(state)
    }

    /// Makes a write that depends on the document with this key, which is locked while `encode`
    /// runs; returns `None` and writes nothing if the collection does not exist.
    pub(crate) fn reading<T>(
        &self,
        key: &[u8],
        encode: impl FnMut(&Arc<CollectionState>, &mut WriteTxn<'a>) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        let lock = DocumentLock { group: 0, key: key.to_vec(), mode: LockMode::Exclusive };
        match self.record {
            None => self.reading_locked(&[lock], encode),
            Some(Record { record, .. }) => {
                let key = ids::id_key(&record.id)?;
                let of_record = DocumentLock { group: OF_RECORD, key, mode: LockMode::Exclusive };
                self.reading_locked(&[lock, of_record], encode)
            }
        }
    }

    fn reading_locked<T>(
        &self,
        locks: &[DocumentLock],
        mut encode: impl FnMut(&Arc<CollectionState>, &mut WriteTxn<'a>) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        retry(self.engine, || {
            let Some(state) = self.existing()? else { return Ok(None) };
            let reads = Reads { locks, reserve_bytes: state.change_size.reserve() };
            let (name, validates, interrupt) = (self.name, self.validates, self.interrupt);
            let group = Named { name, state: state.clone(), validates, interrupt };
            let (store, durability) = (self.engine.store(), self.durability);
            match self.record_group()? {
                None => execute(store, &[group], durability, Some(reads), |txn| encode(&state, txn)),
                Some(record) => execute(store, &[group, record], durability, Some(reads), |txn| encode(&state, txn)),
            }
        })
    }
}
