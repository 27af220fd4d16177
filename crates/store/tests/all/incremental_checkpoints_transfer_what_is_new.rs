//! A chain of checkpoints, each based on the previous one. Only new files are copied and marked as new. Every
//! checkpoint of the chain can be restored, and older ones can be removed. A checkpoint of another database is refused
//! as a base.

use alluvium_env::fault::{Fault, FaultFs, OpKind};
use alluvium_env::mem::MemFs;
use alluvium_env::{Env, ManualClock, OpenMode, SeededRng};
use alluvium_store::{Bounds, CheckpointOptions, Durability, Error, Options, RestoreOptions, Store};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const TREE: alluvium_store::TreeId = alluvium_store::TreeId(1);

fn options() -> Options {
    let small = Options { file_bytes: Some(8 << 10), disk_reserve_bytes: Some(0), ..Options::default() };
    Options { memory_bytes: 8 << 20, partitions: Some(2), background: false, ..small }
}

fn open(env: &Env, path: &str) -> Store {
    Store::open(env.clone(), Path::new(path), options()).unwrap()
}

fn write(store: &Store, keys: std::ops::Range<u32>) {
    let mut rng = fastrand::Rng::with_seed(keys.start.into());
    for n in keys {
        let mut batch = store.batch();
        let value: Vec<u8> = std::iter::repeat_with(|| rng.u8(..)).take(100).collect();
        batch.put(TREE, &n.to_be_bytes(), &value);
        store.write(batch, Durability::Sync).unwrap();
    }
    store.flush().unwrap();
}

type Content = BTreeMap<Vec<u8>, Vec<u8>>;

fn contents(store: &Store) -> Content {
    let mut scan = store.scan(TREE, Bounds::all(), None).unwrap();
    let mut found = BTreeMap::new();
    while let Some((key, value)) = scan.next().unwrap() {
        found.insert(key.to_vec(), value.to_vec());
    }
    found
}

fn restored(env: &Env, checkpoint: &Path, to: &str) -> Content {
    let options = RestoreOptions { copy: true, ..RestoreOptions::default() };
    alluvium_store::restore_checkpoint(env, checkpoint, Path::new(to), options).unwrap();
    let store = open(env, to);
    assert!(store.verify().unwrap().is_empty());
    contents(&store)
}

fn based_on(base: &Path, copy: bool) -> CheckpointOptions {
    CheckpointOptions { base: Some(base.to_owned()), copy, ..CheckpointOptions::default() }
}

fn remove(env: &Env, dir: &Path) {
    for entry in env.fs.list(dir).unwrap() {
        let path = dir.join(&entry.name);
        if entry.is_dir { remove(env, &path) } else { env.fs.remove(&path).unwrap() }
    }
    env.fs.remove_dir(dir).unwrap();
}

#[test]
fn a_chain_of_them() {
    let env = Env::in_memory(9);
    let store = open(&env, "db");
    store.create_trees(&[b"tree"]).unwrap();
    write(&store, 0..500);
    let mut chain: Vec<(PathBuf, Content)> = Vec::new();
    for step in 0..5u32 {
        let dir = PathBuf::from(format!("chain/{step}"));
        // The chain is on another disk. Files of the previous checkpoint are not copied again.
        let options = match chain.last() {
            Some((base, _)) => based_on(base, true),
            None => CheckpointOptions { base: None, copy: true, ..CheckpointOptions::default() },
        };
        let report = store.checkpoint(&dir, &options).unwrap();
        let sorted = report.in_base + report.copied;
        let listing = alluvium_store::Listing::read(&env, &dir).unwrap();
        assert_eq!(listing.files.iter().filter(|file| file.in_base).count() as u64, report.in_base);
        assert_eq!(listing.seq, report.seq);
        if let Some((base, _)) = chain.last() {
            assert_eq!(listing.base, Some(alluvium_store::Listing::read(&env, base).unwrap().id));
            assert!(report.in_base > sorted / 2, "{report:?}");
            assert!(report.copied > 0 && report.bytes_copied < report.bytes_in_base, "{report:?}");
        }
        chain.push((dir, contents(&store)));
        // The new keys are above the others, so that earlier files are kept.
        write(&store, 500 + step * 50..550 + step * 50);
    }
    // Removes a checkpoint in the middle, then all except one. Each remaining checkpoint is complete by itself.
    for gone in [1, 3, 0, 2] {
        remove(&env, &chain[gone].0);
        for (dir, expected) in chain.iter().filter(|(dir, _)| env.fs.exists(dir).unwrap()) {
            let to = format!("restored-{gone}-{}", dir.file_name().unwrap().to_string_lossy());
            assert_eq!(&restored(&env, dir, &to), expected);
        }
    }
}

#[test]
fn two_that_go_on_from_one_checkpoint_are_not_mixed_up() {
    let env = Env::in_memory(9);
    let store = open(&env, "db");
    store.create_trees(&[b"tree"]).unwrap();
    write(&store, 0..200);
    let base = Path::new("base");
    store.checkpoint(base, &CheckpointOptions::default()).unwrap();
    for name in ["twin", "other twin"] {
        alluvium_store::restore_checkpoint(&env, base, Path::new(name), RestoreOptions::default()).unwrap();
    }
    let twin = open(&env, "twin");
    // The two databases have the same file numbers with different contents.
    write(&store, 1000..1200);
    write(&twin, 5000..5200);
    for (name, store) in [("twin", &twin), ("other twin", &open(&env, "other twin"))] {
        let error = store.checkpoint(Path::new("mixed"), &based_on(base, false)).unwrap_err();
        assert!(matches!(error, Error::ForeignBase { .. }), "{name}: {error}");
    }
    store.checkpoint(Path::new("next"), &based_on(base, false)).unwrap();
    twin.checkpoint(Path::new("twins"), &CheckpointOptions::default()).unwrap();
    let error = store.checkpoint(Path::new("mixed"), &based_on(Path::new("twins"), false)).unwrap_err();
    assert!(error.to_string().contains("another database"), "{error}");
    assert_eq!(restored(&env, Path::new("next"), "a"), contents(&store));
    assert_eq!(restored(&env, Path::new("twins"), "b"), contents(&twin));
    assert!(!env.fs.exists(Path::new("mixed")).unwrap() && !env.fs.exists(Path::new("mixed.incomplete")).unwrap());
}

#[test]
fn a_base_that_lost_a_file_is_no_harm() {
    let mem = Arc::new(MemFs::new());
    let faults = Arc::new(FaultFs::over(mem));
    let env = Env { fs: faults.clone(), clock: Arc::new(ManualClock::new()), rng: Arc::new(SeededRng::new(3)) };
    let store = open(&env, "db");
    store.create_trees(&[b"tree"]).unwrap();
    write(&store, 0..300);
    let base = Path::new("base");
    store.checkpoint(base, &CheckpointOptions { base: None, copy: true, ..CheckpointOptions::default() }).unwrap();
    let sorted: Vec<_> = alluvium_store::Listing::read(&env, base).unwrap().files;
    let mut sorted = sorted.into_iter().map(|file| file.path).filter(|path| path.ends_with(".sst"));
    env.fs.remove(&base.join(sorted.next().unwrap())).unwrap();
    env.fs.open(&base.join(sorted.next().unwrap()), OpenMode::ReadWrite).unwrap().set_len(10).unwrap();
    let report = store.checkpoint(Path::new("next"), &based_on(base, true)).unwrap();
    assert_eq!(report.copied, 2);
    // If files of the base cannot be linked, they are copied from the database, and do not count as new.
    faults.inject(Fault::nth(1).of(OpKind::HardLink).os_error(18).from_then_on());
    let report = store.checkpoint(Path::new("far"), &based_on(Path::new("next"), false)).unwrap();
    assert!(report.copied == report.in_base && report.copied == 2, "{report:?}");
    for (name, to) in [("next", "a"), ("far", "b")] {
        assert_eq!(restored(&env, Path::new(name), to), contents(&store));
    }
}

#[test]
fn names_that_cannot_be_used() {
    let env = Env::in_memory(9);
    let store = open(&env, "db");
    store.create_trees(&[b"tree"]).unwrap();
    let refused = |dir: &str, options: &CheckpointOptions| store.checkpoint(Path::new(dir), options).unwrap_err();
    let plain = CheckpointOptions::default();
    assert!(matches!(refused("db/backup", &plain), Error::InsideDatabase { .. }));
    assert!(matches!(refused("db/p000/backup", &plain), Error::InsideDatabase { .. }));
    assert!(matches!(refused("db", &plain), Error::TargetExists(_)));
    assert!(matches!(refused("/", &plain), Error::TargetExists(_)));
    assert!(matches!(refused("a", &based_on(Path::new("nothing"), false)), Error::NotACheckpoint(_)));
    assert!(matches!(refused("a", &based_on(Path::new("db"), false)), Error::NotACheckpoint(_)));
    store.checkpoint(Path::new("one"), &plain).unwrap();
    assert!(matches!(refused("one", &plain), Error::TargetExists(_)));
    assert!(matches!(refused("one/two", &plain), Error::InsideDatabase { .. }));
    // An empty directory is accepted like a missing one. A foreign directory with the name of the temporary one is not
    // cleared.
    env.fs.create_dir_all(Path::new("empty")).unwrap();
    store.checkpoint(Path::new("empty"), &plain).unwrap();
    env.fs.create_dir_all(Path::new("x.incomplete/photos")).unwrap();
    assert!(matches!(refused("x", &plain), Error::ForeignDirectory(_)));
    assert!(env.fs.exists(Path::new("x.incomplete/photos")).unwrap());
    let _held = env.fs.try_lock(Path::new("y.incomplete")).unwrap();
    env.fs.create_dir_all(Path::new("z.incomplete")).unwrap();
    let _held = env.fs.try_lock(Path::new("z.incomplete/LOCK")).unwrap();
    assert!(matches!(refused("z", &plain), Error::InUse(_)));
    // A checkpoint cannot be opened. It can be restored, but not over existing files.
    for create_if_missing in [true, false] {
        let opened = Store::open(env.clone(), Path::new("one"), Options { create_if_missing, ..options() });
        assert!(matches!(opened.err().unwrap(), Error::IsCheckpoint(_)));
    }
    let restore = |from: &str, to: &str| {
        alluvium_store::restore_checkpoint(&env, Path::new(from), Path::new(to), RestoreOptions::default()).unwrap_err()
    };
    assert!(matches!(restore("one", "db"), Error::TargetExists(_)));
    assert!(matches!(restore("db", "new"), Error::NotACheckpoint(_)));
    assert!(matches!(restore("nowhere", "new"), Error::NotACheckpoint(_)));
}
