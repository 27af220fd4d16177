//! If a directory cannot be opened, the error gives the reason, and the directory is unchanged.

use alluvium_env::{Env, OpenMode};
use alluvium_store::{Durability, Error, Options, Store};
use std::path::Path;

fn options() -> Options {
    Options { memory_bytes: 8 << 20, ..Options::default() }
}

/// Creates a store of four partitions.
fn create(env: &Env, path: &str) {
    let store = Store::open(env.clone(), Path::new(path), Options { partitions: Some(4), ..options() }).unwrap();
    let tree = store.create_trees(&[b"t"]).unwrap()[0];
    let mut batch = store.batch();
    batch.put(tree, b"k", b"v");
    store.write(batch, Durability::Sync).unwrap();
    store.close().unwrap();
}

fn error(env: &Env, path: &str, options: Options) -> Error {
    Store::open(env.clone(), Path::new(path), options).err().expect("it must not open")
}

#[test]
fn a_second_opener_gets_in_use() {
    let env = Env::in_memory(1);
    let first = Store::open(env.clone(), Path::new("db"), options()).unwrap();
    assert!(matches!(error(&env, "db", options()), Error::InUseHere(_)));
    drop(first);
    Store::open(env, Path::new("db"), options()).unwrap();
}

#[test]
fn another_number_of_partitions_is_refused() {
    let env = Env::in_memory(2);
    create(&env, "db");
    let two = Options { partitions: Some(2), ..options() };
    assert!(matches!(error(&env, "db", two), Error::PartitionCount { found: 4, requested: 2, .. }));
    let store = Store::open(env, Path::new("db"), options()).unwrap();
    assert_eq!(store.partitions(), 4);
}

#[test]
fn a_directory_of_something_else_is_left_alone() {
    let env = Env::in_memory(3);
    env.fs.create_dir_all(Path::new("photos")).unwrap();
    env.fs.open(Path::new("photos/cat.jpg"), OpenMode::CreateNew).unwrap();
    assert!(matches!(error(&env, "photos", options()), Error::ForeignDirectory(_)));
    assert_eq!(env.fs.list(Path::new("photos")).unwrap().len(), 1);
    assert!(matches!(error(&env, "photos/cat.jpg", options()), Error::NotADatabase(_)));
    let existing = Options { create_if_missing: false, ..options() };
    assert!(matches!(error(&env, "nothing", existing), Error::NotADatabase(_)));
    assert!(!env.fs.exists(Path::new("nothing")).unwrap());
}

#[test]
fn a_missing_part_is_damage_and_not_an_empty_database() {
    for (missing, left) in [("ALLUVIUM", None), ("p001", None), ("p001", Some("MANIFEST-9.tmp"))] {
        let env = Env::in_memory(4);
        create(&env, "db");
        let path = Path::new("db").join(missing);
        if missing == "ALLUVIUM" {
            env.fs.remove(&path).unwrap();
        } else {
            for entry in env.fs.list(&path).unwrap() {
                env.fs.remove(&path.join(entry.name)).unwrap();
            }
        }
        if let Some(name) = left {
            // An incomplete manifest does not count as a manifest.
            env.fs.open(&path.join(name), OpenMode::CreateNew).unwrap();
        }
        let error = error(&env, "db", options());
        assert!(error.is_corruption() && error.to_string().contains(missing), "{error}");
        // This also holds for a caller that does not want to create a database.
        let existing = Options { create_if_missing: false, ..options() };
        let again = self::error(&env, "db", existing);
        assert!(again.is_corruption() && again.to_string().contains(missing), "{again}");
    }
}

#[test]
fn options_out_of_range_are_named() {
    let env = Env::in_memory(5);
    let bad = [
        Options { partitions: Some(0), ..options() },
        Options { partitions: Some(257), ..options() },
        Options { memory_bytes: 1 << 20, ..options() },
        Options { threads: Some(0), ..options() },
        Options { block_bytes: 100, ..options() },
        Options { compression: alluvium_store::Compression::Zstd { level: 20 }, ..options() },
    ];
    for options in bad {
        assert!(matches!(error(&env, "db", options), Error::InvalidOption { .. }));
    }
    assert!(!env.fs.exists(Path::new("db")).unwrap());
}

#[test]
fn a_batch_beyond_the_budget_is_refused_by_name_and_changes_nothing() {
    let env = Env::in_memory(6);
    let store = Store::open(env, Path::new("db"), options()).unwrap();
    let tree = store.create_trees(&[b"t"]).unwrap()[0];
    let mut batch = store.batch();
    batch.put(tree, b"small", b"x");
    batch.put(tree, b"large", &vec![0; 36 << 20]);
    assert!(matches!(store.write(batch, Durability::Sync), Err(Error::BatchTooLarge { .. })));
    assert!(!store.contains(tree, b"small").unwrap());
}

#[test]
fn a_dropped_tree_takes_no_more_writes_and_its_space_comes_back() {
    let env = Env::in_memory(7);
    let store = Store::open(env, Path::new("db"), options()).unwrap();
    let trees = store.create_trees(&[b"keep", b"drop"]).unwrap();
    for tree in &trees {
        for n in 0..2000u32 {
            let mut batch = store.batch();
            batch.put(*tree, &n.to_be_bytes(), &n.wrapping_mul(2_654_435_761).to_le_bytes().repeat(50));
            store.write(batch, Durability::Bulk).unwrap();
        }
    }
    store.wait_for_compaction().unwrap();
    let before: u64 = store.stats().partitions.iter().map(|p| p.entries).sum();
    store.drop_trees(&trees[1..]).unwrap();
    let mut batch = store.batch();
    batch.put(trees[1], b"k", b"v");
    assert!(matches!(store.write(batch, Durability::Sync), Err(Error::NoSuchTree(_))));
    store.compact().unwrap();
    let after: u64 = store.stats().partitions.iter().map(|p| p.entries).sum();
    assert!(after + 2000 <= before, "{after} of {before} entries are left");
    let mut value = Vec::new();
    assert!(store.get(trees[0], &7u32.to_be_bytes(), &mut value).unwrap());
}
