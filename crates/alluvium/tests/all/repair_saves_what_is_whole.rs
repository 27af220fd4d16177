//! After any damage or loss of files, the repaired copy has every document whose bytes are undamaged; the documents
//! that are reported as certain are neither outdated nor deleted; and the damaged database is unchanged.

use alluvium::Value;
use alluvium::repair::{self, RepairReport};
use alluvium::{Compression, Database, Durability, ErrorKind, Map};
use alluvium_env::fault::{Fault, FaultFs, OpKind};
use alluvium_env::mem::MemFs;
use alluvium_env::{Env, Fs, ManualClock, OpenMode, SeededRng};
use alluvium_store::Options;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn env_of(mem: &Arc<MemFs>) -> Env {
    Env { fs: mem.clone(), clock: Arc::new(ManualClock::new()), rng: Arc::new(SeededRng::new(1)) }
}

fn open(env: &Env, path: &str) -> Database {
    let small = Options { block_bytes: 1 << 10, segment_bytes: Some(16 << 10), ..Options::default() };
    let options = Options { memory_bytes: 8 << 20, partitions: Some(2), background: false, ..small };
    Database::builder().env(env.clone()).options(options).open(path).unwrap()
}

type Documents = BTreeMap<i64, Map>;

fn documents(db: &Database, name: &str) -> Documents {
    match db.collection(name).scan().run() {
        Ok(cursor) => cursor.map(|d| d.unwrap()).map(|d| (d.id().as_i64().unwrap(), d.to_map().unwrap())).collect(),
        Err(error) => panic!("{error}"),
    }
}

/// Creates a database with several sorted files in each partition, tombstones, deltas and a log. Returns its disk, its
/// documents, and the deleted `_id`s. If `flushed`, all data is in files.
fn database(flushed: bool) -> (Arc<MemFs>, Documents, Vec<i64>) {
    let mem = Arc::new(MemFs::new());
    let env = env_of(&mem);
    let db = open(&env, "db");
    let pets = db.collection("pets").with_durability(Durability::Sync);
    let text = |n: i64, round: i64| format!("{:x}", (n * 7919 + round).wrapping_mul(0x5e37_79b9_7f4a_7c15)).repeat(3);
    let put = |n: i64, round: i64| pets.put(n, format!(r#"{{"n":{n},"round":{round},"t":"{}"}}"#, text(n, round)));
    for n in 0..60 {
        put(n, 0).unwrap();
    }
    db.flush().unwrap();
    for n in (0..60).step_by(3) {
        put(n, 1).unwrap();
    }
    let mut deleted: Vec<i64> = (1..60).step_by(6).collect();
    for n in &deleted {
        pets.delete(*n).unwrap();
    }
    db.flush().unwrap();
    for n in (2..60).step_by(9) {
        pets.update_blind(n, r#"{"$set": {"changed": true}}"#).unwrap();
    }
    for n in 100..110 {
        put(n, 2).unwrap();
    }
    for n in [4, 10, 100] {
        pets.delete(n).unwrap();
        deleted.push(n);
    }
    if flushed {
        db.flush().unwrap();
    }
    let expected = documents(&db, "pets");
    db.close().unwrap();
    (mem, expected, deleted)
}

fn files(fs: &dyn Fs, dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs.list(dir).unwrap() {
        let path = dir.join(&entry.name);
        if entry.is_dir { found.extend(files(fs, &path)) } else { found.push(path) }
    }
    found
}

fn read(fs: &dyn Fs, path: &Path) -> Vec<u8> {
    let file = fs.open(path, OpenMode::Read).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

fn contents(fs: &dyn Fs, dir: &str) -> Vec<(PathBuf, Vec<u8>)> {
    files(fs, Path::new(dir)).into_iter().map(|path| (path.clone(), read(fs, &path))).collect()
}

fn number(key: &[u8]) -> Option<i64> {
    alluvium_document::key::decode(&mut &key[4.min(key.len())..]).ok()?.as_i64()
}

/// Repairs the database, and checks the copy against its original content.
fn check(mem: &Arc<MemFs>, expected: &Documents, deleted: &[i64], what: &str) -> RepairReport {
    check_on(mem, None, expected, deleted, what)
}

/// Same as [`check`], on a disk with this fault.
fn check_on(mem: &Arc<MemFs>, fault: Option<Fault>, expected: &Documents, deleted: &[i64], what: &str) -> RepairReport {
    let env = env_of(mem);
    let before = contents(&**mem, "db");
    let disk = FaultFs::over(mem.clone());
    fault.into_iter().for_each(|fault| disk.inject(fault));
    let failing = Env { fs: Arc::new(disk), ..env.clone() };
    let report = repair::repair("db", "new").env(failing).memory(8 << 20).run();
    let report = report.unwrap_or_else(|e| panic!("{what}: {e}"));
    assert!(contents(&**mem, "db") == before, "{what}: the damaged database is not as it was");
    let db = open(&env, "new");
    assert!(db.verify().run().unwrap().damage.is_empty(), "{what}");
    let mut certain = Documents::new();
    let mut doubtful = Documents::new();
    for collection in &report.collections {
        let found = documents(&db, &collection.name);
        assert_eq!(found.len() as u64, collection.documents, "{what}");
        certain.extend(found);
        if let Some(name) = &collection.doubtful_in {
            let found = documents(&db, name);
            assert_eq!(found.len() as u64, collection.doubtful, "{what}");
            doubtful.extend(found);
        }
    }
    // Each lost operation of the log may have changed one document.
    let numbers = report.lost_numbers.iter().fold(0u64, |sum, lost| sum.saturating_add(lost.last - lost.first + 1));
    let wrong = certain.iter().filter(|(id, map)| expected.get(id) != Some(map)).count() as u64;
    assert!(wrong <= numbers, "{what}: {wrong} certain documents are wrong, {numbers} numbers lost\n{report:?}");
    let revived = deleted.iter().filter(|id| certain.contains_key(id)).count() as u64;
    assert!(revived <= numbers, "{what}: {revived} deleted documents are back\n{report:?}");
    for id in expected.keys().filter(|id| !certain.contains_key(id) && !doubtful.contains_key(id)) {
        let key = |key: &Vec<u8>| number(key);
        let named = report.losses.iter().filter(|loss| loss.entries).any(|loss| {
            let (low, high) = (key(&loss.from), loss.to.as_ref().and_then(key));
            low.is_none_or(|low| low <= *id) && high.is_none_or(|high| *id <= high)
        });
        let unreadable = report.collections.iter().any(|collection| collection.unreadable > 0);
        assert!(named || unreadable || numbers > 0, "{what}: document {id} is lost, and nothing says so\n{report:?}");
    }
    db.close().unwrap();
    report
}

#[test]
fn a_whole_database_is_copied_whole() {
    for flushed in [false, true] {
        let (mem, expected, deleted) = database(flushed);
        let report = check(&mem, &expected, &deleted, "whole");
        assert!(report.is_whole() && report.notes.is_empty(), "{report:?}");
        assert_eq!((report.documents(), report.doubtful()), (expected.len() as u64, 0));
    }
}

#[test]
fn with_any_byte_changed() {
    for flushed in [true, false] {
        let (mem, expected, deleted) = database(flushed);
        let (mut doubtful, mut lost, mut seen) = (0, 0, BTreeMap::<String, u32>::new());
        for path in files(&*mem, Path::new("db")) {
            let len = read(&*mem, &path).iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            // Damage every byte of small files, and a sample of the bytes of larger files at changing positions.
            let step = (len / 150).max(1);
            for at in (0..len).step_by(step) {
                let at = (at + at / step % step).min(len - 1) as u64;
                let damaged = Arc::new(mem.kill_clone());
                let file = damaged.open(&path, OpenMode::ReadWrite).unwrap();
                let mut byte = [0];
                file.read_exact_at(&mut byte, at).unwrap();
                file.write_at(&[byte[0] ^ 0x10], at).unwrap();
                let report = check(&damaged, &expected, &deleted, &format!("{}, offset {at}", path.display()));
                doubtful += report.doubtful();
                lost += expected.len() as u64 - report.documents().min(expected.len() as u64);
                let kind = path.extension().map_or("other".into(), |e| e.to_string_lossy().into_owned());
                *seen.entry(kind).or_default() += 1;
            }
        }
        assert!(doubtful > 0 && lost > 0, "nothing was ever doubtful or lost: the test means nothing");
        assert!(seen["sst"] > 300 && seen["log"] > 50, "{seen:?}");
    }
}

#[test]
fn with_any_sector_unreadable() {
    const SECTOR: u64 = 4096;
    for flushed in [true, false] {
        let (mem, expected, deleted) = database(flushed);
        let (mut named, mut saved) = (BTreeMap::<String, u32>::new(), 0);
        for path in files(&*mem, Path::new("db")) {
            let len = read(&*mem, &path).len() as u64;
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            for from in (0..len).step_by(SECTOR as usize) {
                let what = format!("{}, offset {from} cannot be read", path.display());
                let fault = Fault::nth(1).of(OpKind::Read).on(path.to_string_lossy()).touching(from..from + SECTOR);
                let damaged = Arc::new(mem.kill_clone());
                let report = check_on(&damaged, Some(fault.from_then_on()), &expected, &deleted, &what);
                let told = report.losses.iter().map(|loss| &loss.what).chain(&report.notes);
                if told.filter(|text| text.contains("cannot be read") || text.contains("cannot read")).count() > 0 {
                    *named.entry(name.split(['-', '.']).next_back().unwrap_or("").to_owned()).or_default() += 1;
                }
                saved += report.documents() + report.doubtful();
            }
            let what = format!("{} cannot be opened", path.display());
            let fault = Fault::nth(1).of(OpKind::Open).on(path.to_string_lossy()).from_then_on();
            check_on(&Arc::new(mem.kill_clone()), Some(fault), &expected, &deleted, &what);
        }
        for dir in ["db/p000", "db/wal"] {
            let fault = Fault::nth(1).of(OpKind::List).on(dir).from_then_on();
            check_on(&Arc::new(mem.kill_clone()), Some(fault), &expected, &deleted, &format!("{dir} cannot be listed"));
        }
        assert!(named["sst"] > 3 && named["log"] > 2 && named["1"] > 1 && saved > 400, "{named:?}, {saved} documents");
    }
}

#[test]
fn with_any_file_missing_or_cut() {
    for flushed in [true, false] {
        let (mem, expected, deleted) = database(flushed);
        for path in files(&*mem, Path::new("db")) {
            let what = format!("{} is missing", path.display());
            let damaged = Arc::new(mem.kill_clone());
            damaged.remove(&path).unwrap();
            let report = check(&damaged, &expected, &deleted, &what);
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            // Manifests and the superblock are reconstructed from the other files.
            if name.starts_with("MANIFEST") || name == "ALLUVIUM" || name == "LOCK" {
                assert!(report.is_whole(), "{what}: {report:?}");
                assert_eq!(report.documents(), expected.len() as u64, "{what}");
            }
            let len = read(&*mem, &path).len() as u64;
            for cut in [0, len / 3, len / 2, len.saturating_sub(1)] {
                let damaged = Arc::new(mem.kill_clone());
                damaged.open(&path, OpenMode::ReadWrite).unwrap().set_len(cut).unwrap();
                check(&damaged, &expected, &deleted, &format!("{}, cut to {cut}", path.display()));
            }
        }
    }
}

#[test]
fn everything_but_the_sorted_files_is_lost() {
    let (mem, expected, deleted) = database(true);
    for path in files(&*mem, Path::new("db")) {
        if !path.to_string_lossy().ends_with(".sst") {
            mem.remove(&path).unwrap();
        }
    }
    let report = check(&mem, &expected, &deleted, "only sorted files");
    assert_eq!(report.documents(), expected.len() as u64, "{report:?}");
    assert!(report.notes.len() >= 4, "{:?}", report.notes);
}

/// If the manifest's edit for a flush is torn, the files of the flush are ignored, because the log has their content.
/// If the log is missing, the files are used.
#[test]
fn files_of_a_torn_edit_count_where_the_log_is_gone() {
    let (mem, expected, deleted) = database(true);
    let all = files(&*mem, Path::new("db"));
    let of_log = |path: &&PathBuf| path.to_string_lossy().contains("wal-");
    all.iter().filter(of_log).for_each(|path| mem.remove(path).unwrap());
    for path in all.iter().filter(|path| path.to_string_lossy().contains("MANIFEST")) {
        for cut in (0..read(&*mem, path).len() as u64).rev().step_by(29) {
            let damaged = Arc::new(mem.kill_clone());
            damaged.open(path, OpenMode::ReadWrite).unwrap().set_len(cut).unwrap();
            let what = format!("{} cut to {cut}, no log", path.display());
            let report = check(&damaged, &expected, &deleted, &what);
            let db = open(&env_of(&damaged), "new");
            let mut saved = Documents::new();
            for collection in &report.collections {
                let names = std::iter::once(&collection.name).chain(&collection.doubtful_in);
                names.for_each(|name| saved.extend(documents(&db, name.strip_prefix("main.").unwrap())));
            }
            assert!(saved == expected, "{what}: {report:?}");
        }
    }
}

#[test]
fn files_that_a_compaction_has_replaced_bring_nothing_back() {
    let (mem, expected, deleted) = database(true);
    let sorted: Vec<_> =
        contents(&*mem, "db").into_iter().filter(|(path, _)| path.to_string_lossy().ends_with(".sst")).collect();
    let db = open(&env_of(&mem), "db");
    db.compact().run().unwrap();
    db.close().unwrap();
    // Restore one replaced file of each partition, as after a crash before the files were removed. Only the oldest file
    // of each partition remains: the tombstones in the other files are lost. Later the manifests, which list the files,
    // are lost, too.
    for partition in ["p000", "p001"] {
        let gone =
            |(path, _): &&(PathBuf, Vec<u8>)| path.starts_with(format!("db/{partition}")) && !mem.exists(path).unwrap();
        let (path, bytes) = sorted.iter().filter(gone).min().expect("a file that was replaced");
        mem.open(path, OpenMode::CreateNew).unwrap().write_at(bytes, 0).unwrap();
    }
    let report = check(&Arc::new(mem.kill_clone()), &expected, &deleted, "with manifests");
    assert!(report.is_whole(), "{report:?}");
    for path in files(&*mem, Path::new("db")) {
        if path.to_string_lossy().contains("MANIFEST") {
            mem.remove(&path).unwrap();
        }
    }
    let report = check(&mem, &expected, &deleted, "without manifests");
    assert_eq!(report.documents(), expected.len() as u64, "{report:?}");
}

#[test]
fn a_file_replaced_two_compactions_ago_brings_nothing_back() {
    let (mem, _, deleted) = database(true);
    let db = open(&env_of(&mem), "db");
    let pets = db.collection("pets").with_durability(Durability::Sync);
    // An open scan prevents the removal of files.
    let mut reading = pets.scan().run().unwrap();
    assert!(reading.next().is_some());
    let old: Vec<_> = sorted_files(&*mem);
    db.compact().run().unwrap();
    let first: Vec<_> = sorted_files(&*mem).into_iter().filter(|path| !old.contains(path)).collect();
    for n in (0..60).step_by(2).filter(|n| !deleted.contains(n)) {
        pets.put(n, r#"{"again":true}"#).unwrap();
    }
    db.flush().unwrap();
    db.compact().run().unwrap();
    let expected = documents(&db, "pets");
    let killed = Arc::new(mem.kill_clone());
    drop(reading);
    // Only the oldest of the old files of each partition remains, without the tombstones. The outputs of the first
    // compaction and the manifests are lost.
    for partition in ["db/p000", "db/p001"] {
        let mut gone: Vec<_> = old.iter().filter(|path| path.starts_with(partition)).collect();
        gone.sort_unstable();
        let there = |path: &&PathBuf| path.starts_with(partition) && killed.exists(path).unwrap();
        let replaced = first.iter().filter(there);
        gone[1..].iter().copied().chain(replaced).for_each(|path| killed.remove(path).unwrap());
    }
    let manifests = files(&*killed, Path::new("db"));
    manifests.iter().filter(|p| p.to_string_lossy().contains("MANIFEST")).for_each(|p| killed.remove(p).unwrap());
    let report = check(&killed, &expected, &deleted, "without manifests");
    assert_eq!(report.documents(), expected.len() as u64, "{report:?}");
    assert!(report.lost_numbers.is_empty() && report.doubtful() > 0, "the old file was not there: {report:?}");
}

fn sorted_files(fs: &dyn Fs) -> Vec<PathBuf> {
    files(fs, Path::new("db")).into_iter().filter(|path| path.to_string_lossy().ends_with(".sst")).collect()
}

#[test]
fn a_gap_in_a_log_that_is_flushed_brings_nothing_back() {
    let (mem, expected, deleted) = database(false);
    let logs: Vec<_> = contents(&*mem, "db/wal");
    let db = open(&env_of(&mem), "db");
    db.compact().run().unwrap();
    db.close().unwrap();
    // Restore the segments, as after a crash before they were removed.
    for path in files(&*mem, Path::new("db/wal")) {
        mem.remove(&path).unwrap();
    }
    for (path, bytes) in &logs {
        mem.open(path, OpenMode::CreateNew).unwrap().write_at(bytes, 0).unwrap();
    }
    assert!(check(&Arc::new(mem.kill_clone()), &expected, &deleted, "a whole log").is_whole());
    let mut gaps = 0;
    for (path, bytes) in &logs {
        for at in (8192..bytes.len()).step_by(40).filter(|at| bytes[*at] != 0) {
            let damaged = Arc::new(mem.kill_clone());
            damaged.open(path, OpenMode::ReadWrite).unwrap().write_at(&[bytes[at] ^ 4], at as u64).unwrap();
            let report = check(&damaged, &expected, &deleted, &format!("{}, offset {at}", path.display()));
            assert_eq!(report.documents(), expected.len() as u64, "offset {at}: {report:?}");
            gaps += u32::from(report.notes.iter().any(|note| note.contains("is damaged at offset")));
        }
    }
    assert!(gaps > 20, "{gaps}");
}

#[test]
fn a_collection_whose_name_is_lost_is_saved_under_another() {
    let (mem, expected, deleted) = database(true);
    // The registry is in the first partition, in the file with the lowest keys.
    let mut found = None;
    for path in files(&*mem, Path::new("db/p000")).into_iter().filter(|p| p.to_string_lossy().ends_with(".sst")) {
        let bytes = read(&*mem, &path);
        if bytes.windows(5).any(|window| window == b"\x04pets") || found.is_none() {
            found = Some(path);
        }
    }
    mem.remove(&found.unwrap()).unwrap();
    let report = check(&mem, &expected, &deleted, "without the registry");
    assert!(!report.is_whole());
    assert!(report.collections[0].name.starts_with("recovered.tree_"), "{report:?}");
    assert!(report.documents() == 0 && report.doubtful() > 10, "{report:?}");
}

#[test]
fn a_collection_is_saved_whose_name_stood_in_a_file_that_nothing_names() {
    let mem = Arc::new(MemFs::new());
    let env = env_of(&mem);
    let db = open(&env, "db");
    let pets = db.collection("pets");
    for n in 0..60 {
        pets.put(n, format!(r#"{{"n":{n}}}"#)).unwrap();
        if n == 0 {
            db.flush().unwrap();
        }
    }
    db.flush().unwrap();
    let expected = documents(&db, "pets");
    db.close().unwrap();
    // The registry is in the first file of one of the two partitions.
    for partition in ["db/p000", "db/p001"] {
        let disk = Arc::new(mem.kill_clone());
        for path in files(&*disk, Path::new(partition)) {
            let name = path.file_name().unwrap().to_string_lossy();
            if name.starts_with("MANIFEST") || name == "00000001.sst" {
                disk.remove(&path).unwrap();
            }
        }
        let env = env_of(&disk);
        let report = repair::repair("db", "new").env(env.clone()).memory(8 << 20).run().unwrap();
        assert!(report.documents() + report.doubtful() >= expected.len() as u64 - 1, "{partition}: {report:?}");
    }
}

#[test]
fn what_is_no_database_is_refused() {
    let mem = Arc::new(MemFs::new());
    let env = env_of(&mem);
    mem.create_dir_all(Path::new("empty")).unwrap();
    let repair = |from: &str, to: &str| repair::repair(from, to).env(env.clone()).run().unwrap_err().kind();
    assert_eq!(repair("empty", "new"), ErrorKind::Open);
    assert_eq!(repair("nothing", "new"), ErrorKind::Open);
    let db = open(&env, "db");
    assert_eq!(repair("db", "new"), ErrorKind::InUse);
    db.close().unwrap();
    assert_eq!(repair("db", "db"), ErrorKind::Open);
    assert_eq!(repair("db", "db/new"), ErrorKind::Open);
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(true));
    let db = open(&env, "db");
    db.collection("pets").put(1, Map::default()).unwrap();
    db.close().unwrap();
    let error = repair::repair("db", "new").env(env.clone()).stop_when(stop).run().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Stopped);
    assert!(!mem.exists(Path::new("new")).unwrap() && !mem.exists(Path::new("new.incomplete")).unwrap());
}

#[test]
fn what_was_folded_is_whole_though_the_log_has_its_last_delta() {
    let mem = Arc::new(MemFs::new());
    let db = open(&env_of(&mem), "db");
    let pets = db.collection("pets").with_durability(Durability::Sync);
    pets.put(1, r#"{"n": 0}"#).unwrap();
    pets.update_blind(1, r#"{"$inc": {"n": 1}}"#).unwrap();
    db.flush().unwrap();
    // This write is only in the log.
    pets.update_blind(1, r#"{"$inc": {"n": 1}}"#).unwrap();
    let logs = contents(&*mem, "db/wal");
    db.compact().run().unwrap();
    let expected = documents(&db, "pets");
    assert_eq!(expected[&1].get("n").and_then(Value::as_i64), Some(2));
    db.close().unwrap();
    // Restore the segments, as after a crash before they were removed.
    files(&*mem, Path::new("db/wal")).iter().for_each(|path| mem.remove(path).unwrap());
    for (path, bytes) in &logs {
        mem.open(path, OpenMode::CreateNew).unwrap().write_at(bytes, 0).unwrap();
    }
    let report = check(&mem, &expected, &[], "folded");
    assert!(report.is_whole() && report.documents() == 1, "{report:?}");
}

/// Fills a database and flushes it; then writes other documents and flushes again, so that every tree gets its own
/// files. Returns a copy of the disk at each change of the last flush, as if the process had been killed there, and the
/// content of the database.
fn killed_in_a_flush() -> (Vec<Arc<MemFs>>, Documents) {
    let mem = Arc::new(MemFs::new());
    let disk = Arc::new(FaultFs::over(mem.clone()));
    let env = Env { fs: disk.clone(), ..env_of(&mem) };
    let tuning = alluvium_store::Tuning { small_tree_bytes: Some(1), ..alluvium_store::Tuning::default() };
    let sizes = Options { memory_bytes: 8 << 20, partitions: Some(2), background: false, ..Options::default() };
    let options = Options { compression: Compression::None, tuning, ..sizes };
    let db = Database::builder().env(env).options(options).open("db").unwrap();
    let put = |name: &str, n: i64, round: i64| {
        let map = format!(r#"{{"n":{n},"round":{round},"t":"{name} {n} in round {round}."}}"#);
        db.collection(name).with_durability(Durability::Sync).put(n, map).unwrap();
    };
    (0..40).for_each(|n| put("pets", n, 0));
    db.flush().unwrap();
    (0..40).for_each(|n| put("pets", n, 1));
    db.flush().unwrap();
    (100..140).for_each(|n| put("apes", n, 2));
    (200..240).for_each(|n| put("pets", n, 2));
    let expected = [documents(&db, "pets"), documents(&db, "apes")].into_iter().flatten().collect();
    let clones = Arc::new(alluvium_env::sync::Mutex::new(Vec::new()));
    let (taken, of) = (clones.clone(), mem.clone());
    disk.set_hook(Some(Arc::new(move |_op| taken.lock().push(Arc::new(of.kill_clone())))));
    db.flush().unwrap();
    disk.set_hook(None);
    let clones = std::mem::take(&mut *clones.lock());
    (clones, expected)
}

/// Damages the document of round 2 with this number in the log. Returns false if the log no longer has the document.
fn damage_log(mem: &MemFs, n: i64) -> bool {
    let text = format!("{n} in round 2.");
    for path in files(mem, Path::new("db/wal")) {
        let bytes = read(mem, &path);
        if let Some(at) = bytes.windows(text.len()).position(|window| window == text.as_bytes()) {
            mem.open(&path, OpenMode::ReadWrite).unwrap().write_at(b"x", at as u64).unwrap();
            return true;
        }
    }
    false
}

fn is_manifest(path: &Path) -> bool {
    path.file_name().unwrap().to_string_lossy().starts_with("MANIFEST")
}

#[test]
fn a_flush_that_was_cut_off_takes_nothing_from_the_log() {
    let (clones, expected) = killed_in_a_flush();
    assert!(clones.len() > 20);
    let mut damaged = 0;
    for (at, mem) in clones.iter().enumerate() {
        for lost_manifest in [false, true] {
            let mem = Arc::new(mem.kill_clone());
            if lost_manifest {
                let manifests = files(&*mem, Path::new("db")).into_iter().filter(|path| is_manifest(path));
                manifests.for_each(|path| mem.remove(&path).unwrap());
            }
            damaged += i32::from(damage_log(&mem, 120));
            let what = format!("killed at change {at} of a flush, manifest lost: {lost_manifest}");
            let report = check(&mem, &expected, &[], &what);
            let saved = report.documents() + report.doubtful();
            assert!(saved >= expected.len() as u64 - 1, "{what}: {saved} are saved\n{report:?}");
        }
    }
    assert!(damaged > 20, "{damaged} logs were damaged");
}

#[test]
fn a_listed_file_is_missed_though_others_are_not_listed() {
    let (clones, expected) = killed_in_a_flush();
    for (at, mem) in clones.iter().enumerate() {
        // The files of the documents that were written over older versions.
        let mut newer = files(&**mem, Path::new("db"));
        newer.retain(|path| path.extension().is_some_and(|ending| ending == "sst"));
        newer.retain(|path| read(&**mem, path).windows(10).any(|window| window == b"in round 1"));
        assert_eq!(newer.len(), 2);
        let mem = Arc::new(mem.kill_clone());
        newer.iter().for_each(|path| mem.remove(path).unwrap());
        let _also = damage_log(&mem, 120);
        let report = check(&mem, &expected, &[], &format!("killed at change {at} of a flush"));
        assert!(report.losses.iter().any(|loss| loss.what.contains("missing")), "{report:?}");
        assert!(report.documents() + report.doubtful() >= 119, "{report:?}");
    }
}

#[test]
fn the_index_of_documents_that_are_in_the_log_takes_none_of_them() {
    let mem = Arc::new(MemFs::new());
    let db = open(&env_of(&mem), "db");
    let pets = db.collection("pets").with_durability(Durability::Sync);
    for n in 0..60 {
        pets.put(n, format!(r#"{{"n":{n},"t":"{n} in round 2."}}"#)).unwrap();
    }
    pets.create_index(r#"{"n": 1}"#).run().unwrap();
    let expected = documents(&db, "pets");
    db.close().unwrap();
    for path in files(&*mem, Path::new("db")).into_iter().filter(|path| is_manifest(path)) {
        mem.remove(&path).unwrap();
    }
    assert!(damage_log(&mem, 30));
    let report = check(&mem, &expected, &[], "with an index, and without manifests");
    assert!(report.documents() + report.doubtful() >= 59, "{report:?}");
}

#[test]
fn large_documents_with_small_updates_are_copied() {
    let mem = Arc::new(MemFs::new());
    let db = open(&env_of(&mem), "db");
    let pets = db.collection("pets");
    let text = |n: i64| format!("{:x}", n.wrapping_mul(0x5e37_79b9_7f4a_7c15)).repeat(8_000);
    for n in 0..40 {
        pets.put(n, format!(r#"{{"n":{n},"t":"{}"}}"#, text(n))).unwrap();
    }
    db.flush().unwrap();
    pets.update_many("{}", r#"{"$set": {"n": 7}}"#).run().unwrap();
    let expected = documents(&db, "pets");
    db.close().unwrap();
    let report = check(&mem, &expected, &[], "large documents");
    assert!(report.is_whole() && report.documents() == 40, "{report:?}");
}
