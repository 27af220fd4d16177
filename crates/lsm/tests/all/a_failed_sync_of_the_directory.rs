//! A failed sync of the directory loses the names of all new files, including files of other
//! threads, although only one thread gets the error. No manifest names a lost file, even if the
//! next sync succeeds.

use crate::common::{Db, env_over, key, tiny_options};
use alluvium_env::fault::{Fault, FaultFs, Op, OpKind};
use alluvium_env::mem::{CrashStyle, MemFs};
use alluvium_env::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

fn fill(db: &mut Db, round: u8) {
    for i in 0..100u32 {
        db.put(&key(&format!("{i:04}")), &[round; 64]);
    }
}

#[test]
fn a_failed_sync_of_the_directory_is_known_to_all_that_make_files() {
    let mem = Arc::new(MemFs::new());
    let faults = Arc::new(FaultFs::over(mem.clone()));
    let mut db = Db::open(env_over(faults.clone()), tiny_options(), 0).unwrap();
    for round in 1..3 {
        fill(&mut db, round);
        db.flush();
    }
    fill(&mut db, 3);
    db.rotate();
    // While a flush makes its files, a merge of another thread fails at its second-last step.
    let (partition, disk, begun) = (db.partition.clone(), faults.clone(), AtomicBool::new(false));
    faults.set_hook(Some(Arc::new(move |op: &Op<'_>| {
        if op.kind == OpKind::Sync && !begun.swap(true, Ordering::SeqCst) {
            disk.inject(Fault::nth(1).of(OpKind::SyncDir).losing_pages());
            assert!(partition.compact_all().is_err());
        }
    })));
    let flushed = db.partition.flush_oldest();
    faults.set_hook(None);
    assert_eq!((faults.fired(), faults.struck()), (1, vec![OpKind::SyncDir]));
    assert!(flushed.is_err(), "names that are lost were believed");
    assert!(db.partition.poisoned().is_none(), "nothing of it is in a manifest");
    assert!(db.partition.flush_oldest().unwrap());
    db.partition.compact_all().unwrap();
    let mut again = Db::open(env_over(Arc::new(mem.crash_clone(0, CrashStyle::AllLost))), tiny_options(), 0).unwrap();
    again.model = db.model.clone();
    again.check();
}
