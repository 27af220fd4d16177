//! Documents by their `_id`s: scans in order, and look-ups of single ones.

use super::Item;
use crate::error::Result;
use crate::find::run::Run;
use crate::ids;
use crate::read::{decode, matches};
use alluvium_document::Value;
use alluvium_query::filter::Filter;
use alluvium_query::plan::{Interval, KeyRange, id_ranges};
use alluvium_store::Bounds;
use std::ops::Bound;

/// The bounds that a range of keys is.
pub(super) fn bounds_of(range: &KeyRange, reverse: bool) -> Bounds {
    let upper = range.to.clone().map_or(Bound::Unbounded, Bound::Excluded);
    Bounds { lower: Bound::Included(range.from.clone()), upper, reverse }
}

/// The ranges in the order in which they are scanned, the first one last; and the bounds around all of them.
pub(super) fn in_order(mut ranges: Vec<KeyRange>, reverse: bool) -> (Vec<KeyRange>, Option<Bounds>) {
    let hull = match (ranges.first(), ranges.last()) {
        (Some(first), Some(last)) => Some(KeyRange { from: first.from.clone(), to: last.to.clone() }),
        _ => None,
    };
    if !reverse {
        ranges.reverse();
    }
    (ranges, hull.map(|hull| bounds_of(&hull, reverse)))
}

/// All documents within ranges of `_id`.
pub(crate) struct DocumentScan {
    /// `None`: there is nothing to scan.
    scan: Option<alluvium_store::Scan>,
    /// The ranges that are left, the next one last.
    ranges: Vec<KeyRange>,
    started: bool,
    reverse: bool,
    filter: Filter,
    pub documents: u64,
}

impl DocumentScan {
    pub fn new(run: &Run, ids: &[Interval], reverse: bool, filter: Filter) -> Result<Self> {
        let (ranges, hull) = in_order(id_ranges(ids), reverse);
        let (view, documents) = (&run.view, run.view.state.documents);
        let scan = hull.map(|hull| view.store().scan(documents, hull, Some(&view.snapshot.store))).transpose()?;
        Ok(Self { scan, ranges, started: false, reverse, filter, documents: 0 })
    }

    pub fn next(&mut self, run: &mut Run) -> Result<Option<Item>> {
        let Some(scan) = &mut self.scan else { return Ok(None) };
        loop {
            if !self.started {
                let Some(range) = self.ranges.pop() else { return Ok(None) };
                scan.restart(&bounds_of(&range, self.reverse));
                self.started = true;
            }
            run.tick()?;
            let Some((key, row)) = scan.next()? else {
                self.started = false;
                continue;
            };
            self.documents += 1;
            let document = decode(&run.view.state.shapes, &run.view.name, key, row.to_vec())?;
            if matches(&self.filter, &run.view.name, &document)? {
                return Ok(Some(Item::whole(key, document)));
            }
        }
    }
}

/// Single documents.
pub(crate) struct Lookup {
    /// Those that are left, the next one last.
    ids: Vec<Value>,
    filter: Filter,
    row: Vec<u8>,
    pub documents: u64,
}

impl Lookup {
    pub fn new(ids: &[Value], filter: Filter) -> Self {
        Self { ids: ids.iter().rev().cloned().collect(), filter, row: Vec::new(), documents: 0 }
    }

    pub fn next(&mut self, run: &mut Run) -> Result<Option<Item>> {
        while let Some(id) = self.ids.pop() {
            run.tick()?;
            // What cannot be an `_id` is that of no document.
            let Ok(key) = ids::id_key(&id) else { continue };
            let Some(found) = run.view.read(&key, &mut self.row)? else { continue };
            let document = found.document;
            self.documents += 1;
            if matches(&self.filter, &run.view.name, &document)? {
                return Ok(Some(Item { key, document: Some(document), whole: true }));
            }
        }
        Ok(None)
    }
}
