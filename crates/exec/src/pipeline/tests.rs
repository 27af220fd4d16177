mod graph;
mod windows;

use super::*;
use crate::limits::{Interrupted, Limits};
use crate::source::{Blocks, KeySet, MemoryAccount, Sorted, Sorter};
use alluvium_document::path::FieldPath;
use alluvium_document::{Document, Map, Value};
use alluvium_env::Env;
use alluvium_env::sync::Mutex;
use alluvium_query::expression::Variables;
use alluvium_query::pipeline::{Pipeline, PipelineError, Record, Stage};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

#[derive(Debug)]
enum Failure {
    Pipeline(PipelineError),
    Interrupted(Interrupted),
}

impl From<PipelineError> for Failure {
    fn from(error: PipelineError) -> Self {
        Self::Pipeline(error)
    }
}

impl From<Interrupted> for Failure {
    fn from(interrupted: Interrupted) -> Self {
        Self::Interrupted(interrupted)
    }
}

type Result<T> = std::result::Result<T, Failure>;

/// A database in memory, which counts the requests of pipelines.
#[derive(Clone)]
struct World(Arc<Inner>);

struct Inner {
    env: Env,
    /// The documents of the collection `graph`.
    graph: Mutex<Vec<Map>>,
    /// The keys that are in files.
    filed_keys: AtomicUsize,
    /// The blocks that were written to files, and read from them.
    filed_blocks: AtomicUsize,
    read_blocks: AtomicUsize,
    /// The number of the read of a block that sets the stop flag.
    stops_at_block: AtomicUsize,
    /// The collections that were opened, in this order.
    opened: Mutex<Vec<String>>,
    /// Documents that were read from the first source.
    reads: AtomicU64,
    /// The number of the read that sets the stop flag.
    stops_at: AtomicU64,
    stop: Arc<AtomicBool>,
    /// The bytes of all accounts, their maximum so far, and their limit.
    held: AtomicUsize,
    held_most: AtomicUsize,
    allowed: AtomicUsize,
}

impl World {
    fn new() -> Self {
        let (reads, stops_at) = (AtomicU64::new(0), AtomicU64::new(u64::MAX));
        let [held, held_most, filed_keys, filed_blocks, read_blocks] = [0; 5].map(AtomicUsize::new);
        let [allowed, stops_at_block] = [usize::MAX; 2].map(AtomicUsize::new);
        let (env, graph, opened, stop) = (Env::in_memory(1), Mutex::default(), Mutex::default(), Arc::default());
        Self(Arc::new(Inner {
            env,
            graph,
            filed_keys,
            filed_blocks,
            read_blocks,
            stops_at_block,
            opened,
            reads,
            stops_at,
            stop,
            held,
            held_most,
            allowed,
        }))
    }

    fn reads(&self) -> u64 {
        self.0.reads.load(Ordering::Relaxed)
    }

    fn opened(&self) -> Vec<String> {
        self.0.opened.lock().clone()
    }

    fn settings(&self) -> Settings {
        let mut limits = Limits::default();
        limits.stop = Some(self.0.stop.clone());
        Settings { limits, allow_disk_use: false, stage_bytes_max: 1 << 20, memory_bytes_max: 1 << 20, timed: false }
    }

    /// A pipeline over a number of documents `{_id, group, list}`.
    fn run(&self, documents: i32, stages: &str) -> PipelineExecution<Self> {
        self.run_with(documents, stages, self.settings())
    }

    fn run_with(&self, documents: i32, stages: &str, settings: Settings) -> PipelineExecution<Self> {
        let source = Box::new(Numbers { world: Some(self.clone()), next: 0, end: documents });
        PipelineExecution::new(self.clone(), source, parsed(stages), settings)
    }
}

fn parsed(stages: &str) -> Vec<Stage> {
    let wrapped = Document::from_json(format!(r#"{{"stages": {stages}}}"#)).unwrap().to_map().unwrap();
    Pipeline::parse(wrapped.get("stages").unwrap(), &Variables::NONE.at(0).seeded(1)).unwrap().into_stages()
}

struct Numbers {
    /// Counts the reads.
    world: Option<World>,
    next: i32,
    end: i32,
}

impl Records<Failure> for Numbers {
    fn next_record(&mut self) -> Result<Option<Record>> {
        if self.next == self.end {
            return Ok(None);
        }
        let id = self.next;
        self.next += 1;
        if let Some(World(world)) = &self.world
            && world.reads.fetch_add(1, Ordering::Relaxed) + 1 >= world.stops_at.load(Ordering::Relaxed)
        {
            world.stop.store(true, Ordering::Relaxed);
        }
        let list = Value::Array((0..3).map(Value::Int32).collect());
        let fields = [("_id", Value::Int32(id)), ("group", Value::Int32(id % 10)), ("list", list)];
        Ok(Some(Record::Map(Map::from(fields))))
    }
}

struct Given(std::vec::IntoIter<Map>);

impl Records<Failure> for Given {
    fn next_record(&mut self) -> Result<Option<Record>> {
        Ok(self.0.next().map(Record::Map))
    }
}

struct Account {
    world: World,
    bytes: usize,
}

impl MemoryAccount for Account {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn grow(&mut self, bytes: usize) -> bool {
        let more = bytes.saturating_sub(self.bytes);
        let (held, allowed) = (&self.world.0.held, self.world.0.allowed.load(Ordering::Relaxed));
        if held.load(Ordering::Relaxed) + more > allowed {
            return false;
        }
        let after = held.fetch_add(more, Ordering::Relaxed) + more;
        self.world.0.held_most.fetch_max(after, Ordering::Relaxed);
        self.bytes += more;
        true
    }

    fn shrink(&mut self, bytes: usize) {
        let released = self.bytes.saturating_sub(bytes);
        self.world.0.held.fetch_sub(released, Ordering::Relaxed);
        self.bytes -= released;
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.shrink(0);
    }
}

#[derive(Default)]
struct Pairs {
    pairs: Vec<(Vec<u8>, Vec<u8>)>,
    next: usize,
}

impl Sorter for Pairs {
    type Error = Failure;
    type Sorted = Self;

    fn add(&mut self, _: &Limits, key: &[u8], value: &[u8]) -> Result<()> {
        self.pairs.push((key.to_vec(), value.to_vec()));
        Ok(())
    }

    fn finish(mut self, _: &Limits) -> Result<Self> {
        self.pairs.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(self)
    }
}

impl Sorted for Pairs {
    type Error = Failure;

    fn next_value(&mut self, _: &Limits) -> Result<Option<&[u8]>> {
        self.next += 1;
        Ok(self.pairs.get(self.next - 1).map(|(_, value)| value.as_slice()))
    }
}

struct Keys {
    world: World,
    keys: BTreeSet<Vec<u8>>,
}

impl KeySet for Keys {
    type Error = Failure;

    fn add(&mut self, _: &Limits, keys: &[Vec<u8>]) -> Result<()> {
        assert!(keys.is_sorted_by(|a, b| a < b));
        self.world.0.filed_keys.fetch_add(keys.len(), Ordering::Relaxed);
        keys.iter().for_each(|key| assert!(self.keys.insert(key.clone()), "the key was added before"));
        Ok(())
    }

    fn contains(&mut self, _: &Limits, keys: &[&[u8]]) -> Result<Vec<bool>> {
        assert!(keys.is_sorted_by(|a, b| a < b));
        Ok(keys.iter().map(|key| self.keys.contains(*key)).collect())
    }
}

struct Filed {
    world: World,
    blocks: Vec<Vec<u8>>,
}

impl Blocks for Filed {
    type Error = Failure;

    fn push(&mut self, _: &Limits, block: &[u8]) -> Result<()> {
        self.world.0.filed_blocks.fetch_add(1, Ordering::Relaxed);
        self.blocks.push(block.to_vec());
        Ok(())
    }

    fn read(&mut self, limits: &Limits, number: usize, out: &mut Vec<u8>) -> Result<()> {
        limits.check(&self.world.0.env)?;
        let reads = self.world.0.read_blocks.fetch_add(1, Ordering::Relaxed) + 1;
        if reads >= self.world.0.stops_at_block.load(Ordering::Relaxed) {
            self.world.0.stop.store(true, Ordering::Relaxed);
        }
        out.clone_from(&self.blocks[number]);
        Ok(())
    }
}

impl Host for World {
    type Error = Failure;
    type Account = Account;
    type Sorter = Pairs;
    type KeySet = Keys;
    type Blocks = Filed;

    fn env(&self) -> &Env {
        &self.0.env
    }

    fn account(&self) -> Account {
        Account { world: self.clone(), bytes: 0 }
    }

    fn sorter(&self, _: &'static str, _: usize) -> Pairs {
        Pairs::default()
    }

    fn key_set(&self, _: &'static str) -> Keys {
        Keys { world: self.clone(), keys: BTreeSet::new() }
    }

    fn blocks(&self, _: &'static str) -> Filed {
        Filed { world: self.clone(), blocks: Vec::new() }
    }

    fn open(&self, collection: Option<&str>, stages: Vec<Stage>, _: &Limits) -> Result<Box<dyn Records<Failure>>> {
        self.0.opened.lock().push(collection.unwrap_or_default().to_owned());
        if collection == Some("graph") {
            let documents = Box::new(Given(self.0.graph.lock().clone().into_iter()));
            return Ok(Box::new(PipelineExecution::new(self.clone(), documents, stages, self.settings())));
        }
        let source = Box::new(Numbers { world: None, next: 0, end: 4 });
        Ok(Box::new(PipelineExecution::new(self.clone(), source, stages, self.settings())))
    }

    fn finder(&self, _: &str, _: &FieldPath) -> Result<Option<BoxedFinder<Failure>>> {
        Ok(None)
    }

    fn write(&self, _: &WritingStage, _: &mut dyn FnMut() -> Result<Option<Record>>) -> Result<()> {
        Ok(())
    }
}

fn all(mut execution: PipelineExecution<World>) -> Result<Vec<Map>> {
    let mut found = Vec::new();
    while let Some(record) = execution.next_record()? {
        found.push(record.into_map().unwrap());
    }
    Ok(found)
}

/// Stages that hold all documents that they read, with their names.
const HOLDING: [(&str, &str); 5] = [
    ("$group", r#"[{"$group": {"_id": "$_id", "all": {"$push": "$$ROOT"}}}]"#),
    ("$sort", r#"[{"$sort": {"group": 1}}]"#),
    ("$bucketAuto", r#"[{"$bucketAuto": {"groupBy": "$group", "buckets": 3}}]"#),
    ("$setWindowFields", r#"[{"$setWindowFields": {"sortBy": {"group": 1}, "output": {"n": {"$sum": 1}}}}]"#),
    ("$facet", r#"[{"$facet": {"all": [{"$match": {}}]}}]"#),
];

#[test]
fn memory_that_is_refused_names_the_stage_and_is_returned() {
    for (name, stages) in HOLDING {
        let world = World::new();
        world.0.allowed.store(20_000, Ordering::Relaxed);
        match all(world.run(1000, stages)) {
            Err(Failure::Pipeline(error)) => assert!(error.to_string().contains(name), "{name}: {error}"),
            other => panic!("{name}: {other:?}"),
        }
        assert!(world.reads() < 1000, "{name} has read {} documents", world.reads());
        assert_eq!(world.0.held.load(Ordering::Relaxed), 0, "{name}");
    }
}

#[test]
fn what_a_stage_held_is_returned_at_its_end() {
    for (name, stages) in HOLDING {
        let world = World::new();
        all(world.run(1000, stages)).unwrap();
        assert!(world.0.held_most.load(Ordering::Relaxed) > 10_000, "{name}");
        assert_eq!(world.0.held.load(Ordering::Relaxed), 0, "{name}");
    }
}

/// A source checks the limits for the documents that are read from it. A stage has to check them for the documents that
/// it makes from few documents.
#[test]
fn a_stop_ends_stages_that_make_many_documents_of_one() {
    for stages in [
        r#"[{"$unwind": "$list"}, {"$unwind": "$list"}, {"$group": {"_id": null, "n": {"$sum": 1}}}]"#,
        r#"[{"$group": {"_id": null, "lists": {"$push": "$list"}}}, {"$unwind": "$lists"}, {"$group": {"_id": null, "n": {"$sum": 1}}}]"#,
        r#"[{"$densify": {"field": "_id", "range": {"step": 0.001, "bounds": "full"}}}, {"$group": {"_id": null, "n": {"$sum": 1}}}]"#,
    ] {
        let world = World::new();
        assert_eq!(all(world.run(20, stages)).unwrap().len(), 1, "{stages}");
        world.0.reads.store(0, Ordering::Relaxed);
        world.0.stops_at.store(1, Ordering::Relaxed);
        match all(world.run(20, stages)) {
            Err(Failure::Interrupted(Interrupted::Stopped)) => {}
            other => panic!("{stages}: {other:?}"),
        }
    }
}

#[test]
fn a_limit_reads_no_more_than_it_needs() {
    for (stages, returned, reads) in [
        (r#"[{"$limit": 3}]"#, 3, 3),
        (r#"[{"$skip": 2}, {"$limit": 3}]"#, 3, 5),
        (r#"[{"$match": {"group": 9}}, {"$limit": 2}]"#, 2, 20),
        (r#"[{"$unwind": "$list"}, {"$limit": 5}]"#, 5, 2),
        (r#"[{"$unionWith": "other"}, {"$limit": 3}]"#, 3, 3),
    ] {
        let world = World::new();
        assert_eq!(all(world.run(1000, stages)).unwrap().len(), returned, "{stages}");
        assert_eq!(world.reads(), reads, "{stages}");
    }
}

#[test]
fn other_collections_are_opened_when_their_documents_are_needed() {
    for (stages, documents, opened) in [
        (r#"[{"$unionWith": "other"}, {"$limit": 10}]"#, 10, vec![]),
        (r#"[{"$unionWith": "other"}, {"$limit": 11}]"#, 11, vec!["other"]),
        (r#"[{"$unionWith": "other"}, {"$unionWith": "third"}]"#, 18, vec!["other", "third"]),
        // Here the result is the same for all documents.
        (r#"[{"$lookup": {"from": "other", "pipeline": [], "as": "all"}}]"#, 10, vec!["other"]),
        (r#"[{"$match": {"_id": -1}}, {"$lookup": {"from": "other", "pipeline": [], "as": "all"}}]"#, 0, vec![]),
    ] {
        let world = World::new();
        assert_eq!(all(world.run(10, stages)).unwrap().len(), documents, "{stages}");
        assert_eq!(world.opened(), opened, "{stages}");
    }
}

#[test]
fn groups_in_files_are_those_in_memory() {
    let stages =
        r#"[{"$group": {"_id": "$group", "n": {"$sum": 1}, "all": {"$push": "$_id"}}}, {"$sort": {"_id": 1}}]"#;
    let (small, large) = (World::new(), World::new());
    let expected = all(large.run(2000, stages)).unwrap();
    assert_eq!(expected.len(), 10);
    let settings = Settings { allow_disk_use: true, stage_bytes_max: 2000, ..small.settings() };
    let mut execution = small.run_with(2000, stages, settings);
    let mut found = Vec::new();
    while let Some(record) = execution.next_record().unwrap() {
        found.push(record.into_map().unwrap());
    }
    assert!(execution.reports()[0].spilled);
    assert_eq!(found, expected);
}
