//! In addition to damaged blocks, `verify` finds files that no manifest names, changes of manifests, superblock and log
//! after they were read, and keys in a wrong partition.

use alluvium_env::{Env, OpenMode};
use alluvium_store::{Durability, Options, Store};
use std::path::{Path, PathBuf};

fn open(env: &Env) -> Store {
    let options = Options { memory_bytes: 8 << 20, partitions: Some(2), background: false, ..Options::default() };
    Store::open(env.clone(), Path::new("db"), options).unwrap()
}

fn filled(env: &Env) -> Store {
    let store = open(env);
    let (tree, many) = (store.create_trees(&[b"tree"]).unwrap()[0], store.create_multivalue_tree(b"many").unwrap());
    let write = |keys: std::ops::Range<u32>| {
        for n in keys {
            let mut batch = store.batch();
            batch.put(tree, &n.to_be_bytes(), b"some value");
            batch.put_value(many, &(n % 7).to_be_bytes(), &n.to_be_bytes());
            store.write(batch, Durability::Sync).unwrap();
        }
    };
    write(0..100);
    store.flush().unwrap();
    write(100..150);
    store
}

fn flip(env: &Env, path: &Path, at: u64) {
    let file = env.fs.open(path, OpenMode::ReadWrite).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_at(&[byte[0] ^ 1], at).unwrap();
}

fn find(env: &Env, dir: &str, part: &str) -> PathBuf {
    let names = env.fs.list(Path::new(dir)).unwrap();
    Path::new(dir).join(&names.iter().rev().find(|entry| entry.name.contains(part)).unwrap().name)
}

/// The damage found, as text. There must be one damaged place.
fn found(store: &Store) -> String {
    let damage = store.verify().unwrap();
    assert_eq!(damage.len(), 1, "{damage:?}");
    damage[0].to_string()
}

#[test]
fn bytes_that_changed_after_they_were_read() {
    let env = Env::in_memory(1);
    let store = filled(&env);
    assert!(store.verify().unwrap().is_empty());
    for (path, at, part) in [
        (PathBuf::from("db/ALLUVIUM"), 22, "ALLUVIUM"),
        (find(&env, "db/p001", "MANIFEST"), 60, "a version edit is"),
        (find(&env, "db/wal", ".log"), 8192 + 60, "checksum of a group"),
    ] {
        flip(&env, &path, at);
        let said = found(&store);
        assert!(said.contains(part) && said.contains(&path.display().to_string()), "{said}");
        flip(&env, &path, at);
    }
    env.fs.rename(Path::new("db/ALLUVIUM"), Path::new("db/away")).unwrap();
    assert!(found(&store).contains("superblock is missing"));
    env.fs.rename(Path::new("db/away"), Path::new("db/ALLUVIUM")).unwrap();
    assert!(store.verify().unwrap().is_empty());
}

#[test]
fn a_file_that_nothing_names() {
    let env = Env::in_memory(1);
    filled(&env).close().unwrap();
    let store = open(&env);
    let stray = Path::new("db/p001/00000000.sst");
    env.fs.open(stray, OpenMode::CreateNew).unwrap();
    let said = found(&store);
    assert!(said.contains("00000000.sst") && said.contains("manifest does not name this file"), "{said}");
    env.fs.remove(stray).unwrap();
    // Files that are created and removed concurrently are not reported.
    store.compact().unwrap();
    store.flush().unwrap();
    assert!(store.verify().unwrap().is_empty());
}

#[test]
fn keys_in_a_partition_that_is_not_theirs() {
    let env = Env::in_memory(1);
    let store = filled(&env);
    store.compact().unwrap();
    store.close().unwrap();
    let mut bytes = vec![0; 32];
    env.fs.open(Path::new("db/ALLUVIUM"), OpenMode::Read).unwrap().read_exact_at(&mut bytes, 0).unwrap();
    let id = u64::from_le_bytes(bytes[20..28].try_into().unwrap());
    // The second partition gets the files of the first. Each of these files is undamaged.
    let (from, to) = (Path::new("db/p000"), Path::new("db/p001"));
    let version = alluvium_lsm::image::read_manifest(&env, from, id, 0).unwrap().unwrap().version;
    for entry in env.fs.list(to).unwrap() {
        env.fs.remove(&to.join(entry.name)).unwrap();
    }
    for file in &version.added {
        let path = |dir| alluvium_lsm::image::sst_path(dir, file.meta.number);
        env.fs.hard_link(&path(from), &path(to)).unwrap();
    }
    alluvium_lsm::image::write_manifest(&env, to, id, 1, &version).unwrap();
    let store = open(&env);
    let damage: Vec<String> = store.verify().unwrap().iter().map(ToString::to_string).collect();
    assert!(damage.iter().all(|what| what.contains("p001") && what.contains("belongs to partition 0")), "{damage:?}");
    assert_eq!(damage.len(), version.added.len(), "{damage:?}");
}
