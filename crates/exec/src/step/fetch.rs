//! Documents by entries of an index.

use super::reader::{EntryReader, Proved};
use crate::counts::{Counts, Report};
use crate::item::{Demand, Item};
use crate::run::Run;
use crate::source::{Proof, Source, matches};
use alluvium_query::filter::Filter;
use alluvium_query::plan::IndexScan;

/// The documents of entries, each once.
pub(super) struct Fetch<S: Source> {
    entries: EntryReader<S>,
    /// The position in the batch of the first entry that is not proved yet.
    at: usize,
    filter: Filter,
}

/// The number of documents that are read before any is returned. The allocators of C libraries keep a few freed blocks
/// of each size for each thread (glibc: 7), and reuse them at almost no cost. Therefore at most this many documents are
/// in memory at a time.
pub(super) const DOCUMENTS_AHEAD: usize = 7;

impl<S: Source> Fetch<S> {
    pub fn new(run: &Run<S>, scan: &IndexScan, filter: Filter) -> Result<Self, S::Error> {
        Ok(Self { entries: EntryReader::new(run, scan)?, at: 0, filter })
    }

    pub fn next(&mut self, run: &mut Run<S>, demand: Demand, out: &mut Vec<Item>) -> Result<(), S::Error> {
        let before = out.len();
        while out.len() == before {
            if self.at == self.entries.batch.len() {
                self.entries.fill(run, demand.most)?;
                self.at = 0;
                if self.entries.batch.is_empty() {
                    return Ok(());
                }
            }
            let Proved { part, failed } =
                self.entries.prove(run, self.at, DOCUMENTS_AHEAD.min(demand.most), Proof::Documents)?;
            self.at = part.end;
            for at in part {
                let Some(document) = self.entries.batch.take_document(at) else { continue };
                if !matches(&run.source, &self.filter, &document)? {
                    continue;
                }
                if self.entries.note(at) || self.entries.is_first(run, at, &document)? {
                    out.push(Item::whole(self.entries.batch.id(at), document));
                }
            }
            failed.map_or(Ok(()), Err)?;
        }
        Ok(())
    }

    pub fn pause(&mut self, source: &S) {
        self.entries.pause(source);
    }

    /// The counts of the documents, and below them the counts of the entries.
    pub fn report(&self, source: &S) -> (Counts, Vec<Report>) {
        let counts = self.entries.counts(source);
        // The document of each entry within the bounds is read.
        let returned = counts.documents;
        let below =
            Counts { keys: counts.keys, seeks: counts.seeks, returned, spent: counts.spent, ..Counts::default() };
        (Counts { keys: 0, seeks: 0, ..counts }, vec![Report { counts: below, inputs: Vec::new() }])
    }
}

#[cfg(test)]
mod tests;
