//! Files that cannot be read and deltas that cannot be folded are reported, and everything else is
//! merged.

use crate::common::{DIR, Db, key, tiny_options};
use alluvium_env::{Env, Error, ManualClock, OpenMode};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Writes every key in small flushes. A few flushes of that size are always allowed above the base.
fn write_all(db: &mut Db, rng: &mut fastrand::Rng) {
    for n in 0..600u32 {
        let value: Vec<u8> = (0..40).map(|_| rng.u8(..)).collect();
        db.put(&key(&format!("{n:06}")), &value);
        if n % 40 == 39 {
            db.flush();
        }
    }
}

/// A partition with some ten files in the base and as many above it, and with a clock that the test
/// controls.
fn two_layers(clock: &Arc<ManualClock>) -> Db {
    let env = Env { clock: clock.clone(), ..Env::in_memory(1) };
    let mut db = Db::open(env, tiny_options(), 0).unwrap();
    let mut rng = fastrand::Rng::with_seed(7);
    write_all(&mut db, &mut rng);
    db.partition.compact_all().unwrap();
    write_all(&mut db, &mut rng);
    db
}

/// Flips a bit of the first block of a file in the middle of the base.
fn damage(db: &Db) -> PathBuf {
    let files = db.partition.files();
    let mut base: Vec<_> = files.iter().filter(|file| file.run == 0).collect();
    base.sort_by(|a, b| a.meta.smallest.cmp(&b.meta.smallest));
    assert!(base.len() > 4, "{} files", base.len());
    let path = Path::new(DIR).join(format!("{:08}.sst", base[base.len() / 2].meta.number));
    let file = db.env.fs.open(&path, OpenMode::ReadWrite).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, 20).unwrap();
    file.write_at(&[byte[0] ^ 1], 20).unwrap();
    path
}

/// Runs compactions until none is picked; returns their errors.
fn run_all(db: &Db) -> Vec<Error> {
    let mut errors = Vec::new();
    for _ in 0..1000 {
        let Some(job) = db.partition.pick_compaction() else { return errors };
        errors.extend(db.partition.run_compaction(job, &|| false).err());
    }
    panic!("the picker does not come to rest: {errors:?}");
}

fn is_of(error: &Error, file: &Path) -> bool {
    matches!(error, Error::Corrupt { path, .. } if path == file)
}

/// Entries above the base.
fn above(db: &Db) -> u64 {
    db.partition.files().iter().filter(|file| file.run != 0).map(|file| file.meta.entries).sum()
}

#[test]
fn compactions_leave_a_damaged_file_out_and_try_it_again_later() {
    let clock = Arc::new(ManualClock::new());
    let mut db = two_layers(&clock);
    let path = damage(&db);
    assert_eq!(above(&db), 600);
    let errors = run_all(&db);
    assert!(errors.len() == 1 && is_of(&errors[0], &path), "reported once: {errors:?}");
    let left = above(&db);
    assert!(left > 0 && left < 300, "{left} entries wait above the base");
    clock.advance(Duration::from_secs(599));
    write_all(&mut db, &mut fastrand::Rng::with_seed(8));
    assert!(run_all(&db).is_empty());
    write_all(&mut db, &mut fastrand::Rng::with_seed(9));
    clock.advance(Duration::from_secs(1));
    let errors = run_all(&db);
    assert!(errors.len() == 1 && is_of(&errors[0], &path), "reported again: {errors:?}");
}

#[test]
fn a_merge_of_everything_tells_of_the_damaged_file_at_its_end_each_time() {
    let db = two_layers(&Arc::new(ManualClock::new()));
    let path = damage(&db);
    for _ in 0..2 {
        let error = db.partition.compact_all().unwrap_err();
        assert!(is_of(&error, &path), "{error}");
        let left = above(&db);
        assert!(left > 0 && left < 300, "{left} entries wait above the base");
    }
}

#[test]
fn deltas_that_cannot_be_folded_stay_as_they_are() {
    let mut db = Db::new(tiny_options());
    let bad = key("000300");
    *db.policy.damaged.lock() = Some(bad.clone());
    for flushed_between in [false, true] {
        for n in 0..600u32 {
            db.put(&key(&format!("{n:06}")), b"value");
        }
        if flushed_between {
            db.flush();
        }
        for n in 0..600u32 {
            db.delta(&key(&format!("{n:06}")), b" and more");
        }
        db.flush();
        db.partition.compact_all().unwrap();
        let error = db.partition.view().get(&bad, db.seq, &mut Vec::new()).unwrap_err();
        assert!(matches!(error, Error::Corrupt { .. }), "{error}");
        assert_eq!(db.get(&key("000301"), db.seq).as_deref(), Some(&b"value and more"[..]));
        assert_eq!(db.partition.stats().entries, 601, "all others are folded");
    }
    // The value below the deltas can be read again.
    *db.policy.damaged.lock() = None;
    db.check();
    db.partition.compact_all().unwrap();
    db.check();
}
