//! Gets and scans return the newest visible version before and after flush, compaction and reopen.

use crate::common::{Db, key, tiny_options};

#[test]
fn reads_are_the_same_wherever_the_data_is() {
    let mut db = Db::new(tiny_options());
    for round in 0..12u32 {
        for i in 0..40u32 {
            let k = key(&format!("k{:04}", (i * 37 + round * 11) % 200));
            if (i + round) % 7 == 0 { db.delete(&k) } else { db.put(&k, format!("v{round}-{i}").repeat(4).as_bytes()) }
        }
        if round == 3 {
            db.snapshot();
        }
        db.check();
        db.flush();
        db.check();
        db.compact();
        db.check();
    }
    let stats = db.partition.stats();
    assert!(stats.compactions > 0 && stats.flushes == 12, "{stats:?}");
    db.partition.compact_all().unwrap();
    db.check();
    assert_eq!(db.partition.stats().runs, 1);
    let db = db.reopen();
    db.check();
}

#[test]
fn compact_all_leaves_one_version_of_each_key_and_no_tombstone() {
    let mut db = Db::new(tiny_options());
    for i in 0..300 {
        db.put(&key(&format!("{:03}", i % 100)), &[i as u8; 40]);
        if i % 50 == 49 {
            db.flush();
        }
    }
    for i in 0..50 {
        db.delete(&key(&format!("{i:03}")));
    }
    db.flush();
    db.partition.compact_all().unwrap();
    let stats = db.partition.stats();
    assert_eq!((stats.entries, stats.tombstones), (50, 0), "{stats:?}");
    db.check();
}
