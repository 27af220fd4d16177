//! A scan that met an error has skipped keys. Later calls must not report the end of the scan.

use alluvium_env::fault::{Fault, FaultFs, OpKind};
use alluvium_env::mem::MemFs;
use alluvium_env::{Env, ManualClock, SeededRng};
use alluvium_store::{Bounds, Durability, Options, Store};
use std::path::Path;
use std::sync::Arc;

const KEYS: u32 = 4000;

#[test]
fn a_scan_that_failed_stays_so() {
    let fs = Arc::new(FaultFs::new(Arc::new(MemFs::new())));
    let env = || Env { fs: fs.clone(), clock: Arc::new(ManualClock::new()), rng: Arc::new(SeededRng::new(1)) };
    let options = || Options { partitions: Some(4), background: false, ..Options::default() };
    let store = Store::open(env(), Path::new("db"), options()).unwrap();
    let tree = store.create_trees(&[b"tree"]).unwrap()[0];
    let mut batch = store.batch();
    (0..KEYS).for_each(|n| batch.put(tree, &n.to_be_bytes(), &[n as u8; 100]));
    store.write(batch, Durability::Bulk).unwrap();
    store.flush().unwrap();
    store.close().unwrap();
    let (mut failed, mut at_the_start) = (0, 0);
    for reverse in [false, true] {
        for nth in 1.. {
            // The store is opened again, so that nothing is cached.
            let store = Store::open(env(), Path::new("db"), options()).unwrap();
            let mut scan = store.scan(tree, Bounds { reverse, ..Bounds::all() }, None).unwrap();
            fs.inject(Fault::nth(nth).of(OpKind::Read));
            let mut found = 0;
            let error = loop {
                match scan.next() {
                    Ok(Some(_)) => found += 1,
                    Ok(None) => break None,
                    Err(error) => break Some(error.to_string()),
                }
            };
            fs.clear();
            let Some(error) = error else {
                assert_eq!(found, KEYS);
                break;
            };
            failed += 1;
            at_the_start += u32::from(found == 0);
            scan.restart(&Bounds { reverse, ..Bounds::all() });
            for _ in 0..3 {
                assert_eq!(scan.next().map_err(|error| error.to_string()), Err(error.clone()), "read {nth}");
            }
        }
    }
    assert!(failed > 20 && at_the_start > 5, "{failed} {at_the_start}");
}
