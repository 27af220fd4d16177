//! Shared by the scenarios: policies that a test controls, and a partition together with its model.

use alluvium_codec::entry::{Entry, Kind, Seq};
use alluvium_env::Env;
use alluvium_env::mem::MemFs;
use alluvium_env::sync::Mutex;
use alluvium_lsm::{
    Budget, DefinitionUse, DeltaFold, Liveness, LogBarrier, Options, Outcome, Partition, Policies, Shared,
    TreeProperties,
};
use std::collections::{BTreeMap, HashSet};
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Policies under the control of a test.
#[derive(Default)]
pub struct TestPolicy {
    pub visible: AtomicU64,
    pub snapshots: Mutex<Vec<Seq>>,
    pub dead: Mutex<HashSet<u32>>,
    /// The log is durable up to here; `sync_past` raises it.
    pub synced: AtomicU64,
    pub refuse_edit: Mutex<Option<alluvium_env::Error>>,
    /// While set, flushes and compactions cannot fold.
    pub no_fold: AtomicBool,
    pub calls_of_tree_is_live: AtomicU64,
    /// The key whose value or deltas are damaged.
    pub damaged: Mutex<Option<Vec<u8>>>,
}

/// A delta is appended to the value, unless it begins with [`REFUSED`] or the value is too long.
pub const REFUSED: u8 = 0xfe;
const LONGEST: usize = 600;

/// Applies a delta to a value; false if it cannot apply.
pub fn apply_delta(value: &mut Vec<u8>, delta: &[u8]) -> bool {
    let applies = delta.first() != Some(&REFUSED) && value.len() + delta.len() <= LONGEST;
    if applies {
        value.extend_from_slice(delta);
    }
    applies
}

impl Liveness for TestPolicy {
    fn snapshots(&self) -> Vec<Seq> {
        let snapshots = self.snapshots.lock();
        let mut all = snapshots.clone();
        all.push(self.visible.load(Ordering::SeqCst));
        all.sort_unstable();
        all
    }

    fn tree_is_live(&self, tree: u32, _now: Seq) -> bool {
        self.calls_of_tree_is_live.fetch_add(1, Ordering::Relaxed);
        !self.dead.lock().contains(&tree)
    }
}

impl DeltaFold for TestPolicy {
    fn fold(&self, key: &[u8], base: &[u8], deltas: &[&[u8]], out: &mut Vec<u8>) -> alluvium_env::Result<Option<u64>> {
        if self.no_fold.load(Ordering::SeqCst) {
            return Ok(None);
        }
        if self.damaged.lock().as_deref() == Some(key) {
            out.extend_from_slice(b"a part");
            return Err(alluvium_env::Error::corrupt(Path::new("tree 1"), 0, format!("deltas of key {key:02x?}")));
        }
        let mut value = base.to_vec();
        let refused = deltas.iter().filter(|delta| !apply_delta(&mut value, delta)).count();
        out.extend_from_slice(&value);
        Ok(Some(refused as u64))
    }
}

impl DefinitionUse for TestPolicy {
    /// Only keys of tree 1 are marked.
    fn uses_definitions(&self, tree: u32) -> bool {
        tree == 1
    }
}

impl TreeProperties for TestPolicy {
    /// Only tree 2 is scanned.
    fn is_scanned(&self, tree: u32) -> bool {
        tree == 2
    }

    /// Only tree 3 needs no numbers.
    fn needs_numbers(&self, tree: u32) -> bool {
        tree != 3
    }
}

impl LogBarrier for TestPolicy {
    fn sync_past(&self, max_seq: Seq) -> alluvium_env::Result<()> {
        if let Some(error) = &*self.refuse_edit.lock() {
            return Err(error.clone());
        }
        self.synced.fetch_max(max_seq, Ordering::SeqCst);
        Ok(())
    }
}

type Versions = Vec<(Seq, Option<Vec<u8>>)>;

/// All versions of all keys: the expected contents of a partition.
#[derive(Default, Clone)]
pub struct Model {
    versions: BTreeMap<Vec<u8>, Versions>,
}

impl Model {
    pub fn write(&mut self, key: &[u8], seq: Seq, value: Option<&[u8]>) {
        self.versions.entry(key.to_vec()).or_default().push((seq, value.map(<[u8]>::to_vec)));
    }

    /// Applies a delta, which has no effect on an absent key.
    pub fn delta(&mut self, key: &[u8], seq: Seq, delta: &[u8]) {
        let now = self.get(key, seq).map(|value| {
            let mut value = value.to_vec();
            apply_delta(&mut value, delta);
            value
        });
        self.write(key, seq, now.as_deref());
    }

    /// Removes the keys from `start` to below `end`.
    pub fn delete_range(&mut self, start: &[u8], end: &[u8], seq: Seq) {
        if start < end {
            let range = (Bound::Included(start.to_vec()), Bound::Excluded(end.to_vec()));
            self.versions.range_mut(range).for_each(|(_, versions)| versions.push((seq, None)));
        }
    }

    pub fn get(&self, key: &[u8], seq: Seq) -> Option<&[u8]> {
        let newest = self.versions.get(key)?.iter().rev().find(|(at, _)| *at <= seq)?;
        newest.1.as_deref()
    }

    pub fn scan(&self, seq: Seq) -> Vec<(Vec<u8>, Vec<u8>)> {
        let live = self.versions.keys().filter_map(|key| Some((key.clone(), self.get(key, seq)?.to_vec())));
        live.collect()
    }

    pub fn drop_tree(&mut self, tree: u32) {
        self.versions.retain(|key, _| !key.starts_with(&tree.to_be_bytes()));
    }

    /// Removes the versions above `seq`: they were not flushed when the machine stopped.
    pub fn cut(&mut self, seq: Seq) {
        for versions in self.versions.values_mut() {
            versions.retain(|(at, _)| *at <= seq);
        }
    }

    pub fn keys(&self) -> impl Iterator<Item = &Vec<u8>> {
        self.versions.keys()
    }

    /// The numbers under which the key ever got a value.
    fn numbers(&self, key: &[u8]) -> impl Iterator<Item = Seq> {
        self.versions[key].iter().filter(|(_, value)| value.is_some()).map(|(seq, _)| *seq)
    }
}

/// Tiny files and thresholds, so that small tests meet all shapes.
pub fn tiny_options() -> Options {
    let mut options = Options::default();
    options.writer.block_bytes = 512;
    options.writer.index_partition_blocks = 4;
    options.target_file_bytes = 4 << 10;
    options.small_tree_bytes = 1 << 10;
    options.dictionary_file_bytes = 2 << 10;
    options.dictionary_bytes = 0;
    options.upper_floor_bytes = 6 << 10;
    options.max_job_bytes = 64 << 10;
    options.manifest_bytes = 4 << 10;
    options
}

pub struct Db {
    pub env: Env,
    pub options: Options,
    pub policy: Arc<TestPolicy>,
    pub shared: Arc<Shared>,
    pub partition: Arc<Partition>,
    pub model: Model,
    pub seq: Seq,
}

pub const DIR: &str = "/db/p000";

/// A key of tree 1.
pub fn key(text: &str) -> Vec<u8> {
    tree_key(1, text)
}

pub fn tree_key(tree: u32, text: &str) -> Vec<u8> {
    let mut key = tree.to_be_bytes().to_vec();
    key.extend_from_slice(text.as_bytes());
    key
}

/// An environment over a file system in memory.
pub fn env_over(fs: Arc<dyn alluvium_env::Fs>) -> Env {
    let base = Env::in_memory(1);
    Env { fs, ..base }
}

impl Db {
    pub fn new(options: Options) -> Self {
        Self::open(env_over(Arc::new(MemFs::new())), options, 0).unwrap()
    }

    /// Opens a partition. Data above its flushed number is lost, because there is no log.
    pub fn open(env: Env, options: Options, seq: Seq) -> alluvium_env::Result<Self> {
        // The parent directories are durable, as the store ensures.
        env.fs.create_dir_all(Path::new("/db"))?;
        env.fs.sync_dir(Path::new("/"))?;
        let policy = Arc::new(TestPolicy::default());
        let shared = Shared::new(env.clone(), options.clone(), Budget::new(64 << 20), Policies::from_one(&policy));
        let partition = Arc::new(Partition::open(shared.clone(), 0, Path::new(DIR))?);
        partition.remove_left_overs()?;
        let seq = seq.max(partition.flushed_seq());
        policy.visible.store(seq, Ordering::SeqCst);
        Ok(Self { env, options, policy, shared, partition, model: Model::default(), seq })
    }

    /// Closes and opens; memtables that were not flushed are lost.
    pub fn reopen(self) -> Self {
        let Self { env, options, partition, mut model, .. } = self;
        model.cut(partition.flushed_seq());
        drop(partition);
        let mut db = Self::open(env, options, 0).unwrap();
        db.model = model;
        db
    }

    /// Removes the files and notes of trees that died, as a store does.
    pub fn drop_trees(&self, trees: &[u32]) -> alluvium_env::Result<()> {
        if self.partition.note_dead(trees) {
            self.partition.remove_dead_files()?;
        }
        self.partition.forget_dead(trees)
    }

    pub fn put(&mut self, key: &[u8], value: &[u8]) {
        self.write(key, Some(value));
    }

    pub fn delete(&mut self, key: &[u8]) {
        self.write(key, None);
    }

    pub fn delta(&mut self, key: &[u8], delta: &[u8]) {
        self.apply(key, Kind::Delta, delta);
        self.model.delta(key, self.seq, delta);
    }

    /// Removes the keys from `start` to below `end`, as a batch of the store does.
    pub fn delete_range(&mut self, start: &[u8], end: &[u8]) {
        self.seq += 1;
        let memtable = self.partition.active();
        memtable.register_writer();
        memtable.expect_ranges();
        memtable.delete_range(start, end, self.seq, &self.policy.snapshots());
        memtable.finish_writer();
        self.policy.visible.store(self.seq, Ordering::SeqCst);
        self.model.delete_range(start, end, self.seq);
    }

    fn write(&mut self, key: &[u8], value: Option<&[u8]>) {
        let kind = if value.is_some() { Kind::Put } else { Kind::Delete };
        self.apply(key, kind, value.unwrap_or(&[]));
        self.model.write(key, self.seq, value);
    }

    fn apply(&mut self, key: &[u8], kind: Kind, value: &[u8]) {
        self.seq += 1;
        let memtable = self.partition.active();
        memtable.register_writer();
        memtable.apply(std::iter::once(Entry { key, seq: self.seq, kind, value }));
        memtable.finish_writer();
        self.policy.visible.store(self.seq, Ordering::SeqCst);
    }

    pub fn snapshot(&self) -> Seq {
        self.policy.snapshots.lock().push(self.seq);
        self.seq
    }

    pub fn end_snapshot(&self, seq: Seq) {
        let mut snapshots = self.policy.snapshots.lock();
        let at = snapshots.iter().position(|&s| s == seq).unwrap();
        snapshots.remove(at);
    }

    pub fn rotate(&self) -> bool {
        self.partition.rotate(self.seq + 1)
    }

    /// Flushes everything.
    pub fn flush(&self) {
        self.rotate();
        while self.partition.flush_oldest().unwrap() {}
    }

    /// Runs one compaction if one is wanted.
    pub fn compact_once(&self) -> bool {
        let Some(job) = self.partition.pick_compaction() else { return false };
        assert_eq!(self.partition.run_compaction(job, &|| false).unwrap(), Outcome::Done);
        true
    }

    pub fn compact(&self) {
        let mut rounds = 0;
        while self.compact_once() {
            rounds += 1;
            assert!(rounds < 1000, "the picker does not come to rest");
        }
    }

    pub fn get(&self, key: &[u8], seq: Seq) -> Option<Vec<u8>> {
        let mut value = b"junk".to_vec();
        self.partition.view().get(key, seq, &mut value).unwrap().then_some(value)
    }

    pub fn scan(&self, seq: Seq) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut iter = self.partition.iter(self.partition.view(), seq, Bound::Unbounded, Bound::Unbounded);
        let mut found = Vec::new();
        iter.seek_first().unwrap();
        while iter.valid() {
            found.push((iter.key().to_vec(), iter.value().to_vec()));
            iter.next().unwrap();
        }
        found
    }

    pub fn scan_back(&self, seq: Seq) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut iter = self.partition.iter(self.partition.view(), seq, Bound::Unbounded, Bound::Unbounded);
        let mut found = Vec::new();
        iter.seek_last().unwrap();
        while iter.valid() {
            found.push((iter.key().to_vec(), iter.value().to_vec()));
            iter.prev().unwrap();
        }
        found.reverse();
        found
    }

    /// Compares everything with the model, now and at every live snapshot.
    pub fn check(&self) {
        let mut seqs = self.policy.snapshots.lock().clone();
        seqs.push(self.seq);
        for seq in seqs {
            for key in self.model.keys() {
                assert_eq!(self.get(key, seq).as_deref(), self.model.get(key, seq), "get {key:?} at {seq}");
            }
            let expected = self.model.scan(seq);
            assert_eq!(self.scan(seq), expected, "scan at {seq}");
            assert_eq!(self.scan_back(seq), expected, "scan back at {seq}");
        }
        self.check_numbers();
        let verified = self.partition.verify();
        assert!(verified.damage.is_empty(), "{:?}", verified.damage);
    }

    /// Checks that every number for which [`alluvium_lsm::View::proves_newest`] is true is the
    /// number of the newest version. Returns how many such numbers exist.
    pub fn check_numbers(&self) -> usize {
        let view = self.partition.view();
        let mut alone = 0;
        for key in self.model.keys() {
            let tree = u32::from_be_bytes(*key.first_chunk().unwrap());
            if !self.policy.needs_numbers(tree) {
                continue;
            }
            let prover = view.newest_prover(tree);
            for seq in self.model.numbers(key) {
                let is_proved = view.proves_newest(key, seq).unwrap();
                if let Some(prover) = &prover {
                    assert_eq!(prover.proves(key, seq).unwrap(), is_proved, "{key:?}");
                }
                if !is_proved {
                    continue;
                }
                let newest = view.find(key, self.seq, &mut Vec::new()).unwrap();
                assert_eq!(newest.map(|(seq, _)| seq), Some(seq), "{key:?} was proved");
                alone += 1;
            }
        }
        alone
    }

    /// The names in the partition's directory.
    pub fn names(&self) -> Vec<String> {
        self.env.fs.list(Path::new(DIR)).unwrap().into_iter().map(|entry| entry.name).collect()
    }

    pub fn sst_names(&self) -> Vec<String> {
        self.names().into_iter().filter(|name| name.ends_with(".sst")).collect()
    }
}
