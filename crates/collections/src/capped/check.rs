//! Checks the order of a capped collection.

use super::entries::{Position, Totals, damaged};
use crate::error::Result;
use crate::names::FullName;
use crate::state::CollectionState;
use crate::trees::{ORDER_PREFIX, order_number};
use alluvium_store::{Bounds, Snapshot, Store};
use std::ops::Bound;

/// Checks that the order of a capped collection contains each of its `documents` once, and that the totals are correct.
/// A collection without totals has no order yet, and passes.
///
/// # Errors
/// [`crate::error::Error::DamagedDocument`]; errors of reading.
pub(crate) fn check(
    store: &Store,
    state: &CollectionState,
    name: &FullName,
    snapshot: &Snapshot,
    documents: u64,
) -> Result<()> {
    let system = state.system;
    let Some(totals) = Totals::read(store, system, name, Some(snapshot))? else { return Ok(()) };
    let (lower, upper) = (Bound::Included(vec![ORDER_PREFIX]), Bound::Excluded(vec![ORDER_PREFIX + 1]));
    let mut scan = store.scan(system, Bounds { lower, upper, reverse: false }, Some(snapshot))?;
    let mut found = Totals { next: totals.next, oldest: totals.oldest, ..Totals::default() };
    while let Some((order, key)) = scan.next()? {
        let number = order_number(order);
        let position = Position::read(store, system, name, key, Some(snapshot))?;
        match position.filter(|position| Some(position.number) == number) {
            Some(position) if (totals.oldest..totals.next).contains(&position.number) => {
                found.documents += 1;
                found.bytes += position.bytes;
            }
            _ => return Err(damaged(name, "a number leads to a document that has another position")),
        }
    }
    match found == totals && documents == totals.documents {
        true => Ok(()),
        false => Err(damaged(
            name,
            &format!(
                "the totals count {} documents with {} bytes, but the order has {} with {}, and the collection {documents}",
                totals.documents, totals.bytes, found.documents, found.bytes
            ),
        )),
    }
}
