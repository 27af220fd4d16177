//! The execution of a plan.

use crate::counts::Report;
use crate::item::{BATCH_MAX, Demand, Item};
use crate::key::Key;
use crate::limits::Watch;
use crate::run::{EqualsVisitor, Request, Run};
use crate::source::Source;
use crate::step::Step;
use crate::step::buffer::Buffer;
use alluvium_query::pipeline::RecordRef;
use alluvium_query::plan::Node;

/// The factor by which each batch is larger than the previous one. The first batch has one document, so for a caller
/// that needs only one document only one is read.
const GROWTH: usize = 4;

/// The execution of a plan over a source.
pub struct Execution<S: Source> {
    run: Run<S>,
    root: Step<S>,
    buffer: Buffer<S::Error>,
    /// The size of the next batch.
    most: usize,
}

impl<S: Source> Execution<S> {
    /// Begins to execute a plan. Nothing is read yet.
    ///
    /// If `timed` is true, the time and the blocks of each step are measured, for the [report](Execution::report).
    ///
    /// # Errors
    /// Errors of the source when scans begin.
    pub fn new(source: S, plan: &Node, mut request: Request, timed: bool) -> Result<Self, S::Error> {
        let watch = Watch::new(std::mem::take(&mut request.limits));
        let run = Run { source, request, watch, timed };
        let root = Step::new(&run, plan)?;
        Ok(Self { run, root, buffer: Buffer::new(), most: 1 })
    }

    /// The source.
    pub fn source(&self) -> &S {
        &self.run.source
    }

    /// The bytes of the documents that were read ahead.
    pub fn bytes_ahead(&self) -> usize {
        self.buffer.bytes() + self.root.bytes_ahead()
    }

    /// Releases the memory of the source that the scans hold, for a time in which nothing is read. Documents that were
    /// read ahead stay.
    pub fn pause(&mut self) {
        self.root.pause(&self.run.source);
    }

    /// The next document. Reads ahead in batches that grow.
    ///
    /// # Errors
    /// Errors of the source, and [`crate::Interrupted`]; the execution then has ended.
    pub fn next_item(&mut self) -> Result<Option<Item>, S::Error> {
        // The limits are also checked here in case no document is read for a long time.
        self.run.check_limits()?;
        let demand = Demand { most: self.most, open_ended: true };
        if self.buffer.is_empty() {
            self.most = (self.most * GROWTH).min(BATCH_MAX);
        }
        self.buffer.pop(&mut self.root, &mut self.run, demand)
    }

    /// The key of an item's `_id`; `None` if its document is damaged.
    pub fn key_of(&self, item: &Item) -> Option<Key> {
        match item.key.is_empty() {
            true => self.run.source.key_of(item.document.as_ref()?.id()),
            false => Some(item.key.clone()),
        }
    }

    /// Reads to the end, and passes each document to `visit`.
    ///
    /// # Errors
    /// As [`Execution::next_item`], and the errors of `visit`.
    pub fn visit(&mut self, visit: &mut dyn FnMut(RecordRef<'_>) -> Result<(), S::Error>) -> Result<(), S::Error> {
        self.run.check_limits()?;
        if self.buffer.is_empty() && self.root.visit(&mut self.run, visit)? {
            return Ok(());
        }
        while let Some(item) = self.next_item()? {
            visit(RecordRef::Row(&item.document.unwrap_or_default()))?;
        }
        Ok(())
    }

    /// As [`Execution::visit`], but equal documents that follow each other may be passed once, with their number. Equal
    /// are documents whose needed values are the same, types included.
    ///
    /// # Errors
    /// As [`Execution::visit`].
    pub fn visit_equals(&mut self, visit: &mut EqualsVisitor<'_, S::Error>) -> Result<(), S::Error> {
        self.run.check_limits()?;
        if self.buffer.is_empty() && self.root.visit_equals(&mut self.run, visit)? {
            return Ok(());
        }
        self.visit(&mut |record| visit(record, 1))
    }

    /// Divides the documents into scans for several threads, if nothing was read and the plan is a scan of documents
    /// whose order does not matter. Returns an empty list if that is not possible; otherwise nothing may be read from
    /// the execution afterwards.
    ///
    /// # Errors
    /// Errors of the source.
    pub fn split(&mut self) -> Result<Vec<S::Documents>, S::Error> {
        if !self.buffer.is_empty() || self.most != 1 || !self.run.request.sort.is_empty() {
            return Ok(Vec::new());
        }
        self.root.split(&self.run)
    }

    /// Reads to the end, and counts the documents.
    ///
    /// # Errors
    /// As [`Execution::next_item`].
    pub fn count(&mut self) -> Result<u64, S::Error> {
        let (mut count, mut batch) = (0, Vec::new());
        loop {
            self.run.check_limits()?;
            self.root.next(&mut self.run, Demand::ALL, &mut batch)?;
            if batch.is_empty() {
                return Ok(count);
            }
            count += batch.len() as u64;
            batch.clear();
        }
    }

    /// The counts of the steps so far, in the structure of the plan.
    pub fn report(&self) -> Report {
        self.root.report(&self.run.source)
    }
}

#[cfg(test)]
mod tests;
