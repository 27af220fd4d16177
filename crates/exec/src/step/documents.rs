//! Documents by their `_id`s: scans in order, and look-ups of single documents.

use crate::item::{Demand, Fields, Item};
use crate::run::Run;
use crate::source::{DocumentRequest, Source, matches};
use alluvium_document::Value;
use alluvium_query::filter::Filter;
use alluvium_query::pipeline::RecordRef;
use alluvium_query::plan::{Interval, id_ranges};

/// All documents within ranges of `_id`.
pub(super) struct DocumentScan<S: Source> {
    /// `None` if there are no ranges.
    scan: Option<S::Documents>,
}

impl<S: Source> DocumentScan<S> {
    pub fn new(run: &Run<S>, ids: &[Interval], backward: bool, filter: Filter) -> Result<Self, S::Error> {
        let ranges = id_ranges(ids);
        if ranges.is_empty() {
            return Ok(Self { scan: None });
        }
        let (needs, sort) = (run.request.needs.as_deref(), run.request.sort.parts());
        let scan = run.source.scan_documents(DocumentRequest { ranges, backward, filter, needs, sort })?;
        Ok(Self { scan: Some(scan) })
    }

    pub fn next(&mut self, run: &mut Run<S>, demand: Demand, out: &mut Vec<Item>) -> Result<(), S::Error> {
        match &mut self.scan {
            Some(scan) => run.source.next_documents(scan, demand.most, &mut run.watch, out),
            None => Ok(()),
        }
    }

    /// Passes the remaining documents to `visit`. Returns their number.
    pub fn visit(
        &mut self,
        run: &mut Run<S>,
        visit: &mut dyn FnMut(RecordRef<'_>) -> Result<(), S::Error>,
    ) -> Result<u64, S::Error> {
        match &mut self.scan {
            Some(scan) => run.source.visit_documents(scan, &mut run.watch, visit),
            None => Ok(0),
        }
    }

    pub fn split(&self, run: &Run<S>) -> Result<Vec<S::Documents>, S::Error> {
        self.scan.as_ref().map_or(Ok(Vec::new()), |scan| run.source.split_documents(scan))
    }

    pub fn pause(&mut self, source: &S) {
        if let Some(scan) = &mut self.scan {
            source.pause_documents(scan);
        }
    }

    pub fn examined(&self, source: &S) -> u64 {
        self.scan.as_ref().map_or(0, |scan| source.documents_examined(scan))
    }
}

/// Single documents.
pub(super) struct Lookup {
    /// The `_id`s that remain, in reverse order.
    ids: Vec<Value>,
    filter: Filter,
    /// Items of the batch that is being read.
    batch: Vec<Item>,
    pub documents: u64,
}

impl Lookup {
    pub fn new(ids: &[Value], filter: Filter) -> Self {
        Self { ids: ids.iter().rev().cloned().collect(), filter, batch: Vec::new(), documents: 0 }
    }

    pub fn next<S: Source>(&mut self, run: &mut Run<S>, demand: Demand, out: &mut Vec<Item>) -> Result<(), S::Error> {
        let before = out.len();
        while out.len() == before {
            while self.batch.len() < demand.most {
                let Some(id) = self.ids.pop() else { break };
                run.tick()?;
                // A value that cannot be an `_id` has no document.
                self.batch.extend(run.source.key_of(&id).map(Item::unread));
            }
            if self.batch.is_empty() {
                return Ok(());
            }
            let read = run.source.read_documents(&mut self.batch);
            let end = *read.as_ref().unwrap_or(&self.batch.len());
            for mut item in self.batch.drain(..end.clamp(1, self.batch.len())) {
                let Some(document) = &item.document else { continue };
                self.documents += 1;
                if matches(&run.source, &self.filter, document)? {
                    item.fields = Fields::Whole;
                    out.push(item);
                }
            }
            read?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
