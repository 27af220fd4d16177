//! Random operations on the key/value store, including deletes of ranges, are compared with plain maps. This covers
//! features that collections do not use. The power is cut at random steps, or at all steps.

mod copies;
pub mod errors;
mod power_cuts;

use crate::replay::sequence;
use crate::worlds::{PATH, World, random_options};
use alluvium::Durability;
use alluvium_env::sync::Mutex;
use alluvium_store::{Bounds, Fold, FoldError, Options, Snapshot, Store, TreeId, ValuesOf, WriteBatch};
pub use power_cuts::{Cuts, PARTS};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The number of keys that operations choose from.
const KEYS: u32 = 160;
/// The number of keys in the multivalue tree.
const SETS: u32 = 6;
/// The maximum length in bytes to which deltas extend a value.
const LONGEST: usize = 500;

/// A merge operator that appends deltas to a value, until the value has the maximum length.
#[derive(Debug)]
struct Append;

fn append(value: &mut Vec<u8>, delta: &[u8]) -> bool {
    let applies = value.len() + delta.len() <= LONGEST;
    if applies {
        value.extend_from_slice(delta);
    }
    applies
}

impl Fold for Append {
    fn fold(
        &self,
        _tree: TreeId,
        _key: &[u8],
        base: &[u8],
        deltas: &[&[u8]],
        out: &mut Vec<u8>,
    ) -> Result<Option<u64>, FoldError> {
        let mut value = base.to_vec();
        let refused = deltas.iter().filter(|delta| !append(&mut value, delta)).count();
        out.extend_from_slice(&value);
        Ok(Some(refused as u64))
    }
}

/// The content of a store: two trees of keys and values, and a multivalue tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct State {
    plain: [BTreeMap<Vec<u8>, Vec<u8>>; 2],
    sets: BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>>,
}

impl State {
    fn delete_range(&mut self, tree: usize, from: &[u8], to: &[u8]) {
        self.plain[tree].retain(|key, _| key.as_slice() < from || key.as_slice() >= to);
    }
}

/// The trees of a store.
#[derive(Debug, Clone, Copy)]
struct Trees {
    plain: [TreeId; 2],
    sets: TreeId,
}

impl Trees {
    /// The trees, found by their descriptions; `None` while they are being created.
    fn of(store: &Store) -> Option<Self> {
        let trees = store.trees();
        let find = |name: &[u8]| trees.iter().find(|(_, found)| found == name).map(|(id, _)| *id);
        Some(Self { plain: [find(b"a")?, find(b"b")?], sets: find(b"sets")? })
    }
}

fn read(store: &Store, snapshot: &Snapshot) -> State {
    let mut state = State::default();
    let Some(trees) = Trees::of(store) else { return state };
    for (tree, into) in trees.plain.iter().zip(&mut state.plain) {
        let mut scan = store.scan(*tree, Bounds::all(), Some(snapshot)).expect("scan");
        while let Some((key, value)) = scan.next().expect("next") {
            into.insert(key.to_vec(), value.to_vec());
        }
    }
    let sets = store.multivalue(trees.sets).expect("a multivalue tree");
    let mut keys = sets.keys(Some(snapshot)).expect("keys");
    while let Some(key) = keys.next().expect("next") {
        let key = key.to_vec();
        let mut values = sets.values(ValuesOf::key(&key).at(snapshot)).expect("values");
        let into = state.sets.entry(key.clone()).or_default();
        while let Some(value) = values.next().expect("next") {
            into.insert(value.to_vec());
        }
    }
    state
}

/// The states that a power cut may leave, the oldest first.
#[derive(Default)]
struct Timeline {
    states: Vec<Arc<State>>,
    /// The copies next to the store.
    beside: Vec<Beside>,
}

/// A copy of the store in another directory, which may exist after a power cut.
#[derive(Debug, Clone)]
struct Beside {
    dir: PathBuf,
    /// The content of the copy.
    state: State,
    /// True if the copy must exist. Otherwise it need not exist, but must be complete if it does.
    done: bool,
    checkpoint: bool,
}

/// A disk after a power cut, and the states that it may contain.
struct Cut {
    disk: World,
    allowed: Vec<Arc<State>>,
    beside: Vec<Beside>,
    words: String,
}

/// Applies random operations to a store and to a model of the store.
pub struct KvRunner {
    seed: u64,
    rng: fastrand::Rng,
    world: World,
    options: Options,
    partitions: u32,
    store: Option<Store>,
    trees: Trees,
    state: State,
    snapshots: Vec<(Snapshot, State)>,
    timeline: Arc<Mutex<Timeline>>,
    cutting: Cuts,
    cuts: Arc<Mutex<Vec<Cut>>>,
    /// The number of checkpoints made so far.
    made: u32,
    log: Vec<String>,
}

fn options(rng: &mut fastrand::Rng, partitions: u32, background: bool) -> Options {
    let durability = if rng.bool() { Durability::Sync } else { Durability::Periodic };
    let base = random_options(rng, partitions, durability);
    Options {
        partitions: Some(partitions),
        fold: Some(Arc::new(Append)),
        disk_reserve_bytes: Some(0),
        background,
        ..base
    }
}

fn open(world: &World, options: &Options) -> Store {
    open_at(world, PATH.as_ref(), options)
}

fn open_at(world: &World, path: &Path, options: &Options) -> Store {
    Store::open(world.env.clone(), path, options.clone())
        .unwrap_or_else(|e| panic!("{} does not open: {e}", path.display()))
}

impl KvRunner {
    /// A new store. `cuts` determines when the power is cut.
    pub fn new(seed: u64, cuts: Cuts, background: bool) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        let world = World::new(seed);
        let partitions = rng.u32(1..4);
        let options = cuts.options(&mut rng, partitions, background);
        let store = open(&world, &options);
        let plain = store.create_trees(&[b"a", b"b"]).expect("trees");
        let sets = store.create_multivalue_tree(b"sets").expect("a tree");
        store.sync().expect("sync");
        let trees = Trees { plain: [plain[0], plain[1]], sets };
        let timeline = Arc::new(Mutex::new(Timeline { states: vec![Arc::default()], beside: Vec::new() }));
        let runner = Self {
            seed,
            rng,
            world,
            options,
            partitions,
            store: Some(store),
            trees,
            state: State::default(),
            snapshots: Vec::new(),
            timeline,
            cutting: cuts,
            cuts: Arc::default(),
            made: 0,
            log: Vec::new(),
        };
        runner.begin_cuts(seed);
        runner
    }

    fn store(&self) -> &Store {
        self.store.as_ref().expect("the store is open")
    }

    fn note(&mut self, what: String) {
        self.log.push(what);
    }

    fn key(&mut self) -> Vec<u8> {
        format!("k{:04}", self.rng.u32(0..KEYS)).into_bytes()
    }

    fn range(&mut self) -> (Vec<u8>, Vec<u8>) {
        if self.rng.u8(0..6) == 0 {
            return (Vec::new(), if self.rng.bool() { vec![0xff] } else { self.key() });
        }
        let from = self.rng.u32(0..KEYS);
        // Some ranges are empty.
        let longest = if self.rng.bool() { 6 } else { KEYS };
        let to = from + self.rng.u32(0..longest);
        (format!("k{from:04}").into_bytes(), format!("k{to:04}").into_bytes())
    }

    fn value(&mut self) -> Vec<u8> {
        vec![self.rng.u8(..); self.rng.usize(0..160)]
    }

    /// Runs the operations with these numbers, and compares everything at the end.
    pub fn run(&mut self, steps: &[u32]) {
        for number in steps {
            self.rng = sequence::rng_of(self.seed, *number);
            self.step();
            self.check_invariants();
            self.check_cuts();
        }
        // These random numbers do not depend on how many numbers the checks after cuts have drawn.
        self.rng = sequence::rng_of(self.seed, u32::MAX);
        self.check();
        let store = self.store();
        store.compact().expect("compact");
        let damage = store.verify().expect("verify");
        assert!(damage.is_empty(), "{damage:?}");
        self.check();
        self.snapshots.clear();
        self.store().compact().expect("compact");
        assert_eq!(self.store().stats().partitions.iter().map(|p| p.ranges).sum::<u64>(), 0, "no range is left");
        self.check();
        self.reopen();
        self.check();
        self.check_cuts();
    }

    fn step(&mut self) {
        match self.rng.u32(0..100) {
            0..=44 => self.write(),
            45..=54 => self.get(),
            55..=64 => self.scan(),
            65..=72 => self.snapshot(),
            73..=79 => {
                self.note("flush".to_owned());
                self.store().flush().expect("flush");
                self.durable();
            }
            80..=90 => {
                self.note("work".to_owned());
                if !self.options.background {
                    self.store().run_one_pending().expect("work");
                }
            }
            91..=93 => self.copies(),
            94 => self.store().compact().expect("compact"),
            95..=96 => {
                self.note("sync".to_owned());
                self.store().sync().expect("sync");
                self.durable();
            }
            97 => self.renew_tree(),
            _ => self.reopen(),
        }
    }

    /// Marks everything written so far as durable.
    fn durable(&mut self) {
        let mut timeline = self.timeline.lock();
        timeline.states.clear();
        timeline.states.push(Arc::new(self.state.clone()));
    }

    /// A batch of some operations, and the state after it.
    fn batch(&mut self) -> (WriteBatch, State) {
        let mut batch = self.store().batch();
        let mut state = self.state.clone();
        let count = if self.rng.bool() { 1 } else { self.rng.usize(1..8) };
        for _ in 0..count {
            self.operation(&mut batch, &mut state);
        }
        (batch, state)
    }

    fn write(&mut self) {
        let (batch, state) = self.batch();
        let sync = self.rng.u8(0..8) == 0;
        let durability = if sync { Durability::Sync } else { self.options.durability };
        self.timeline.lock().states.push(Arc::new(state.clone()));
        // An empty batch makes nothing durable.
        let writes = !batch.is_empty();
        self.store().write(batch, durability).expect("write");
        self.state = state;
        if writes && durability == Durability::Sync {
            self.durable();
        }
    }

    fn operation(&mut self, batch: &mut WriteBatch, state: &mut State) {
        let at = self.rng.usize(0..2);
        let tree = self.trees.plain[at];
        let kind = self.rng.u32(0..100);
        match kind {
            0..=34 => {
                let (key, value) = (self.key(), self.value());
                self.note(format!("put {at} {} {}", String::from_utf8_lossy(&key), value.len()));
                batch.put(tree, &key, &value);
                state.plain[at].insert(key, value);
            }
            35..=42 => {
                let key = self.key();
                self.note(format!("delete {at} {}", String::from_utf8_lossy(&key)));
                batch.delete(tree, &key);
                state.plain[at].remove(&key);
            }
            43..=57 => {
                let (key, delta) = (self.key(), vec![self.rng.u8(..); self.rng.usize(1..20)]);
                self.note(format!("delta {at} {}", String::from_utf8_lossy(&key)));
                batch.delta(tree, &key, &delta);
                if let Some(value) = state.plain[at].get_mut(&key) {
                    append(value, &delta);
                }
            }
            58..=69 => {
                let (from, to) = self.range();
                self.note(format!("range {at} {:?}", (String::from_utf8_lossy(&from), String::from_utf8_lossy(&to))));
                batch.delete_range(tree, &from, &to);
                state.delete_range(at, &from, &to);
            }
            _ => self.set_operation(kind, batch, state),
        }
    }

    fn set_operation(&mut self, kind: u32, batch: &mut WriteBatch, state: &mut State) {
        let key = vec![b's', self.rng.u32(0..SETS) as u8];
        let values = self.rng.u32(0..40);
        let mut set = state.sets.remove(&key).unwrap_or_default();
        match kind {
            70..=91 => {
                self.note(format!("values {key:?}"));
                for _ in 0..values {
                    let value = self.rng.u16(0..300).to_be_bytes();
                    batch.put_value(self.trees.sets, &key, &value);
                    set.insert(value.to_vec());
                }
            }
            92..=95 => {
                let value = self.rng.u16(0..300).to_be_bytes();
                batch.delete_value(self.trees.sets, &key, &value);
                set.remove(&value[..]);
            }
            _ => {
                self.note(format!("delete all of {key:?}"));
                batch.delete_values(self.trees.sets, &key);
                set.clear();
            }
        }
        if !set.is_empty() {
            state.sets.insert(key, set);
        }
    }

    fn get(&mut self) {
        for _ in 0..8 {
            let (at, key) = (self.rng.usize(0..2), self.key());
            let mut value = Vec::new();
            let found = self.store().get(self.trees.plain[at], &key, &mut value).expect("get").then_some(value);
            assert_eq!(found.as_ref(), self.state.plain[at].get(&key), "get {at} {key:?}");
        }
    }

    fn scan(&mut self) {
        let (at, (from, to), reverse) = (self.rng.usize(0..2), self.range(), self.rng.bool());
        let bounds = Bounds { lower: Bound::Included(from.clone()), upper: Bound::Excluded(to.clone()), reverse };
        let count = self.state.plain[at].len();
        let hot = if count > 0 && self.rng.u8(0..4) == 0 { Some(self.rng.usize(0..count)) } else { None };
        let hot = hot.and_then(|nth| self.state.plain[at].keys().nth(nth).cloned());
        if let Some(key) = &hot {
            self.many_deltas(at, key, 20..60);
            // Usually the next delta is one at which the chain is folded: its sequence number is a multiple of 16.
            while self.rng.u8(0..32) != 0 && !(self.store().visible() + 1).is_multiple_of(16) {
                self.many_deltas(at, key, 1..2);
            }
        }
        let mut scan = self.store().scan(self.trees.plain[at], bounds, None).expect("scan");
        let inside = |key: &&Vec<u8>| **key >= from && **key < to;
        let all = self.state.plain[at].iter().filter(|(key, _)| inside(key));
        let mut expected: Vec<_> = all.map(|(key, value)| (key.clone(), value.clone())).collect();
        if reverse {
            expected.reverse();
        }
        // Concurrent folds must not change the results of the scan.
        if let Some(key) = &hot {
            self.many_deltas(at, key, 1..20);
        }
        let mut found = Vec::new();
        while let Some((key, value)) = scan.next().expect("next") {
            found.push((key.to_vec(), value.to_vec()));
        }
        assert_eq!(found, expected, "scan of {at} from {from:?} to {to:?} reverse {reverse}");
        self.values_of_a_set();
    }

    /// Writes several deltas of one key, each in its own batch. With enough of them in a row, they are folded in
    /// memory.
    fn many_deltas(&mut self, at: usize, key: &[u8], count: std::ops::Range<usize>) {
        let count = self.rng.usize(count);
        self.note(format!("{count} deltas {at} {}", String::from_utf8_lossy(key)));
        for _ in 0..count {
            let delta = [self.rng.u8(..)];
            let mut batch = self.store().batch();
            batch.delta(self.trees.plain[at], key, &delta);
            if let Some(value) = self.state.plain[at].get_mut(key) {
                append(value, &delta);
            }
            self.timeline.lock().states.push(Arc::new(self.state.clone()));
            self.store().write(batch, self.options.durability).expect("write");
            if self.options.durability == Durability::Sync {
                self.durable();
            }
        }
    }

    fn values_of_a_set(&mut self) {
        let key = vec![b's', self.rng.u32(0..SETS) as u8];
        let sets = self.store().multivalue(self.trees.sets).expect("a multivalue tree");
        let mut values = sets.values(ValuesOf::key(&key).reverse()).expect("values");
        let mut found = Vec::new();
        while let Some(value) = values.next().expect("next") {
            found.push(value.to_vec());
        }
        let expected: Vec<_> = self.state.sets.get(&key).into_iter().flatten().rev().cloned().collect();
        assert_eq!(found, expected, "values of {key:?}");
    }

    fn snapshot(&mut self) {
        match self.snapshots.len() {
            0..=3 if self.rng.bool() => {
                self.note("snapshot".to_owned());
                self.snapshots.push((self.store().snapshot(), self.state.clone()));
            }
            0 => {}
            kept => {
                let at = self.rng.usize(0..kept);
                self.check_snapshot(at);
                if self.rng.bool() {
                    self.note(format!("end snapshot {at}"));
                    self.snapshots.swap_remove(at);
                }
            }
        }
    }

    fn check_snapshot(&self, at: usize) {
        let (snapshot, expected) = &self.snapshots[at];
        assert!(read(self.store(), snapshot) == *expected, "at {snapshot:?}");
        for (tree, expected) in self.trees.plain.iter().zip(&expected.plain) {
            for key in (0..KEYS).map(|n| format!("k{n:04}").into_bytes()) {
                let mut value = Vec::new();
                let found = self.store().get_at(snapshot, *tree, &key, &mut value).expect("get").then_some(value);
                assert_eq!(found.as_ref(), expected.get(&key), "{key:?} at {snapshot:?}");
            }
        }
    }

    /// Checks the invariants, even while background threads are in the middle of an operation.
    fn check_invariants(&self) {
        let broken = self.store().broken_invariant().expect("a good disk");
        assert!(broken.is_none(), "{broken:?}");
    }

    fn check(&mut self) {
        self.check_invariants();
        self.snapshots.push((self.store().snapshot(), self.state.clone()));
        (0..self.snapshots.len()).for_each(|at| self.check_snapshot(at));
        self.snapshots.pop();
    }

    /// Drops a tree, and creates another one instead.
    fn renew_tree(&mut self) {
        self.note("drop a tree".to_owned());
        // The snapshots see the old trees.
        self.snapshots.clear();
        self.store().sync().expect("sync");
        self.durable();
        let gone = State { plain: [self.state.plain[0].clone(), BTreeMap::new()], ..self.state.clone() };
        self.timeline.lock().states.extend([Arc::default(), Arc::new(gone.clone())]);
        self.store().drop_trees(&[self.trees.plain[1]]).expect("drop");
        self.trees.plain[1] = self.store().create_trees(&[b"b"]).expect("a tree")[0];
        self.store().sync().expect("sync");
        self.state = gone;
        self.durable();
    }

    fn reopen(&mut self) {
        self.snapshots.clear();
        let store = self.store.take().expect("the store is open");
        if self.rng.bool() {
            self.note("close".to_owned());
            store.close().expect("close");
            self.durable();
        } else {
            self.note("kill".to_owned());
            let next = self.world.killed();
            self.world.faults.set_hook(None);
            drop(store);
            self.world = next;
            if self.cutting != Cuts::None {
                let seed = self.rng.u64(..);
                self.begin_cuts(seed);
            }
        }
        self.options = self.cutting.options(&mut self.rng, self.partitions, self.options.background);
        let store = open(&self.world, &self.options);
        self.store = Some(store);
        // The content found by opening is durable.
        self.durable();
    }
}

impl Drop for KvRunner {
    fn drop(&mut self) {
        if std::thread::panicking() && !sequence::is_quiet() {
            eprintln!("the last operations:");
            let from = self.log.len().saturating_sub(60);
            self.log[from..].iter().for_each(|line| eprintln!("  {line}"));
        }
        self.world.faults.set_hook(None);
    }
}
