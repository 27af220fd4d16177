//! The documents whose entries are found by both of two scans.

use super::admits::admits;
use super::reader::EntryReader;
use crate::counts::{Counts, Report, Spent};
use crate::item::{BATCH_MAX, Demand, Fields, Item};
use crate::run::Run;
use crate::seen::Seen;
use crate::source::{Source, matches};
use alluvium_query::filter::Filter;
use alluvium_query::plan::IndexScan;

/// Reads all entries of the first scan. Then reads the documents of the second scan that the first
/// scan has found as well. The entries are not proved; instead, a document must yield an entry of
/// each scan.
pub(super) struct Intersection<S: Source> {
    first: EntryReader<S>,
    second: EntryReader<S>,
    filter: Filter,
    /// The keys that the first scan has found, once it has ended.
    found: Option<Seen<S::Account>>,
    /// Documents that are being read, each with the position of its entry in the batch of the
    /// second scan.
    reads: Vec<Item>,
    positions: Vec<usize>,
    documents: u64,
    stale: u64,
}

impl<S: Source> Intersection<S> {
    pub fn new(run: &Run<S>, scans: &[IndexScan], filter: Filter) -> Result<Self, S::Error> {
        let entries = |at: usize| EntryReader::new(run, &scans[at.min(scans.len().saturating_sub(1))]);
        let (first, second) = (entries(0)?, entries(1)?);
        let (reads, positions) = (Vec::new(), Vec::new());
        Ok(Self { first, second, filter, found: None, reads, positions, documents: 0, stale: 0 })
    }

    pub fn next(&mut self, run: &mut Run<S>, demand: Demand, out: &mut Vec<Item>) -> Result<(), S::Error> {
        if self.found.is_none() {
            self.gather(run)?;
        }
        let before = out.len();
        while out.len() == before {
            self.second.fill(run, demand.most)?;
            if self.second.batch.is_empty() {
                return Ok(());
            }
            self.select();
            while !self.reads.is_empty() {
                self.read(run, out)?;
            }
        }
        Ok(())
    }

    /// Collects the documents of the batch that will be read.
    fn select(&mut self) {
        self.reads.clear();
        self.positions.clear();
        let Some(found) = &mut self.found else { return };
        let is_complete = !found.is_full();
        for at in 0..self.second.batch.len() {
            let key = self.second.batch.id(at);
            // A found key is removed, so that a document with several entries is returned once.
            if !is_complete || found.take(key) {
                self.reads.push(Item::unread(key));
                self.positions.push(at);
            }
        }
    }

    /// Reads some of the selected documents, and appends the documents that both scans find.
    fn read(&mut self, run: &mut Run<S>, out: &mut Vec<Item>) -> Result<(), S::Error> {
        let is_complete = self.found.as_ref().is_some_and(|found| !found.is_full());
        let read = run.source.read_documents(&mut self.reads);
        let end = (*read.as_ref().unwrap_or(&self.reads.len())).clamp(1, self.reads.len());
        for (mut item, at) in self.reads.drain(..end).zip(self.positions.drain(..end)) {
            let Some(document) = &item.document else { continue };
            self.documents += 1;
            // Either entry may be stale.
            if !admits(run, self.first.plan(), document)? || !admits(run, self.second.plan(), document)? {
                self.stale += 1;
                continue;
            }
            // If the found keys are incomplete, a document is returned only with its first entry.
            let first_time = is_complete || self.second.is_first(run, at, document)?;
            if first_time && matches(&run.source, &self.filter, document)? {
                item.fields = Fields::Whole;
                out.push(item);
            }
        }
        read.map(drop)
    }

    /// Reads the first scan to its end, or until the memory limit is reached.
    fn gather(&mut self, run: &mut Run<S>) -> Result<(), S::Error> {
        let mut found = Seen::new(run.request.seen_bytes_max, run.source.account());
        loop {
            self.first.fill(run, found.room().min(BATCH_MAX))?;
            let batch = &self.first.batch;
            if batch.is_empty() || !(0..batch.len()).all(|at| found.add(batch.id(at))) {
                break;
            }
        }
        self.found = Some(found);
        Ok(())
    }

    pub fn pause(&mut self, source: &S) {
        self.first.pause(source);
        self.second.pause(source);
    }

    pub fn report(&self, source: &S) -> (Counts, Vec<Report>) {
        let below = |entries: &EntryReader<S>| {
            let Counts { keys, seeks, spent, .. } = entries.counts(source);
            Report { counts: Counts { keys, seeks, returned: keys, spent, ..Counts::default() }, inputs: Vec::new() }
        };
        let counts = Counts { documents: self.documents, stale: self.stale, ..Counts::default() };
        let inputs = vec![below(&self.first), below(&self.second)];
        let spent = inputs.iter().fold(Spent::default(), |sum, input| sum.and(input.counts.spent));
        let both = Report { counts: Counts { returned: self.documents, spent, ..Counts::default() }, inputs };
        (counts, vec![both])
    }
}

#[cfg(test)]
mod tests;
