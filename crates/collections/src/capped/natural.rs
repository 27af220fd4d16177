//! Reads the documents of a capped collection in the order in which they were inserted.

use super::entries::Totals;
use crate::error::Result;
use crate::trees::{ORDER_PREFIX, order_key, order_number};
use crate::view::CollectionView;
use alluvium_store::{Bounds, Scan};
use std::ops::Bound;

/// True if a capped collection had its order at the snapshot.
pub(crate) fn is_ordered_at(view: &CollectionView) -> Result<bool> {
    Ok(totals(view)?.is_some())
}

fn totals(view: &CollectionView) -> Result<Option<Totals>> {
    Totals::read(view.store(), view.state.system, &view.name, Some(&view.snapshot.store))
}

/// True if a document has this number.
pub(crate) fn has_position(view: &CollectionView, number: u64) -> Result<bool> {
    let mut key = Vec::new();
    Ok(view.store().get_at(&view.snapshot.store, view.state.system, &order_key(number), &mut key)?)
}

/// A scan of a capped collection by the numbers of its documents.
pub(crate) struct NaturalScan {
    scan: Scan,
    key: Vec<u8>,
    row: Vec<u8>,
    number: u64,
}

impl NaturalScan {
    /// The documents with numbers above `after`, from the newest to the oldest if `backward`.
    pub fn new(view: &CollectionView, backward: bool, after: Option<u64>) -> Result<Self> {
        // The scan begins at the oldest number, because there may be many tombstones before it.
        let from = match after {
            Some(after) => after.saturating_add(1),
            None => totals(view)?.map_or(0, |totals| totals.oldest),
        };
        let lower = Bound::Included(order_key(from).to_vec());
        let bounds = Bounds { lower, upper: Bound::Excluded(vec![ORDER_PREFIX + 1]), reverse: backward };
        let scan = view.store().scan(view.state.system, bounds, Some(&view.snapshot.store))?;
        Ok(Self { scan, key: Vec::new(), row: Vec::new(), number: 0 })
    }

    /// The key and the row of the next document.
    pub fn next(&mut self, view: &CollectionView) -> Result<Option<(&[u8], &[u8])>> {
        loop {
            let Some((order, key)) = self.scan.next()? else { return Ok(None) };
            self.number = order_number(order).unwrap_or_default();
            self.key.clear();
            self.key.extend_from_slice(key);
            self.row.clear();
            let (snapshot, documents) = (&view.snapshot.store, view.state.documents);
            // The document is missing only after damage.
            if view.store().get_at(snapshot, documents, &self.key, &mut self.row)? {
                break;
            }
        }
        Ok(Some((&self.key, &self.row)))
    }

    /// Releases the blocks of documents that the scan holds. Called before a pause between reads.
    pub fn pause(&mut self) {
        self.scan.pause();
        self.row = Vec::new();
    }

    /// The number of the document that was returned last.
    pub fn number(&self) -> u64 {
        self.number
    }
}
