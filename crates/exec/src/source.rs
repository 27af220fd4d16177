//! The input of operators: one trait, [`Source`].

use crate::counts::{BlockCounts, Examined};
use crate::entries::{EntryBatch, EntryRef};
use crate::item::{BATCH_MAX, Item};
use crate::key::Key;
use crate::limits::{Interrupted, Limits, Watch};
use crate::walk::Walk;
use alluvium_document::path::FieldPath;
use alluvium_document::row::RowError;
use alluvium_document::{Document, Value};
use alluvium_env::Env;
use alluvium_query::filter::{Filter, FilterError, MatchError};
use alluvium_query::index::Keys;
use alluvium_query::pipeline::RecordRef;
use alluvium_query::plan::KeyRange;
use alluvium_query::sort::{SortError, SortPart};
use std::ops::Range;

/// The parts of proved entries that are needed ([`Source::prove`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// It is enough to know that the document yields the entry. The document need not be read.
    Entries,
    /// The documents are needed.
    Documents,
}

/// The documents that a scan returns.
#[derive(Debug, Clone)]
pub struct DocumentRequest<'a> {
    /// Ranges of keys of `_id`, ascending and disjoint.
    pub ranges: Vec<KeyRange>,
    /// True to scan from the last document to the first.
    pub backward: bool,
    /// The filter that each document must match.
    pub filter: Filter,
    /// The paths whose values are needed, in addition to `_id` and the paths of `sort`; `None` for whole documents.
    pub needs: Option<&'a [FieldPath]>,
    /// The parts of the order in which the documents will be sorted.
    pub sort: &'a [SortPart],
}

/// One collection at one snapshot, from which a plan reads.
///
/// Clones are the same source. Sequence numbers, snapshots, partitions and trees are internal to it. Its methods take
/// `&self`, and the state of a scan is a separate value, so that one plan can have several scans of one source under
/// way. All calls are made by the thread that executes the query.
///
/// **One snapshot.** Every method sees the same documents and entries for as long as the source
/// exists. If the source cannot keep that promise any longer, its methods fail.
///
/// **Batches.** A method that fills a batch appends at most `most` elements (1 to 64). It appends at least one, unless
/// the scan has ended; it may append fewer than `most` at any time. The caller uses every element that it requested.
/// Therefore a source must not skip any, and should not read further than `most` requires: `explain` counts the
/// examined elements. A batch of documents ends early once their rows exceed [`crate::BATCH_BYTES`].
///
/// **Errors.** A method that fails may have appended elements before the failure; these are valid. The caller uses
/// them, then ends the query, and does not call that scan again.
///
/// **Interruption.** A method with a [`Watch`] calls [`Watch::tick`] for each document and entry that it examines, and
/// returns the error of the call.
pub trait Source: Clone {
    /// The error of all operations.
    type Error: From<Interrupted> + From<SortError> + From<RowError> + From<FilterError>;
    /// A scan of documents under way.
    type Documents;
    /// A scan of entries under way.
    type Entries;
    /// Memory that operators report.
    type Account: MemoryAccount;
    /// Sorts pairs that exceed memory.
    type Sorter: Sorter<Error = Self::Error>;

    /// The environment, for its clock.
    fn env(&self) -> &Env;

    /// Begins a scan of the documents in ranges of `_id` that match a filter. Reads nothing yet.
    ///
    /// # Errors
    /// Errors of the source.
    fn scan_documents(&self, request: DocumentRequest<'_>) -> Result<Self::Documents, Self::Error>;

    /// Appends the next documents of a scan, in the order of the keys of their `_id`s (descending
    /// if backward), each once. Each item has the key of its `_id` and matches the filter of the
    /// request. A document with all fields is marked as whole. Any other document has at least
    /// `_id` and the values at the needed paths, nested as in the whole document.
    ///
    /// # Errors
    /// Errors of the source; errors of the filter, made by [`Source::damaged`]; [`Interrupted`].
    fn next_documents(
        &self,
        scan: &mut Self::Documents,
        most: usize,
        watch: &mut Watch,
        out: &mut Vec<Item>,
    ) -> Result<(), Self::Error>;

    /// Passes the remaining documents of a scan to `visit`, as [`Source::next_documents`] appends them. Returns their
    /// number. A source may pass views of documents without copying them.
    ///
    /// # Errors
    /// As [`Source::next_documents`], and the errors of `visit`. After an error nothing more is passed.
    fn visit_documents(
        &self,
        scan: &mut Self::Documents,
        watch: &mut Watch,
        visit: &mut dyn FnMut(RecordRef<'_>) -> Result<(), Self::Error>,
    ) -> Result<u64, Self::Error> {
        let (mut batch, mut count) = (Vec::new(), 0);
        loop {
            self.next_documents(scan, BATCH_MAX, watch, &mut batch)?;
            if batch.is_empty() {
                return Ok(count);
            }
            count += batch.len() as u64;
            for item in batch.drain(..) {
                visit(RecordRef::Row(&item.document.unwrap_or_default()))?;
            }
        }
    }

    /// Releases the memory that a scan holds of the documents that it has read. Called before a time in which the scan
    /// is not read.
    fn pause_documents(&self, scan: &mut Self::Documents) {
        let _ = scan;
    }

    /// Divides a scan that has not started into scans that threads can run at the same time, in any order. Returns an
    /// empty list if that is not possible, or if there are too few documents.
    ///
    /// # Errors
    /// Errors of the source.
    fn split_documents(&self, scan: &Self::Documents) -> Result<Vec<Self::Documents>, Self::Error> {
        let _ = scan;
        Ok(Vec::new())
    }

    /// The number of documents that a scan has read, matching or not.
    fn documents_examined(&self, scan: &Self::Documents) -> u64;

    /// The key of an `_id`; `None` if no document can have it.
    fn key_of(&self, id: &Value) -> Option<Key>;

    /// Reads the whole documents with the keys of the items. The `document` of an item remains
    /// `None` if the document does not exist. Keys may repeat. Returns the number of items that
    /// were read, counted from the front. This is the number of all items, or less (but at least
    /// one) if the rows exceed [`crate::BATCH_BYTES`].
    ///
    /// # Errors
    /// Errors of the source. Documents that were read before the error are set.
    fn read_documents(&self, items: &mut [Item]) -> Result<usize, Self::Error>;

    /// Begins a scan of the entries of the index that the walk's plan names. Reads nothing yet. [`Walk::hull`] must not
    /// be empty. If the source counts uses of indexes, the scan counts as one use.
    ///
    /// # Errors
    /// There is no such index, or an error of the source.
    fn scan_entries(&self, walk: &Walk) -> Result<Self::Entries, Self::Error>;

    /// Appends the next entries within the bounds of the walk, unproved, in the order of their
    /// bytes (descending if backward): index key, key of the `_id`, value and version. Moves as
    /// [`Walk`] describes. A document may have several entries. Some entries may be stale, but none
    /// is missing.
    ///
    /// # Errors
    /// Errors of the source; [`Interrupted`].
    fn next_entries(
        &self,
        scan: &mut Self::Entries,
        walk: &mut Walk,
        most: usize,
        watch: &mut Watch,
        out: &mut EntryBatch,
    ) -> Result<(), Self::Error>;

    /// As [`Source::pause_documents`], for a scan of entries.
    fn pause_entries(&self, scan: &mut Self::Entries) {
        let _ = scan;
    }

    /// Proves the unproved entries in a part of the batch that this scan read last. If the document
    /// of an entry yields it under the index's whole definition, the entry is proved
    /// ([`EntryBatch::prove`]), with the document if `proof` requires it. All other entries are
    /// refuted ([`EntryBatch::refute`]). If a proved entry has another value than the document
    /// yields, the value is replaced ([`EntryBatch::set_value`]).
    ///
    /// Returns the end of the entries that were handled: `part.end`, or less (but above
    /// `part.start`) if the rows of the documents exceed [`crate::BATCH_BYTES`].
    ///
    /// # Errors
    /// Errors of the source. Entries that were handled before the error are marked.
    fn prove(
        &self,
        scan: &mut Self::Entries,
        batch: &mut EntryBatch,
        part: Range<usize>,
        proof: Proof,
    ) -> Result<usize, Self::Error>;

    /// The values of the index's parts in an entry, exactly as they are stored in the document;
    /// `None` for a missing value and for a hashed part.
    ///
    /// # Errors
    /// The entry is damaged.
    fn values(&self, scan: &Self::Entries, entry: EntryRef<'_>) -> Result<Vec<Option<Value>>, Self::Error>;

    /// The numbers of entries and documents that a scan of entries examined, proofs included.
    fn entries_examined(&self, scan: &Self::Entries) -> Examined;

    /// The keys that a document yields under an index, ascending.
    ///
    /// # Errors
    /// There is no such index; the document is damaged.
    fn keys_of(&self, index: &str, document: &Document) -> Result<Keys, Self::Error>;

    /// The number of entries outside the bounds that are skipped one by one; after that, a seek is
    /// cheaper.
    fn jump_after(&self) -> u32;

    /// The blocks that the calling thread has looked up so far. Only differences are used.
    fn block_counts(&self) -> BlockCounts;

    /// An account of zero bytes.
    fn account(&self) -> Self::Account;

    /// A sorter that keeps about `memory_bytes` in memory, for a `purpose` that errors name.
    fn sorter(&self, purpose: &'static str, memory_bytes: usize) -> Self::Sorter;

    /// Makes the whole document from a row that a document of this source had ([`Document::row`])
    /// under this key.
    ///
    /// # Errors
    /// The row is damaged.
    fn document(&self, key: &[u8], row: Vec<u8>) -> Result<Document, Self::Error>;

    /// Makes a document from a row that [`FieldPicker`](alluvium_document::row::FieldPicker) has made from a document
    /// of this source.
    ///
    /// # Errors
    /// The row is damaged.
    fn picked(&self, row: Vec<u8>) -> Result<Document, Self::Error>;

    /// The error for damage that is found in a document after the document was read.
    fn damaged(&self, document: &Document, error: RowError) -> Self::Error;

    /// The error for pairs that a sorter has returned damaged.
    fn damaged_sort(&self) -> Self::Error;
}

/// Memory that an operator holds, counted against the memory of all queries of the database until it is dropped.
pub trait MemoryAccount {
    /// The bytes counted.
    fn bytes(&self) -> usize;

    /// Counts at least this number of bytes. Returns false, and changes nothing, if the queries have too little memory
    /// left; the operator then continues in files or fails.
    #[must_use]
    fn grow(&mut self, bytes: usize) -> bool;

    /// Reduces the count to at most this number of bytes.
    fn shrink(&mut self, bytes: usize);
}

/// The least memory of a sorter.
const SORTER_BYTES_MIN: usize = 128 << 10;

/// The memory for a sorter that replaces the documents that an operator holds. The memory is counted; `None` if there
/// is too little.
pub(crate) fn memory_of_sorter(account: &mut impl MemoryAccount, bytes_max: usize) -> Option<usize> {
    let least = SORTER_BYTES_MIN.min(bytes_max);
    if !account.grow(least) {
        return None;
    }
    let bytes = account.bytes().min(bytes_max);
    account.shrink(bytes);
    Some(bytes)
}

/// Sorts pairs of keys and values that exceed memory.
pub trait Sorter {
    /// The error of all operations.
    type Error;
    /// The sorted pairs.
    type Sorted: Sorted<Error = Self::Error>;

    /// Adds a pair. Checks the limits at least whenever it writes to files.
    ///
    /// # Errors
    /// There is no space; I/O errors; [`Interrupted`]. After an error no pair may be added.
    fn add(&mut self, limits: &Limits, key: &[u8], value: &[u8]) -> Result<(), Self::Error>;

    /// Returns the values in the order of their keys. Values with equal keys are in the order in
    /// which they were added.
    ///
    /// # Errors
    /// As [`Sorter::add`].
    fn finish(self, limits: &Limits) -> Result<Self::Sorted, Self::Error>;
}

/// The values of sorted pairs.
pub trait Sorted {
    /// The error of reading.
    type Error;

    /// The next value, valid until the next call; `None` at the end.
    ///
    /// # Errors
    /// Damage; I/O errors; [`Interrupted`].
    fn next_value(&mut self, limits: &Limits) -> Result<Option<&[u8]>, Self::Error>;
}

/// A set of keys that exceeds memory.
pub trait KeySet {
    /// The error of all operations.
    type Error;

    /// Adds keys in ascending order, none of which is in the set yet. Checks the limits now and
    /// then.
    ///
    /// # Errors
    /// There is no space; I/O errors; [`Interrupted`]. After an error no key may be added.
    fn add(&mut self, limits: &Limits, keys: &[Vec<u8>]) -> Result<(), Self::Error>;

    /// For each of these keys, which are in ascending order, returns whether it is in the set. Checks the limits now
    /// and then.
    ///
    /// # Errors
    /// Damage; I/O errors; [`Interrupted`].
    fn contains(&mut self, limits: &Limits, keys: &[&[u8]]) -> Result<Vec<bool>, Self::Error>;
}

/// Blocks of bytes in a file, which are read by their numbers.
pub trait Blocks {
    /// The error of all operations.
    type Error;

    /// Appends a block. Checks the limits.
    ///
    /// # Errors
    /// There is no space; I/O errors; [`Interrupted`]. After an error no block may be appended.
    fn push(&mut self, limits: &Limits, block: &[u8]) -> Result<(), Self::Error>;

    /// Reads the block with this number, counted from 0, into `out`. Checks the limits.
    ///
    /// # Errors
    /// Damage; I/O errors; [`Interrupted`].
    fn read(&mut self, limits: &Limits, number: usize, out: &mut Vec<u8>) -> Result<(), Self::Error>;
}

/// True if a document matches.
///
/// # Errors
/// The document is damaged, or a pattern takes too many steps.
#[inline]
pub fn matches<S: Source>(source: &S, filter: &Filter, document: &Document) -> Result<bool, S::Error> {
    filter.matches(document).map_err(|error| match error {
        MatchError::Damaged(error) => source.damaged(document, error),
        MatchError::Filter(error) => error.of_document(document.id()).into(),
    })
}
