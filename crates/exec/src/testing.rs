// long: one source in memory, with all that plans and pipelines ask of one
//! A source in memory, for the tests of operators: documents and entries are sorted vectors.

use crate::counts::{BlockCounts, Examined, Report};
use crate::entries::{EntryBatch, EntryRef};
use crate::execution::Execution;
use crate::item::Item;
use crate::key::Key;
use crate::limits::{Interrupted, Limits, Watch};
use crate::run::Request;
use crate::source::{DocumentRequest, MemoryAccount, Proof, Sorted, Sorter, Source, matches};
use crate::walk::{Move, Walk};
use alluvium_document::path::FieldPath;
use alluvium_document::row::RowError;
use alluvium_document::shape::{ShapeOptions, ShapeTable};
use alluvium_document::{Document, Map, Value, key};
use alluvium_env::{Env, ManualClock};
use alluvium_query::filter::{Filter, FilterError};
use alluvium_query::index::{Definition, Keys};
use alluvium_query::plan::{self, Hint, IndexScan, KeyRange, Needs, Node};
use alluvium_query::sort::{Sort, SortError};
use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[derive(Debug, Clone, PartialEq)]
pub enum TestError {
    Interrupted(Interrupted),
    Sort(SortError),
    Row(RowError),
    Filter(FilterError),
    /// The failure that a test requested.
    Broken,
}

impl From<Interrupted> for TestError {
    fn from(interrupted: Interrupted) -> Self {
        Self::Interrupted(interrupted)
    }
}

impl From<SortError> for TestError {
    fn from(error: SortError) -> Self {
        Self::Sort(error)
    }
}

impl From<FilterError> for TestError {
    fn from(error: FilterError) -> Self {
        Self::Filter(error)
    }
}

impl From<RowError> for TestError {
    fn from(error: RowError) -> Self {
        Self::Row(error)
    }
}

type Result<T> = std::result::Result<T, TestError>;

/// A collection in memory. Clones share it.
#[derive(Clone)]
pub struct Memory(Rc<Inner>);

struct Inner {
    env: Env,
    clock: Arc<ManualClock>,
    /// By the keys of their `_id`s.
    documents: Vec<(Vec<u8>, Document)>,
    indexes: Vec<Index>,
    counters: Counters,
    conduct: Conduct,
}

struct Index {
    definition: Definition,
    multikey: u32,
    cut: u32,
    entries: Vec<StoredEntry>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct StoredEntry {
    bytes: Vec<u8>,
    key_len: usize,
    value: Vec<u8>,
}

/// The operations on the source so far.
pub struct Counters {
    /// Documents and entries that were read.
    pub reads: Cell<u64>,
    pub spilled: Cell<u64>,
    /// Bytes of all accounts.
    pub memory: Cell<usize>,
    pub memory_max: Cell<usize>,
    /// The bytes that all accounts may have.
    pub memory_allowed: Cell<usize>,
}

impl Default for Counters {
    fn default() -> Self {
        let [reads, spilled] = [0; 2].map(Cell::new);
        let [memory, memory_max, memory_allowed] = [0, 0, usize::MAX].map(Cell::new);
        Self { reads, spilled, memory, memory_max, memory_allowed }
    }
}

/// The behaviour of the source.
pub struct Conduct {
    /// Batches have at most this many elements.
    pub batch_max: Cell<usize>,
    /// The number of the read that fails.
    pub fails_at: Cell<u64>,
    /// The number of the read that sets the flag.
    pub stops_at: Cell<u64>,
    pub stop: Arc<AtomicBool>,
    /// The time that each read takes.
    pub read_ms: Cell<u64>,
}

impl Default for Conduct {
    fn default() -> Self {
        let never = || Cell::new(u64::MAX);
        let (batch_max, read_ms) = (Cell::new(usize::MAX), Cell::new(0));
        Self { batch_max, fails_at: never(), stops_at: never(), stop: Arc::default(), read_ms }
    }
}

pub fn map(json: &str) -> Map {
    Document::from_json(json).unwrap().to_map().unwrap()
}

impl Memory {
    /// A collection of these documents, each given as JSON with an `_id`, with an index on each of
    /// these keys.
    pub fn new(documents: impl IntoIterator<Item = String>, indexes: &[&str]) -> Self {
        Self::with_old_versions(documents, [], indexes)
    }

    /// As [`Memory::new`], with the stale entries of earlier versions of documents.
    pub fn with_old_versions(
        documents: impl IntoIterator<Item = String>,
        old: impl IntoIterator<Item = String>,
        indexes: &[&str],
    ) -> Self {
        let parsed = |json: String| {
            let document = Document::from_json(&json).unwrap();
            (key::id_key(document.id()).unwrap(), document)
        };
        let mut documents: Vec<_> = documents.into_iter().map(parsed).collect();
        documents.sort_by(|a, b| a.0.cmp(&b.0));
        let old: Vec<_> = old.into_iter().map(parsed).collect();
        let index = |keys: &&str| {
            let definition = Definition::parse(&map(keys), &Map::new()).unwrap();
            let (mut entries, mut multikey, mut cut) = (Vec::new(), 0, 0);
            for (id, document) in documents.iter().chain(&old) {
                let keys = definition.keys_of(document).unwrap();
                multikey |= keys.multikey;
                cut |= keys.cut;
                entries.extend(keys.keys.into_iter().map(|key| StoredEntry {
                    key_len: key.bytes.len(),
                    bytes: [&key.bytes[..], id].concat(),
                    value: key.values,
                }));
            }
            entries.sort();
            entries.dedup_by(|a, b| a.bytes == b.bytes);
            Index { definition, multikey, cut, entries }
        };
        let indexes = indexes.iter().map(index).collect();
        let clock = Arc::new(ManualClock::new());
        let env = Env { clock: clock.clone(), ..Env::in_memory(1) };
        let (counters, conduct) = (Counters::default(), Conduct::default());
        Self(Rc::new(Inner { env, clock, documents, indexes, counters, conduct }))
    }

    pub fn counters(&self) -> &Counters {
        &self.0.counters
    }

    pub fn conduct(&self) -> &Conduct {
        &self.0.conduct
    }

    pub fn find(&self, filter: &str) -> Find {
        Find {
            memory: self.clone(),
            filter: Filter::parse(&map(filter)).unwrap(),
            sort: Sort::default(),
            needs: None,
            skip: 0,
            limit: None,
            hint: None,
            request: Request::default(),
        }
    }

    /// The numbers that are the `_id`s of the matching documents, ascending.
    pub fn matching(&self, filter: &str) -> Vec<i64> {
        let filter = Filter::parse(&map(filter)).unwrap();
        let matching = self.0.documents.iter().filter(|(_, document)| filter.matches(document).unwrap());
        matching.map(|(_, document)| document.id().as_i64().unwrap()).collect()
    }

    fn index(&self, name: &str) -> &Index {
        self.0.indexes.iter().find(|index| index.definition.name() == name).unwrap()
    }

    /// Counts one read of a document or an entry.
    fn read(&self) -> Result<()> {
        let (counters, conduct) = (&self.0.counters, &self.0.conduct);
        counters.reads.set(counters.reads.get() + 1);
        self.0.clock.advance(Duration::from_millis(conduct.read_ms.get()));
        if counters.reads.get() >= conduct.stops_at.get() {
            conduct.stop.store(true, Ordering::Relaxed);
        }
        if counters.reads.get() >= conduct.fails_at.get() { Err(TestError::Broken) } else { Ok(()) }
    }

    fn stored(&self, key: &[u8]) -> Result<Option<&Document>> {
        self.read()?;
        let found = self.0.documents.binary_search_by(|(stored, _)| stored.as_slice().cmp(key));
        Ok(found.ok().map(|at| &self.0.documents[at].1))
    }
}

/// A query of a test.
pub struct Find {
    memory: Memory,
    filter: Filter,
    sort: Sort,
    needs: Option<Vec<FieldPath>>,
    skip: u64,
    limit: Option<u64>,
    hint: Option<String>,
    pub request: Request,
}

impl Find {
    pub fn sort(mut self, sort: &str) -> Self {
        self.sort = Sort::parse(&map(sort)).unwrap();
        self
    }

    pub fn needs(mut self, paths: &[&str]) -> Self {
        self.needs = Some(paths.iter().map(|path| path.parse().unwrap()).collect());
        self
    }

    pub fn skip(mut self, skip: u64) -> Self {
        self.skip = skip;
        self
    }

    pub fn limit(mut self, limit: u64) -> Self {
        self.limit = Some(limit);
        self
    }

    pub fn hint(mut self, index: &str) -> Self {
        self.hint = Some(index.to_owned());
        self
    }

    pub fn with(mut self, change: impl FnOnce(&mut Request)) -> Self {
        change(&mut self.request);
        self
    }

    /// Uses the source's stop flag, and this time limit.
    pub fn max_time_ms(self, ms: u64) -> Self {
        let (stop, env) = (self.memory.conduct().stop.clone(), self.memory.0.env.clone());
        self.with(|request| {
            request.limits.stop = Some(stop);
            request.limits.set_max_time(Duration::from_millis(ms));
            request.limits.begin(&env);
        })
    }

    /// The plan that the planner chooses for a much larger collection.
    pub fn plan(&self) -> Node {
        const TIMES: u64 = 10_000;
        let inner = &self.memory.0;
        let indexes: Vec<_> = inner
            .indexes
            .iter()
            .map(|index| plan::Index {
                definition: &index.definition,
                multikey: index.multikey,
                cut: index.cut,
                entries: index.entries.len() as u64 * TIMES,
                distinct: &[1000, 10_000],
                bytes: index.entries.len() as u64 * TIMES * 30,
            })
            .collect();
        let documents = inner.documents.len() as u64 * TIMES;
        let collection = plan::Collection {
            documents,
            bytes: documents * 300,
            partitions: 1,
            natural_ids: true,
            indexes: &indexes,
            estimator: None,
        };
        let query = plan::Query {
            filter: &self.filter,
            sort: self.sort.parts(),
            needs: self.needs.as_deref().map_or(Needs::Documents, Needs::Paths),
            skip: self.skip,
            limit: self.limit,
            hint: self.hint.as_deref().map(Hint::Name),
        };
        plan::plan(&query, &collection).unwrap().root
    }

    /// The index scan of the plan, which must have one.
    pub fn scan(&self) -> IndexScan {
        fn of(node: &Node) -> Option<&IndexScan> {
            match node {
                Node::Index(scan) => Some(scan),
                node => node.inputs().into_iter().find_map(of),
            }
        }
        of(&self.plan()).unwrap().clone()
    }

    pub fn execution(&self) -> Execution<Memory> {
        self.execution_of(&self.plan())
    }

    pub fn execution_of(&self, plan: &Node) -> Execution<Memory> {
        let request = Request { sort: self.sort.clone(), needs: self.needs.clone(), ..self.request.clone() };
        Execution::new(self.memory.clone(), plan, request, false).unwrap()
    }

    pub fn ids(&self) -> Result<Vec<i64>> {
        ids(&mut self.execution())
    }

    pub fn sorted_ids(&self) -> Vec<i64> {
        let mut ids = self.ids().unwrap();
        ids.sort_unstable();
        ids
    }
}

pub fn ids(execution: &mut Execution<Memory>) -> Result<Vec<i64>> {
    let mut ids = Vec::new();
    while let Some(item) = execution.next_item()? {
        let key = execution.key_of(&item).unwrap();
        ids.push(id(&Item { key, ..item }));
    }
    Ok(ids)
}

pub fn id(item: &Item) -> i64 {
    key::decode(&mut &item.key[..]).unwrap().as_i64().unwrap()
}

/// Entries and documents examined by all steps.
pub fn examined(report: &Report) -> (u64, u64) {
    let below = report.inputs.iter().map(examined);
    below.fold((report.counts.keys, report.counts.documents), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

pub struct MemoryScan {
    ranges: Vec<KeyRange>,
    /// Positions of the documents in the current range, in reverse order.
    current: Vec<usize>,
    request_filter: Filter,
    backward: bool,
    examined: u64,
}

pub struct MemoryEntries {
    index: String,
    current: Vec<usize>,
    examined: Examined,
}

/// The positions of sorted keys within a range, in the reverse of the scan's direction.
fn within<'a>(keys: impl Iterator<Item = &'a [u8]>, range: &KeyRange, backward: bool) -> Vec<usize> {
    let within = keys.enumerate().filter(|(_, key)| range.contains(key));
    let mut positions: Vec<usize> = within.map(|(at, _)| at).collect();
    if !backward {
        positions.reverse();
    }
    positions
}

impl Source for Memory {
    type Error = TestError;
    type Documents = MemoryScan;
    type Entries = MemoryEntries;
    type Account = TestAccount;
    type Sorter = TestSorter;

    fn env(&self) -> &Env {
        &self.0.env
    }

    fn scan_documents(&self, request: DocumentRequest<'_>) -> Result<MemoryScan> {
        let DocumentRequest { mut ranges, backward, filter, .. } = request;
        if !backward {
            ranges.reverse();
        }
        Ok(MemoryScan { ranges, current: Vec::new(), request_filter: filter, backward, examined: 0 })
    }

    fn next_documents(&self, scan: &mut MemoryScan, most: usize, watch: &mut Watch, out: &mut Vec<Item>) -> Result<()> {
        let goal = out.len() + most.min(self.conduct().batch_max.get());
        while out.len() < goal {
            let Some(at) = scan.current.pop() else {
                let Some(range) = scan.ranges.pop() else { break };
                let keys = self.0.documents.iter().map(|(key, _)| key.as_slice());
                scan.current = within(keys, &range, scan.backward);
                continue;
            };
            watch.tick(self.env())?;
            self.read()?;
            scan.examined += 1;
            let (key, document) = &self.0.documents[at];
            if matches(self, &scan.request_filter, document)? {
                out.push(Item::whole(key, document.clone()));
            }
        }
        Ok(())
    }

    fn documents_examined(&self, scan: &MemoryScan) -> u64 {
        scan.examined
    }

    fn key_of(&self, id: &Value) -> Option<Key> {
        Some(Key::from(&key::id_key(id).ok()?[..]))
    }

    fn read_documents(&self, items: &mut [Item]) -> Result<usize> {
        let end = items.len().min(self.conduct().batch_max.get());
        for item in &mut items[..end] {
            item.document = self.stored(&item.key)?.cloned();
        }
        Ok(end)
    }

    fn scan_entries(&self, walk: &Walk) -> Result<MemoryEntries> {
        assert!(walk.hull().is_some());
        Ok(MemoryEntries { index: walk.plan().index.clone(), current: Vec::new(), examined: Examined::default() })
    }

    fn next_entries(
        &self,
        scan: &mut MemoryEntries,
        walk: &mut Walk,
        most: usize,
        watch: &mut Watch,
        out: &mut EntryBatch,
    ) -> Result<()> {
        let entries = &self.index(&scan.index).entries;
        let goal = out.len() + most.min(self.conduct().batch_max.get());
        while out.len() < goal {
            match walk.next_move() {
                Move::Next => {}
                Move::Seek => {
                    scan.examined.seeks += 1;
                    let keys = entries.iter().map(|entry| entry.bytes.as_slice());
                    scan.current = within(keys, walk.range(), walk.is_backward());
                }
                Move::End => break,
            }
            watch.tick(self.env())?;
            let Some(at) = scan.current.pop() else {
                walk.end_range();
                continue;
            };
            self.read()?;
            scan.examined.keys += 1;
            let StoredEntry { bytes, key_len, value } = &entries[at];
            let entry = EntryRef { bytes, key_len: *key_len, value, version: 0 };
            if walk.admits(&entry) {
                out.push(&entry);
            }
        }
        Ok(())
    }

    fn prove(
        &self,
        scan: &mut MemoryEntries,
        batch: &mut EntryBatch,
        part: Range<usize>,
        proof: Proof,
    ) -> Result<usize> {
        let end = part.end.min(part.start.saturating_add(self.conduct().batch_max.get()));
        for at in part.start..end {
            let Some(entry) = batch.unproved(at) else { continue };
            let document = self.stored(entry.id())?;
            scan.examined.documents += 1;
            let keys = document.map(|document| self.keys_of(&scan.index, document)).transpose()?.unwrap_or_default();
            match keys.keys.iter().find(|key| key.bytes == batch.key(at)) {
                Some(key) => {
                    batch.set_value(at, &key.values);
                    batch.prove(at, document.filter(|_| proof == Proof::Documents).cloned());
                }
                None => {
                    scan.examined.stale += 1;
                    batch.refute(at);
                }
            }
        }
        Ok(end)
    }

    fn values(&self, scan: &MemoryEntries, entry: EntryRef<'_>) -> Result<Vec<Option<Value>>> {
        Ok(self.index(&scan.index).definition.values(entry.key(), entry.value).unwrap())
    }

    fn entries_examined(&self, scan: &MemoryEntries) -> Examined {
        scan.examined
    }

    fn keys_of(&self, index: &str, document: &Document) -> Result<Keys> {
        Ok(self.index(index).definition.keys_of(document).unwrap())
    }

    fn jump_after(&self) -> u32 {
        4
    }

    fn block_counts(&self) -> BlockCounts {
        BlockCounts::default()
    }

    fn account(&self) -> TestAccount {
        TestAccount { memory: self.clone(), bytes: 0 }
    }

    fn sorter(&self, _: &'static str, _: usize) -> TestSorter {
        TestSorter { memory: self.clone(), pairs: Vec::new() }
    }

    fn document(&self, key: &[u8], row: Vec<u8>) -> Result<Document> {
        let document = self.stored(key)?.unwrap();
        assert_eq!(document.row(), row);
        Ok(document.clone())
    }

    fn picked(&self, row: Vec<u8>) -> Result<Document> {
        let shapes = Arc::new(ShapeTable::new(ShapeOptions::DEFAULT));
        Ok(Document::from_fields(&shapes, row)?)
    }

    fn damaged(&self, _: &Document, error: RowError) -> TestError {
        TestError::Row(error)
    }

    fn damaged_sort(&self) -> TestError {
        TestError::Broken
    }
}

pub struct TestAccount {
    memory: Memory,
    bytes: usize,
}

impl MemoryAccount for TestAccount {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn grow(&mut self, bytes: usize) -> bool {
        let counters = self.memory.counters();
        let after = counters.memory.get() + bytes.saturating_sub(self.bytes);
        if after > counters.memory_allowed.get() {
            return false;
        }
        counters.memory.set(after);
        counters.memory_max.set(counters.memory_max.get().max(after));
        self.bytes = self.bytes.max(bytes);
        true
    }

    fn shrink(&mut self, bytes: usize) {
        let released = self.bytes.saturating_sub(bytes);
        let counters = self.memory.counters();
        counters.memory.set(counters.memory.get() - released);
        self.bytes -= released;
    }
}

impl Drop for TestAccount {
    fn drop(&mut self) {
        self.shrink(0);
    }
}

pub struct TestSorter {
    memory: Memory,
    pairs: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Sorter for TestSorter {
    type Error = TestError;
    type Sorted = TestSorted;

    fn add(&mut self, limits: &Limits, key: &[u8], value: &[u8]) -> Result<()> {
        limits.check(self.memory.env())?;
        let counters = self.memory.counters();
        counters.spilled.set(counters.spilled.get() + 1);
        self.pairs.push((key.to_vec(), value.to_vec()));
        Ok(())
    }

    fn finish(self, _: &Limits) -> Result<TestSorted> {
        let mut pairs = self.pairs;
        pairs.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(TestSorted { pairs, next: 0 })
    }
}

pub struct TestSorted {
    pairs: Vec<(Vec<u8>, Vec<u8>)>,
    next: usize,
}

impl Sorted for TestSorted {
    type Error = TestError;

    fn next_value(&mut self, _: &Limits) -> Result<Option<&[u8]>> {
        let pair = self.pairs.get(self.next);
        self.next += 1;
        Ok(pair.map(|(_, value)| value.as_slice()))
    }
}
