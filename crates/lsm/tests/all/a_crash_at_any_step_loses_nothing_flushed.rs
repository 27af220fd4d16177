//! The power is cut before every single change that flushes and compactions make to the disk, and
//! the process is killed in between. After each crash, all data of the last finished flush is
//! readable, and no file is left over.

use crate::common::{Db, Model, env_over, key, tiny_options};
use alluvium_env::Fs;
use alluvium_env::fault::{FaultFs, Op};
use alluvium_env::mem::{CrashStyle, MemFs};
use alluvium_env::sync::Mutex;
use alluvium_lsm::Options;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A disk after a crash, and its expected contents.
struct Found {
    disk: Arc<MemFs>,
    /// The flushed number that was durable when the power failed.
    at_least: u64,
    what: String,
}

fn options() -> Options {
    let mut options = Options { upper_floor_bytes: 2 << 10, manifest_bytes: 512, ..tiny_options() };
    options.writer.compression = alluvium_sst::Compression::None;
    options
}

/// Runs a workload; collects the disks after power cuts during it.
fn collect(seed: u64, style: CrashStyle) -> (Vec<Found>, Model) {
    let mem = Arc::new(MemFs::new());
    let faults = Arc::new(FaultFs::over(mem.clone()));
    let found = Arc::new(Mutex::new(Vec::new()));
    let durable = Arc::new(AtomicU64::new(0));
    let mut db = Db::open(env_over(faults.clone()), options(), 0).unwrap();
    let first_manifest = db.names();
    let hook = {
        let (found, durable) = (found.clone(), durable.clone());
        move |op: &Op<'_>| {
            let what = format!("before operation {} ({:?} {})", op.number, op.kind, op.path.display());
            let disk = match style {
                CrashStyle::AllKept => mem.kill_clone(),
                style => mem.crash_clone(seed ^ op.number, style),
            };
            let at_least = durable.load(Ordering::SeqCst);
            found.lock().push(Found { disk: Arc::new(disk), at_least, what });
        }
    };
    faults.set_hook(Some(Arc::new(hook)));
    let mut rng = fastrand::Rng::with_seed(seed);
    for round in 0..9u32 {
        for _ in 0..60 {
            let k = key(&format!("{:03}", rng.u32(..120)));
            if rng.u8(..6) == 0 { db.delete(&k) } else { db.put(&k, &[rng.u8(..); 60]) }
        }
        db.flush();
        durable.store(db.partition.flushed_seq(), Ordering::SeqCst);
        if round % 3 == 2 { db.partition.compact_all().unwrap() } else { db.compact() }
    }
    assert!(db.partition.stats().compactions > 2);
    faults.set_hook(None);
    assert!(!db.names().iter().any(|name| first_manifest.contains(name)), "the manifest was renewed on the way");
    let model = db.model.clone();
    drop(db);
    (Arc::into_inner(found).map(Mutex::into_inner).unwrap_or_default(), model)
}

fn check(found: &[Found], model: &Model) {
    for Found { disk, at_least, what } in found {
        let fs: Arc<dyn Fs> = disk.clone();
        let mut db = Db::open(env_over(fs), options(), 0).unwrap_or_else(|e| panic!("{what}: {e}"));
        let flushed = db.partition.flushed_seq();
        assert!(flushed >= *at_least, "{what}: flushed {flushed}, was durable {at_least}");
        db.model = model.clone();
        db.model.cut(flushed);
        db.check();
        assert_eq!(db.sst_names().len(), db.partition.stats().files, "{what}");
        // The partition can be written.
        db.put(&key("new"), b"value");
        db.flush();
        db.check();
        let db = db.reopen();
        db.check();
        assert_eq!(db.get(&key("new"), db.seq).unwrap(), b"value");
    }
}

#[test]
fn power_cuts_that_keep_what_they_like() {
    for seed in 1..4 {
        let (found, model) = collect(seed, CrashStyle::Any);
        println!("seed {seed}: {} power cuts", found.len());
        assert!(found.len() > 80);
        check(&found, &model);
    }
}

#[test]
fn power_cuts_that_lose_all_that_was_not_synced() {
    let (found, model) = collect(9, CrashStyle::AllLost);
    check(&found, &model);
}

#[test]
fn the_death_of_the_process() {
    let (found, model) = collect(10, CrashStyle::AllKept);
    check(&found, &model);
}
