//! Reads at the snapshot of a write set see what they would see if its writes alone had been committed at its begin, by
//! gets, scans in both directions, and versions. Its commit is refused if others have written
//! one of its keys.

use alluvium_env::mem::MemFs;
use alluvium_env::{Env, ManualClock, SeededRng};
use alluvium_store::{
    Bounds, Durability, Error, Fold, FoldError, LockMode, Options, Store, TreeId, WriteBatch, WriteSet,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A delta is appended to the value.
#[derive(Debug)]
struct Appended;

impl Fold for Appended {
    fn fold(
        &self,
        _tree: TreeId,
        _key: &[u8],
        base: &[u8],
        deltas: &[&[u8]],
        out: &mut Vec<u8>,
    ) -> Result<Option<u64>, FoldError> {
        out.extend_from_slice(base);
        deltas.iter().for_each(|delta| out.extend_from_slice(delta));
        Ok(Some(0))
    }
}

type State = BTreeMap<Vec<u8>, Vec<u8>>;

#[derive(Clone)]
enum Operation {
    Put(Vec<u8>, Vec<u8>),
    Delta(Vec<u8>, Vec<u8>),
    Delete(Vec<u8>),
    DeleteRange(Vec<u8>, Vec<u8>),
}

impl Operation {
    fn random(random: &mut fastrand::Rng, ranges: bool) -> Self {
        let key = |random: &mut fastrand::Rng| format!("k{:02}", random.u32(..24)).into_bytes();
        let value = |random: &mut fastrand::Rng| format!("<{}>", random.u32(..1000)).into_bytes();
        match random.u32(..10) {
            0..4 => Self::Put(key(random), value(random)),
            4..7 => Self::Delta(key(random), value(random)),
            9 if ranges => Self::DeleteRange(key(random), key(random)),
            _ => Self::Delete(key(random)),
        }
    }

    fn add_to(&self, batch: &mut WriteBatch, tree: TreeId) {
        match self {
            Self::Put(key, value) => batch.put(tree, key, value),
            Self::Delta(key, delta) => batch.delta(tree, key, delta),
            Self::Delete(key) => batch.delete(tree, key),
            Self::DeleteRange(from, to) => batch.delete_range(tree, from, to),
        }
    }

    fn apply(&self, state: &mut State) {
        match self {
            Self::Put(key, value) => drop(state.insert(key.clone(), value.clone())),
            Self::Delta(key, delta) => {
                if let Some(value) = state.get_mut(key) {
                    value.extend_from_slice(delta);
                }
            }
            Self::Delete(key) => drop(state.remove(key)),
            Self::DeleteRange(from, to) => state.retain(|key, _| !(from <= key && key < to)),
        }
    }

    fn keys(&self) -> impl Iterator<Item = &[u8]> {
        let key = match self {
            Self::Put(key, _) | Self::Delta(key, _) | Self::Delete(key) => Some(key.as_slice()),
            Self::DeleteRange(..) => None,
        };
        key.into_iter()
    }

    fn touches(&self, other: &[u8]) -> bool {
        match self {
            Self::Put(key, _) | Self::Delta(key, _) | Self::Delete(key) => key == other,
            Self::DeleteRange(from, to) => from.as_slice() <= other && other < to.as_slice(),
        }
    }
}

/// A write set, and what it should be.
struct Running {
    set: WriteSet,
    begin: State,
    state: State,
    written: Vec<Operation>,
    by_others: Vec<Operation>,
}

impl Running {
    fn check(&self, store: &Store, tree: TreeId) {
        let snapshot = self.set.snapshot();
        let touched: BTreeSet<&[u8]> = self.keys().collect();
        for number in 0..24 {
            let key = format!("k{number:02}").into_bytes();
            let mut value = Vec::new();
            let found = store.get_at(&snapshot, tree, &key, &mut value).unwrap().then_some(&value);
            assert_eq!(found, self.state.get(&key), "{key:?}");
            let version = store.version_at(&snapshot, tree, &key).unwrap();
            let is_own = version.is_some_and(|version| version > store.visible());
            assert_eq!(is_own, touched.contains(key.as_slice()), "the version {version:?} of {key:?}");
            // Nothing is proved about a key that the set has written.
            let expected = store.version_at(self.set.base(), tree, &key).unwrap();
            if let Some(expected) = expected.filter(|_| is_own) {
                assert_eq!(store.version_at_expecting(&snapshot, tree, &key, expected).unwrap(), version);
                assert!(!store.prover(&snapshot, tree).unwrap().proves(&key, expected));
            }
        }
        for reverse in [false, true] {
            let mut scan = store.scan(tree, Bounds { reverse, ..Bounds::all() }, Some(&snapshot)).unwrap();
            let mut found = Vec::new();
            while let Some((key, value)) = scan.next().unwrap() {
                found.push((key.to_vec(), value.to_vec()));
            }
            if reverse {
                found.reverse();
            }
            assert_eq!(found, self.state.clone().into_iter().collect::<Vec<_>>(), "reverse: {reverse}");
        }
    }

    fn keys(&self) -> impl Iterator<Item = &[u8]> {
        self.written.iter().flat_map(Operation::keys)
    }

    /// Commits the set over the current `state`. Returns its writes, or `None` if others came first.
    fn commit(self, store: &Store, state: &State, seed: u64) -> Option<Vec<Operation>> {
        let keys = self.in_conflict();
        // Of a key that was absent at the begin and is absent now, no trace need be left.
        let must = keys.iter().any(|key| self.begin.contains_key(key) || state.contains_key(key));
        match store.commit(self.set, Durability::Periodic) {
            Ok(_) => {
                assert!(!must, "seed {seed}: a conflict was not seen: {keys:?}");
                Some(self.written)
            }
            Err(Error::Conflict) => {
                assert!(!keys.is_empty(), "seed {seed}: a commit was refused without a conflict");
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// The keys of the set that others have written.
    fn in_conflict(&self) -> Vec<Vec<u8>> {
        let others = |key: &&[u8]| self.by_others.iter().any(|other| other.touches(key));
        self.keys().filter(others).map(<[u8]>::to_vec).collect()
    }
}

/// The latest state.
fn all(store: &Store, tree: TreeId) -> State {
    let mut found = State::new();
    let mut scan = store.scan(tree, Bounds::all(), None).unwrap();
    while let Some((key, value)) = scan.next().unwrap() {
        found.insert(key.to_vec(), value.to_vec());
    }
    found
}

/// A store in memory.
fn open(seed: u64) -> (Store, TreeId) {
    let options = Options {
        memory_bytes: 8 << 20,
        partitions: Some(2),
        background: false,
        fold: Some(Arc::new(Appended)),
        ..Options::default()
    };
    let store = Store::open(Env::in_memory(seed), Path::new("db"), options).unwrap();
    let tree = store.create_trees(&[b"pets"]).unwrap()[0];
    (store, tree)
}

fn run(seed: u64) -> (usize, usize) {
    let mut random = fastrand::Rng::with_seed(seed);
    let (store, tree) = open(seed);
    let (mut state, mut running) = (State::new(), Vec::<Running>::new());
    let (mut committed, mut refused) = (0, 0);
    for _ in 0..120 {
        let operations = |random: &mut fastrand::Rng, ranges| -> Vec<Operation> {
            (0..random.usize(1..4)).map(|_| Operation::random(random, ranges)).collect()
        };
        let batch_of = |operations: &[Operation]| {
            let mut batch = store.batch();
            operations.iter().for_each(|operation| operation.add_to(&mut batch, tree));
            batch
        };
        match random.u32(..12) {
            0..2 => {
                let others = operations(&mut random, true);
                // Without the wait for write sets, which is only a courtesy.
                let locks = store.lock(tree, std::iter::empty(), LockMode::Shared);
                store.write_locked(batch_of(&others), Durability::Periodic, &locks).unwrap();
                others.iter().for_each(|operation| operation.apply(&mut state));
                running.iter_mut().for_each(|one| one.by_others.extend(others.iter().cloned()));
            }
            2..4 if running.len() < 3 => {
                let (set, begin, state) = (store.write_set(), state.clone(), state.clone());
                running.push(Running { set, begin, state, written: Vec::new(), by_others: Vec::new() });
            }
            4..8 if !running.is_empty() => {
                let at = random.usize(..running.len());
                let others = running.iter().enumerate().filter(|(other, _)| *other != at);
                let claimed: BTreeSet<Vec<u8>> =
                    others.flat_map(|(_, other)| other.keys().map(<[u8]>::to_vec)).collect();
                let one = &mut running[at];
                let own = operations(&mut random, false);
                let (before, was) = (one.set.snapshot(), one.state.clone());
                let added = one.set.add(&batch_of(&own));
                let is_claimed = own.iter().any(|operation| operation.keys().any(|key| claimed.contains(key)));
                assert_eq!(added.is_err(), is_claimed, "{added:?}");
                if is_claimed {
                    continue;
                }
                own.iter().for_each(|operation| operation.apply(&mut one.state));
                one.written.extend(own);
                // The state before a write stays what it was.
                let mut value = Vec::new();
                for (key, expected) in &was {
                    assert!(store.get_at(&before, tree, key, &mut value).unwrap() && value == *expected);
                }
            }
            8 if !running.is_empty() => {
                let one = running.swap_remove(random.usize(..running.len()));
                match one.commit(&store, &state, seed) {
                    Some(written) => {
                        written.iter().for_each(|operation| operation.apply(&mut state));
                        running.iter_mut().for_each(|other| other.by_others.extend(written.iter().cloned()));
                        committed += 1;
                    }
                    None => refused += 1,
                }
            }
            9 => store.flush().unwrap(),
            10 => store.compact().unwrap(),
            _ if !running.is_empty() => drop(running.swap_remove(random.usize(..running.len()))),
            _ => {}
        }
        running.iter().for_each(|one| one.check(&store, tree));
        assert_eq!(all(&store, tree), state, "seed {seed}");
    }
    (committed, refused)
}

#[test]
fn any_write_sets_and_other_writes() {
    let runs: Vec<_> = (0..200).map(run).collect();
    let (committed, refused) = runs.iter().fold((0, 0), |all, run| (all.0 + run.0, all.1 + run.1));
    assert!(committed > 100 && refused > 100, "{committed} commits, {refused} refused");
}

#[test]
fn what_a_write_set_leaves() {
    let store = Store::open(Env::in_memory(1), Path::new("db"), Options::default()).unwrap();
    let tree = store.create_trees(&[b"pets"]).unwrap()[0];
    let before = store.visible();
    let mut set = store.write_set();
    let mut batch = store.batch();
    batch.put(tree, b"rex", b"dog");
    set.add(&batch).unwrap();
    assert!(set.memory_bytes() < 8192, "{} bytes for one key", set.memory_bytes());
    drop(set);
    assert_eq!(store.visible(), before);
    assert_eq!(store.commit(store.write_set(), Durability::Periodic).unwrap(), before);

    let mut set = store.write_set();
    let mut range = store.batch();
    range.delete_range(tree, b"a", b"z");
    assert!(matches!(set.add(&range), Err(Error::InvalidOption { .. })));
}

/// Without its snapshot, tombstones of deletes since the begin may go, so the absence of newer versions proves nothing.
#[test]
fn a_write_set_whose_snapshot_has_ended_is_refused() {
    let clock = Arc::new(ManualClock::new());
    let env = Env { fs: Arc::new(MemFs::new()), clock: clock.clone(), rng: Arc::new(SeededRng::new(1)) };
    let options = Options { snapshot_max_age: Duration::from_secs(30), background: false, ..Options::default() };
    let store = Store::open(env, Path::new("db"), options).unwrap();
    let tree = store.create_trees(&[b"pets"]).unwrap()[0];
    let write = |edit: &dyn Fn(&mut WriteBatch)| {
        let mut batch = store.batch();
        edit(&mut batch);
        store.write(batch, Durability::Periodic).unwrap();
    };
    write(&|batch| batch.put(tree, b"rex", b"dog"));
    let mut set = store.write_set();
    let mut batch = store.batch();
    batch.put(tree, b"rex", b"wolf");
    set.add(&batch).unwrap();
    let locks = store.lock(tree, [&b"rex"[..]], LockMode::Shared);
    let mut delete = store.batch();
    delete.delete(tree, b"rex");
    store.write_locked(delete, Durability::Periodic, &locks).unwrap();
    drop(locks);
    clock.advance(Duration::from_secs(60));
    store.run_pending().unwrap();
    store.compact().unwrap();
    assert_eq!(store.version(tree, b"rex").unwrap(), None, "the tombstone is still there");
    assert!(matches!(store.commit(set, Durability::Periodic), Err(Error::SnapshotTooOld)));
    assert!(!store.contains(tree, b"rex").unwrap());
}

/// A plain write of a key waits until the write set that has written it ends; other keys do not wait.
#[test]
fn plain_writes_wait_for_write_sets() {
    let store = Store::open(Env::in_memory(1), Path::new("db"), Options::default()).unwrap();
    let tree = store.create_trees(&[b"pets"]).unwrap()[0];
    let put = |key: &[u8], value: &[u8]| {
        let mut batch = store.batch();
        batch.put(tree, key, value);
        store.write(batch, Durability::Periodic)
    };
    let mut set = store.write_set();
    let mut batch = store.batch();
    batch.put(tree, b"rex", b"wolf");
    set.add(&batch).unwrap();
    put(b"tom", b"cat").unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| put(b"rex", b"dog").unwrap());
        std::thread::sleep(Duration::from_millis(50));
        assert!(!waiting.is_finished() && !store.contains(tree, b"rex").unwrap());
        let committed = store.commit(set, Durability::Periodic).unwrap();
        assert!(waiting.join().unwrap() > committed);
    });
    let mut value = Vec::new();
    assert!(store.get(tree, b"rex", &mut value).unwrap() && value == b"dog");

    // A thread that waits for itself gets an error, and can still commit its set.
    let mut set = store.write_set();
    set.add(&batch).unwrap();
    assert!(matches!(put(b"rex", b"fox"), Err(Error::Claimed { .. })));
    store.commit(set, Durability::Periodic).unwrap();
}

/// A plain write waits for a limited time, also if other write sets end all the time.
#[test]
fn a_wait_ends_while_other_write_sets_come_and_go() {
    let clock = Arc::new(ManualClock::new());
    let env = Env { fs: Arc::new(MemFs::new()), clock: clock.clone(), rng: Arc::new(SeededRng::new(1)) };
    let store = Store::open(env, Path::new("db"), Options::default()).unwrap();
    let tree = store.create_trees(&[b"pets"]).unwrap()[0];
    let put = |key: &[u8]| {
        let mut batch = store.batch();
        batch.put(tree, key, b"dog");
        batch
    };
    let mut stays = store.write_set();
    stays.add(&put(b"rex")).unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| store.write(put(b"rex"), Durability::Periodic));
        for _ in 0..2000 {
            if waiting.is_finished() {
                break;
            }
            let mut ends = store.write_set();
            ends.add(&put(b"tom")).unwrap();
            drop(ends);
            clock.advance(Duration::from_millis(100));
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(waiting.is_finished(), "it still waits");
        assert!(matches!(waiting.join().unwrap(), Err(Error::Claimed { .. })));
    });
    store.commit(stays, Durability::Periodic).unwrap();
}
