//! A database always has a log. If there is no complete segment, acknowledged writes are lost. Then the opening reports
//! the loss instead of using the files alone.

use alluvium_env::{Env, Error as Disk, OpenMode};
use alluvium_store::{Durability, Error, Options, Store};
use std::path::Path;

fn options() -> Options {
    Options { memory_bytes: 8 << 20, background: false, ..Options::default() }
}

fn refused(damage: impl Fn(&Env, &Path)) {
    let env = Env::in_memory(1);
    let store = Store::open(env.clone(), Path::new("db"), options()).unwrap();
    let tree = store.create_trees(&[b"t"]).unwrap()[0];
    let mut batch = store.batch();
    batch.put(tree, b"key", b"value");
    store.write(batch, Durability::Sync).unwrap();
    store.close().unwrap();
    drop(store);
    let dir = Path::new("db/wal");
    for entry in env.fs.list(dir).unwrap() {
        damage(&env, &dir.join(entry.name));
    }
    let error = Store::open(env.clone(), Path::new("db"), options()).err().unwrap();
    assert!(matches!(&error, Error::Storage(Disk::Corrupt { path, .. }) if path.starts_with(dir)), "{error}");
    let willing = Options { accept_log_damage: true, ..options() };
    let store = Store::open(env.clone(), Path::new("db"), willing).unwrap();
    assert!(!store.report().clean && !store.report().lost.is_empty());
    store.discard_damage().unwrap();
    drop(store);
    let store = Store::open(env, Path::new("db"), options()).unwrap();
    assert!(store.report().lost.is_empty());
}

#[test]
fn removed() {
    refused(|env, segment| env.fs.remove(segment).unwrap());
}

#[test]
fn cut_to_nothing() {
    refused(|env, segment| env.fs.open(segment, OpenMode::ReadWrite).unwrap().set_len(0).unwrap());
}

#[test]
fn cut_within_its_header() {
    refused(|env, segment| env.fs.open(segment, OpenMode::ReadWrite).unwrap().set_len(50).unwrap());
}
