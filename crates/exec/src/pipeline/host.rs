//! The services of a database that a pipeline needs.

use crate::limits::{Interrupted, Limits};
use crate::source::{Blocks, KeySet, MemoryAccount, Sorter};
use crate::step::points::Take;
use alluvium_document::Value;
use alluvium_document::path::FieldPath;
use alluvium_env::Env;
use alluvium_query::filter::Filter;
use alluvium_query::pipeline::{MergeInto, Output, PipelineError, Record, RecordRef, Stage};
use std::sync::Arc;

/// Documents from outside of the pipeline: the documents of a collection at one snapshot.
pub trait Records<E>: Send {
    /// The next document; `None` at the end.
    ///
    /// # Errors
    /// Errors of the source, including its limits. Nothing may be read after an error.
    fn next_record(&mut self) -> Result<Option<Record>, E>;

    /// Reads to the end, and passes each document to `visit`. A source may pass documents without copying
    /// them.
    ///
    /// # Errors
    /// As [`Records::next_record`], and the errors of `visit`.
    fn visit(&mut self, visit: &mut dyn FnMut(RecordRef<'_>) -> Result<(), E>) -> Result<(), E> {
        while let Some(record) = self.next_record()? {
            visit(RecordRef::from(&record))?;
        }
        Ok(())
    }

    /// As [`Records::visit`], but equal documents that follow each other may be passed once, with their number. A source
    /// of documents that have only the needed values compares only these.
    ///
    /// # Errors
    /// As [`Records::visit`].
    fn visit_equals(&mut self, visit: &mut dyn FnMut(RecordRef<'_>, u64) -> Result<(), E>) -> Result<(), E> {
        self.visit(&mut |record| visit(record, 1))
    }

    /// Divides the documents into parts that threads can read at the same time; nothing is read from this source
    /// afterwards. Returns an empty list if the documents cannot be divided, or are too few for that.
    ///
    /// # Errors
    /// Errors of the source.
    fn split(&mut self) -> Result<Vec<Box<dyn Records<E>>>, E> {
        Ok(Vec::new())
    }
}

/// Finds documents of a collection by the values at a path, many values at a time.
pub trait Finder<E>: Send {
    /// The index that was used last; `_id_` for look-ups by `_id`.
    fn index(&self) -> &str;

    /// Looks up values in the order of an index, and passes the documents that have them to `take`. All documents of
    /// one value are passed one after the other, in the order in which a query for that value alone returns them. The
    /// values are sorted and distinct, and none of them is an array, a map, a pattern or undefined. `filter` is the
    /// filter of a query for all of them. Returns false, and passes nothing, if no index can be used.
    ///
    /// # Errors
    /// Errors of the source, including its limits.
    fn find(&mut self, values: &[Value], filter: &Filter, take: Take<'_>) -> Result<bool, E>;
}

/// A finder for any collection.
pub type BoxedFinder<E> = Box<dyn Finder<E>>;

/// A stage that writes.
#[derive(Debug, Clone, PartialEq)]
pub enum WritingStage {
    /// `$out`.
    Out(Output),
    /// `$merge`.
    Merge(Arc<MergeInto>),
}

/// A database, as a pipeline sees it. All collections are read at one snapshot.
pub trait Host: Clone + Send {
    /// The error of all operations.
    type Error: From<PipelineError> + From<Interrupted> + Send;
    /// Memory that stages report.
    type Account: MemoryAccount + Send;
    /// Sorts pairs that exceed memory.
    type Sorter: Sorter<Error = Self::Error, Sorted: Send> + Send;
    /// A set of keys that exceeds memory.
    type KeySet: KeySet<Error = Self::Error> + Send;
    /// Blocks of documents that exceed memory and are read by their positions.
    type Blocks: Blocks<Error = Self::Error> + Send;

    /// The environment, for its clock and its random numbers.
    fn env(&self) -> &Env;

    /// An account of zero bytes.
    fn account(&self) -> Self::Account;

    /// A sorter that keeps about `memory_bytes` in memory, for a `purpose` that errors name.
    fn sorter(&self, purpose: &'static str, memory_bytes: usize) -> Self::Sorter;

    /// An empty set of keys, for a `purpose` that errors name.
    fn key_set(&self, purpose: &'static str) -> Self::KeySet;

    /// No blocks yet, for a `purpose` that errors name.
    fn blocks(&self, purpose: &'static str) -> Self::Blocks;

    /// Returns the documents that stages make of a collection of this name or, without a name, of documents of their
    /// own. A collection that does not exist is empty.
    ///
    /// # Errors
    /// The name is not allowed, or an error of the stages.
    fn open(
        &self,
        collection: Option<&str>,
        stages: Vec<Stage>,
        limits: &Limits,
    ) -> Result<Box<dyn Records<Self::Error>>, Self::Error>;

    /// Finds documents of a collection by the values at a path; `None` if none of its indexes can be used for that.
    ///
    /// # Errors
    /// As [`Host::open`].
    fn finder(&self, collection: &str, path: &FieldPath) -> Result<Option<BoxedFinder<Self::Error>>, Self::Error>;

    /// Executes a stage that writes the documents of `records`.
    ///
    /// # Errors
    /// Errors of the writes, and of `records`.
    fn write(
        &self,
        stage: &WritingStage,
        records: &mut dyn FnMut() -> Result<Option<Record>, Self::Error>,
    ) -> Result<(), Self::Error>;
}
