//! The collection that a handle or a builder works on.

use alluvium_collections::engine::EngineHandle;
use alluvium_collections::error::{Error, Result};
use alluvium_collections::find::{FindRequest, limited, moment_of};
use alluvium_collections::names::{FullName, InvalidName};
use alluvium_collections::read::Reader;
use alluvium_collections::results::WriteRecord;
use alluvium_collections::snapshot::Snapshot;
use alluvium_collections::state::CollectionState;
use alluvium_collections::write::{Patience, Record, Transaction, WriteLimits, Writer};
use alluvium_query::expression::{Interrupt, Variables};
use alluvium_store::Durability;
use std::sync::Arc;

/// The name of a collection, with the durability of writes to it. The name is validated on use.
#[derive(Clone)]
pub(crate) struct Target {
    pub engine: EngineHandle,
    name: std::result::Result<FullName, InvalidName>,
    pub durability: Durability,
    /// False if writes are not checked by the collection's validator.
    pub validates: bool,
    /// Ends the validator's check of a document if the check takes too long or is stopped.
    pub interrupt: Option<Interrupt>,
    /// Which waits for transactions its writes may have.
    pub patience: Option<Arc<Patience>>,
    record: Option<Arc<Recorded>>,
    /// The transaction that all operations belong to.
    transaction: Option<Arc<Transaction>>,
}

/// The record of a write, and the name of its collection.
struct Recorded {
    record: WriteRecord,
    name: std::result::Result<FullName, InvalidName>,
}

impl Target {
    pub fn new(engine: &EngineHandle, name: std::result::Result<FullName, InvalidName>) -> Self {
        let durability = engine.store().options().durability;
        Self {
            engine: engine.clone(),
            name,
            durability,
            validates: true,
            interrupt: None,
            patience: None,
            record: None,
            transaction: None,
        }
    }

    /// The same collection, whose writes also store this record.
    pub fn recording(mut self, record: WriteRecord) -> Self {
        let name = FullName::parse(&record.collection);
        self.record = Some(Arc::new(Recorded { record, name }));
        self
    }

    pub fn name(&self) -> Result<&FullName> {
        self.name.as_ref().map_err(|error| error.clone().into())
    }

    /// The same collection within a transaction.
    pub fn within(mut self, transaction: &Arc<Transaction>) -> Self {
        self.transaction = Some(transaction.clone());
        self
    }

    /// The database and the name of the collection, for an operation that no transaction takes.
    pub fn outside(&self, what: &str) -> Result<(&EngineHandle, &FullName)> {
        match self.transaction {
            None => Ok((&self.engine, self.name()?)),
            Some(_) => Err(Error::NotInTransaction { what: what.to_owned() }),
        }
    }

    /// The snapshot that operations read: `at`, or what their transaction reads now; `None` for the latest state.
    pub fn snapshot(&self, at: Option<&Snapshot>) -> Result<Option<Snapshot>> {
        match (at, &self.transaction) {
            (Some(at), _) => Ok(Some(at.clone())),
            (None, Some(transaction)) => transaction.snapshot().map(Some),
            (None, None) => Ok(None),
        }
    }

    /// As [`Target::snapshot`], with a new snapshot for the latest state.
    pub fn now(&self) -> Result<Snapshot> {
        Ok(self.snapshot(None)?.unwrap_or_else(|| self.engine.snapshot()))
    }

    /// The collection, or that of its transaction; `None` if it does not exist.
    pub fn state(&self) -> Result<Option<Arc<CollectionState>>> {
        let name = self.name()?;
        match &self.transaction {
            Some(transaction) => match transaction.snapshot()?.created(name) {
                Some(created) => Ok(Some(created.clone())),
                None => self.engine.catalog.find(name),
            },
            None => self.engine.catalog.find(name),
        }
    }

    /// The transaction that all operations belong to.
    pub fn transaction(&self) -> Option<&Transaction> {
        self.transaction.as_deref()
    }

    pub fn writer(&self) -> Result<Writer<'_>> {
        let record = match self.record.as_deref() {
            None => None,
            Some(Recorded { record, name }) => Some(Record { record, name: name.as_ref().map_err(Clone::clone)? }),
        };
        Ok(Writer {
            engine: &self.engine,
            name: self.name()?,
            durability: self.durability,
            validates: self.validates,
            limits: WriteLimits { interrupt: self.interrupt.as_ref(), patience: self.patience.as_deref() },
            record,
            transaction: self.transaction.as_deref(),
        })
    }

    /// The variables and the collation that all expressions of a query share. The collation is that of the collection,
    /// and `$$NOW` is the current time. The limits of the request also end the evaluation of expressions.
    pub fn moment(&self, request: &FindRequest) -> Result<Variables> {
        Ok(limited(moment_of(&self.engine, self.name()?), &request.limits, &self.engine.env))
    }

    /// Reads the latest state of the collection, or what its transaction sees.
    #[inline]
    pub fn read<T>(&self, read: impl FnOnce(&Reader<'_>) -> Result<T>) -> Result<T> {
        match &self.transaction {
            None => read(&self.reader(None)?),
            Some(transaction) => read(&self.reader(Some(&transaction.snapshot()?))?),
        }
    }

    /// A reader of the latest state of the collection, or of its state at a snapshot.
    pub fn reader<'a>(&'a self, snapshot: Option<&'a Snapshot>) -> Result<Reader<'a>> {
        Reader::new(&self.engine, self.name()?, snapshot)
    }
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.name {
            Ok(name) => write!(f, "{name}"),
            Err(error) => write!(f, "{:?} (not allowed)", error.name),
        }
    }
}
