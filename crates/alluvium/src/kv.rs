//! Keys and values without documents: the underlying store, and read-only stores.
//!
//! A [`Store`] holds *trees* of byte keys and byte values, ordered within their partitions:
//!
//! ```
//! use alluvium::Durability;
//! use alluvium::env::Env;
//! use alluvium::kv::{Bounds, Options, Store};
//!
//! # let dir = tempfile::tempdir().expect("a directory");
//! let store = Store::open(Env::os(), &dir.path().join("pairs"), Options::default())?;
//! let tree = store.create_trees(&[b"visits"])?[0];
//! let mut batch = store.batch();
//! batch.put(tree, b"rex", b"3");
//! batch.put(tree, b"tom", b"5");
//! batch.delete(tree, b"ada");
//! store.write(batch, Durability::Periodic)?; // All, or none.
//!
//! let mut value = Vec::new();
//! assert!(store.get(tree, b"rex", &mut value)? && value == b"3");
//! let snapshot = store.snapshot();
//! let mut scan = store.scan(tree, Bounds::all(), Some(&snapshot))?;
//! while let Some((key, value)) = scan.next()? {
//!     println!("{} has {}", key.escape_ascii(), value.escape_ascii());
//! }
//! # drop((scan, snapshot));
//! store.close()?;
//! # alluvium::kv::Result::Ok(())
//! ```
//!
//! # Many values under a key
//!
//! A [`Multivalue`] holds a set of values under each key. Adding a value does not read the set.
//!
//! ```
//! use alluvium::Durability;
//! use alluvium::kv::{Options, Store, ValuesOf};
//!
//! # let dir = tempfile::tempdir().expect("a directory");
//! let store = Store::open(alluvium::env::Env::os(), &dir.path().join("tags"), Options::default())?;
//! let tree = store.create_multivalue_tree(b"tags")?;
//! let tags = store.multivalue(tree)?;
//! tags.put(b"rex", b"dog", Durability::Periodic)?;
//! tags.put(b"rex", b"brown", Durability::Periodic)?;
//! tags.delete(b"rex", b"dog", Durability::Periodic)?;
//! let mut values = tags.values(ValuesOf::key(b"rex"))?;
//! assert_eq!(values.next()?, Some(&b"brown"[..]));
//! assert_eq!(values.next()?, None);
//! # alluvium::kv::Result::Ok(())
//! ```
//!
//! # Transactions
//!
//! A transaction reads one state under its own writes, and its writes become visible together. Of two that write the
//! same key, the first wins; [`Store::transaction`] repeats the other one.
//!
//! ```
//! use alluvium::Durability;
//! use alluvium::kv::{Options, Store};
//!
//! # let dir = tempfile::tempdir().expect("a directory");
//! let store = Store::open(alluvium::env::Env::os(), &dir.path().join("money"), Options::default())?;
//! let tree = store.create_trees(&[b"money"])?[0];
//! store.transaction(Durability::Sync, |transaction| {
//!     let mut cents = Vec::new();
//!     let had = if transaction.get(tree, b"ada", &mut cents)? { cents[0] } else { 10 };
//!     transaction.put(tree, b"ada", &[had - 1])?;
//!     transaction.put(tree, b"bob", &[1])
//! })?;
//! assert!(store.contains(tree, b"bob")?);
//! # alluvium::kv::Result::Ok(())
//! ```
//!
//! # Read-only stores
//!
//! A read-only store is built once, from pairs in any order, and never changes afterwards. Any
//! number of processes may open it.
//!
//! ```
//! use alluvium::kv::read_only::{BuildOptions, ReadOnly};
//!
//! # let dir = tempfile::tempdir().expect("a directory");
//! # let path = dir.path().join("capitals");
//! let mut build = ReadOnly::build(&path, BuildOptions::default())?;
//! build.add(b"peru", b"lima")?;
//! build.add(b"chile", b"santiago")?;
//! build.finish(Vec::new())?;
//!
//! let capitals = ReadOnly::open(&path)?;
//! let mut value = Vec::new();
//! assert!(capitals.get(b"peru", &mut value)? && value == b"lima");
//! # alluvium::kv::read_only::Result::Ok(())
//! ```

pub use alluvium_store::{
    Bounds, CheckpointOptions, CheckpointReport, Error, Keys, LockGuard, LockMode, Multivalue, Options, Result, Scan,
    Seq, Snapshot, Store, Transaction, TreeId, Tuning, Values, ValuesOf, WriteBatch, WriteSet, typed,
};

/// Read-only stores of keys and values.
pub mod read_only {
    pub use alluvium_readonly::{
        Bounds, Build, BuildOptions, BuildReport, Error, IndexStats, OnDuplicate, ReadOnly, ReadOnlyOptions, Result,
        Scan, Stats, prefixed,
    };
}
