//! If a new log segment would use the disk's reserve, writes are refused with a named error and change nothing. Flushes
//! and compactions finish, deletes continue, and writes continue once space is freed.

use alluvium_env::mem::MemFs;
use alluvium_env::{Env, ManualClock, SeededRng};
use alluvium_store::{Compression, Durability, Error, Options, Store, TreeId};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

const MIB: u64 = 1 << 20;
/// The reserve of the options below, which on a large disk is also the default: two fifths of the memory, and four
/// files.
const RESERVE: u64 = (8 * MIB / 5 * 2) + 4 * 4 * MIB;

fn options(background: bool) -> Options {
    Options {
        partitions: Some(2),
        memory_bytes: 8 << 20,
        compression: Compression::None,
        file_bytes: Some(4 << 20),
        disk_reserve_bytes: Some(RESERVE),
        background,
        ..Options::default()
    }
}

/// A store on a disk, and the acknowledged writes.
struct Place {
    disk: Arc<MemFs>,
    store: Store,
    tree: TreeId,
    there: BTreeMap<u32, u8>,
    next: u32,
}

fn open(disk: &Arc<MemFs>, options: Options) -> Store {
    let env = Env { fs: disk.clone(), clock: Arc::new(ManualClock::new()), rng: Arc::new(SeededRng::new(1)) };
    Store::open(env, "db".as_ref(), options).unwrap()
}

impl Place {
    fn new(capacity: u64, background: bool) -> Self {
        let disk = Arc::new(MemFs::with_capacity(capacity));
        let store = open(&disk, options(background));
        let tree = store.create_trees(&[b"tree"]).unwrap()[0];
        Self { disk, store, tree, there: BTreeMap::new(), next: 0 }
    }

    fn free(&self) -> u64 {
        alluvium_env::Fs::available_bytes(&*self.disk, "db".as_ref()).unwrap()
    }

    /// The keys are spread, so that files overlap.
    fn key(n: u32) -> [u8; 4] {
        n.wrapping_mul(0x9e37_79b1).to_be_bytes()
    }

    fn put(&mut self) -> Result<(), Error> {
        let n = self.next;
        let mut batch = self.store.batch();
        batch.put(self.tree, &Self::key(n), &[n as u8; 2000]);
        let result = self.store.write(batch, Durability::Bulk);
        match &result {
            Ok(_) => {
                self.there.insert(n, n as u8);
                self.next += 1;
            }
            Err(error) => {
                assert!(matches!(error, Error::NoSpace(_)), "{error}");
                assert!(error.to_string().contains("disk_reserve_bytes"), "{error}");
                let found = self.store.get(self.tree, &Self::key(n), &mut Vec::new()).unwrap();
                assert!(!found, "a refused batch left something");
                let alone = !self.store.options().background;
                assert!(!alone || self.free() < RESERVE + MIB, "there is space for a segment: {}", self.free());
            }
        }
        result.map(drop)
    }

    fn delete(&mut self, n: u32) -> Result<(), Error> {
        let mut batch = self.store.batch();
        batch.delete(self.tree, &Self::key(n));
        self.store.write(batch, Durability::Bulk)?;
        self.there.remove(&n);
        Ok(())
    }

    /// Writes until writes are refused and all background work is done.
    fn fill(&mut self) {
        for _ in 0..200 {
            while self.put().is_ok() {
                assert!(self.free() > RESERVE - 8 * MIB, "the reserve is eaten: {} bytes are free", self.free());
            }
            self.store.wait_for_compaction().unwrap();
            if self.put().is_err() {
                return;
            }
        }
        panic!("the disk is never full");
    }

    fn check(&self) {
        let mut value = Vec::new();
        for n in 0..=self.next {
            let found = self.store.get(self.tree, &Self::key(n), &mut value).unwrap();
            assert_eq!(found.then(|| value[0]), self.there.get(&n).copied(), "{n}");
        }
    }

    fn reopened(self) -> Self {
        let options = options(self.store.options().background);
        let Self { disk, store, tree, there, next } = self;
        drop(store);
        let store = open(&disk, options);
        Self { disk, store, tree, there, next }
    }
}

#[test]
fn writes_are_refused_at_the_reserve_and_everything_else_goes_on() {
    for background in [true, false] {
        let mut place = Place::new(RESERVE + 12 * MIB, background);
        place.fill();
        assert!(place.there.len() > 3000, "the log gives its space back first: {}", place.there.len());
        assert!(place.free() > RESERVE / 2);
        place.store.flush().unwrap();
        place.store.compact().unwrap();
        assert_eq!(place.store.stats().background_error, None);
        place.check();
        place.store.close().unwrap();
        let place = place.reopened();
        place.check();
    }
}

#[test]
fn deleting_and_compacting_lets_writes_go_on() {
    for background in [true, false] {
        let mut place = Place::new(RESERVE + 12 * MIB, background);
        place.fill();
        let mut place = place.reopened();
        place.put().expect_err("opening again makes no space");
        for n in (0..place.next).step_by(2) {
            place.delete(n).unwrap();
        }
        place.store.compact().unwrap();
        for _ in 0..500 {
            place.put().unwrap();
        }
        place.check();
        let place = place.reopened();
        place.check();
    }
}

#[test]
fn dropping_a_tree_lets_writes_go_on() {
    let mut place = Place::new(RESERVE + 12 * MIB, false);
    let other = place.store.create_trees(&[b"other"]).unwrap()[0];
    place.fill();
    assert!(matches!(place.store.create_trees(&[&[0; 70_000]]), Err(Error::NoSpace(_))));
    place.store.drop_trees(&[place.tree]).unwrap();
    place.store.compact().unwrap();
    place.tree = other;
    place.there.clear();
    place.next = 0;
    for _ in 0..1000 {
        place.put().unwrap();
    }
    place.reopened().check();
}

#[test]
fn a_larger_disk_lets_writes_go_on() {
    for background in [true, false] {
        let mut place = Place::new(RESERVE + 6 * MIB, background);
        place.fill();
        place.disk.set_capacity(RESERVE + 30 * MIB);
        for _ in 0..3000 {
            place.put().unwrap();
        }
        place.check();
        place.reopened().check();
    }
}

#[test]
fn without_a_reserve_the_disk_is_filled() {
    let disk = Arc::new(MemFs::with_capacity(8 * MIB));
    let store = open(&disk, Options { disk_reserve_bytes: Some(0), ..options(false) });
    let tree = store.create_trees(&[b"tree"]).unwrap()[0];
    let mut batch = store.batch();
    batch.put(tree, b"key", &[1; 500_000]);
    for _ in 0..4 {
        store.write(batch.clone(), Durability::Bulk).unwrap();
    }
}

/// No thread flushes. Refused writes alone make the log remove all segments that are not needed.
#[test]
fn the_log_gives_its_own_space_back_by_itself() {
    for background in [true, false] {
        let mut place = Place::new(RESERVE + 6 * MIB, background);
        let clock = Env::os().clock;
        let started = clock.now();
        let mut refused = 0;
        while place.store.stats().log_bytes > 128 << 10 || refused == 0 {
            refused += u32::from(place.put().is_err());
            assert!(clock.now() - started < Duration::from_secs(20), "the log keeps {:?}", place.store.stats());
        }
        place.check();
        assert_eq!(place.store.stats().background_error, None);
    }
}

#[test]
fn the_reserve_of_a_small_disk_is_smaller() {
    let derived = |capacity: u64| {
        let disk = Arc::new(MemFs::with_capacity(capacity));
        open(&disk, Options { disk_reserve_bytes: None, ..options(false) }).disk_reserve_bytes()
    };
    // At least the bytes of memtables and two files.
    let least = RESERVE - 2 * 4 * MIB;
    assert_eq!([derived(60 * MIB), derived(300 * MIB), derived(u64::MAX)], [least, 15 * MIB, RESERVE]);
    let capacity = 60 * MIB;
    let disk = Arc::new(MemFs::with_capacity(capacity));
    let small = || Options { disk_reserve_bytes: None, ..options(true) };
    let (store, value) = (open(&disk, small()), [7; 2000]);
    let tree = store.create_trees(&[b"tree"]).unwrap()[0];
    let put = |store: &Store, n: u32| {
        let mut batch = store.batch();
        batch.put(tree, &Place::key(n), &value);
        store.write(batch, Durability::Bulk).map(drop)
    };
    let mut written = 0;
    for _ in 0..20 {
        while put(&store, written).is_ok() {
            written += 1;
        }
        // There may be too little space for a merge.
        let _ = store.wait_for_compaction();
    }
    let bytes = u64::from(written) * 2000;
    assert!(bytes > capacity * 6 / 10, "{bytes} of {capacity}");
    // Acknowledged writes are flushed, and read after the next opening. Deletes are accepted, and free space.
    assert!(accepted(&store, || store.flush()), "not flushed");
    store.close().unwrap();
    let store = open(&disk, small());
    for n in 0..written {
        assert!(store.get(tree, &Place::key(n), &mut Vec::new()).unwrap(), "{n}");
    }
    for n in 0..written {
        assert!(delete(&store, tree, n), "{n} cannot be deleted");
    }
    store.wait_for_compaction().unwrap();
    for n in 0..written / 2 {
        assert!(accepted(&store, || put(&store, n)), "{n} cannot be written again");
    }
}

/// Repeats a write while it is refused because flushes or merges wait for space that others free. Returns false if it
/// is still refused after 20 seconds.
fn accepted(store: &Store, write: impl Fn() -> Result<(), Error>) -> bool {
    let clock = Env::os().clock;
    let started = clock.now();
    loop {
        match write() {
            Ok(()) => return true,
            Err(error) => assert!(matches!(error, Error::NoSpace(_)), "{error}"),
        }
        if clock.now() - started > Duration::from_secs(20) {
            return false;
        }
        // There may be too little space for a merge.
        let _ = store.wait_for_compaction();
        std::thread::yield_now();
    }
}

/// Deletes a key. Returns false if the delete is refused for 20 seconds.
fn delete(store: &Store, tree: TreeId, n: u32) -> bool {
    accepted(store, || {
        let mut batch = store.batch();
        batch.delete(tree, &Place::key(n));
        store.write(batch, Durability::Bulk).map(drop)
    })
}

#[test]
fn a_small_volume_takes_writes_and_deletes_with_the_default_memory() {
    const LARGE: u32 = u32::MAX / 2;
    for capacity in [50 * MIB, 100 * MIB] {
        let disk = Arc::new(MemFs::with_capacity(capacity));
        let usual = || Options { compression: Compression::None, ..Options::default() };
        let store = open(&disk, usual());
        let reserve = (38 * MIB).min(capacity / 2);
        assert_eq!(store.disk_reserve_bytes(), reserve);
        let tree = store.create_trees(&[b"tree"]).unwrap()[0];
        let put = |store: &Store, keys: std::ops::Range<u32>, bytes: usize| {
            let mut batch = store.batch();
            keys.for_each(|n| batch.put(tree, &Place::key(n), &vec![n as u8; bytes]));
            store.write(batch, Durability::Bulk).map(drop)
        };
        // The largest batches take more memory and log than a memtable usually has. The reserve of the smallest volume
        // has room for half of one.
        let together = if reserve < 38 * MIB { 1 } else { 2 };
        let (mut written, mut large) = (0, 0);
        for _ in 0..20 {
            while put(&store, written..written + 1, 2000).is_ok() {
                written += 1;
            }
            while put(&store, LARGE + large..LARGE + large + together, 16 << 20).is_ok() {
                large += together;
            }
            let _ = store.wait_for_compaction();
        }
        let bytes = u64::from(written) * 2000 + u64::from(large) * (16 << 20);
        assert!(bytes > (capacity - reserve) * 6 / 10, "{bytes} of {capacity}");
        store.flush().unwrap();
        store.close().unwrap();
        let store = open(&disk, usual());
        let keys = || (0..written).chain(LARGE..LARGE + large);
        assert!(keys().all(|n| store.get(tree, &Place::key(n), &mut Vec::new()).unwrap()));
        let kept = keys().find(|n| !delete(&store, tree, *n));
        assert_eq!(kept, None, "cannot be deleted");
        store.compact().unwrap();
        for n in 0..written / 2 {
            put(&store, n..n + 1, 2000).unwrap();
        }
    }
}
