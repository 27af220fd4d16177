//! The power is cut, or the process is killed, before each change that a build makes to the disk. Afterwards there is
//! either no store or the complete one, and the next build removes the remains and succeeds. If any operation fails,
//! the build returns an error and leaves no files.

mod common;

use alluvium_env::fault::{Fault, FaultFs, Op};
use alluvium_env::mem::{CrashStyle, MemFs};
use alluvium_env::sync::Mutex;
use alluvium_env::{Env, Fs};
use alluvium_readonly::{BuildOptions, Error};
use common::{Pairs, build, get, names, open, some_pairs};
use std::sync::Arc;

fn options() -> BuildOptions {
    BuildOptions {
        run_bytes: Some(3000),
        merge_width: Some(2),
        index_intervals: vec![3, 20],
        block_bytes: 512,
        ..BuildOptions::default()
    }
}

fn over(fs: Arc<dyn Fs>) -> Env {
    Env { fs, ..Env::in_memory(7) }
}

/// The description of a cut after the build has ended.
const AT_ITS_END: &str = "at its end";

/// The disks after cuts during a build and after it. Each has the operation that would have followed.
fn cuts(pairs: &Pairs, style: CrashStyle, seed: u64) -> Vec<(MemFs, String)> {
    let mem = Arc::new(MemFs::new());
    let faults = Arc::new(FaultFs::over(mem.clone()));
    let found = Arc::new(Mutex::new(Vec::new()));
    let hook = {
        let (found, mem) = (found.clone(), mem.clone());
        move |op: &Op<'_>| {
            let disk = match style {
                CrashStyle::AllKept => mem.kill_clone(),
                style => mem.crash_clone(seed ^ op.number, style),
            };
            found.lock().push((disk, format!("before {} ({:?} {})", op.number, op.kind, op.path.display())));
        }
    };
    faults.set_hook(Some(Arc::new(hook)));
    let env = over(faults.clone());
    build(&env, pairs, options()).unwrap();
    faults.set_hook(None);
    let mut found = std::mem::take(&mut *found.lock());
    let end = if style == CrashStyle::AllKept { mem.kill_clone() } else { mem.crash_clone(seed, style) };
    found.push((end, AT_ITS_END.to_owned()));
    found
}

fn holds(env: &Env, pairs: &Pairs, what: &str) {
    for interval in [None, Some(3), Some(20)] {
        let store = open(env, interval).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(store.verify().unwrap().len(), 0, "{what}");
        for (key, value) in pairs {
            assert_eq!(get(&store, key).unwrap().as_ref(), Some(value), "{what}");
        }
    }
    let mut names = names(env);
    names.retain(|name| name != "LOCK");
    assert_eq!(names, ["READONLY", "data.sst", "index-20.idx", "index-3.idx"], "{what}: no more than the store");
}

#[test]
fn power_cuts_and_kills() {
    let pairs = some_pairs(400);
    let (mut whole, mut unfinished) = (0, 0);
    for (style, seeds) in [(CrashStyle::Any, 3), (CrashStyle::AllLost, 1), (CrashStyle::AllKept, 1)] {
        for seed in 0..seeds {
            let cuts = cuts(&pairs, style, seed << 20);
            println!("{style:?} {seed}: {} cuts", cuts.len());
            assert!(cuts.len() > 40);
            for (disk, what) in cuts {
                let env = over(Arc::new(disk));
                match open(&env, None) {
                    Ok(_) => whole += 1,
                    Err(error) if what == AT_ITS_END => panic!("{what}: {error}"),
                    Err(Error::NotReadOnly(_)) => {}
                    Err(Error::Unfinished(_)) => unfinished += 1,
                    Err(error) => panic!("{what}: {error}"),
                }
                match build(&env, &pairs, options()) {
                    Ok(_) | Err(Error::Exists(_)) => holds(&env, &pairs, &what),
                    Err(error) => panic!("{what}: {error}"),
                }
            }
        }
    }
    assert!(whole > 0 && unfinished > 50, "{whole} whole, {unfinished} unfinished");
}

#[test]
fn whatever_operation_fails_nothing_is_left() {
    let pairs = some_pairs(400);
    let faults = Arc::new(FaultFs::over(Arc::new(MemFs::new())));
    let env = over(faults.clone());
    let before = faults.total();
    build(&env, &pairs, options()).unwrap();
    let operations = faults.total() - before;
    assert!(operations > 100);
    for nth in 1..=operations {
        let faults = Arc::new(FaultFs::over(Arc::new(MemFs::new())));
        let env = over(faults.clone());
        faults.inject(Fault::nth(nth).no_space());
        let result = build(&env, &pairs, options());
        let fired = faults.fired();
        faults.clear();
        match result {
            // The last operation makes the name of the superblock durable; all other content is durable before.
            Err(error) if open(&env, None).is_ok() => {
                assert!(error.to_string().contains("cannot sync"), "operation {nth}: {error}");
                holds(&env, &pairs, &format!("operation {nth}"));
                continue;
            }
            Err(Error::Storage(error)) => {
                assert!(error.is_no_space(), "operation {nth}: {error}");
                // At most the empty lock file remains, if the failure occurred after its creation.
                assert!(names(&env).iter().all(|name| name == "LOCK"), "operation {nth}: {:?}", names(&env));
            }
            Err(error) => panic!("operation {nth}: {error}"),
            // A run could not be removed, which does not matter to the next step; or the failing operation was not
            // reached.
            Ok(_) => assert!(fired <= 1, "operation {nth}"),
        }
        match build(&env, &pairs, options()) {
            Ok(_) => holds(&env, &pairs, &format!("after operation {nth}")),
            Err(Error::Exists(_)) => {
                let store = open(&env, None).unwrap();
                assert_eq!(store.len(), pairs.len() as u64);
            }
            Err(error) => panic!("after operation {nth}: {error}"),
        }
    }
}
