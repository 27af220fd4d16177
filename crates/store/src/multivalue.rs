//! Many sorted values under one key.
//!
//! All values of a key are in one partition, in order. Therefore a stream of values reads only that partition, and
//! holds at most a block of it in memory.

use crate::error::{Error, Result};
use crate::keys;
use crate::options::Durability;
use crate::scan::Scan;
use crate::store::Store;
use crate::trees::TreeId;
use crate::visibility::Snapshot;
use alluvium_codec::bounds::Bounds;
use alluvium_codec::entry::Seq;
use std::ops::Bound;

/// The keys and values of a multivalue tree; created by [`Store::multivalue`].
#[derive(Clone, Copy)]
pub struct Multivalue<'a> {
    store: &'a Store,
    tree: TreeId,
}

/// A selection of the values of a key: their bounds, the direction, and the snapshot or the latest state.
#[derive(Debug, Clone)]
pub struct ValuesOf<'a> {
    key: &'a [u8],
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    reverse: bool,
    snapshot: Option<Snapshot>,
}

impl<'a> ValuesOf<'a> {
    /// All values under `key`, in ascending order, in the latest visible state.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store, ValuesOf};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let tree = store.create_multivalue_tree(b"tags")?;
    /// let tags = store.multivalue(tree)?;
    /// tags.put(b"ada", b"math", Durability::Periodic)?;
    /// let mut values = tags.values(ValuesOf::key(b"ada"))?;
    /// assert_eq!(values.next()?, Some(&b"math"[..]));
    /// assert_eq!(values.next()?, None);
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn key(key: &'a [u8]) -> Self {
        Self { key, lower: Bound::Unbounded, upper: Bound::Unbounded, reverse: false, snapshot: None }
    }

    /// Restricts the selection to values at or above this one.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store, ValuesOf};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let tree = store.create_multivalue_tree(b"tags")?;
    /// let tags = store.multivalue(tree)?;
    /// for value in [b"1", b"2", b"3"] {
    ///     tags.put(b"ada", value, Durability::Periodic)?;
    /// }
    /// let mut values = tags.values(ValuesOf::key(b"ada").from(b"2"))?;
    /// assert_eq!(values.next()?, Some(&b"2"[..]));
    /// # alluvium_store::Result::Ok(())
    /// ```
    #[must_use]
    pub fn from(mut self, value: &[u8]) -> Self {
        self.lower = Bound::Included(value.to_vec());
        self
    }

    /// Restricts the selection to values below this one.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store, ValuesOf};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let tree = store.create_multivalue_tree(b"tags")?;
    /// let tags = store.multivalue(tree)?;
    /// for value in [b"1", b"2", b"3"] {
    ///     tags.put(b"ada", value, Durability::Periodic)?;
    /// }
    /// let mut values = tags.values(ValuesOf::key(b"ada").below(b"2"))?;
    /// assert_eq!(values.next()?, Some(&b"1"[..]));
    /// assert_eq!(values.next()?, None);
    /// # alluvium_store::Result::Ok(())
    /// ```
    #[must_use]
    pub fn below(mut self, value: &[u8]) -> Self {
        self.upper = Bound::Excluded(value.to_vec());
        self
    }

    /// Reverses the order.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store, ValuesOf};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let tree = store.create_multivalue_tree(b"tags")?;
    /// let tags = store.multivalue(tree)?;
    /// for value in [b"1", b"2", b"3"] {
    ///     tags.put(b"ada", value, Durability::Periodic)?;
    /// }
    /// let mut values = tags.values(ValuesOf::key(b"ada").reverse())?;
    /// assert_eq!(values.next()?, Some(&b"3"[..]));
    /// # alluvium_store::Result::Ok(())
    /// ```
    #[must_use]
    pub fn reverse(mut self) -> Self {
        self.reverse = true;
        self
    }

    /// Reads at this snapshot.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store, ValuesOf};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let tree = store.create_multivalue_tree(b"tags")?;
    /// let tags = store.multivalue(tree)?;
    /// tags.put(b"ada", b"math", Durability::Periodic)?;
    /// let snapshot = store.snapshot();
    /// tags.delete(b"ada", b"math", Durability::Periodic)?;
    /// let mut values = tags.values(ValuesOf::key(b"ada").at(&snapshot))?;
    /// assert_eq!(values.next()?, Some(&b"math"[..]));
    /// # alluvium_store::Result::Ok(())
    /// ```
    #[must_use]
    pub fn at(mut self, snapshot: &Snapshot) -> Self {
        self.snapshot = Some(snapshot.clone());
        self
    }

    fn bounds(&self) -> Bounds {
        let keys::ValueRange { from: prefix, to: end, .. } = keys::of_values(self.key);
        let with = |value: &[u8]| [prefix.as_slice(), value].concat();
        let lower = match &self.lower {
            Bound::Included(value) | Bound::Excluded(value) => with(value),
            Bound::Unbounded => prefix.clone(),
        };
        let upper = match &self.upper {
            Bound::Included(value) | Bound::Excluded(value) => with(value),
            Bound::Unbounded => end,
        };
        Bounds { lower: Bound::Included(lower), upper: Bound::Excluded(upper), reverse: self.reverse }
    }
}

impl Store {
    /// The keys and values of a tree made by [`Store::create_multivalue_tree`].
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store, ValuesOf};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// let by_owner = store.create_multivalue_tree(b"pets by owner")?;
    /// let pets = store.multivalue(by_owner)?;
    /// pets.put(b"ada", b"rex", Durability::Periodic)?;
    /// assert_eq!(pets.values(ValuesOf::key(b"ada"))?.next()?, Some(&b"rex"[..]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::NoSuchTree`] if the tree does not exist or is not a multivalue tree.
    pub fn multivalue(&self, tree: TreeId) -> Result<Multivalue<'_>> {
        match self.trees.is_multivalue(tree) {
            true => Ok(Multivalue { store: self, tree }),
            false => Err(Error::NoSuchTree(tree.0)),
        }
    }
}

impl Multivalue<'_> {
    /// Adds a value to the values under `key`. Reads nothing. Adding the same value again has no effect.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let tree = store.create_multivalue_tree(b"tags")?;
    /// let tags = store.multivalue(tree)?;
    /// tags.put(b"ada", b"math", Durability::Periodic)?;
    /// tags.put(b"ada", b"poetry", Durability::Periodic)?;
    /// assert!(tags.contains(b"ada", b"math")?);
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Store::write`].
    pub fn put(&self, key: &[u8], value: &[u8], durability: Durability) -> Result<Seq> {
        let mut batch = self.store.batch();
        batch.put_value(self.tree, key, value);
        self.store.write(batch, durability)
    }

    /// Removes a value from the values under `key`, whether it exists or not. Reads nothing.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let tree = store.create_multivalue_tree(b"tags")?;
    /// let tags = store.multivalue(tree)?;
    /// tags.put(b"ada", b"math", Durability::Periodic)?;
    /// tags.delete(b"ada", b"math", Durability::Periodic)?;
    /// assert!(!tags.contains(b"ada", b"math")?);
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Store::write`].
    pub fn delete(&self, key: &[u8], value: &[u8], durability: Durability) -> Result<Seq> {
        let mut batch = self.store.batch();
        batch.delete_value(self.tree, key, value);
        self.store.write(batch, durability)
    }

    /// True if `value` is one of the values under `key`.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let tree = store.create_multivalue_tree(b"tags")?;
    /// let tags = store.multivalue(tree)?;
    /// tags.put(b"ada", b"math", Durability::Periodic)?;
    /// assert!(tags.contains(b"ada", b"math")?);
    /// assert!(!tags.contains(b"ada", b"mathematics")?);
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Store::scan`].
    pub fn contains(&self, key: &[u8], value: &[u8]) -> Result<bool> {
        let mut values = self.values(ValuesOf::key(key).from(value))?;
        Ok(values.next()? == Some(value))
    }

    /// The values under a key, as a stream. Streams are independent of each other. Each reads the snapshot that was
    /// current when it began.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store, ValuesOf};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let tree = store.create_multivalue_tree(b"tags")?;
    /// let tags = store.multivalue(tree)?;
    /// for tag in [&b"poetry"[..], b"math", b"engines"] {
    ///     tags.put(b"ada", tag, Durability::Periodic)?;
    /// }
    /// let (mut up, mut down) = (tags.values(ValuesOf::key(b"ada"))?, tags.values(ValuesOf::key(b"ada").reverse())?);
    /// assert_eq!(up.next()?, Some(&b"engines"[..]));
    /// assert_eq!(down.next()?, Some(&b"poetry"[..]));
    /// assert_eq!(up.next()?, Some(&b"math"[..]));
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Store::scan`].
    pub fn values(&self, selection: ValuesOf<'_>) -> Result<Values> {
        let store = self.store;
        let bounds = selection.bounds();
        let partition = store.partition_of(selection.key);
        let estimate = store.estimate(self.tree, partition, &bounds)?;
        let snapshot = selection.snapshot.clone().unwrap_or_else(|| store.snapshot());
        let scan = Scan::new(&store.reads, self.tree, bounds, snapshot, Some(partition))?;
        Ok(Values { scan, prefix: keys::of_value(selection.key, &[]).len(), estimate })
    }

    /// The approximate number of values under `key`; see [`Values::estimate`].
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let tree = store.create_multivalue_tree(b"tags")?;
    /// let tags = store.multivalue(tree)?;
    /// for n in 0_u32..1000 {
    ///     tags.put(b"ada", &n.to_be_bytes(), Durability::Bulk)?;
    /// }
    /// assert!((500..2000).contains(&tags.estimate(b"ada")?));
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Store::scan`].
    pub fn estimate(&self, key: &[u8]) -> Result<u64> {
        self.store.estimate(self.tree, self.store.partition_of(key), &ValuesOf::key(key).bounds())
    }

    /// The keys that have values, in order. Reads all values.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let tree = store.create_multivalue_tree(b"tags")?;
    /// let tags = store.multivalue(tree)?;
    /// tags.put(b"bob", b"math", Durability::Periodic)?;
    /// tags.put(b"ada", b"math", Durability::Periodic)?;
    /// tags.put(b"ada", b"poetry", Durability::Periodic)?;
    /// let mut keys = tags.keys(None)?;
    /// assert_eq!(keys.next()?, Some(&b"ada"[..]));
    /// assert_eq!(keys.next()?, Some(&b"bob"[..]));
    /// assert_eq!(keys.next()?, None);
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Store::scan`].
    pub fn keys(&self, snapshot: Option<&Snapshot>) -> Result<Keys> {
        let scan = self.store.scan(self.tree, Bounds::all(), snapshot)?;
        Ok(Keys { scan, encoded: Vec::new(), key: Vec::new() })
    }
}

/// The values under a key, one after the other.
pub struct Values {
    scan: Scan,
    /// The bytes before the value.
    prefix: usize,
    estimate: u64,
}

impl Values {
    /// The next value; `None` at the end. It is valid until the next call.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store, ValuesOf};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let tree = store.create_multivalue_tree(b"tags")?;
    /// let tags = store.multivalue(tree)?;
    /// tags.put(b"ada", b"math", Durability::Periodic)?;
    /// let mut values = tags.values(ValuesOf::key(b"ada"))?;
    /// while let Some(value) = values.next()? {
    ///     println!("{}", String::from_utf8_lossy(value));
    /// }
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Scan::next`].
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<&[u8]>> {
        let prefix = self.prefix;
        Ok(self.scan.next()?.map(|(key, _)| key.get(prefix..).unwrap_or(&[])))
    }

    /// The approximate number of values when the stream began. It is estimated from the indexes of the files, less
    /// tombstones and old versions in proportion. It is exact to a few blocks in each run.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store, ValuesOf};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let tree = store.create_multivalue_tree(b"tags")?;
    /// let tags = store.multivalue(tree)?;
    /// for n in 0_u32..1000 {
    ///     tags.put(b"ada", &n.to_be_bytes(), Durability::Bulk)?;
    /// }
    /// let values = tags.values(ValuesOf::key(b"ada"))?;
    /// assert!((500..2000).contains(&values.estimate()));
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn estimate(&self) -> u64 {
        self.estimate
    }
}

/// The keys of a multivalue tree, one after the other.
pub struct Keys {
    scan: Scan,
    encoded: Vec<u8>,
    key: Vec<u8>,
}

impl Keys {
    /// The next key; `None` at the end.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let tree = store.create_multivalue_tree(b"tags")?;
    /// let tags = store.multivalue(tree)?;
    /// tags.put(b"ada", b"math", Durability::Periodic)?;
    /// let mut keys = tags.keys(Some(&store.snapshot()))?;
    /// while let Some(key) = keys.next()? {
    ///     println!("{}", String::from_utf8_lossy(key));
    /// }
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Scan::next`].
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<&[u8]>> {
        while let Some((internal, _)) = self.scan.next()? {
            if !self.encoded.is_empty() && internal.starts_with(&self.encoded) {
                continue;
            }
            let mut rest = internal;
            self.key.clear();
            alluvium_codec::key::get_bytes(&mut rest, &mut self.key).map_err(|e| {
                alluvium_env::Error::corrupt(std::path::Path::new("a multivalue tree"), 0, e.to_string())
            })?;
            self.encoded.clear();
            self.encoded.extend_from_slice(&internal[..internal.len() - rest.len()]);
            return Ok(Some(&self.key));
        }
        Ok(None)
    }
}
