//! Salvage reads a directory without permission to write: it opens the lock file for reading only, and also works
//! without a lock file.

use crate::common::{Ruled, Rules};
use alluvium_env::Env;
use alluvium_store::{Durability, Error, Options, Salvage, Store};
use std::path::Path;
use std::sync::Arc;

#[test]
fn what_may_only_be_read_is_salvaged() {
    let writable = Env::in_memory(1);
    let options = || Options { partitions: Some(1), background: false, create_if_missing: false, ..Options::default() };
    let store =
        Store::open(writable.clone(), Path::new("db"), Options { create_if_missing: true, ..options() }).unwrap();
    let tree = store.create_trees(&[b"tree"]).unwrap()[0];
    let mut batch = store.batch();
    batch.put(tree, b"key", b"value");
    store.write(batch, Durability::Sync).unwrap();
    let rules = Rules { read_only: true, ..Rules::default() };
    let env = Env { fs: Arc::new(Ruled { inner: writable.fs.clone(), rules }), ..writable.clone() };
    // A store that is open for writing is not salvaged.
    assert!(matches!(Salvage::read(&env, Path::new("db")), Err(Error::InUse(_) | Error::InUseHere(_))));
    store.close().unwrap();
    let error = Store::open(env.clone(), Path::new("db"), options()).map(drop).unwrap_err();
    assert!(error.to_string().contains("db/LOCK"), "{error}");
    for removed in ["", "db/LOCK"] {
        if !removed.is_empty() {
            writable.fs.remove(Path::new(removed)).unwrap();
        }
        let salvage = Salvage::read(&env, Path::new("db")).unwrap();
        assert_eq!((&salvage.losses[..], &salvage.lost_numbers[..], &salvage.notes[..]), (&[][..], &[][..], &[][..]));
        let mut found = Vec::new();
        let visit = &mut |key: &alluvium_store::SalvagedKey<'_>| {
            found.push(key.key.to_vec());
            Ok(())
        };
        salvage.scan(tree.0, visit).unwrap();
        assert_eq!(found, [b"key"]);
    }
}
