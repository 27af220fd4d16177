//! Entries of an index within the bounds of a plan.

use super::documents::{bounds_of, in_order};
use crate::error::{Error, Result};
use crate::find::counts::{Counts, Spent};
use crate::find::planning::Planned;
use crate::find::run::Run;
use crate::find::seen::Seen;
use crate::index_scan::IndexScan;
use alluvium_document::Document;
use alluvium_query::plan::cost::JUMP_ENTRIES;
use alluvium_query::plan::{self, KeyRange, Place};

/// More ranges than this are not told apart by the planner: entries are asked whether they lie within.
const RANGES_MAX: usize = 4096;

/// Entries of an index within bounds, each document's perhaps several.
pub(crate) struct Entries {
    pub plan: plan::IndexScan,
    /// `None`: there is nothing to scan.
    scan: Option<IndexScan>,
    /// The ranges that are left, the next one last.
    ranges: Vec<KeyRange>,
    started: bool,
    /// The range at hand, of those that are not left any more.
    range: KeyRange,
    /// The ranges do not tell all that the bounds do.
    loose: bool,
    /// Entries are passed over up to here: forwards to the first at or above it, backwards to the first below it.
    target: Option<Vec<u8>>,
    /// So many were, one by one; and after so many the target is sought.
    passed: u32,
    jump_after: u32,
    /// Documents that were returned, if they may come several times.
    seen: Option<Seen>,
    /// On the way from entry to entry.
    spent: Spent,
}

impl Entries {
    pub fn new(run: &Run, planned: &Planned, plan: &plan::IndexScan) -> Result<Self> {
        let Some(index) = planned.indexes.find(&plan.index).cloned() else {
            let (collection, index) = (run.view.name.to_string(), plan.index.clone());
            return Err(Error::NoSuchIndex { collection, index });
        };
        let (ranges, hull) = in_order(plan.ranges(), plan.backward);
        let scan =
            hull.map(|hull| IndexScan::new(run.view.clone(), index, hull)).transpose()?.map(IndexScan::for_question);
        let seen = plan.multikey.then(|| Seen::new(run));
        let range = KeyRange { from: Vec::new(), to: None };
        let jump_after = JUMP_ENTRIES.saturating_mul(run.view.store().partitions());
        let (started, target, passed) = (false, None, 0);
        Ok(Self {
            loose: is_loose(plan),
            plan: plan.clone(),
            scan,
            ranges,
            started,
            range,
            target,
            passed,
            jump_after,
            seen,
            spent: Spent::default(),
        })
    }

    /// Moves to the next entry within the bounds, proved or not. Returns the scan that stands on it.
    pub fn advance(&mut self, run: &mut Run) -> Result<Option<&mut IndexScan>> {
        let mut spent = self.spent;
        let found = spent.measured(run, |run| self.move_on(run));
        self.spent = spent;
        Ok(if found? { self.scan.as_mut() } else { None })
    }

    /// Moves to the next entry within the bounds; false if there is none.
    fn move_on(&mut self, run: &mut Run) -> Result<bool> {
        loop {
            if !self.started {
                let Some(range) = self.ranges.pop() else { return Ok(false) };
                self.seek(range);
            }
            run.tick()?;
            let Some(scan) = &mut self.scan else { return Ok(false) };
            if !scan.advance()? {
                self.started = false;
            } else if !self.is_passed_over() {
                return Ok(true);
            }
        }
    }

    fn seek(&mut self, range: KeyRange) {
        if let Some(scan) = &mut self.scan {
            scan.restart(&bounds_of(&range, self.plan.backward));
        }
        (self.range, self.started) = (range, true);
    }

    /// True if the entry at hand is before the target, or outside the bounds; what lies behind it is sought if that is far.
    fn is_passed_over(&mut self) -> bool {
        let Some(scan) = &self.scan else { return true };
        if let Some(target) = &self.target {
            let is_before = if self.plan.backward { scan.entry() >= target } else { scan.entry() < target };
            if is_before {
                self.passed += 1;
                if self.passed >= self.jump_after {
                    self.jump();
                }
                return true;
            }
            self.target = None;
        }
        if !self.loose {
            return false;
        }
        match self.plan.place(scan.key()) {
            Place::Within => return false,
            Place::Outside(target) => self.pass_to(target),
            Place::End => {
                self.ranges.clear();
                self.started = false;
            }
        }
        true
    }

    /// Entries are passed over up to a key.
    fn pass_to(&mut self, target: Vec<u8>) {
        // Where the range ends before it, ranges behind it do, or the target lies in one of them.
        self.started &= !self.ends_before(&target);
        (self.target, self.passed) = (Some(target), 0);
    }

    fn ends_before(&self, target: &Vec<u8>) -> bool {
        match &self.range.to {
            _ if self.plan.backward => *target <= self.range.from,
            Some(to) => to <= target,
            None => false,
        }
    }

    /// Goes on at the target.
    fn jump(&mut self) {
        let Some(target) = self.target.take() else { return };
        if self.ends_before(&target) {
            return self.pass_to(target);
        }
        let mut range = self.range.clone();
        if self.plan.backward {
            range.to = Some(target)
        } else {
            range.from = target
        }
        self.seek(range);
    }

    /// Passes over the other entries that have the same values as the one at hand, in the parts up to this one.
    pub fn pass_over_equals(&mut self, part: usize) {
        let Some(scan) = &self.scan else { return };
        match self.plan.behind(scan.key(), part) {
            Some(target) => self.pass_to(target),
            None => {
                self.ranges.clear();
                self.started = false;
            }
        }
    }

    /// The scan, on the entry at hand.
    pub fn scan(&mut self) -> Option<&mut IndexScan> {
        self.scan.as_mut()
    }

    /// False if the values of the entry at hand tell that its document does not match, or yields another entry.
    pub fn is_asked_for(&mut self) -> Result<bool> {
        let Some(scan) = self.scan.as_mut().filter(|_| !self.plan.keys.is_empty()) else { return Ok(true) };
        let values = scan.values()?;
        Ok(self.plan.keys.matches_map(&self.plan.document(&values)))
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
        let keys = scan.index().stored_keys_of(document)?.keys;
        let mut keys = keys.iter().filter(|key| self.plan.admits(&key.bytes));
        let first = if self.plan.backward { keys.next_back() } else { keys.next() };
        Ok(first.is_none_or(|first| first.bytes == scan.key()))
    }

    /// True if the document yields a key within the bounds.
    pub fn admits(&self, document: &Document) -> Result<bool> {
        let Some(scan) = &self.scan else { return Ok(false) };
        Ok(scan.index().stored_keys_of(document)?.keys.iter().any(|key| self.plan.admits(&key.bytes)))
    }

    pub fn counts(&self) -> Counts {
        let examined = self.scan.as_ref().map(|scan| scan.examined).unwrap_or_default();
        Counts {
            keys: examined.keys,
            documents: examined.documents,
            validated: examined.validated,
            stale: examined.stale,
            seeks: examined.seeks,
            spent: self.spent,
            ..Counts::default()
        }
    }
}

/// True if entries in the ranges must be asked whether they lie within the bounds.
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
