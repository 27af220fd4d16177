//! Weaknesses that were found in another document store. Each test is named after one of them, and shows that Alluvium
//! does not have it.
#![allow(clippy::disallowed_methods)]

use alluvium::{Database, Durability, ErrorKind, Map, Value};
use alluvium_env::fault::{Op, OpKind};
use alluvium_env::mem::CrashStyle;
use alluvium_env::{Fs, OpenMode};
use alluvium_store::Options;
use alluvium_testkit::{State, World, map_of, read_state};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

fn options() -> Options {
    let small = Options { memory_bytes: 8 << 20, partitions: Some(4), ..Options::default() };
    Options { background: false, threads: Some(1), ..small }
}

fn partitions(count: u32) -> Options {
    Options { partitions: Some(count), ..options() }
}

fn open(world: &World) -> Database {
    world.open(&options()).unwrap()
}

/// The `_id` and the content of a document with this number.
fn numbered(n: u32) -> (i32, Map) {
    (n as i32, map_of(&format!(r#"{{"n":{n},"text":"number {n}"}}"#)))
}

fn fill(db: &Database, from: u32, to: u32) {
    let c = db.collection("c");
    for (id, map) in (from..to).map(numbered) {
        c.put(id, map).unwrap();
    }
}

fn count(db: &Database) -> u64 {
    db.collection("c").count().unwrap()
}

/// All files below the database's directory.
fn files(fs: &dyn Fs, dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs.list(dir).unwrap() {
        let path = dir.join(&entry.name);
        match entry.is_dir {
            true => found.extend(files(fs, &path)),
            false => found.push(path),
        }
    }
    found
}

/// The process is killed before each change of a flush, a compaction and an open. Every disk after a kill can be
/// opened, even if it has temporary files, and these are removed.
#[test]
fn killed_with_9_left_over_temporary_files_and_could_not_be_opened_again() {
    let world = World::new(1);
    let db = open(&world);
    fill(&db, 0, 50);
    db.flush().unwrap();
    fill(&db, 30, 90);
    let expected = Arc::new(read_state(&db).unwrap());
    let kills = Arc::new(AtomicU64::new(0));
    let check = {
        let (mem, expected, kills) = (world.mem.clone(), expected.clone(), kills.clone());
        move |op: &Op<'_>| {
            let disk = World::over(mem.kill_clone(), 2);
            for name in ["ALLUVIUM.tmp", "p000/MANIFEST-00000077.tmp", "p001/00000088.sst", "p002/00000099.sst.tmp"] {
                disk.env
                    .fs
                    .open(&Path::new("db").join(name), OpenMode::CreateNew)
                    .unwrap()
                    .write_at(b"junk", 0)
                    .unwrap();
            }
            let db = disk.open(&options()).unwrap_or_else(|e| panic!("killed before {op:?}: {e}"));
            assert!(read_state(&db).unwrap() == *expected, "killed before {op:?}");
            let left: Vec<_> = files(&*disk.env.fs, Path::new("db/p000"));
            assert!(!left.iter().any(|path| path.to_string_lossy().ends_with(".tmp")), "{left:?}");
            kills.fetch_add(1, Ordering::SeqCst);
        }
    };
    world.faults.set_hook(Some(Arc::new(check)));
    db.flush().unwrap();
    db.compact().run().unwrap();
    world.faults.set_hook(None);
    assert!(kills.load(Ordering::SeqCst) > 40);
}

/// The path of the last file of the log, and the end of its last group; the rest of the file is preallocated zeros.
fn end_of_log(world: &World) -> (PathBuf, u64) {
    let log = files(&*world.env.fs, Path::new("db/wal")).pop().unwrap();
    let file = world.env.fs.open(&log, OpenMode::Read).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap() as u64 + 1;
    (log, end)
}

#[test]
fn a_wal_cut_by_1_or_3_bytes_makes_open_fail_and_recovers_nothing() {
    for cut in [1, 3] {
        let world = World::new(1);
        let db = open(&world);
        fill(&db, 0, 20);
        let disk = world.killed();
        let (log, end) = end_of_log(&disk);
        disk.env.fs.open(&log, OpenMode::ReadWrite).unwrap().set_len(end - cut).unwrap();
        let db = open(&disk);
        assert_eq!(count(&db), 19, "the last write alone is gone");
        let tail = db.report().dropped.clone().unwrap();
        assert_eq!(tail.path, log, "opening reports what it has cut off");
        assert!(tail.bytes > 0);
    }
}

/// After a clean close, a missing tail is not the result of a crash: it is reported as damage, and it is skipped if the
/// options allow that.
#[test]
fn a_wal_cut_by_1_or_3_bytes_after_a_clean_close_is_named() {
    for cut in [1, 3] {
        let world = World::new(1);
        let db = open(&world);
        fill(&db, 0, 20);
        db.close().unwrap();
        let disk = world.killed();
        let (log, end) = end_of_log(&disk);
        disk.env.fs.open(&log, OpenMode::ReadWrite).unwrap().set_len(end - cut).unwrap();
        let error = disk.open(&options()).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Corruption);
        assert!(error.to_string().contains("wal-"), "{error}");
        let db = disk.open(&Options { accept_log_damage: true, ..options() }).unwrap();
        assert_eq!(count(&db), 19);
        assert!(!db.report().lost.is_empty(), "opening reports what was lost");
    }
}

#[test]
fn acknowledged_writes_invisible_during_a_flush_before_the_first_base() {
    let world = World::new(1);
    let db = world.open(&partitions(2)).unwrap();
    fill(&db, 0, 100);
    let looks = Arc::new(AtomicU64::new(0));
    let hook = {
        let (c, looks) = (db.collection("c"), looks.clone());
        move |op: &Op<'_>| {
            for (id, map) in (0..100).map(numbered) {
                let found = c.get(id).unwrap().unwrap_or_else(|| panic!("{id} cannot be seen before {op:?}"));
                assert_eq!(found.to_map().unwrap().get("n"), map.get("n"));
            }
            assert_eq!(c.count().unwrap(), 100, "before {op:?}");
            looks.fetch_add(1, Ordering::SeqCst);
        }
    };
    world.faults.set_hook(Some(Arc::new(hook)));
    db.flush().unwrap();
    db.compact().run().unwrap();
    world.faults.set_hook(None);
    assert!(looks.load(Ordering::SeqCst) > 10);
}

/// Java's hash of the first word is -2^31, whose absolute value as a 32-bit integer is the same number.
#[test]
fn math_abs_of_integer_min_value_picks_partition_minus_2() {
    let world = World::new(1);
    let db = world.open(&partitions(3)).unwrap();
    let c = db.collection("polygenelubricants");
    for id in ["polygenelubricants", "GydZG_", "DESIGNING WORKHOUSES"] {
        c.put(id, format!(r#"{{"word":"{id}"}}"#)).unwrap();
        assert!(c.get(id).unwrap().is_some());
    }
    // This is independent of the hash: the partitions of many keys are in range, and all partitions are used.
    let mut used = [0; 3];
    for n in 0..3000u32 {
        used[db.store().partition_of(&n.to_be_bytes()) as usize] += 1;
    }
    assert!(used.iter().all(|keys| *keys > 800), "{used:?}");
}

#[test]
fn maps_of_equal_size_compare_equal() {
    let db = open(&World::new(1));
    let c = db.collection("c");
    let id = |n: i32| Value::Map([(Value::from(n), Value::from(n))].into());
    let named = |n: i32| Value::Map([("k", n)].into());
    for (n, id) in [id(1), id(2), named(1), named(2)].into_iter().enumerate() {
        let mut map = Map::new();
        map.push("value", n as i32);
        c.put(id.clone(), map).unwrap();
        assert_eq!(c.get(id).unwrap().unwrap().to_map().unwrap().get("value"), Some(&Value::from(n as i32)));
    }
    db.flush().unwrap();
    assert_eq!(count(&db), 4);
    let found = c.get(id(2)).unwrap().unwrap().to_map().unwrap();
    assert_eq!(found.get("value"), Some(&Value::from(1)), "get({{2:2}}) does not return the value of {{1:1}}");
    assert!(!alluvium_document::compare::equal(&id(1), &id(2)));
}

#[test]
fn the_default_character_set_loses_text() {
    let world = World::new(1);
    let texts = ["straße", "日本語", "😀", "ὕβρις", "\u{0}\u{7f}\u{80}\u{ff}\u{100}", "\u{10ffff}"];
    let db = open(&world);
    let c = db.collection("größe.日本");
    for text in texts {
        let map: Map = [(text, text)].into();
        c.put(text, map).unwrap();
    }
    let check = |db: &Database| {
        assert_eq!(db.collections()[0].full_name(), "größe.日本");
        for text in texts {
            let found = db.collection("größe.日本").get(text).unwrap().unwrap().to_map().unwrap();
            assert_eq!(found.get(text), Some(&Value::from(text)));
        }
    };
    check(&db);
    db.compact().run().unwrap();
    drop((c, db));
    check(&open(&world));
}

#[test]
fn a_user_value_equal_to_the_tombstone_reads_as_absent() {
    let world = World::new(1);
    let db = open(&world);
    let store = db.store();
    let tree = store.create_trees(&[b"values"]).unwrap()[0];
    let values: Vec<Vec<u8>> = std::iter::once(Vec::new())
        .chain((0..=255).map(|byte| vec![byte]))
        .chain((0..16).flat_map(|n| [vec![0; n], vec![0xff; n]]))
        .collect();
    let check = || {
        let mut found = Vec::new();
        for value in &values {
            assert!(store.get(tree, value, &mut found).unwrap(), "the value {value:?} reads as absent");
            assert_eq!(&found, value);
        }
    };
    for value in &values {
        let mut batch = store.batch();
        batch.delete(tree, value);
        batch.put(tree, value, value);
        store.write(batch, Durability::Periodic).unwrap();
    }
    check();
    store.flush().unwrap();
    check();
    store.compact().unwrap();
    check();
}

#[test]
fn a_second_read_on_a_thread_changes_the_first_ones_result() {
    let db = open(&World::new(1));
    fill(&db, 0, 40);
    db.flush().unwrap();
    fill(&db, 20, 60);
    let c = db.collection("c");
    let first = c.get(1).unwrap().unwrap();
    let before = first.to_string();
    let mut up = c.scan().run().unwrap();
    let mut down = c.scan().reverse().run().unwrap();
    let (mut rising, mut falling) = (Vec::new(), Vec::new());
    for n in 0..60 {
        let (a, b) = (up.next().unwrap().unwrap(), down.next().unwrap().unwrap());
        let between = c.get(n).unwrap().unwrap();
        assert_eq!(between.id(), &Value::from(n));
        assert_eq!((a.id(), b.id()), (&Value::from(n), &Value::from(59 - n)));
        rising.push(a.to_string());
        falling.push(b.to_string());
    }
    assert!(up.next().is_none() && down.next().is_none());
    falling.reverse();
    assert_eq!(rising, falling);
    assert_eq!(first.to_string(), before);
}

#[test]
fn a_4_partition_store_opened_as_2_silently_loses_half_the_keys() {
    let world = World::new(1);
    let db = world.open(&partitions(4)).unwrap();
    fill(&db, 0, 50);
    db.close().unwrap();
    drop(db);
    let error = world.open(&partitions(2)).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Open);
    assert!(error.to_string().contains('4') && error.to_string().contains('2'), "{error}");
    assert_eq!(count(&open(&world)), 50);
}

#[test]
fn long_min_value_and_json_integers_from_2_63_fail() {
    let world = World::new(1);
    let numbers = [
        "-9223372036854775808",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775809",
        "18446744073709551616",
        "100000000000000000000000000000000000000000",
    ];
    let db = open(&world);
    let c = db.collection("c");
    for number in numbers {
        c.insert_one(format!(r#"{{"_id":{number},"number":{number}}}"#)).unwrap();
    }
    let check = |db: &Database| {
        let found: Vec<String> = db.collection("c").scan().run().unwrap().map(|d| d.unwrap().to_string()).collect();
        let sorted = [3, 0, 1, 2, 4, 5].map(|at| format!(r#"{{"_id":{0},"number":{0}}}"#, numbers[at]));
        assert_eq!(found, sorted);
    };
    check(&db);
    db.compact().run().unwrap();
    drop((c, db));
    check(&open(&world));
    assert_eq!(open(&world).collection("c").get(i64::MIN).unwrap().unwrap().id(), &Value::Int64(i64::MIN));
}

#[test]
fn no_checksums() {
    let world = World::new(1);
    let db = open(&world);
    fill(&db, 0, 100);
    db.compact().run().unwrap();
    db.close().unwrap();
    let disk = world.killed();
    let sst =
        files(&*disk.env.fs, Path::new("db/p001")).into_iter().find(|p| p.extension().is_some_and(|e| e == "sst"));
    let sst = sst.unwrap();
    let file = disk.env.fs.open(&sst, OpenMode::ReadWrite).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, 60).unwrap();
    file.write_at(&[byte[0] ^ 4], 60).unwrap();
    let db = open(&disk);
    let damage = db.verify().run().unwrap().damage;
    assert_eq!(damage[0].kind(), ErrorKind::Corruption);
    let name = sst.file_name().unwrap().to_string_lossy().into_owned();
    assert!(damage[0].to_string().contains(&name), "{}", damage[0]);
    let errors = (0..100).filter(|n| db.collection("c").get(*n).is_err()).count();
    assert!(errors > 0, "the damaged block is not served");
}

#[test]
fn no_directory_sync() {
    let world = World::new(1);
    let db = world.open(&Options { durability: Durability::Sync, ..options() }).unwrap();
    let expect = |documents: u32| {
        let db = open(&world.cut(1, CrashStyle::AllLost));
        assert_eq!(count(&db), u64::from(documents));
    };
    fill(&db, 0, 1);
    expect(1);
    fill(&db, 0, 40);
    db.flush().unwrap();
    expect(40);
    db.compact().run().unwrap();
    expect(40);
    assert!(world.faults.count(OpKind::SyncDir) > 5);
}

#[test]
fn no_directory_lock() {
    let world = World::new(1);
    let db = open(&world);
    assert_eq!(world.open(&options()).err().unwrap().kind(), ErrorKind::InUse);
    drop(db);
    open(&world);
    // The same on a real disk.
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let db = Database::open(&path).unwrap();
    let error = Database::open(&path).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::InUse);
    assert!(error.to_string().contains("db"), "{error}");
    db.close().unwrap();
}

#[test]
fn no_size() {
    let db = open(&World::new(1));
    fill(&db, 0, 100);
    db.flush().unwrap();
    fill(&db, 50, 120);
    for n in 0..10 {
        db.collection("c").delete(n).unwrap();
    }
    assert_eq!(count(&db), 110);
    let stats = db.stats();
    assert!(stats.disk_bytes > 0 && stats.partitions.iter().map(|p| p.entries).sum::<u64>() >= 100);
}

#[test]
fn order_2_before_1_5() {
    let db = open(&World::new(1));
    let c = db.collection("c");
    for id in ["2", "1.5", "10", "-1.5", "-2", "1e300", "0.1", "1"] {
        c.insert_one(format!(r#"{{"_id":{id}}}"#)).unwrap();
    }
    let order: Vec<f64> = c.scan().run().unwrap().map(|d| d.unwrap().id().as_f64().unwrap()).collect();
    assert_eq!(order, [-2.0, -1.5, 0.1, 1.0, 1.5, 2.0, 10.0, 1e300]);
}

#[test]
fn memory_bounded_by_entry_count_instead_of_bytes() {
    let world = World::new(1);
    let budget = 8 << 20;
    let options = Options { memory_bytes: budget, background: true, partitions: Some(16), ..options() };
    let db = world.open(&options).unwrap();
    let c = db.collection("c");
    let mut rng = fastrand::Rng::with_seed(1);
    // Few entries with many bytes: eight times the budget, in the memtables of 16 partitions.
    let mut most = 0;
    for n in 0..640 {
        let text: String = (0..100_000).map(|_| rng.alphanumeric()).collect();
        let map: Map = [("text", text)].into();
        c.put(n, map).unwrap();
        let stats = db.stats();
        most = most.max(stats.memtable_bytes + stats.pinned_bytes);
    }
    assert!(most < budget, "{most} bytes of memory in use, with a budget of {budget}");
    assert_eq!(count(&db), 640);
    let stats = db.stats();
    assert!(stats.memtable_bytes + stats.cache_bytes + stats.pinned_bytes <= budget, "{stats:?}");
}

#[test]
fn an_index_wholly_on_the_heap() {
    let world = World::new(1);
    let db = open(&world);
    let mut batch = db.write_batch();
    let c = db.collection("c");
    for n in 0..20_000 {
        batch.put(&c, n, r#"{"a":1}"#).unwrap();
        if batch.len() == 2000 {
            std::mem::replace(&mut batch, db.write_batch()).commit().unwrap();
        }
    }
    db.compact().run().unwrap();
    let stats = db.stats();
    let entries: u64 = stats.partitions.iter().map(|p| p.entries).sum();
    assert!(entries >= 20_000);
    assert!((stats.pinned_bytes as u64) < entries, "{} bytes held for {entries} entries", stats.pinned_bytes);
}

/// The comparison of states in the model is as strict as these tests need it to be.
#[test]
fn states_differ_where_documents_do() {
    let mut a = State::default();
    a.create("main.c");
    let mut b = a.clone();
    a.put("main.c", alluvium_testkit::Id::Null, map_of(r#"{"n":1}"#));
    b.put("main.c", alluvium_testkit::Id::Null, map_of(r#"{"n":1.0}"#));
    assert!(a != b && !a.difference(&b).is_empty());
}
