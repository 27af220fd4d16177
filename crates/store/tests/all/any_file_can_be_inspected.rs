//! Every kind of file is inspected: whole, with any byte changed, truncated anywhere, or filled with random bytes. The
//! inspection always ends, and reports damage or a harmless result.

use alluvium_env::{Env, OpenMode};
use alluvium_store::{CheckpointOptions, Durability, FactValue, FileKind, InspectOptions, Item, Options, Store};
use std::path::{Path, PathBuf};

const ALL: InspectOptions = InspectOptions { entries: true };

/// Makes a closed database with a checkpoint of it. Returns the path of a file of each kind.
fn files(env: &Env) -> Vec<(FileKind, PathBuf)> {
    let options = Options { memory_bytes: 8 << 20, partitions: Some(1), background: false, ..Options::default() };
    let store = Store::open(env.clone(), Path::new("db"), options).unwrap();
    let tree = store.create_trees(&[b"tree"]).unwrap()[0];
    let write = |keys: std::ops::Range<u32>| {
        for n in keys {
            let mut batch = store.batch();
            batch.put(tree, &n.to_be_bytes(), b"some value");
            batch.delete(tree, &(n + 1000).to_be_bytes());
            batch.delta(tree, &(n + 2000).to_be_bytes(), b"delta");
            store.write(batch, Durability::Sync).unwrap();
        }
    };
    write(0..10);
    store.flush().unwrap();
    write(10..15);
    store.checkpoint(Path::new("checkpoint"), &CheckpointOptions::default()).unwrap();
    store.close().unwrap();
    let named = |dir: &str, start: &str, end: &str| {
        let names = env.fs.list(Path::new(dir)).unwrap();
        let found = names.iter().rev().find(|e| e.name.starts_with(start) && e.name.ends_with(end));
        Path::new(dir).join(&found.unwrap().name)
    };
    vec![
        (FileKind::Sorted, named("db/p000", "", ".sst")),
        (FileKind::Segment, named("checkpoint/wal", "wal-", ".log")),
        (FileKind::Manifest, named("db/p000", "MANIFEST-", "")),
        (FileKind::Superblock, PathBuf::from("db/ALLUVIUM")),
        (FileKind::Checkpoint, PathBuf::from("checkpoint/CHECKPOINT")),
    ]
}

fn inspect(env: &Env, path: &Path) -> alluvium_store::Result<(FileKind, Vec<Item>)> {
    let mut items = Vec::new();
    let kind = alluvium_store::inspect(env, path, ALL, &mut |item| {
        items.push(item);
        Ok(())
    })?;
    Ok((kind, items))
}

fn damaged(items: &[Item]) -> bool {
    items.iter().any(|item| matches!(item, Item::Damage(..)))
}

fn rows(items: &[Item], list: &str) -> usize {
    items.iter().filter(|item| matches!(item, Item::Row(found, _) if *found == list)).count()
}

/// The offsets at which the edits of a manifest begin, except the first edit.
fn edits(items: &[Item]) -> Vec<u64> {
    let offset = |item: &Item| match item {
        Item::Row("edit", facts) => facts.iter().find_map(|fact| match fact {
            ("offset", FactValue::Number(at)) => Some(*at),
            _ => None,
        }),
        _ => None,
    };
    items.iter().filter_map(offset).skip(1).collect()
}

fn read(env: &Env, path: &Path) -> Vec<u8> {
    let file = env.fs.open(path, OpenMode::Read).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

fn replace(env: &Env, path: &Path, bytes: &[u8]) {
    env.fs.remove(path).unwrap();
    env.fs.open(path, OpenMode::CreateNew).unwrap().write_at(bytes, 0).unwrap();
}

#[test]
fn whole_files() {
    let env = Env::in_memory(2);
    for (kind, path) in files(&env) {
        let (found, items) = inspect(&env, &path).unwrap();
        assert_eq!(found, kind);
        assert!(!damaged(&items), "{items:?}");
        match kind {
            FileKind::Sorted => {
                assert!(rows(&items, "block") > 3);
                // The two keys of the registry, and ten others. The remaining keys are not needed.
                assert_eq!(rows(&items, "entry"), 12);
            }
            // Five batches, the note of the checkpoint, and the rest of the note of the flush.
            FileKind::Segment => assert_eq!((rows(&items, "record"), rows(&items, "operation")), (7, 15)),
            FileKind::Manifest => assert_eq!((rows(&items, "edit"), rows(&items, "file")), (2, 1)),
            FileKind::Superblock => assert!(items.contains(&Item::Fact(("partitions", FactValue::Number(1))))),
            FileKind::Checkpoint => assert_eq!(rows(&items, "file"), 3),
            FileKind::Index | FileKind::ReadOnly => panic!("no file of a database"),
        }
        // A file with another name is recognised by its content.
        let copy = Path::new("copy");
        env.fs.open(copy, OpenMode::CreateNew).unwrap().write_at(&read(&env, &path), 0).unwrap();
        let (found, again) = inspect(&env, copy).unwrap();
        assert_eq!((found, again.len()), (kind, items.len()));
        assert!(!damaged(&again), "{again:?}");
        env.fs.remove(copy).unwrap();
    }
}

#[test]
fn with_every_byte_changed() {
    let env = Env::in_memory(2);
    for (kind, path) in files(&env) {
        let (_, whole) = inspect(&env, &path).unwrap();
        let bytes = read(&env, &path);
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x40;
            replace(&env, &path, &changed);
            match inspect(&env, &path) {
                // A byte that is never read, or a letter of a checksum in the other case.
                Ok((_, items)) if items == whole => {
                    let idle = matches!(kind, FileKind::Segment) && at < 8192 || kind == FileKind::Checkpoint;
                    assert!(idle, "{kind:?}, offset {at}: nothing is noticed");
                }
                Ok((_, items)) => {
                    // A torn tail is not damage, except in a sealed file.
                    let torn = kind == FileKind::Segment && (4096..4160).contains(&at);
                    assert!(damaged(&items) || torn, "{kind:?}, offset {at}: {items:?}");
                }
                Err(error) => assert!(error.to_string().contains("newer build"), "{kind:?}, offset {at}: {error}"),
            }
        }
    }
}

#[test]
fn cut_at_every_length_and_random() {
    let env = Env::in_memory(2);
    let mut rng = fastrand::Rng::with_seed(7);
    for (kind, path) in files(&env) {
        let bytes = read(&env, &path);
        let end = bytes.iter().rposition(|byte| *byte != 0).unwrap();
        let (_, whole) = inspect(&env, &path).unwrap();
        for len in (0..=end).rev() {
            replace(&env, &path, &bytes[..len]);
            let (_, items) = inspect(&env, &path).unwrap();
            // If the cut is between two edits, the file is an earlier manifest. Only the log shows that more edits
            // existed.
            let earlier = kind == FileKind::Manifest && edits(&whole).contains(&(len as u64));
            assert_eq!(damaged(&items), !earlier, "{kind:?}, {len} bytes: {items:?}");
        }
        for len in [0, 1, 40, 112, 128, 5000, 30_000] {
            let random: Vec<u8> = std::iter::repeat_with(|| rng.u8(..)).take(len).collect();
            replace(&env, &path, &random);
            assert!(damaged(&inspect(&env, &path).unwrap().1), "{kind:?}, {len} random bytes");
        }
    }
    env.fs.open(Path::new("other"), OpenMode::CreateNew).unwrap().write_at(b"something else", 0).unwrap();
    let error = inspect(&env, Path::new("other")).unwrap_err();
    assert!(matches!(error, alluvium_store::Error::NotOfADatabase(_)), "{error}");
}
