//! A bit is flipped in any file, or a WAL cut at any byte: through the library there is a named
//! error or the right answer, never a panic and never a wrong one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use alluvium::{Compression, Database, Durability, ErrorKind};
use env::{Fs, OpenMode};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use store::Options;
use testkit::cuts::FileKind;
use testkit::{Id, State, World, map_of, read_state, seed};

/// A database on disk, and every state that it went through since its last flush.
struct Made {
    world: World,
    /// Oldest first; the last one is what it holds.
    states: Vec<State>,
}

fn options(compression: Compression) -> Options {
    Options {
        memory_bytes: 8 << 20,
        background: false,
        threads: Some(1),
        partitions: Some(2),
        durability: Durability::Sync,
        block_bytes: 1 << 10,
        segment_bytes: Some(16 << 10),
        compression,
        ..Options::default()
    }
}

/// Sorted files in two runs, and some batches in the WAL; closed or killed.
fn make(compression: Compression, closed: bool) -> Made {
    let world = World::new(7);
    let db = world.open(&options(compression)).unwrap();
    let mut state = State::default();
    for name in ["main.a", "other.b"] {
        db.create_collection(name).unwrap();
        state.create(name);
    }
    let mut states = Vec::new();
    for n in 0..46 {
        let name = if n % 3 == 0 { "other.b" } else { "main.a" };
        let id = n % 35;
        let map = map_of(&format!(r#"{{"_id":{id},"n":{n},"text":"{}"}}"#, "some text ".repeat(n % 4)));
        db.collection(name).put(id as i32, map.clone()).unwrap();
        state.put(name, Id::Number(2 * id as i64), map);
        if n == 20 || n == 40 {
            db.flush().unwrap();
            states.clear();
        }
        if n == 20 {
            db.compact().unwrap();
        }
        states.push(state.clone());
    }
    if closed {
        db.close().unwrap();
    }
    Made { world: world.killed(), states }
}

fn files(fs: &dyn Fs, dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs.list(dir).unwrap() {
        let path = dir.join(&entry.name);
        match entry.is_dir {
            true => files(fs, &path, found),
            false => found.push(path),
        }
    }
}

fn read(fs: &dyn Fs, path: &Path) -> Vec<u8> {
    let file = fs.open(path, OpenMode::Read).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

/// All files with all that is in them.
fn contents(fs: &dyn Fs) -> Vec<(PathBuf, Vec<u8>)> {
    let mut paths = Vec::new();
    files(fs, Path::new("db"), &mut paths);
    paths.into_iter().map(|path| (path.clone(), read(fs, &path))).collect()
}

fn named(error: &alluvium::Error, context: &str) {
    let kind = error.kind();
    assert!(matches!(kind, ErrorKind::Corruption | ErrorKind::Open), "{context}: {kind:?}: {error}");
    assert!(error.to_string().contains("db/"), "{context}: the error names no file: {error}");
}

/// What became of a damaged database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Refused,
    Harmless,
    /// A torn end of the WAL was cut off, and opening said so.
    Dropped,
    /// It opened; what is damaged is named when it is read, and by `verify`.
    Found,
}

/// Opens a damaged disk and reads all of it.
fn judge(made: &Made, disk: &World, options: &Options, context: &str) -> Outcome {
    let before = contents(&*disk.env.fs);
    let db: Database = match disk.open(options) {
        Err(error) => {
            named(&error, context);
            assert!(contents(&*disk.env.fs) == before, "{context}: {error}; and files have changed");
            return Outcome::Refused;
        }
        Ok(db) => db,
    };
    let expected = made.states.last().unwrap();
    let damage = db.verify().unwrap_or_else(|e| panic!("{context}: verify: {e}"));
    damage.iter().for_each(|error| named(error, context));
    match read_state(&db) {
        Ok(found) if found == *expected => {
            if db.report().dropped.is_some() {
                Outcome::Dropped
            } else if damage.is_empty() {
                Outcome::Harmless
            } else {
                Outcome::Found
            }
        }
        Ok(found) => {
            assert!(
                db.report().dropped.is_some() && made.states.contains(&found),
                "{context}: a wrong answer, and nothing said:\n{}",
                expected.difference(&found)
            );
            Outcome::Dropped
        }
        Err(error) => {
            named(&error, context);
            assert!(!damage.is_empty(), "{context}: verify overlooks what reading finds: {error}");
            by_key(&db, expected, context);
            Outcome::Found
        }
    }
}

/// What is not damaged can be read, key by key, and nothing is wrong.
fn by_key(db: &Database, expected: &State, context: &str) {
    for name in expected.collections.keys() {
        for id in 0..40 {
            match db.collection(name).get(id) {
                Ok(found) => {
                    let found = found.map(|d| d.to_map().unwrap_or_else(|e| panic!("{context}: {e}")));
                    let right = expected.get(name, &Id::Number(2 * i64::from(id)));
                    assert_eq!(found.as_ref(), right.map(|m| &**m), "{context}: {name} {id}");
                }
                Err(error) => named(&error, context),
            }
        }
    }
}

#[test]
fn a_flipped_bit_in_any_file() {
    let mut outcomes: BTreeMap<(FileKind, Outcome), u32> = BTreeMap::new();
    let first = seed::replayed().unwrap_or(1);
    let mut rng = fastrand::Rng::with_seed(first);
    println!("ALLUVIUM_SEED={first}");
    for (compression, closed) in [(Compression::None, true), (Compression::Zstd(3), false), (Compression::Lz4, false)] {
        let made = make(compression, closed);
        let mut all = Vec::new();
        files(&*made.world.env.fs, Path::new("db"), &mut all);
        for path in all {
            let bytes = read(&*made.world.env.fs, &path);
            let kind = FileKind::of(&path);
            for (at, byte) in bytes.iter().enumerate() {
                // Preallocated zeros are many, and alike.
                if *byte == 0 && rng.u8(0..40) > 0 {
                    continue;
                }
                let disk = made.world.killed();
                let flipped = byte ^ (1 << rng.u32(0..8));
                disk.env.fs.open(&path, OpenMode::ReadWrite).unwrap().write_at(&[flipped], at as u64).unwrap();
                let context = format!("{} with {flipped:02x} for {byte:02x} at {at}", path.display());
                let outcome = judge(&made, &disk, &options(compression), &context);
                if kind == FileKind::Sst {
                    assert_ne!(outcome, Outcome::Harmless, "{context}: nothing is said");
                }
                *outcomes.entry((kind, outcome)).or_default() += 1;
            }
        }
    }
    for (what, count) in &outcomes {
        println!("{what:?} {count}");
    }
    seed::tally("flips", outcomes.values().map(|count| u64::from(*count)).sum());
    for what in [
        (FileKind::Sst, Outcome::Found),
        (FileKind::Manifest, Outcome::Refused),
        (FileKind::Superblock, Outcome::Refused),
        (FileKind::Log, Outcome::Refused),
        (FileKind::Log, Outcome::Dropped),
    ] {
        assert!(outcomes.contains_key(&what), "never met: {what:?}");
    }
}

/// The last segment of the log, and where its groups end: behind are preallocated zeros.
fn last_segment(world: &World) -> (PathBuf, u64) {
    let mut all = Vec::new();
    files(&*world.env.fs, Path::new("db/wal"), &mut all);
    let path = all.pop().unwrap();
    let end = read(&*world.env.fs, &path).iter().rposition(|byte| *byte != 0).unwrap() as u64 + 1;
    (path, end)
}

fn cut(made: &Made, path: &Path, at: u64) -> World {
    let disk = made.world.killed();
    disk.env.fs.open(path, OpenMode::ReadWrite).unwrap().set_len(at).unwrap();
    disk
}

#[test]
fn a_wal_cut_at_every_byte_after_a_kill() {
    let made = make(Compression::None, false);
    let (path, end) = last_segment(&made.world);
    // The first group, the only one before the writes: its header, and the length of its body.
    let head: [u8; 4] = read(&*made.world.env.fs, &path)[8192..8196].try_into().unwrap();
    let note_end = 8192 + 48 + u64::from(u32::from_le_bytes(head));
    let mut lost = 0;
    for at in (0..end).rev() {
        let disk = cut(&made, &path, at);
        let db = match disk.open(&options(Compression::None)) {
            Ok(db) => db,
            Err(error) => {
                // Header and note were durable before the older segments were removed.
                assert!(at < note_end, "cut at {at} of {end}: {error}");
                named(&error, &format!("cut at {at}"));
                continue;
            }
        };
        let found = read_state(&db).unwrap();
        let position = made.states.iter().rposition(|state| *state == found);
        let position = position.unwrap_or_else(|| panic!("cut at {at}: no state that it ever had"));
        let now = made.states.len() - 1 - position;
        assert!(now >= lost, "cut at {at}: more is lost by a later cut");
        assert!(at + 1 < end || now == 1, "the cut of one byte costs one write");
        lost = now;
        assert!(db.verify().unwrap().is_empty() && !db.report().clean);
        db.collection("main.a").put("after", r#"{}"#).unwrap();
    }
    assert!(lost >= 3, "the cuts went through several records, not {lost}");
}

#[test]
fn a_wal_cut_at_every_byte_of_its_last_record_after_a_clean_close() {
    let made = make(Compression::None, true);
    let (path, end) = last_segment(&made.world);
    let mut skipped = 0;
    for at in (end - 80..end).rev() {
        let context = format!("cut at {at} of {end}");
        let disk = cut(&made, &path, at);
        let outcome = judge(&made, &disk, &options(Compression::None), &context);
        assert_eq!(outcome, Outcome::Refused, "{context}: the seal says that more was there");
        let willing = Options { accept_log_damage: true, ..options(Compression::None) };
        let db = disk.open(&willing).unwrap_or_else(|e| panic!("{context}: {e}"));
        let found = read_state(&db).unwrap();
        assert!(made.states.contains(&found) && found != *made.states.last().unwrap(), "{context}");
        assert!(!db.report().lost.is_empty(), "{context}: nothing is reported");
        skipped += 1;
    }
    assert_eq!(skipped, 80);
}
