//! Makes entries of changes: one of each, and one of all changes of a transaction.

use super::Oplog;
use super::entry::{self, TERM};
use crate::error::Result;
use crate::history::Change;
use alluvium_document::{Map, Timestamp, Value, bson};
use alluvium_store::Seq;

/// The most bytes of the operations of an `applyOps` as BSON. Only a single operation may be larger.
pub(super) const OPERATIONS_BYTES: usize = 16 << 20;
/// The bytes of the position of an operation in the array, at most.
const POSITION_BYTES: usize = 10;

/// Takes changes in their order, and returns the entry of a change when the next change is known, which shows whether it is
/// the last of its batch.
#[derive(Default)]
pub(super) struct Maker {
    held: Option<Held>,
}

/// The changes of the next entry.
enum Held {
    Single(Box<Change>),
    Transaction(Operations),
}

/// The operations of a transaction, or of a part of it.
struct Operations {
    /// The fields of the transaction.
    fields: Map,
    batch: Seq,
    time_ms: i64,
    /// The number of the last operation.
    last: Seq,
    operations: Vec<Value>,
    bytes: usize,
    /// The number of operations in the parts before this one.
    before: usize,
    /// The time of the part before this one.
    previous: Option<Timestamp>,
}

impl Held {
    fn of(mut change: Change) -> Self {
        let Some(fields) = change.transaction.take() else { return Self::Single(Box::new(change)) };
        let (batch, time_ms, last) = (change.batch, change.time_ms, change.number);
        let (operations, bytes, before, previous) = (Vec::new(), 0, 0, None);
        let mut new = Operations { fields, batch, time_ms, last, operations, bytes, before, previous };
        let (operation, bytes) = operation(change);
        new.push(last, operation, bytes);
        Self::Transaction(new)
    }

    fn batch(&self) -> Seq {
        match self {
            Self::Single(change) => change.batch,
            Self::Transaction(operations) => operations.batch,
        }
    }

    /// The entry; `is_last` is true if no change of its batch follows.
    fn into_entry(self, oplog: &Oplog, is_last: bool) -> Result<Map> {
        let number = match (&self, is_last) {
            (_, true) => self.batch(),
            (Self::Single(change), false) => change.number,
            (Self::Transaction(operations), false) => operations.last,
        };
        let time = oplog.time(number)?;
        Ok(match self {
            Self::Single(change) => {
                let time_ms = change.time_ms;
                let mut entry = entry::operation(*change);
                entry::end(&mut entry, time, time_ms);
                entry
            }
            Self::Transaction(operations) => operations.into_entry(time, is_last),
        })
    }
}

/// The operation of a change, and its bytes in an array.
fn operation(change: Change) -> (Value, usize) {
    let operation = entry::operation(change);
    let bytes = bson::document_size(&operation) + POSITION_BYTES;
    (Value::Map(operation), bytes)
}

impl Operations {
    fn push(&mut self, number: Seq, operation: Value, bytes: usize) {
        self.operations.push(operation);
        self.bytes += bytes;
        self.last = number;
    }

    fn into_entry(self, time: Timestamp, is_last: bool) -> Map {
        let count = self.before + self.operations.len();
        let mut object = Map::from([("applyOps", Value::Array(self.operations))]);
        match is_last {
            false => object.push("partialTxn", true),
            true if self.before > 0 => object.push("count", i64::try_from(count).unwrap_or(i64::MAX)),
            true => {}
        }
        let mut entry = self.fields;
        entry.push("op", "c");
        entry.push("ns", "admin.$cmd");
        entry.push("o", object);
        entry::end(&mut entry, time, self.time_ms);
        let (previous, term) = match self.previous {
            Some(previous) => (previous, TERM),
            None => (Timestamp { time: 0, increment: 0 }, -1),
        };
        let previous = Map::from([("ts", Value::Timestamp(previous)), ("t", Value::Int64(term))]);
        entry.push("prevOpTime", previous);
        entry
    }
}

impl Maker {
    /// Takes the next change. Returns the entry that is complete now.
    ///
    /// # Errors
    /// The time of a change is not known.
    pub fn add(&mut self, oplog: &Oplog, change: Change) -> Result<Option<Map>> {
        let number = change.number;
        match self.held.take() {
            None => {
                self.held = Some(Held::of(change));
                Ok(None)
            }
            Some(Held::Transaction(mut held)) if held.batch == change.batch => {
                let (next, bytes) = operation(change);
                if held.bytes + bytes <= OPERATIONS_BYTES {
                    held.push(number, next, bytes);
                    self.held = Some(Held::Transaction(held));
                    return Ok(None);
                }
                let before = held.before + held.operations.len();
                let (fields, batch, time_ms, last) = (held.fields.clone(), held.batch, held.time_ms, held.last);
                let previous = Some(oplog.time(last)?);
                let operations = Vec::new();
                let mut part = Operations { fields, batch, time_ms, last, operations, bytes: 0, before, previous };
                part.push(number, next, bytes);
                self.held = Some(Held::Transaction(part));
                Held::Transaction(held).into_entry(oplog, false).map(Some)
            }
            Some(held) => {
                let is_last = held.batch() != change.batch;
                self.held = Some(Held::of(change));
                held.into_entry(oplog, is_last).map(Some)
            }
        }
    }

    /// The memory of the changes that have no entry yet, in bytes; an estimate.
    pub fn bytes(&self) -> usize {
        match &self.held {
            Some(Held::Transaction(operations)) => 3 * operations.bytes,
            Some(Held::Single(_)) | None => 0,
        }
    }

    /// The entry of the last change, if no change of its batch follows.
    ///
    /// # Errors
    /// As [`Maker::add`].
    pub fn finish(&mut self, oplog: &Oplog) -> Result<Option<Map>> {
        self.held.take().map(|held| held.into_entry(oplog, true)).transpose()
    }
}
