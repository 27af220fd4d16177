//! Writes to one collection.

use super::transaction::Transaction;
use super::txn::{DocumentLock, Named, Reads, WriteLimits, WriteTxn, execute, retry};
use crate::engine::EngineHandle;
use crate::error::Result;
use crate::ids;
use crate::names::FullName;
use crate::results::{WriteRecord, Written};
use crate::snapshot::Snapshot;
use crate::state::CollectionState;
use alluvium_document::Value;
use alluvium_store::{Durability, LockMode, Seq};
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
    /// The limits of each write.
    pub limits: WriteLimits<'a>,
    /// The record of each write, and its collection.
    pub record: Option<Record<'a>>,
    /// The transaction that the writes belong to.
    pub transaction: Option<&'a Transaction>,
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
        self.retry(|| {
            let state = self.find_or_create()?;
            self.blind_in(state, &mut encode)
        })
    }

    /// Makes a write that reads no documents; returns `None` and writes nothing if the collection
    /// does not exist.
    pub(crate) fn blind_existing<T>(
        &self,
        mut encode: impl FnMut(&mut WriteTxn<'a>) -> Result<T>,
    ) -> Result<Option<T>> {
        self.retry(|| {
            let Some(state) = self.existing()? else { return Ok(None) };
            self.blind_in(state, &mut encode).map(Some)
        })
    }

    /// Makes a write, and repeats it while the collection changes. A statement of a transaction is not repeated: what
    /// the transaction has read may have changed, too.
    fn retry<T>(&self, mut write: impl FnMut() -> Result<T>) -> Result<T> {
        match self.transaction {
            None => retry(self.engine, write),
            Some(_) => write(),
        }
    }

    /// The collection, which is created if it does not exist.
    pub(crate) fn find_or_create(&self) -> Result<Arc<CollectionState>> {
        match self.transaction {
            None => self.engine.catalog.find_or_create(self.name),
            Some(transaction) => transaction.require(self.name),
        }
    }

    /// The number of the last write of a document; the caller holds its lock, or writes in a transaction.
    pub(crate) fn version(&self, key: &[u8]) -> Result<Option<Seq>> {
        let snapshot = self.snapshot()?;
        let state = self.engine.collection_at(self.name, snapshot.as_ref())?;
        Ok(match &snapshot {
            Some(snapshot) => self.engine.store().version_at(&snapshot.store, state.documents, key)?,
            None if !state.exists() => None,
            None => self.engine.store().version(state.documents, key)?,
        })
    }

    /// The snapshot that searches of the writer read: that of its transaction; `None` for the latest state.
    pub(crate) fn snapshot(&self) -> Result<Option<Snapshot>> {
        self.transaction.map(Transaction::snapshot).transpose()
    }

    fn execute<T>(
        &self,
        groups: &[Named<'a>],
        reads: Option<Reads<'_>>,
        mut encode: impl FnMut(&mut WriteTxn<'a>) -> Result<T>,
    ) -> Result<T> {
        match self.transaction {
            None => execute(self.engine.store(), groups, self.durability, reads, encode),
            Some(transaction) => transaction.execute(groups, &mut encode),
        }
    }

    fn blind_in<T>(
        &self,
        state: Arc<CollectionState>,
        encode: &mut impl FnMut(&mut WriteTxn<'a>) -> Result<T>,
    ) -> Result<T> {
        let group = Named { name: self.name, state, validates: self.validates, limits: self.limits };
        match self.record_group()? {
            None => self.execute(&[group], None, encode),
            Some(record) => self.execute(&[group, record], None, encode),
        }
    }

    /// The collection of the record, which is created if it does not exist.
    fn record_group(&self) -> Result<Option<Named<'a>>> {
        let Some(Record { name, .. }) = self.record else { return Ok(None) };
        let state = self.engine.catalog.find_or_create(name)?;
        Ok(Some(Named { name, state, validates: false, limits: WriteLimits::default() }))
    }

    /// Adds the record of a write with this result to its batch.
    pub(crate) fn put_record(&self, txn: &mut WriteTxn<'a>, written: &Written) -> Result<()> {
        let Some(Record { record, .. }) = self.record else { return Ok(()) };
        let mut map = (record.fields)(written);
        map.entries.insert(0, (Value::from(ids::ID), record.id.clone()));
        txn.put_record(OF_RECORD, &map)
    }

    /// The collection; `None` if it does not exist. An error if the database accepts no writes.
    pub(crate) fn existing(&self) -> Result<Option<Arc<CollectionState>>> {
        if let Some(transaction) = self.transaction {
            return transaction.collection(self.name);
        }
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
        encode: impl FnMut(&mut WriteTxn<'a>) -> Result<Option<T>>,
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
        mut encode: impl FnMut(&mut WriteTxn<'a>) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        self.retry(|| {
            let Some(state) = self.existing()? else { return Ok(None) };
            let reads = Reads { locks, reserve_bytes: state.change_size.reserve() };
            let (name, validates, limits) = (self.name, self.validates, self.limits);
            let group = Named { name, state, validates, limits };
            match self.record_group()? {
                None => self.execute(&[group], Some(reads), &mut encode),
                Some(record) => self.execute(&[group, record], Some(reads), &mut encode),
            }
        })
    }
}
