//! The source of a plan's operators within this process: one collection at one snapshot.

use crate::capped::NaturalScan;
use crate::error::{Error, Result};
use crate::ids;
use crate::index::{Index, IndexSet};
use crate::index_scan::EntryScan;
use crate::read::{damaged, damaged_key, decode, decode_copy, matches};
use crate::spill::Spill;
use crate::view::CollectionView;
use alluvium_document::row::{ID, RowError};
use alluvium_document::{Document, Value};
use alluvium_env::Env;
use alluvium_exec::{
    BATCH_BYTES, BlockCounts, DocumentRequest, EntryBatch, EntryRef, Examined, Item, Key, MemoryAccount, Move, Proof,
    Source, Walk, Watch,
};
use alluvium_query::filter::{Filter, MatchError};
use alluvium_query::index::Keys;
use alluvium_query::pipeline::{PipelineError, RecordRef};
use alluvium_query::plan::KeyRange;
use alluvium_query::plan::cost::JUMP_ENTRIES;
use alluvium_store::{Bounds, QueryCharge, QueryMemory};
use std::ops::{Bound, Range};
use std::sync::Arc;

/// A collection at a snapshot, with the indexes that the plan was made for.
#[derive(Clone)]
pub(crate) struct LocalSource {
    pub view: Arc<CollectionView>,
    pub indexes: Arc<IndexSet>,
    /// True if scans of documents read a capped collection in the order of insertion.
    pub natural: bool,
    /// The account of the query.
    pub memory: QueryMemory,
}

/// A scan of documents.
pub(crate) struct LocalDocuments {
    rows: Rows,
    filter: Filter,
    examined: u64,
}

/// The rows that a scan reads.
enum Rows {
    /// The rows in ranges of keys, in the order of the keys.
    Keys(KeyRows),
    /// All rows of a capped collection, in the order of insertion.
    Natural(NaturalScan),
}

/// Rows in ranges of keys.
struct KeyRows {
    scan: alluvium_store::Scan,
    /// The remaining ranges, the next one last.
    ranges: Vec<KeyRange>,
    started: bool,
    backward: bool,
}

/// The minimum number of documents of a partition that is read by a thread of its own.
const SPLIT_MIN: u64 = 5000;

impl LocalDocuments {
    /// Passes the remaining documents to `visit`, without a copy.
    pub fn visit(
        &mut self,
        view: &CollectionView,
        watch: &mut Watch,
        visit: &mut dyn FnMut(RecordRef<'_>) -> Result<()>,
    ) -> Result<u64> {
        let Self { rows, filter, examined } = self;
        let (mut id, mut count) = (Vec::new(), 0);
        let KeyRows { scan, ranges, started, backward } = match rows {
            Rows::Keys(rows) => rows,
            Rows::Natural(scan) => loop {
                watch.tick(&view.engine.env)?;
                let Some((key, row)) = scan.next(view)? else { return Ok(count) };
                *examined += 1;
                count += u64::from(visit_row(view, filter, key, row, &mut id, visit)?);
            },
        };
        loop {
            if !*started {
                let Some(range) = ranges.pop() else { return Ok(count) };
                scan.restart(&bounds_of(&range, *backward));
                *started = true;
            }
            watch.tick(&view.engine.env)?;
            let Some((key, row)) = scan.next()? else {
                *started = false;
                continue;
            };
            *examined += 1;
            count += u64::from(visit_row(view, filter, key, row, &mut id, visit)?);
        }
    }
}

/// Passes a row to `visit` if it matches. Returns true if it matches.
#[inline(always)]
fn visit_row(
    view: &CollectionView,
    filter: &Filter,
    key: &[u8],
    row: &[u8],
    id: &mut Vec<u8>,
    visit: &mut dyn FnMut(RecordRef<'_>) -> Result<()>,
) -> Result<bool> {
    let damaged = |error: RowError| damaged_key(&view.name, key, &error);
    let row = Document::view(&view.state.shapes, key, row, id).map_err(damaged)?;
    let matched = filter.is_empty()
        || filter.matches_row(row).map_err(|error| match error {
            MatchError::Damaged(error) => damaged(error),
            MatchError::Filter(error) => match row.get(ID).ok().flatten().and_then(|id| id.to_value().ok()) {
                Some(id) => error.of_document(&id).into(),
                None => error.into(),
            },
        })?;
    if matched {
        visit(RecordRef::View(row)).map_err(|error| match error {
            Error::Pipeline(PipelineError::Damaged(error)) => damaged(error),
            error => error,
        })?;
    }
    Ok(matched)
}

impl LocalSource {
    fn index(&self, name: &str) -> Result<&Arc<Index>> {
        self.indexes
            .find(name)
            .ok_or_else(|| Error::NoSuchIndex { collection: self.view.name.to_string(), index: name.to_owned() })
    }
}

impl Source for LocalSource {
    type Error = Error;
    type Documents = LocalDocuments;
    type Entries = EntryScan;
    type Account = LocalAccount;
    type Sorter = Spill;

    fn env(&self) -> &Env {
        &self.view.engine.env
    }

    /// Rows are decoded lazily, so a scan of whole documents costs no more than a scan of some values.
    fn scan_documents(&self, request: DocumentRequest<'_>) -> Result<LocalDocuments> {
        let DocumentRequest { mut ranges, backward, filter, .. } = request;
        if self.natural {
            let rows = Rows::Natural(NaturalScan::new(&self.view, backward, None)?);
            return Ok(LocalDocuments { rows, filter, examined: 0 });
        }
        let from = ranges.first().map(|first| first.from.clone()).unwrap_or_default();
        let hull = KeyRange { from, to: ranges.last().and_then(|last| last.to.clone()) };
        if !backward {
            ranges.reverse();
        }
        let (tree, bounds) = (self.view.state.documents, bounds_of(&hull, backward));
        let scan = self.view.store().scan(tree, bounds, Some(&self.view.snapshot.store))?;
        let rows = Rows::Keys(KeyRows { scan, ranges, started: false, backward });
        Ok(LocalDocuments { rows, filter, examined: 0 })
    }

    fn next_documents(
        &self,
        documents: &mut LocalDocuments,
        most: usize,
        watch: &mut Watch,
        out: &mut Vec<Item>,
    ) -> Result<()> {
        let LocalDocuments { rows, filter, examined } = documents;
        let (view, goal) = (&self.view, out.len() + most);
        let mut bytes = 0;
        let KeyRows { scan, ranges, started, backward } = match rows {
            Rows::Keys(rows) => rows,
            Rows::Natural(scan) => {
                while out.len() < goal && bytes < BATCH_BYTES {
                    watch.tick(&view.engine.env)?;
                    let Some((key, row)) = scan.next(view)? else { break };
                    *examined += 1;
                    let document = decode_copy(&view.state.shapes, &view.name, key, row)?;
                    if matches(filter, &view.name, &document)? {
                        bytes += row.len();
                        out.push(Item::whole(key, document));
                    }
                }
                return Ok(());
            }
        };
        while out.len() < goal && bytes < BATCH_BYTES {
            if !*started {
                let Some(range) = ranges.pop() else { break };
                scan.restart(&bounds_of(&range, *backward));
                *started = true;
            }
            watch.tick(&view.engine.env)?;
            let Some((key, row)) = scan.next()? else {
                *started = false;
                continue;
            };
            *examined += 1;
            let document = decode_copy(&view.state.shapes, &view.name, key, row)?;
            if matches(filter, &view.name, &document)? {
                bytes += row.len();
                out.push(Item::whole(key, document));
            }
        }
        Ok(())
    }

    fn pause_documents(&self, documents: &mut LocalDocuments) {
        match &mut documents.rows {
            Rows::Keys(rows) => rows.scan.pause(),
            Rows::Natural(scan) => scan.pause(),
        }
    }

    /// Passes the rows without copying them.
    fn visit_documents(
        &self,
        documents: &mut LocalDocuments,
        watch: &mut Watch,
        visit: &mut dyn FnMut(RecordRef<'_>) -> Result<()>,
    ) -> Result<u64> {
        documents.visit(&self.view, watch, visit)
    }

    /// Returns a scan for each partition, if the collection is large.
    fn split_documents(&self, documents: &LocalDocuments) -> Result<Vec<LocalDocuments>> {
        let store = self.view.store();
        let (started, ranges) = match &documents.rows {
            Rows::Keys(rows) => (rows.started, rows.ranges.clone()),
            // The threads need no order.
            Rows::Natural(_) => (documents.examined > 0, vec![KeyRange { from: Vec::new(), to: None }]),
        };
        if started || store.estimate(self.view.state.documents, 0, &Bounds::all())? < SPLIT_MIN {
            return Ok(Vec::new());
        }
        let part = |partition| {
            let (tree, snapshot) = (self.view.state.documents, &self.view.snapshot.store);
            let scan = store.scan_partition(tree, partition, Bounds::all(), snapshot)?;
            let rows = Rows::Keys(KeyRows { scan, ranges: ranges.clone(), started: false, backward: false });
            Ok(LocalDocuments { rows, filter: documents.filter.clone(), examined: 0 })
        };
        (0..store.partitions()).map(part).collect()
    }

    fn documents_examined(&self, documents: &LocalDocuments) -> u64 {
        documents.examined
    }

    fn key_of(&self, id: &Value) -> Option<Key> {
        Some(Key::from(&ids::id_key(id).ok()?[..]))
    }

    fn read_documents(&self, items: &mut [Item]) -> Result<usize> {
        let (mut row, mut bytes) = (Vec::new(), 0);
        for (at, item) in items.iter_mut().enumerate() {
            if bytes >= BATCH_BYTES {
                return Ok(at);
            }
            if let Some(found) = self.view.read(&item.key, &mut row)? {
                bytes += found.document.row_len();
                item.document = Some(found.document);
            }
        }
        Ok(items.len())
    }

    fn scan_entries(&self, walk: &Walk) -> Result<EntryScan> {
        let index = self.index(&walk.plan().index)?.clone();
        let all = KeyRange { from: Vec::new(), to: None };
        let bounds = bounds_of(walk.hull().unwrap_or(&all), walk.is_backward());
        Ok(EntryScan::new(self.view.clone(), index, bounds)?.for_query())
    }

    fn next_entries(
        &self,
        entries: &mut EntryScan,
        walk: &mut Walk,
        most: usize,
        watch: &mut Watch,
        out: &mut EntryBatch,
    ) -> Result<()> {
        let goal = out.len() + most;
        while out.len() < goal {
            match walk.next_move() {
                Move::Next => {}
                Move::Seek => entries.restart(&bounds_of(walk.range(), walk.is_backward())),
                Move::End => break,
            }
            watch.tick(&self.view.engine.env)?;
            let Some(entry) = entries.next()? else {
                walk.end_range();
                continue;
            };
            if walk.admits(&entry) {
                out.push(&entry);
                out.set_last_version(entries.seq());
            }
        }
        Ok(())
    }

    fn pause_entries(&self, entries: &mut EntryScan) {
        entries.pause();
    }

    fn prove(
        &self,
        entries: &mut EntryScan,
        batch: &mut EntryBatch,
        part: Range<usize>,
        proof: Proof,
    ) -> Result<usize> {
        let mut bytes = 0;
        for at in part.clone() {
            let Some(entry) = batch.unproved(at) else { continue };
            if bytes >= BATCH_BYTES {
                return Ok(at);
            }
            let yielded = match proof {
                Proof::Entries => entries.prove_entry(entry)?,
                Proof::Documents => entries.prove(entry)?,
            };
            let Some(yielded) = yielded else {
                batch.refute(at);
                continue;
            };
            if let Some(value) = yielded.value {
                batch.set_value(at, &value);
            }
            let document = yielded.document.filter(|_| proof == Proof::Documents);
            bytes += document.as_ref().map_or(0, Document::row_len);
            batch.prove(at, document);
        }
        Ok(part.end)
    }

    fn values(&self, entries: &EntryScan, entry: EntryRef<'_>) -> Result<Vec<Option<Value>>> {
        entries.values(entry.key(), entry.value)
    }

    fn entries_examined(&self, entries: &EntryScan) -> Examined {
        entries.examined
    }

    fn keys_of(&self, index: &str, document: &Document) -> Result<Keys> {
        self.index(index)?.stored_keys_of(document)
    }

    fn jump_after(&self) -> u32 {
        JUMP_ENTRIES.saturating_mul(self.view.store().partitions())
    }

    fn block_counts(&self) -> BlockCounts {
        let alluvium_store::BlockCounts { looked_up, read } = alluvium_store::BlockCounts::of_thread();
        BlockCounts { looked_up, read }
    }

    fn account(&self) -> LocalAccount {
        LocalAccount(self.memory.charge())
    }

    fn sorter(&self, purpose: &'static str, memory_bytes: usize) -> Spill {
        Spill::new(&self.view.engine, purpose, memory_bytes)
    }

    fn document(&self, key: &[u8], row: Vec<u8>) -> Result<Document> {
        decode(&self.view.state.shapes, &self.view.name, key, row)
    }

    fn picked(&self, row: Vec<u8>) -> Result<Document> {
        Document::from_fields(&self.view.state.shapes, row).map_err(|_| self.damaged_sort())
    }

    fn damaged(&self, document: &Document, error: RowError) -> Error {
        damaged(&self.view.name, document)(error)
    }

    fn damaged_sort(&self) -> Error {
        Error::DamagedDocument {
            collection: self.view.name.to_string(),
            id: "(sorted)".to_owned(),
            reason: "a file of a sort has changed".to_owned(),
        }
    }
}

/// Memory that is charged to the account of a query.
pub(crate) struct LocalAccount(pub QueryCharge);

impl MemoryAccount for LocalAccount {
    fn bytes(&self) -> usize {
        self.0.bytes()
    }

    fn grow(&mut self, bytes: usize) -> bool {
        self.0.grow(bytes)
    }

    fn shrink(&mut self, bytes: usize) {
        self.0.shrink(bytes);
    }
}

fn bounds_of(range: &KeyRange, reverse: bool) -> Bounds {
    let upper = range.to.clone().map_or(Bound::Unbounded, Bound::Excluded);
    Bounds { lower: Bound::Included(range.from.clone()), upper, reverse }
}
