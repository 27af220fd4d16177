//! Creating a database makes the names of its directory, and of those made above it, durable.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use env::Env;
use env::mem::{CrashStyle, MemFs};
use std::path::Path;
use std::sync::Arc;
use store::{Durability, Options, Store};

fn options() -> Options {
    Options { memory_bytes: 8 << 20, background: false, ..Options::default() }
}

fn survives(path: &str, prepare: impl FnOnce(&MemFs)) {
    let mem = Arc::new(MemFs::new());
    prepare(&mem);
    let env = Env { fs: mem.clone(), ..Env::in_memory(1) };
    let store = Store::open(env, Path::new(path), options()).unwrap();
    let tree = store.create_trees(&[b"t"]).unwrap()[0];
    let mut batch = store.batch();
    batch.put(tree, b"key", b"value");
    store.write(batch, Durability::Sync).unwrap();
    let env = Env { fs: Arc::new(mem.crash_clone(1, CrashStyle::AllLost)), ..Env::in_memory(2) };
    let store = Store::open(env, Path::new(path), Options { create_if_missing: false, ..options() }).unwrap();
    assert!(store.contains(tree, b"key").unwrap(), "{path}");
}

#[test]
fn of_a_single_name() {
    survives("db", |_| {});
}

#[test]
fn with_parents() {
    survives("/some/where/else/db", |_| {});
}

#[test]
fn that_somebody_else_has_made() {
    survives("db", |mem| env::Fs::create_dir_all(mem, Path::new("db")).unwrap());
}
