//! The creation of a database makes several names durable: the name of its directory, of the created parent
//! directories, and of its files. This holds even if an earlier attempt has failed.

use alluvium_env::Env;
use alluvium_env::fault::{Fault, FaultFs, OpKind};
use alluvium_env::mem::{CrashStyle, MemFs};
use alluvium_store::{Durability, Options, Store};
use std::path::Path;
use std::sync::Arc;

fn options() -> Options {
    Options { memory_bytes: 8 << 20, background: false, ..Options::default() }
}

fn survives(path: &str, prepare: impl FnOnce(&Arc<MemFs>)) {
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
fn that_is_not_ours() {
    survives("db", |mem| alluvium_env::Fs::create_dir_all(&**mem, Path::new("db")).unwrap());
}

/// Creates databases on a disk. In each round another sync of a directory fails and loses the new names in it.
#[test]
fn a_creation_whose_last_sync_failed() {
    let mut failed = 0;
    for nth in 1.. {
        let mut struck = false;
        survives("db", |mem| {
            let faults = Arc::new(FaultFs::over(mem.clone()));
            let env = Env { fs: faults.clone(), ..Env::in_memory(1) };
            faults.inject(Fault::nth(nth).of(OpKind::SyncDir).losing_pages());
            failed += u64::from(Store::open(env, Path::new("db"), options()).is_err());
            struck = faults.fired() > 0;
        });
        if !struck {
            break;
        }
        assert!(nth == failed, "the failed sync was not reported");
    }
    assert!(failed > 4, "a creation syncs directories {failed} times");
}
