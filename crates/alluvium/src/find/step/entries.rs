//! Entries of an index within the bounds of a plan.

use super::documents::{bounds_of, in_order};
use super::{Counts, Run};
use crate::find::planning::Planned;
use crate::find::seen::Seen;
use crate::index::scan::IndexScan;
use crate::{Error, Result};
use document::Document;
use query::plan::{self, KeyRange};

/// More ranges than this are not told apart by the planner: each entry is asked whether it lies within.
const RANGES_MAX: usize = 4096;

/// Entries of an index within bounds, each document's perhaps several.
pub(crate) struct Entries {
    pub plan: plan::IndexScan,
    /// `None`: there is nothing to scan.
    scan: Option<IndexScan>,
    /// The ranges that are left, the next one last.
    ranges: Vec<KeyRange>,
    started: bool,
    /// The ranges do not tell all that the bounds do.
    loose: bool,
    /// Documents that were returned, if they may come several times.
    seen: Option<Seen>,
}

impl Entries {
    pub fn new(run: &Run, planned: &Planned, plan: &plan::IndexScan) -> Result<Self> {
        let Some(index) = planned.indexes.find(&plan.index).cloned() else {
            let (collection, index) = (run.moment.name.to_string(), plan.index.clone());
            return Err(Error::NoSuchIndex { collection, index });
        };
        let (ranges, hull) = in_order(plan.ranges(), plan.backward);
        let scan =
            hull.map(|hull| IndexScan::new(run.moment.clone(), index, hull)).transpose()?.map(IndexScan::for_question);
        let seen = plan.multikey.then(|| Seen::new(run));
        Ok(Self { loose: is_loose(plan), plan: plan.clone(), scan, ranges, started: false, seen })
    }

    /// Moves to the next entry within the bounds, proved or not. Returns the scan that stands on it.
    pub fn advance(&mut self, run: &mut Run) -> Result<Option<&mut IndexScan>> {
        let Some(scan) = &mut self.scan else { return Ok(None) };
        loop {
            if !self.started {
                let Some(range) = self.ranges.pop() else { return Ok(None) };
                scan.restart(&bounds_of(&range, self.plan.backward));
                self.started = true;
            }
            run.tick()?;
            if !scan.advance()? {
                self.started = false;
            } else if !self.loose || self.plan.admits(scan.key()) {
                return Ok(Some(scan));
            }
        }
    }

    /// The scan, on the entry at hand.
    pub fn scan(&mut self) -> Option<&mut IndexScan> {
        self.scan.as_mut()
    }

    /// True if the document of the entry at hand was returned before, as far as that is known without it.
    pub fn was_seen(&self) -> bool {
        match (&self.seen, &self.scan) {
            (Some(seen), Some(scan)) => seen.contains(scan.id()),
            _ => false,
        }
    }

    /// Takes note that the document of the entry at hand is returned. `None` if that cannot be noted: it is returned only
    /// if [`Entries::is_first`] says so.
    pub fn note(&mut self) -> bool {
        match (&mut self.seen, &self.scan) {
            (Some(seen), Some(scan)) => seen.add(scan.id()),
            _ => true,
        }
    }

    /// True if the entry at hand is the first one of its document within the bounds.
    pub fn is_first(&self, document: &Document) -> Result<bool> {
        let Some(scan) = &self.scan else { return Ok(true) };
        let keys = scan.index().keys_of(document)?.keys;
        let mut keys = keys.iter().filter(|key| self.plan.admits(&key.bytes));
        let first = if self.plan.backward { keys.next_back() } else { keys.next() };
        Ok(first.is_none_or(|first| first.bytes == scan.key()))
    }

    /// True if the document yields a key within the bounds.
    pub fn admits(&self, document: &Document) -> Result<bool> {
        let Some(scan) = &self.scan else { return Ok(false) };
        Ok(scan.index().keys_of(document)?.keys.iter().any(|key| self.plan.admits(&key.bytes)))
    }

    pub fn counts(&self) -> Counts {
        let examined = self.scan.as_ref().map(|scan| scan.examined).unwrap_or_default();
        Counts {
            keys: examined.keys,
            documents: examined.documents,
            validated: examined.validated,
            stale: examined.stale,
            ..Counts::default()
        }
    }
}

/// True if entries between the ranges must be asked whether they lie within the bounds.
fn is_loose(plan: &plan::IndexScan) -> bool {
    let (mut behind, mut many) = (false, 1usize);
    for part in &plan.bounds {
        if behind && !part.is_all() {
            return true;
        }
        many = many.saturating_mul(part.intervals.len());
        behind |= !part.is_points();
    }
    many > RANGES_MAX
}
