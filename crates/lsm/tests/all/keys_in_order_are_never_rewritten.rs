//! Data that arrives in key order reaches the base by edits alone, even when parallel loaders
//! interleave consecutive slices; updates elsewhere do not change that.

use crate::common::{Db, key, tiny_options};

fn value(i: u32) -> Vec<u8> {
    i.to_le_bytes().repeat(16)
}

#[test]
fn ascending_keys_become_base_files_at_the_flush() {
    let mut db = Db::new(tiny_options());
    for i in 0..2000u32 {
        db.put(&key(&format!("{i:08}")), &value(i));
        if i % 250 == 249 {
            db.flush();
            db.compact();
        }
    }
    let stats = db.partition.stats();
    assert_eq!((stats.runs, stats.compactions, stats.bytes_compacted), (1, 0, 0), "{stats:?}");
    assert_eq!(stats.trivial_moves as usize, stats.files);
    db.check();
}

#[test]
fn interleaved_slices_stay_narrow() {
    // Four loaders take slices of 50 keys from one queue; at any time four slices are open.
    let mut db = Db::new(tiny_options());
    let mut open: Vec<std::ops::Range<u32>> = (0..4).map(|slice| slice * 50..slice * 50 + 50).collect();
    let (mut next, mut written) = (4u32, 0u64);
    let mut rng = fastrand::Rng::with_seed(7);
    while !open.is_empty() {
        let which = rng.usize(..open.len());
        match open[which].next() {
            Some(i) => {
                db.put(&key(&format!("{i:08}")), &value(i));
                written += 1;
                if written % 600 == 0 {
                    db.flush();
                    db.compact();
                }
            }
            None if next < 120 => {
                open[which] = next * 50..next * 50 + 50;
                next += 1;
            }
            None => drop(open.remove(which)),
        }
    }
    db.flush();
    db.compact();
    let stats = db.partition.stats();
    assert!(stats.bytes_compacted * 2 < stats.bytes_flushed, "{stats:?}");
    assert!(stats.base_bytes * 10 > stats.bytes * 7, "{stats:?}");
    db.check();
}

#[test]
fn a_flush_that_overlaps_only_where_it_begins_leaves_only_that_above() {
    let mut db = Db::new(tiny_options());
    for range in [0..1000u32, 990..2000] {
        for i in range {
            db.put(&key(&format!("{i:08}")), &value(i));
        }
        db.flush();
    }
    let above: Vec<_> = db.partition.files().into_iter().filter(|file| file.run != 0).collect();
    assert!(above.len() == 1 && above[0].meta.entries == 10, "{above:?}");
    db.check();
}
