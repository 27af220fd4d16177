//! After a power cut, a failure or a full disk at any step of a checkpoint or a restore, a directory with the final
//! name is complete, the store continues, and the next attempt removes the remains.

use alluvium_env::fault::{Fault, FaultFs, Op, OpKind};
use alluvium_env::mem::{CrashStyle, MemFs};
use alluvium_env::sync::Mutex;
use alluvium_env::{Env, ManualClock, SeededRng};
use alluvium_store::{Bounds, CheckpointOptions, Durability, Error, Options, RestoreOptions, Store};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const TREE: alluvium_store::TreeId = alluvium_store::TreeId(1);

fn options() -> Options {
    let small = Options { segment_bytes: Some(16 << 10), disk_reserve_bytes: Some(0), ..Options::default() };
    Options { memory_bytes: 8 << 20, partitions: Some(2), background: false, ..small }
}

struct Disk {
    mem: Arc<MemFs>,
    faults: Arc<FaultFs>,
    env: Env,
}

fn disk(mem: MemFs) -> Disk {
    let mem = Arc::new(mem);
    let faults = Arc::new(FaultFs::over(mem.clone()));
    let env = Env { fs: faults.clone(), clock: Arc::new(ManualClock::new()), rng: Arc::new(SeededRng::new(3)) };
    Disk { mem, faults, env }
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

fn write(store: &Store, keys: std::ops::Range<u32>) {
    for n in keys {
        let mut batch = store.batch();
        batch.put(TREE, &n.to_be_bytes(), &[n as u8; 40]);
        store.write(batch, Durability::Sync).unwrap();
    }
}

/// A store with sorted files and a log.
fn open(env: &Env) -> Store {
    let store = Store::open(env.clone(), Path::new("db"), options()).unwrap();
    store.create_trees(&[b"tree"]).unwrap();
    write(&store, 0..20);
    store.flush().unwrap();
    write(&store, 20..40);
    store.flush().unwrap();
    write(&store, 40..50);
    store
}

/// The content of the checkpoint with that name, or `None` if it does not exist. An existing checkpoint must be
/// complete.
fn checkpoint_at(env: &Env, dir: &str) -> Option<Content> {
    if !env.fs.exists(Path::new(dir)).unwrap() {
        return None;
    }
    let checked = alluvium_store::check_checkpoint(env, Path::new(dir), true).unwrap();
    assert!(checked.damage.is_empty(), "{:?}", checked.damage);
    let to = format!("{dir}-restored");
    alluvium_store::restore_checkpoint(env, Path::new(dir), Path::new(&to), RestoreOptions::default()).unwrap();
    database_at(env, &to)
}

/// The content of the database with that name, or `None` if it does not exist.
fn database_at(env: &Env, dir: &str) -> Option<Content> {
    if !env.fs.exists(Path::new(dir)).unwrap() {
        return None;
    }
    let store = Store::open(env.clone(), Path::new(dir), options()).unwrap();
    assert!(store.report().lost.is_empty());
    assert!(store.verify().unwrap().is_empty());
    let found = contents(&store);
    store.close().unwrap();
    Some(found)
}

/// Calls `check` with the disk after a power cut, for a cut before each change that `act` makes. Returns the number of
/// cuts.
fn cut_everywhere(disk: &Disk, act: impl FnOnce(), check: impl Fn(&Env, &str)) -> usize {
    let cuts = Arc::new(Mutex::new(Vec::new()));
    let (mem, seen) = (disk.mem.clone(), cuts.clone());
    disk.faults.set_hook(Some(Arc::new(move |op: &Op<'_>| {
        for style in [CrashStyle::Any, CrashStyle::AllLost, CrashStyle::AllKept] {
            let what = format!("{style:?} before {:?} of {}", op.kind, op.path.display());
            seen.lock().push((mem.crash_clone(op.number, style), what));
        }
    })));
    act();
    disk.faults.set_hook(None);
    let cuts = std::mem::take(&mut *cuts.lock());
    let count = cuts.len();
    for (mem, what) in cuts {
        check(&self::disk(mem).env, &what);
    }
    count
}

#[test]
fn power_cuts_during_a_checkpoint() {
    let disk = disk(MemFs::new());
    let store = open(&disk.env);
    let expected = contents(&store);
    let act = || {
        store.checkpoint(Path::new("safe/ck"), &CheckpointOptions::default()).unwrap();
    };
    let cuts = cut_everywhere(&disk, act, |env, what| {
        let found = checkpoint_at(env, "safe/ck");
        assert!(found.is_none_or(|found| found == expected), "{what}");
        // The store is unchanged, and the remains of the attempt do not prevent the next one.
        let store = Store::open(env.clone(), Path::new("db"), options()).unwrap();
        assert_eq!(contents(&store), expected, "{what}");
        match store.checkpoint(Path::new("safe/ck"), &CheckpointOptions::default()) {
            Ok(_) => {}
            Err(Error::TargetExists(_)) => return,
            Err(error) => panic!("{what}: {error}"),
        }
        assert!(!env.fs.exists(Path::new("safe/ck.incomplete")).unwrap(), "{what}");
        assert_eq!(checkpoint_at(env, "safe/ck"), Some(expected.clone()), "{what}");
    });
    assert!(cuts > 100, "{cuts}");
    assert_eq!(checkpoint_at(&disk.env, "safe/ck"), Some(expected));
}

#[test]
fn power_cuts_during_a_restore() {
    let disk = disk(MemFs::new());
    let store = open(&disk.env);
    let expected = contents(&store);
    store.checkpoint(Path::new("ck"), &CheckpointOptions::default()).unwrap();
    store.close().unwrap();
    let restore = |env: &Env| {
        alluvium_store::restore_checkpoint(env, Path::new("ck"), Path::new("new"), RestoreOptions::default())
    };
    let act = || {
        restore(&disk.env).unwrap();
    };
    let cuts = cut_everywhere(&disk, act, |env, what| {
        match database_at(env, "new") {
            Some(found) => assert_eq!(found, expected, "{what}"),
            None => {
                restore(env).unwrap();
                assert_eq!(database_at(env, "new"), Some(expected.clone()), "{what}");
            }
        }
        assert!(!env.fs.exists(Path::new("new.incomplete")).unwrap(), "{what}");
        assert!(alluvium_store::check_checkpoint(env, Path::new("ck"), true).unwrap().damage.is_empty(), "{what}");
    });
    assert!(cuts > 100, "{cuts}");
}

/// Makes each operation of a checkpoint or a restore fail in turn, with links or with copies. Returns how many failed.
fn fail_everywhere(fault: impl Fn(u64) -> Fault, copy: bool) -> u64 {
    for nth in 1.. {
        let disk = disk(MemFs::new());
        let store = open(&disk.env);
        let expected = contents(&store);
        disk.faults.inject(fault(nth));
        let options = CheckpointOptions { copy, ..CheckpointOptions::default() };
        let made = store.checkpoint(Path::new("ck"), &options).and_then(|_| {
            let options = RestoreOptions { copy, ..RestoreOptions::default() };
            alluvium_store::restore_checkpoint(&disk.env, Path::new("ck"), Path::new("new"), options)
        });
        disk.faults.clear();
        assert_eq!(contents(&store), expected, "operation {nth}");
        // Only a failure of the log ends writing.
        match store.checkpoint(Path::new("other"), &CheckpointOptions::default()) {
            Ok(_) => assert_eq!(checkpoint_at(&disk.env, "other"), Some(expected.clone())),
            Err(error) => assert!(matches!(error, Error::Poisoned(_)), "operation {nth}: {error}"),
        }
        let _poisoned = store.close();
        assert!(checkpoint_at(&disk.env, "ck").is_none_or(|found| found == expected), "operation {nth}");
        assert!(database_at(&disk.env, "new").is_none_or(|found| found == expected), "operation {nth}");
        assert_eq!(database_at(&disk.env, "db"), Some(expected), "operation {nth}");
        if disk.faults.fired() == 0 {
            assert!(made.is_ok());
            return nth - 1;
        }
    }
    0
}

#[test]
fn every_operation_fails_once() {
    assert!(fail_everywhere(Fault::nth, false) > 200);
    assert!(fail_everywhere(|nth| Fault::nth(nth).of_changes().from_then_on(), true) > 60);
}

#[test]
fn a_disk_that_is_full() {
    let space = |nth| Fault::nth(nth).of_changes().no_space();
    assert!(fail_everywhere(space, true) > 60);
    // The free space is also checked in advance. A checkpoint that does not fit is not begun, and the error has the
    // figures.
    let disk = disk(MemFs::new());
    let store = open(&disk.env);
    disk.mem.set_capacity(disk.mem.used_bytes() + 30_000);
    let options = CheckpointOptions { copy: true, ..CheckpointOptions::default() };
    let error = store.checkpoint(Path::new("ck"), &options).unwrap_err();
    assert!(matches!(error, Error::NoSpace(_)), "{error}");
    assert_eq!(disk.env.fs.list(Path::new(".")).unwrap().len(), 1);
    disk.mem.set_capacity(u64::MAX);
    store.checkpoint(Path::new("ck"), &options).unwrap();
}

#[test]
fn another_file_system_gets_copies() {
    let disk = disk(MemFs::new());
    let store = open(&disk.env);
    // 18 is EXDEV.
    disk.faults.inject(Fault::nth(1).of(OpKind::HardLink).os_error(18).from_then_on());
    let report = store.checkpoint(Path::new("ck"), &CheckpointOptions::default()).unwrap();
    assert!(report.copied > 0 && report.bytes_copied > 0);
    disk.faults.clear();
    let linked = store.checkpoint(Path::new("linked"), &CheckpointOptions::default()).unwrap();
    assert_eq!((linked.copied, linked.bytes_copied), (0, 0));
    assert_eq!(checkpoint_at(&disk.env, "ck"), Some(contents(&store)));
}

#[test]
fn what_it_reads_stays_while_others_change_everything() {
    let disk = disk(MemFs::new());
    let store = Arc::new(open(&disk.env));
    let expected = contents(&store);
    let (other, once) = (store.clone(), Mutex::new(true));
    disk.faults.set_hook(Some(Arc::new(move |op: &Op<'_>| {
        if op.kind == OpKind::HardLink && std::mem::take(&mut *once.lock()) {
            // Every file is replaced, every segment of the log could be removed, and another checkpoint is made.
            write(&other, 0..60);
            other.compact().unwrap();
            other.checkpoint(Path::new("second"), &CheckpointOptions::default()).unwrap();
        }
    })));
    store.checkpoint(Path::new("first"), &CheckpointOptions::default()).unwrap();
    disk.faults.set_hook(None);
    assert_eq!(checkpoint_at(&disk.env, "first"), Some(expected));
    assert_eq!(checkpoint_at(&disk.env, "second"), Some(contents(&store)));
}

#[test]
fn while_files_are_copied_the_log_is_free() {
    let disk = disk(MemFs::new());
    let store = Arc::new(open(&disk.env));
    let expected = contents(&store);
    let segments = |env: &Env| {
        let entries = env.fs.list(Path::new("db/wal")).unwrap();
        entries.into_iter().map(|entry| entry.name).collect::<Vec<_>>()
    };
    let before = segments(&disk.env);
    let (other, env, once) = (store.clone(), disk.env.clone(), Arc::new(Mutex::new(true)));
    let asked = once.clone();
    disk.faults.set_hook(Some(Arc::new(move |op: &Op<'_>| {
        let sorted = op.path.extension().is_some_and(|ending| ending == "sst");
        let copies = op.kind == OpKind::Create && sorted && op.path.starts_with("ck.incomplete");
        if copies && std::mem::take(&mut *asked.lock()) {
            // Simulates a slow copy: during the copy everything in the log is flushed, and its segments are removed.
            (0..40).for_each(|_| write(&other, 0..60));
            other.flush().unwrap();
            let after = segments(&env);
            assert!(!before.iter().any(|name| after.contains(name)), "{before:?} and {after:?}");
        }
    })));
    let options = CheckpointOptions { copy: true, ..CheckpointOptions::default() };
    store.checkpoint(Path::new("ck"), &options).unwrap();
    disk.faults.set_hook(None);
    assert!(!*once.lock(), "a file was copied");
    assert_eq!(checkpoint_at(&disk.env, "ck"), Some(expected));
}

/// Sets `stop` before the `nth` change that `act` makes. Returns false if there are fewer changes.
fn stop_before<T>(disk: &Disk, nth: u64, stop: &Arc<AtomicBool>, act: impl FnOnce() -> T) -> (T, bool) {
    let (flag, left) = (stop.clone(), Arc::new(AtomicU64::new(nth)));
    let counted = left.clone();
    disk.faults.set_hook(Some(Arc::new(move |_: &Op<'_>| {
        if counted.load(Ordering::SeqCst) > 0 && counted.fetch_sub(1, Ordering::SeqCst) == 1 {
            flag.store(true, Ordering::SeqCst);
        }
    })));
    let result = act();
    disk.faults.set_hook(None);
    (result, left.load(Ordering::SeqCst) == 0)
}

#[test]
fn stopped_anywhere_it_leaves_nothing() {
    let disk = disk(MemFs::new());
    let store = open(&disk.env);
    let expected = contents(&store);
    let (ck, new) = (Path::new("ck"), Path::new("new"));
    let (mut stopped, mut finished) = (0, 0);
    for nth in 1.. {
        let stop = Arc::new(AtomicBool::new(false));
        let options = CheckpointOptions { copy: true, stop: stop.clone(), ..CheckpointOptions::default() };
        let (made, reached) = stop_before(&disk, nth, &stop, || store.checkpoint(ck, &options));
        match made {
            Err(Error::Stopped) => {
                stopped += 1;
                assert_eq!(disk.env.fs.list(Path::new(".")).unwrap().len(), 1, "only the database is there");
                continue;
            }
            made => assert!(made.is_ok(), "{made:?}"),
        }
        finished += u64::from(reached);
        assert_eq!(checkpoint_at(&disk.env, "ck"), Some(expected.clone()));
        if !reached {
            break;
        }
        for left in ["ck", "ck-restored"] {
            remove(&disk.env, Path::new(left));
        }
    }
    // The last file is in place long before the last change.
    assert!(stopped > 10 && finished > 0, "stopped at {stopped}, finished at {finished}");
    stopped = 0;
    for nth in 1.. {
        let stop = Arc::new(AtomicBool::new(false));
        let options = RestoreOptions { copy: true, stop: stop.clone(), ..RestoreOptions::default() };
        let restore = || alluvium_store::restore_checkpoint(&disk.env, ck, new, options);
        let (made, reached) = stop_before(&disk, nth, &stop, restore);
        match made {
            Err(Error::Stopped) => {
                stopped += 1;
                assert!(!disk.env.fs.exists(new).unwrap());
                assert!(!disk.env.fs.exists(Path::new("new.incomplete")).unwrap());
                continue;
            }
            made => assert!(made.is_ok(), "{made:?}"),
        }
        assert_eq!(database_at(&disk.env, "new"), Some(expected.clone()));
        if !reached {
            break;
        }
        remove(&disk.env, new);
    }
    assert!(stopped > 10, "{stopped}");
    let stop = AtomicBool::new(true);
    let checked = alluvium_store::check_checkpoint_unless(&disk.env, ck, true, &stop);
    assert!(matches!(checked, Err(Error::Stopped)), "{checked:?}");
}

fn remove(env: &Env, dir: &Path) {
    for entry in env.fs.list(dir).unwrap() {
        let path = dir.join(&entry.name);
        if entry.is_dir { remove(env, &path) } else { env.fs.remove(&path).unwrap() }
    }
    env.fs.remove_dir(dir).unwrap();
}
