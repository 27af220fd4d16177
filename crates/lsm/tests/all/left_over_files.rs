//! Open removes the left-overs of a crash, and nothing else.

use crate::common::{DIR, Db, env_over, key, tiny_options, tree_key};
use alluvium_codec::entry::{Entry, Kind};
use alluvium_env::fault::{Fault, FaultFs, OpKind};
use alluvium_env::{Error, OpenMode};
use alluvium_lsm::{Budget, Partition, Policies, Shared};
use std::path::Path;
use std::sync::Arc;

fn touch(db: &Db, name: &str) {
    let path = Path::new(DIR).join(name);
    db.env.fs.open(&path, OpenMode::CreateNew).unwrap().write_at(b"left over", 0).unwrap();
}

#[test]
fn left_overs_go_and_their_numbers_are_not_used_again() {
    let mut db = Db::new(tiny_options());
    db.put(&key("a"), b"1");
    db.flush();
    let kept = db.sst_names();
    touch(&db, "00000777.sst");
    touch(&db, "MANIFEST-1.tmp");
    touch(&db, "MANIFEST-99.tmp");
    let mut db = db.reopen();
    assert_eq!(db.sst_names(), kept);
    assert_eq!(db.names().len(), kept.len() + 1, "one manifest: {:?}", db.names());
    db.put(&key("b"), b"2");
    db.flush();
    let newest = db.partition.files().iter().map(|file| file.meta.number).max().unwrap();
    assert!(newest > 777, "file numbers go on above the left-over: {newest}");
    db.check();
}

#[test]
fn a_missing_or_shortened_file_is_named() {
    let mut db = Db::new(tiny_options());
    db.put(&key("a"), b"1");
    db.flush();
    let path = Path::new(DIR).join(&db.sst_names()[0]);
    let open = |db: &Db| {
        let shared =
            Shared::new(db.env.clone(), db.options.clone(), Budget::new(1 << 20), Policies::from_one(&db.policy));
        Partition::open(shared, 0, Path::new(DIR)).map(drop)
    };
    let file = db.env.fs.open(&path, OpenMode::ReadWrite).unwrap();
    let len = file.len().unwrap();
    file.set_len(len - 1).unwrap();
    assert!(matches!(open(&db), Err(Error::Corrupt { path: found, .. }) if found == path));
    db.env.fs.remove(&path).unwrap();
    assert!(matches!(open(&db), Err(Error::Corrupt { path: found, .. }) if found == path));
}

#[test]
fn files_without_a_manifest_are_not_taken_for_left_overs() {
    let mut db = Db::new(tiny_options());
    db.put(&key("a"), b"1");
    db.flush();
    let manifest = db.names().into_iter().find(|name| name.starts_with("MANIFEST")).unwrap();
    db.env.fs.remove(&Path::new(DIR).join(manifest)).unwrap();
    let before = db.sst_names();
    let again = Db::open(db.env.clone(), db.options.clone(), 0);
    assert!(matches!(again.err(), Some(Error::Corrupt { .. })));
    assert_eq!(db.sst_names(), before);
}

/// Names and contents of the files in the partition's directory.
fn contents(db: &Db) -> Vec<(String, Vec<u8>)> {
    let read = |name: String| {
        let file = db.env.fs.open(&Path::new(DIR).join(&name), OpenMode::Read).unwrap();
        let mut bytes = vec![0; file.len().unwrap() as usize];
        file.read_exact_at(&mut bytes, 0).unwrap();
        (name, bytes)
    };
    db.names().into_iter().map(read).collect()
}

#[test]
fn what_is_withdrawn_leaves_no_trace() {
    let mut db = Db::new(tiny_options());
    db.put(&key("a"), b"1");
    db.flush();
    touch(&db, "00000777.sst");
    let before = contents(&db);
    let shared = Shared::new(db.env.clone(), db.options.clone(), Budget::new(64 << 20), Policies::from_one(&db.policy));
    let other = Partition::open(shared, 0, Path::new(DIR)).unwrap();
    let entry = Entry { key: &key("b"), seq: other.flushed_seq() + 1, kind: Kind::Put, value: b"2" };
    other.active().apply(std::iter::once(entry));
    assert!(other.rotate(entry.seq + 1) && other.flush_oldest().unwrap());
    assert!(contents(&db).len() > before.len());
    other.withdraw().unwrap();
    assert!(other.poisoned().is_some());
    assert!(contents(&db) == before);
}

/// The new manifest is on the disk but could not be opened. It names files that are removed.
#[test]
fn a_manifest_whose_making_failed_at_its_end_is_withdrawn_too() {
    let mut db = Db::new(tiny_options());
    db.put(&key("a"), b"1");
    db.flush();
    let before = contents(&db);
    let faults = Arc::new(FaultFs::new(db.env.fs.clone()));
    let options = alluvium_lsm::Options { manifest_bytes: 1, ..db.options.clone() };
    let shared = Shared::new(env_over(faults.clone()), options, Budget::new(64 << 20), Policies::from_one(&db.policy));
    let other = Partition::open(shared, 0, Path::new(DIR)).unwrap();
    faults.inject(Fault::nth(1).of(OpKind::Open).on("MANIFEST"));
    for n in 0..100 {
        let entry = Entry { key: &key("b"), seq: other.flushed_seq() + 1, kind: Kind::Put, value: b"2" };
        other.active().apply(std::iter::once(entry));
        assert!(other.rotate(entry.seq + 1) && other.flush_oldest().unwrap(), "{n}");
        if other.poisoned().is_some() {
            break;
        }
    }
    assert_eq!(faults.fired(), 1, "a new manifest was due");
    other.withdraw().unwrap();
    assert!(contents(&db) == before);
}

/// File numbers must be unique for ever, because backups and logs of events name files by their
/// numbers.
#[test]
fn no_number_of_a_file_is_given_out_again() {
    let mut db = Db::new(tiny_options());
    let mut highest = 0;
    for round in 0..4u32 {
        for key in 0..50 {
            db.put(&tree_key(1 + round, &format!("{key:03}")), &[7; 100]);
        }
        db.flush();
        let numbers: Vec<u64> = db.partition.files().iter().map(|file| file.meta.number).collect();
        assert!(numbers.iter().all(|number| *number > highest), "{numbers:?} after {highest}");
        highest = numbers.into_iter().max().unwrap();
        // All files are removed, so that no file name shows the highest number.
        db.policy.dead.lock().insert(1 + round);
        db.model.drop_tree(1 + round);
        db.drop_trees(&[1 + round]).unwrap();
        assert!(db.sst_names().is_empty());
        db = db.reopen();
    }
}
