//! A read-only store as the source of a plan's operators: its documents, without indexes, and
//! without files for sorts that exceed memory.

use crate::error::{Error, Result};
use crate::read::{damaged, damaged_key, matches};
use crate::read_only::{ReadOnlyContent, ReadOnlyDocuments};
use crate::source::LocalAccount;
use alluvium_document::row::RowError;
use alluvium_document::{Document, Value};
use alluvium_env::Env;
use alluvium_exec::{
    BATCH_BYTES, BlockCounts, Blocks, DocumentRequest, EntryBatch, EntryRef, Examined, Item, Key, KeySet, Limits,
    Proof, Sorted, Sorter, Source, Walk, Watch,
};
use alluvium_query::ErrorCode;
use alluvium_query::expression::ExpressionError;
use alluvium_query::filter::{Filter, MatchError};
use alluvium_query::index::Keys;
use alluvium_query::pipeline::{PipelineError, RecordRef};
use alluvium_query::plan::KeyRange;
use alluvium_readonly::{Bounds, QueryMemory};
use std::convert::Infallible;
use std::ops::{Bound, Range};

/// The maximum number of bytes of documents that a sort or a stage of a pipeline holds in memory: half of the budget of
/// the store, and at most MongoDB's limit.
pub(crate) fn stage_bytes_max(store: &ReadOnlyDocuments) -> usize {
    (store.memory_bytes() / 2).min(100 << 20)
}

/// A read-only store, and the account of the query.
#[derive(Clone)]
pub(crate) struct ReadOnlySource(pub ReadOnlyDocuments, pub QueryMemory);

/// A scan of documents.
pub(crate) struct ReadOnlyScan {
    /// The scan of the current range.
    scan: Option<alluvium_readonly::Scan>,
    /// The remaining ranges, the next one last.
    ranges: Vec<KeyRange>,
    backward: bool,
    filter: Filter,
    examined: u64,
}

/// The scan of the current range, or of the next range if none is current; `None` after the last range.
fn current<'s>(
    scan: &'s mut Option<alluvium_readonly::Scan>,
    ranges: &mut Vec<KeyRange>,
    backward: bool,
    store: &ReadOnlyDocuments,
) -> Option<&'s mut alluvium_readonly::Scan> {
    if scan.is_none() {
        let range = ranges.pop()?;
        // An unbounded scan does not put its blocks into the cache, which serves gets.
        let lower = if range.from.is_empty() { Bound::Unbounded } else { Bound::Included(range.from) };
        let upper = range.to.map_or(Bound::Unbounded, Bound::Excluded);
        *scan = Some(store.pairs().scan(&Bounds { lower, upper, reverse: backward }));
    }
    scan.as_mut()
}

impl Source for ReadOnlySource {
    type Error = Error;
    type Documents = ReadOnlyScan;
    type Entries = Infallible;
    type Account = LocalAccount;
    type Sorter = NoFiles;

    fn env(&self) -> &Env {
        self.0.pairs().env()
    }

    /// The keys of a store of keys and values are not those of `_id`s, so all of them are read: see
    /// [`crate::find::Execution::read_only`].
    fn scan_documents(&self, request: DocumentRequest<'_>) -> Result<ReadOnlyScan> {
        let DocumentRequest { mut ranges, backward, filter, .. } = request;
        if self.0.content() == ReadOnlyContent::KeyValues && !ranges.is_empty() {
            ranges = vec![KeyRange { from: Vec::new(), to: None }];
        }
        if !backward {
            ranges.reverse();
        }
        Ok(ReadOnlyScan { scan: None, ranges, backward, filter, examined: 0 })
    }

    fn next_documents(
        &self,
        documents: &mut ReadOnlyScan,
        most: usize,
        watch: &mut Watch,
        out: &mut Vec<Item>,
    ) -> Result<()> {
        let ReadOnlyScan { scan, ranges, backward, filter, examined } = documents;
        let goal = out.len() + most;
        let mut bytes = 0;
        while out.len() < goal && bytes < BATCH_BYTES {
            watch.tick(self.env())?;
            let Some(current) = current(scan, ranges, *backward, &self.0) else { break };
            let Some((key, row)) = current.next()? else {
                *scan = None;
                continue;
            };
            *examined += 1;
            let document = self.0.document_copy(key, row)?;
            if matches(filter, self.0.name(), &document)? {
                bytes += row.len();
                out.push(Item::whole(key, document));
            }
        }
        Ok(())
    }

    /// Passes the rows without copying them.
    fn visit_documents(
        &self,
        documents: &mut ReadOnlyScan,
        watch: &mut Watch,
        visit: &mut dyn FnMut(RecordRef<'_>) -> Result<()>,
    ) -> Result<u64> {
        let (name, has_rows) = (self.0.name(), self.0.content() == ReadOnlyContent::Documents);
        let (mut id, mut count) = (Vec::new(), 0);
        let ReadOnlyScan { scan, ranges, backward, filter, examined } = documents;
        loop {
            watch.tick(self.env())?;
            let Some(current) = current(scan, ranges, *backward, &self.0) else { return Ok(count) };
            let Some((key, row)) = current.next()? else {
                *scan = None;
                continue;
            };
            *examined += 1;
            let damaged = |error: RowError| damaged_key(name, key, &error);
            let whole = |error| match error {
                Error::Pipeline(PipelineError::Damaged(error)) => damaged(error),
                error => error,
            };
            if has_rows {
                let row = Document::view(self.0.shapes(), key, row, &mut id).map_err(damaged)?;
                let matched = filter.is_empty()
                    || filter.matches_row(row).map_err(|error| match error {
                        MatchError::Damaged(error) => damaged(error),
                        MatchError::Filter(error) => error.into(),
                    })?;
                if matched {
                    count += 1;
                    visit(RecordRef::View(row)).map_err(whole)?;
                }
            } else {
                let document = self.0.document_copy(key, row)?;
                if matches(filter, name, &document)? {
                    count += 1;
                    visit(RecordRef::Row(&document)).map_err(whole)?;
                }
            }
        }
    }

    fn documents_examined(&self, documents: &ReadOnlyScan) -> u64 {
        documents.examined
    }

    fn key_of(&self, id: &Value) -> Option<Key> {
        Some(Key::from(&self.0.key_of(id)?[..]))
    }

    fn read_documents(&self, items: &mut [Item]) -> Result<usize> {
        let mut bytes = 0;
        for (at, item) in items.iter_mut().enumerate() {
            if bytes >= BATCH_BYTES {
                return Ok(at);
            }
            let mut row = Vec::new();
            if self.0.pairs().get(&item.key, &mut row)? {
                let document = self.0.document(&item.key, row)?;
                bytes += document.row_len();
                item.document = Some(document);
            }
        }
        Ok(items.len())
    }

    fn scan_entries(&self, walk: &Walk) -> Result<Infallible> {
        Err(self.no_index(&walk.plan().index))
    }

    fn next_entries(
        &self,
        entries: &mut Infallible,
        _: &mut Walk,
        _: usize,
        _: &mut Watch,
        _: &mut EntryBatch,
    ) -> Result<()> {
        match *entries {}
    }

    fn prove(&self, entries: &mut Infallible, _: &mut EntryBatch, _: Range<usize>, _: Proof) -> Result<usize> {
        match *entries {}
    }

    fn values(&self, entries: &Infallible, _: EntryRef<'_>) -> Result<Vec<Option<Value>>> {
        match *entries {}
    }

    fn entries_examined(&self, entries: &Infallible) -> Examined {
        match *entries {}
    }

    fn keys_of(&self, index: &str, _: &Document) -> Result<Keys> {
        Err(self.no_index(index))
    }

    fn jump_after(&self) -> u32 {
        u32::MAX
    }

    fn block_counts(&self) -> BlockCounts {
        let alluvium_store::BlockCounts { looked_up, read } = alluvium_store::BlockCounts::of_thread();
        BlockCounts { looked_up, read }
    }

    fn account(&self) -> LocalAccount {
        LocalAccount(self.1.charge())
    }

    fn sorter(&self, purpose: &'static str, _: usize) -> NoFiles {
        NoFiles { purpose, limit: stage_bytes_max(&self.0) }
    }

    fn document(&self, key: &[u8], row: Vec<u8>) -> Result<Document> {
        self.0.document(key, row)
    }

    fn picked(&self, row: Vec<u8>) -> Result<Document> {
        Document::from_fields(self.0.shapes(), row).map_err(|_| self.damaged_sort())
    }

    fn damaged(&self, document: &Document, error: RowError) -> Error {
        damaged(self.0.name(), document)(error)
    }

    fn damaged_sort(&self) -> Error {
        PipelineError::damaged_file().into()
    }
}

impl ReadOnlySource {
    fn no_index(&self, index: &str) -> Error {
        Error::NoSuchIndex { collection: self.0.name().to_string(), index: index.to_owned() }
    }
}

/// Takes the place of a sorter, a set of keys or blocks in files, because a read-only store has no directory for such
/// files.
pub(crate) struct NoFiles {
    pub purpose: &'static str,
    /// The limit in bytes that was exceeded.
    pub limit: usize,
}

impl NoFiles {
    fn refusal(&self) -> Error {
        let Self { purpose, limit } = self;
        let message = format!(
            "{purpose} needs more than {limit} bytes of memory, and over a read-only store it has no files: select \
             fewer documents or fields, or open the store with more memory"
        );
        let code = ErrorCode::QueryExceededMemoryLimitNoDiskUseAllowed;
        PipelineError::Refused(ExpressionError::new(code, message)).into()
    }
}

impl Sorter for NoFiles {
    type Error = Error;
    type Sorted = Nothing;

    fn add(&mut self, _: &Limits, _: &[u8], _: &[u8]) -> Result<()> {
        Err(self.refusal())
    }

    fn finish(self, _: &Limits) -> Result<Nothing> {
        Ok(Nothing)
    }
}

impl KeySet for NoFiles {
    type Error = Error;

    fn add(&mut self, _: &Limits, _: &[Vec<u8>]) -> Result<()> {
        Err(self.refusal())
    }

    fn contains(&mut self, _: &Limits, keys: &[&[u8]]) -> Result<Vec<bool>> {
        Ok(vec![false; keys.len()])
    }
}

impl Blocks for NoFiles {
    type Error = Error;

    fn push(&mut self, _: &Limits, _: &[u8]) -> Result<()> {
        Err(self.refusal())
    }

    fn read(&mut self, _: &Limits, _: usize, _: &mut Vec<u8>) -> Result<()> {
        Err(self.refusal())
    }
}

/// No pairs.
pub(crate) struct Nothing;

impl Sorted for Nothing {
    type Error = Error;

    fn next_value(&mut self, _: &Limits) -> Result<Option<&[u8]>> {
        Ok(None)
    }
}
