//! The flush of a sealed memtable waits until every writer has applied its entries.

use crate::common::{Db, key, tiny_options};
use alluvium_codec::entry::{Entry, Kind};
use std::sync::atomic::Ordering;

#[test]
fn a_late_writer() {
    let db = Db::new(tiny_options());
    let memtable = db.partition.active();
    memtable.register_writer();
    assert!(db.partition.rotate(2), "a number was given out, though nothing is applied");
    std::thread::scope(|scope| {
        let flush = scope.spawn(|| db.partition.flush_oldest().unwrap());
        // Enough time for a flush that does not wait.
        for _ in 0..20_000 {
            assert!(!flush.is_finished(), "the flush did not wait");
            std::thread::yield_now();
        }
        memtable.apply(std::iter::once(Entry { key: &key("k"), seq: 1, kind: Kind::Put, value: b"late" }));
        memtable.finish_writer();
        assert!(flush.join().unwrap());
    });
    db.policy.visible.store(1, Ordering::SeqCst);
    assert_eq!(db.get(&key("k"), 1).unwrap(), b"late");
    assert_eq!((db.partition.flushed_seq(), db.partition.stats().entries), (1, 1));
}
