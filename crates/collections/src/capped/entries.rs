//! The entries of the system tree that hold the order.

use crate::error::{Error, Result};
use crate::names::FullName;
use crate::state::CollectionState;
use crate::trees::{CAPPED_TOTALS, position_key};
use alluvium_codec::varint;
use alluvium_store::{Snapshot, Store, TreeId, WriteBatch};

/// The totals of a capped collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Totals {
    /// The number of the next document.
    pub next: u64,
    /// No document has a lower number.
    pub oldest: u64,
    /// The count of documents.
    pub documents: u64,
    /// The sum of the sizes of the documents as BSON.
    pub bytes: u64,
}

/// The position of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    /// The number of the document; older documents have lower numbers.
    pub number: u64,
    /// The size of the document as BSON, which counts for the limit in bytes.
    pub bytes: u64,
}

fn read<T>(
    store: &Store,
    tree: TreeId,
    key: &[u8],
    at: Option<&Snapshot>,
    parse: impl Fn(&[u8]) -> Option<T>,
    damaged: impl Fn() -> Error,
) -> Result<Option<T>> {
    let mut value = Vec::new();
    let found = match at {
        Some(snapshot) => store.get_at(snapshot, tree, key, &mut value)?,
        None => store.get(tree, key, &mut value)?,
    };
    if !found {
        return Ok(None);
    }
    parse(&value).map(Some).ok_or_else(damaged)
}

/// The error for an entry of the order that is missing or cannot be read.
pub(super) fn damaged(name: &FullName, what: &str) -> Error {
    Error::DamagedDocument { collection: name.to_string(), id: "(order)".to_owned(), reason: what.to_owned() }
}

fn numbers<const N: usize>(mut value: &[u8]) -> Option<[u64; N]> {
    let mut numbers = [0; N];
    for number in &mut numbers {
        *number = varint::get_u64(&mut value).ok()?;
    }
    value.is_empty().then_some(numbers)
}

/// The number of documents of a capped collection, from its totals; `None` if it has no order yet.
///
/// # Errors
/// Damaged totals; errors of reading the store.
pub(crate) fn documents(store: &Store, state: &CollectionState, name: &FullName) -> Result<Option<u64>> {
    Ok(Totals::read(store, state.system, name, None)?.map(|totals| totals.documents))
}

impl Totals {
    /// The totals in a system tree, now or at a snapshot; `None` if the collection has no order yet.
    pub fn read(store: &Store, system: TreeId, name: &FullName, at: Option<&Snapshot>) -> Result<Option<Self>> {
        read(store, system, CAPPED_TOTALS, at, Self::parse, || damaged(name, "the totals cannot be read"))
    }

    fn parse(value: &[u8]) -> Option<Self> {
        let [next, oldest, documents, bytes] = numbers(value)?;
        Some(Self { next, oldest, documents, bytes })
    }

    pub fn put(&self, system: TreeId, batch: &mut WriteBatch) {
        let mut value = Vec::new();
        [self.next, self.oldest, self.documents, self.bytes].iter().for_each(|n| varint::put_u64(&mut value, *n));
        batch.put(system, CAPPED_TOTALS, &value);
    }
}

impl Position {
    /// The position of a document, now or at a snapshot; `None` if it has none.
    pub fn read(
        store: &Store,
        system: TreeId,
        name: &FullName,
        document: &[u8],
        at: Option<&Snapshot>,
    ) -> Result<Option<Self>> {
        let damaged = || damaged(name, "the position of a document cannot be read");
        read(store, system, &position_key(document), at, Self::parse, damaged)
    }

    pub fn parse(value: &[u8]) -> Option<Self> {
        let [number, bytes] = numbers(value)?;
        Some(Self { number, bytes })
    }

    pub fn put(&self, system: TreeId, document: &[u8], batch: &mut WriteBatch) {
        let mut value = Vec::new();
        varint::put_u64(&mut value, self.number);
        varint::put_u64(&mut value, self.bytes);
        batch.put(system, &position_key(document), &value);
    }
}
