//! A snapshot reads the same data throughout flushes and compactions. Data that only ended
//! snapshots could read is removed.

use crate::common::{Db, key, tiny_options};

#[test]
fn each_snapshot_keeps_its_version_and_no_more() {
    let mut db = Db::new(tiny_options());
    let k = key("k");
    let mut snapshots = Vec::new();
    for round in 0..30u8 {
        db.put(&k, &[round; 10]);
        if round % 10 == 5 {
            snapshots.push((db.snapshot(), round));
        }
        if round % 4 == 3 {
            db.flush();
        }
    }
    db.flush();
    db.partition.compact_all().unwrap();
    for (seq, round) in &snapshots {
        assert_eq!(db.get(&k, *seq).unwrap(), [*round; 10]);
    }
    assert_eq!(db.partition.stats().entries, 4, "three snapshots and the newest");
    for (seq, _) in &snapshots {
        db.end_snapshot(*seq);
    }
    // Three of the file's four entries are garbage now.
    assert!(db.compact_once());
    assert_eq!(db.partition.stats().entries, 1);
    assert_eq!(db.get(&k, db.seq).unwrap(), [29; 10]);
}

#[test]
fn what_is_above_visible_is_kept_whole() {
    let mut db = Db::new(tiny_options());
    let k = key("k");
    for round in 0..5u8 {
        db.put(&k, &[round]);
    }
    // The state in which the last three writes were assigned numbers and applied, but are not
    // visible yet.
    db.policy.visible.store(2, std::sync::atomic::Ordering::SeqCst);
    db.flush();
    for seq in 2..=5 {
        assert_eq!(db.get(&k, seq).unwrap(), [seq as u8 - 1]);
    }
    assert_eq!(db.partition.stats().entries, 4);
}

#[test]
fn a_tombstone_stays_while_a_snapshot_sees_below_it() {
    let mut db = Db::new(tiny_options());
    let k = key("k");
    db.put(&k, b"old");
    let snapshot = db.snapshot();
    db.delete(&k);
    db.flush();
    db.partition.compact_all().unwrap();
    assert_eq!(db.get(&k, snapshot).unwrap(), b"old");
    assert_eq!(db.get(&k, db.seq), None);
    db.end_snapshot(snapshot);
    db.compact();
    assert_eq!(db.partition.stats().files, 0, "{:?}", db.partition.files());
    assert_eq!(db.get(&k, db.seq), None);
}

#[test]
fn a_compaction_of_all_leaves_nothing_that_nobody_can_read() {
    let mut db = Db::new(tiny_options());
    for number in 0..20 {
        db.put(&key(&format!("k{number:02}")), &[1; 10]);
    }
    let snapshot = db.snapshot();
    db.delete(&key("k07"));
    db.flush();
    db.partition.compact_all().unwrap();
    assert_eq!(db.partition.stats().entries, 21);
    db.end_snapshot(snapshot);
    // There is too little garbage for a rewrite of the file.
    assert!(!db.compact_once());
    db.partition.compact_all().unwrap();
    assert_eq!(db.partition.stats().entries, 19);
}

#[test]
fn a_read_without_a_snapshot_asks_for_the_number_after_it_has_its_view() {
    let mut db = Db::new(tiny_options());
    let k = key("k");
    db.put(&k, b"1");
    let mut value = Vec::new();
    // Right after the number is read, the key is overwritten, flushed and compacted. No remaining
    // file has the version that the number sees, but the view still has it.
    let view = db.partition.view();
    let seq = db.seq;
    db.put(&k, b"2");
    db.flush();
    db.partition.compact_all().unwrap();
    assert!(view.get(&k, seq, &mut value).unwrap());
    assert_eq!(value, b"1");
    // In the opposite order the read fails: an older number is no longer readable without a
    // snapshot.
    let mut older = Vec::new();
    assert!(!db.partition.view().get(&k, 1, &mut older).unwrap());
}
