use super::*;
use crate::error::ErrorKind;
use crate::testing::Database;
use alluvium_env::mem::MemFs;
use alluvium_env::{Env, ManualClock, SeededRng};
use alluvium_store::{Compression, Options};
use std::sync::Arc;

const MIB: u64 = 1 << 20;

fn database(capacity: u64, compression: Compression) -> Database {
    let fs = Arc::new(MemFs::with_capacity(capacity));
    let env = Env { fs, clock: Arc::new(ManualClock::new()), rng: Arc::new(SeededRng::new(1)) };
    let options = Options { compression, partitions: Some(1), ..options() };
    Database::in_env(env, options)
}

fn options() -> Options {
    Options { memory_bytes: 8 << 20, disk_reserve_bytes: Some(MIB), ..Options::default() }
}

#[test]
fn a_new_database_expects_what_is_usual() {
    let db = database(64 * MIB, Options::default().compression);
    let space = load_space(&db.engine, InputBytes { plain: 100 * MIB, packed: 0 });
    assert_eq!(space.needed_bytes, 36 * MIB);
    assert!(space.available_bytes > 50 * MIB && space.available_bytes <= 64 * MIB);
    space.check().expect("room");
    assert_eq!(load_space(&db.engine, InputBytes { plain: 0, packed: 4 * MIB }).needed_bytes, 6 * MIB);
    let error = load_space(&db.engine, InputBytes { plain: 200 * MIB, packed: 0 }).check().expect_err("no room");
    assert_eq!(error.kind(), ErrorKind::NoSpace);
    assert!(error.to_string().contains("74.4 MB") && error.to_string().contains("are free"), "{error}");
    assert!(!load_space(&db.engine, InputBytes { plain: u64::MAX, packed: u64::MAX }).is_enough());
}

#[test]
fn a_full_database_estimates_by_its_own_documents() {
    let db = database(256 * MIB, Compression::None);
    let docs = db.collection("c");
    for id in 0..20 {
        docs.put(id, format!("{{\"text\":{:?}}}", "x".repeat(MIB as usize)));
    }
    db.store().wait_for_compaction().expect("room");
    // Nothing is compressed, so the estimate is six tenths of the bytes of the JSON text.
    let needed = load_space(&db.engine, InputBytes { plain: 100 * MIB, packed: 0 }).needed_bytes - MIB;
    assert!((59 * MIB..62 * MIB).contains(&needed), "{needed}");
    let compact = compact_space(&db.engine);
    assert!((20 * MIB..24 * MIB).contains(&compact.needed_bytes), "{compact:?}");
}

#[test]
fn a_compaction_without_enough_room_is_reported_before_it_begins() {
    let db = database(48 * MIB, Compression::None);
    let docs = db.collection("c");
    for id in 0..30 {
        docs.put(id, format!("{{\"text\":{:?}}}", "x".repeat(MIB as usize)));
    }
    db.store().wait_for_compaction().expect("room");
    let space = compact_space(&db.engine);
    assert!(!space.is_enough(), "{space:?}");
    assert!(space.check().expect_err("no room").to_string().starts_with("the compaction needs about 31."));
}

#[test]
fn a_build_counts_its_runs_and_a_path_that_is_not_there_yet() {
    let env = Env { fs: Arc::new(MemFs::with_capacity(64 * MIB)), ..Env::in_memory(1) };
    let of = |pairs, plain, packed| {
        let build = if pairs { for_build_of_pairs } else { for_build_of_documents };
        build(&env, Path::new("new/pets.ro"), InputBytes { plain, packed }, 8 * MIB)
    };
    assert_eq!(of(false, 4 * MIB, 0).needed_bytes, 4 * MIB * 35 / 100);
    assert_eq!(of(false, 20 * MIB, 0).needed_bytes, 2 * (20 * MIB * 35 / 100));
    assert_eq!(of(true, 20 * MIB, 0).needed_bytes, 2 * (20 * MIB * 105 / 100));
    assert_eq!(of(false, 0, 20 * MIB).needed_bytes, 2 * (20 * MIB * 125 / 100));
    of(false, 20 * MIB, 0).check().expect("room");
    let error = of(true, 200 * MIB, 0).check().expect_err("no room");
    assert!(error.to_string().starts_with("the build needs about"), "{error}");
    assert!(!of(true, u64::MAX, u64::MAX).is_enough());
}

#[test]
fn a_dump_and_a_repair_are_estimated_from_the_existing_files() {
    let fs = Arc::new(MemFs::with_capacity(64 * MIB));
    let env = Env { fs, ..Env::in_memory(1) };
    let db = Database::in_env(env.clone(), options());
    for id in 0..10 {
        db.collection("c").put(id, format!("{{\"text\":{:?}}}", "x".repeat(MIB as usize)));
    }
    let dump = dump_space(&db.engine, Path::new("dump"));
    assert!(dump.needed_bytes > 30 * MIB, "{dump:?}");
    db.engine.close().expect("room");
    let repair = for_repair(&env, Path::new("db"), Path::new("new")).expect("a directory");
    assert_eq!(repair.needed_bytes, bytes_of(&env, Path::new("db")), "{repair:?}");
    assert!(repair.available_bytes < 64 * MIB, "{repair:?}");
    for_repair(&env, Path::new("nothing"), Path::new("new")).expect_err("it is not there");
}

/// The bytes of all files below a directory, at any depth.
fn bytes_of(env: &Env, dir: &Path) -> u64 {
    let length = |path: &Path| env.fs.open(path, OpenMode::Read).and_then(|file| file.len()).expect("a file");
    let mut folders = vec![dir.to_owned()];
    let mut bytes = 0;
    while let Some(folder) = folders.pop() {
        for entry in env.fs.list(&folder).expect("a folder") {
            let path = folder.join(&entry.name);
            if entry.is_dir { folders.push(path) } else { bytes += length(&path) }
        }
    }
    bytes
}
