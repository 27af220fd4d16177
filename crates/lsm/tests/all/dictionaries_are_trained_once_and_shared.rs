//! A large output of a tree trains a dictionary. Other partitions and a reopened partition use it,
//! and its compression ratio is monitored.

use crate::common::{Db, env_over, tiny_options, tree_key};
use alluvium_env::mem::MemFs;
use alluvium_lsm::{Options, Partition};
use std::path::Path;
use std::sync::Arc;

fn options() -> Options {
    Options {
        dictionary_bytes: 4 << 10,
        dictionary_file_bytes: 64 << 10,
        small_tree_bytes: 16 << 10,
        target_file_bytes: 1 << 20,
        ..tiny_options()
    }
}

/// A document-like value; `style` selects its words.
fn document(i: u32, style: &str) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(u64::from(i));
    let words = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel"];
    let mut text = format!("{{\"{style}\":{i}");
    for field in 0..8 {
        let word = words[rng.usize(..words.len())];
        text.push_str(&format!(",\"{style}-field-{field}\":\"{style}-{word}\""));
        if style == "noisy" {
            text.push_str(&format!("{:016x}", rng.u64(..)));
        }
    }
    text.into_bytes()
}

fn fill(db: &mut Db, tree: u32, from: u32, style: &str) {
    for i in from..from + 700 {
        db.put(&tree_key(tree, &format!("{i:08}")), &document(i, style));
    }
    db.flush();
}

fn dictionary_ids(partition: &Partition) -> Vec<u64> {
    let mut files = partition.files();
    files.sort_by_key(|file| file.meta.number);
    files.iter().map(|file| file.meta.dictionary_id).collect()
}

#[test]
fn the_first_large_output_trains_and_later_ones_use_it() {
    let mut db = Db::new(options());
    fill(&mut db, 1, 0, "post");
    fill(&mut db, 1, 1000, "post");
    let ids = dictionary_ids(&db.partition);
    assert!(ids.len() == 2 && ids[0] != 0 && ids[0] == ids[1], "{ids:?}");
    assert_eq!(db.partition.stats().dictionaries, 1);
    db.check();
    // A reopened partition continues to use it.
    let mut db = db.reopen();
    fill(&mut db, 1, 2000, "post");
    assert_eq!(dictionary_ids(&db.partition)[2], ids[0]);
    db.check();
}

#[test]
fn keys_without_values_train_one_too() {
    let mut db = Db::new(options());
    for i in 0..4000 {
        let document = String::from_utf8(document(i / 3, "post")).unwrap();
        db.put(&tree_key(1, &format!("{}{i:08}", &document[..60])), b"");
    }
    db.flush();
    let ids = dictionary_ids(&db.partition);
    assert!(!ids.is_empty() && ids.iter().all(|id| *id != 0), "{ids:?}");
    db.check();
}

#[test]
fn small_outputs_do_without() {
    let mut db = Db::new(options());
    for i in 0..100 {
        db.put(&tree_key(1, &format!("{i:08}")), &document(i, "post"));
    }
    db.flush();
    assert_eq!(dictionary_ids(&db.partition), [0]);
}

#[test]
fn they_can_be_turned_off() {
    let mut db = Db::new(Options { dictionary_bytes: 0, ..options() });
    fill(&mut db, 1, 0, "post");
    assert!(dictionary_ids(&db.partition).iter().all(|id| *id == 0));
}

#[test]
fn partitions_share_and_trees_do_not() {
    let mut db = Db::open(env_over(Arc::new(MemFs::new())), options(), 0).unwrap();
    let other = Arc::new(Partition::open(db.shared.clone(), 1, Path::new("/db/p001")).unwrap());
    fill(&mut db, 1, 0, "post");
    let first = std::mem::replace(&mut db.partition, other);
    fill(&mut db, 1, 0, "post");
    fill(&mut db, 2, 0, "user");
    let (one, two) = (dictionary_ids(&first), dictionary_ids(&db.partition));
    assert_eq!(one[0], two[0]);
    assert!(two[1] != 0 && two[1] != one[0]);
}

#[test]
fn drift_trains_again() {
    let mut db = Db::new(options());
    fill(&mut db, 1, 0, "post");
    let first = dictionary_ids(&db.partition)[0];
    for round in 1..8 {
        fill(&mut db, 1, round * 1000, "noisy");
    }
    let ids = dictionary_ids(&db.partition);
    assert!(ids[1] == first && *ids.last().unwrap() != first, "{ids:?}");
    // Then it does not change any more.
    assert_eq!(ids[ids.len() - 1], ids[ids.len() - 2], "{ids:?}");
    db.check();
}
