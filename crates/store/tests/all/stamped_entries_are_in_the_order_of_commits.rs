//! The keys of stamped entries are the numbers of their operations: in the order of the commits over all partitions, with
//! any number of threads, in transactions and changes of trees, after a kill and a power cut, and from files as from
//! memory.

use alluvium_env::fault::{Fault, FaultFs};
use alluvium_env::mem::{CrashStyle, MemFs};
use alluvium_env::{Env, ManualClock, SeededRng};
use alluvium_store::{
    Bounds, Durability, Error, Options, Seq, Snapshot, Store, TreeChanges, TreeId, Tuning, WriteBatch,
};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

fn options() -> Options {
    let tuning = Tuning { memtable_bytes: Some(20 << 10), ..Tuning::default() };
    let small = Options { segment_bytes: Some(16 << 10), disk_reserve_bytes: Some(0), tuning, ..Options::default() };
    Options { memory_bytes: 8 << 20, partitions: Some(5), background: false, ..small }
}

fn env_of(fs: MemFs) -> (Arc<MemFs>, Env) {
    let fs = Arc::new(fs);
    (fs.clone(), Env { fs, clock: Arc::new(ManualClock::new()), rng: Arc::new(SeededRng::new(1)) })
}

/// A tree of documents, and one of their history.
#[derive(Clone, Copy)]
struct Trees {
    pets: TreeId,
    history: TreeId,
}

impl Trees {
    fn create(store: &Store) -> Self {
        let pets = store.create_trees(&[b"pets"]).unwrap()[0];
        let create = |_: &[_]| TreeChanges { create: vec![b"history".to_vec()], ..TreeChanges::default() };
        let history = store.change_trees(1, create).unwrap()[0];
        store.sync().unwrap();
        Self { pets, history }
    }

    fn put(self, batch: &mut WriteBatch, key: &[u8], value: &[u8]) {
        batch.put(self.pets, key, value);
        batch.put_stamped(self.history, b"put", key);
    }

    fn delete(self, batch: &mut WriteBatch, key: &[u8]) {
        batch.delete(self.pets, key);
        batch.put_stamped(self.history, b"deleted", key);
    }

    /// The number, the kind and the key of each event, in the order of a scan.
    fn events(self, store: &Store, at: Option<&Snapshot>) -> Vec<(Seq, String, Vec<u8>)> {
        let mut scan = store.scan(self.history, Bounds::all(), at).unwrap();
        let mut found = Vec::new();
        while let Some((key, value)) = scan.next().unwrap() {
            let number = |at: usize| Seq::from_be_bytes(key[at..at + 8].try_into().unwrap());
            let kind = String::from_utf8(key[24..].to_vec()).unwrap();
            assert!(number(0) <= number(8), "an operation is within its batch");
            found.push((number(0), kind, value.to_vec()));
        }
        found
    }

    /// Checks that the events explain each document, with its number, and returns their numbers.
    fn check(self, store: &Store) -> Vec<Seq> {
        let events = self.events(store, None);
        let mut newest = BTreeMap::new();
        for (number, kind, key) in &events {
            newest.insert(key.clone(), (*number, kind.as_str()));
        }
        for (key, (number, kind)) in &newest {
            let expected = (*kind == "put").then_some(*number);
            let found =
                store.contains(self.pets, key).unwrap().then(|| store.version(self.pets, key).unwrap().unwrap());
            assert_eq!(found, expected, "{key:?}: {kind} at {number}");
        }
        let mut documents = store.scan(self.pets, Bounds::all(), None).unwrap();
        while let Some((key, _)) = documents.next().unwrap() {
            assert!(newest.contains_key(key), "no event of {key:?}");
        }
        let numbers: Vec<Seq> = events.iter().map(|(number, ..)| *number).collect();
        assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
        numbers
    }
}

/// A batch of one to four operations on few keys. A batch in eight is above the length from which the log compresses.
fn random_batch(store: &Store, trees: Trees, random: &mut fastrand::Rng) -> WriteBatch {
    let mut batch = store.batch();
    for _ in 0..random.usize(1..5) {
        let key = format!("k{:02}", random.u32(..30));
        match random.u32(..4) {
            0 => trees.delete(&mut batch, key.as_bytes()),
            _ => trees.put(&mut batch, key.as_bytes(), format!("{}", random.u64(..)).as_bytes()),
        }
    }
    if random.u32(..8) == 0 {
        trees.put(&mut batch, b"large", &[b'x'; 20 << 10]);
    }
    batch
}

#[test]
fn threads_write_events_in_the_order_of_their_numbers() {
    let options = Options { background: true, ..options() };
    let store = &Store::open(Env::in_memory(1), Path::new("db"), options).unwrap();
    let trees = Trees::create(store);
    let write = |thread: u64| {
        let mut random = fastrand::Rng::with_seed(thread);
        let mut ends = Vec::new();
        for _ in 0..300 {
            let batch = random_batch(store, trees, &mut random);
            let count = batch.len() as Seq;
            ends.push((store.write(batch, Durability::Bulk).unwrap(), count));
        }
        ends
    };
    let watch = || {
        let mut before: Vec<(Seq, String, Vec<u8>)> = Vec::new();
        for _ in 0..30 {
            let snapshot = store.snapshot();
            let events = trees.events(store, Some(&snapshot));
            assert!(events.starts_with(&before), "what was read stays, and new events are behind it");
            assert!(events.iter().all(|(number, ..)| *number <= snapshot.seq()));
            before = events;
        }
    };
    let ends = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..6).map(|thread| scope.spawn(move || write(thread))).collect();
        scope.spawn(watch);
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect::<Vec<_>>()
    });
    let mut expected: Vec<Seq> = ends.iter().flat_map(|(last, count)| last + 1 - count..=*last).collect();
    expected.sort_unstable();
    assert_eq!(trees.check(store), expected);
    store.flush().unwrap();
    assert_eq!(trees.check(store), expected);
    store.compact().unwrap();
    assert_eq!(trees.check(store), expected);
    assert!(store.verify().unwrap().is_empty());
}

#[test]
fn kills_and_power_cuts_keep_events_with_their_documents() {
    for seed in 0..40 {
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut fs, mut env) = env_of(MemFs::new());
        let mut store = Store::open(env, Path::new("db"), options()).unwrap();
        let trees = Trees::create(&store);
        // The numbers of the events so far, and how many of them are synced.
        let (mut written, mut synced) = (Vec::<Seq>::new(), 0);
        for _ in 0..60 {
            match random.u32(..10) {
                0 => store.flush().unwrap(),
                1 => store.compact().unwrap(),
                2 => {
                    let power_cut = random.bool();
                    let copy = if power_cut {
                        fs.crash_clone(random.u64(..), CrashStyle::Any)
                    } else {
                        synced = written.len();
                        fs.kill_clone()
                    };
                    drop(store);
                    (fs, env) = env_of(copy);
                    store = Store::open(env, Path::new("db"), options()).unwrap();
                    let left = trees.check(&store);
                    assert!(left.len() >= synced && written.starts_with(&left), "seed {seed}: {left:?} of {written:?}");
                    (written, synced) = (left.clone(), left.len());
                }
                _ => {
                    let batch = random_batch(&store, trees, &mut random);
                    let count = batch.len() as Seq;
                    let durability = if random.bool() { Durability::Sync } else { Durability::Bulk };
                    let last = store.write(batch, durability).unwrap();
                    written.extend(last + 1 - count..=last);
                    if durability == Durability::Sync {
                        synced = written.len();
                    }
                }
            }
        }
        assert_eq!(trees.check(&store), written, "seed {seed}");
        assert!(store.verify().unwrap().is_empty());
    }
}

#[test]
fn a_write_set_has_events_from_its_commit_on() {
    let store = Store::open(Env::in_memory(1), Path::new("db"), options()).unwrap();
    let trees = Trees::create(&store);
    let mut sets = [store.write_set(), store.write_set()];
    for (name, at) in [("rex", 0), ("tom", 1), ("ann", 0)] {
        let mut batch = store.batch();
        trees.put(&mut batch, name.as_bytes(), b"3");
        sets[at].add(&batch).unwrap();
        let seen = sets[at].snapshot();
        assert!(store.get_at(&seen, trees.pets, name.as_bytes(), &mut Vec::new()).unwrap());
        assert!(trees.events(&store, Some(&seen)).is_empty());
        assert!(trees.events(&store, None).is_empty());
    }
    let [first, second] = sets;
    let of_second = store.commit(second, Durability::Sync).unwrap();
    let of_first = store.commit(first, Durability::Sync).unwrap();
    let events = [(of_second, "tom"), (of_first - 1, "rex"), (of_first, "ann")];
    let events = events.map(|(number, name)| (number, "put".to_owned(), name.as_bytes().to_vec()));
    assert_eq!(trees.events(&store, None), events);
    assert_eq!(trees.check(&store), [of_second, of_first - 1, of_first]);

    // Two sets with events, and nothing else in common, are not in conflict; two with one document are.
    let (mut first, mut second) = (store.write_set(), store.write_set());
    let mut batch = store.batch();
    trees.delete(&mut batch, b"rex");
    first.add(&batch).unwrap();
    assert!(matches!(second.add(&batch), Err(Error::Conflict)));
    drop(first);
    assert_eq!(trees.check(&store).len(), 3, "a set that is dropped leaves no event");
}

#[test]
fn a_batch_that_changes_trees_may_have_events() {
    let (fs, env) = env_of(MemFs::new());
    let store = Store::open(env, Path::new("db"), options()).unwrap();
    let trees = Trees::create(&store);
    let mut set = store.write_set();
    let cats = set.create_trees_with(1, |_| vec![b"cats".to_vec()]).unwrap()[0];
    let mut batch = store.batch();
    batch.put(cats, b"tom", b"3");
    batch.put_stamped(trees.history, b"put", b"tom");
    set.add(&batch).unwrap();
    store.commit(set, Durability::Sync).unwrap();
    let number = store.version(cats, b"tom").unwrap().unwrap();
    let expected = [(number, "put".to_owned(), b"tom".to_vec())];
    assert_eq!(trees.events(&store, None), expected);
    drop(store);
    let (_, env) = env_of(fs.crash_clone(1, CrashStyle::AllLost));
    let store = Store::open(env, Path::new("db"), options()).unwrap();
    assert_eq!(trees.events(&store, None), expected);
    assert_eq!(store.version(cats, b"tom").unwrap(), Some(number));
}

#[test]
fn a_refused_batch_leaves_no_event_and_no_gap_in_later_ones() {
    let faults = Arc::new(FaultFs::over(Arc::new(MemFs::new())));
    let env = Env { fs: faults.clone(), clock: Arc::new(ManualClock::new()), rng: Arc::new(SeededRng::new(1)) };
    let store = Store::open(env, Path::new("db"), options()).unwrap();
    let trees = Trees::create(&store);
    let batch = || {
        let mut batch = store.batch();
        trees.put(&mut batch, b"rex", &[7; 40_000]);
        batch
    };
    let mut of_before = batch();
    of_before.expect_schema(trees.pets, store.schema(trees.pets));
    store.describe_trees(&[(trees.pets, b"animals")]).unwrap();
    assert!(matches!(store.write(of_before, Durability::Bulk), Err(Error::SchemaChanged(_))));
    store.sync().unwrap();
    faults.inject(Fault::nth(1).of_changes().on("wal-").no_space().from_then_on());
    let refused = store.write(batch(), Durability::Bulk);
    assert!(matches!(refused, Err(Error::NoSpace(_))), "{refused:?}");
    assert!(trees.events(&store, None).is_empty());
    faults.clear();
    let number = store.write(batch(), Durability::Bulk).unwrap();
    assert_eq!(trees.check(&store), [number]);
}
