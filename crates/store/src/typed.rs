//! Keys and values of any type, through small serializer traits.
//!
//! A [`Serializer`] writes and reads one type and can skip a value without decoding it. The serializer of keys must
//! keep order: comparing the bytes compares the keys. The layers below merge, move and compact values as bytes, without
//! any serializer.

use crate::error::{Error, Result};
use crate::options::Durability;
use crate::scan::Scan;
use crate::store::Store;
use crate::trees::TreeId;
use alluvium_codec::bounds::Bounds;
use std::sync::Arc;

/// Writes and reads values of one type.
pub trait Serializer: Send + Sync {
    /// The type of the values.
    type Item;

    /// Appends the encoding of `item`.
    fn serialize(&self, item: &Self::Item, out: &mut Vec<u8>);

    /// Decodes one item from the front of `input`, and advances `input`.
    ///
    /// # Errors
    /// The reason why the bytes are not an item.
    fn deserialize(&self, input: &mut &[u8]) -> std::result::Result<Self::Item, String>;

    /// Skips one item without decoding it.
    ///
    /// # Errors
    /// The reason why the bytes are not an item.
    fn skip(&self, input: &mut &[u8]) -> std::result::Result<(), String> {
        self.deserialize(input).map(drop)
    }
}

/// Bytes up to the end of the input, unchanged, in their order.
#[derive(Debug, Clone, Copy, Default)]
pub struct RawBytes;

impl Serializer for RawBytes {
    type Item = Vec<u8>;

    fn serialize(&self, item: &Vec<u8>, out: &mut Vec<u8>) {
        out.extend_from_slice(item);
    }

    fn deserialize(&self, input: &mut &[u8]) -> std::result::Result<Vec<u8>, String> {
        Ok(std::mem::take(input).to_vec())
    }

    fn skip(&self, input: &mut &[u8]) -> std::result::Result<(), String> {
        *input = &[];
        Ok(())
    }
}

/// UTF-8 text up to the end of the input, in the order of its bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Text;

impl Serializer for Text {
    type Item = String;

    fn serialize(&self, item: &String, out: &mut Vec<u8>) {
        out.extend_from_slice(item.as_bytes());
    }

    fn deserialize(&self, input: &mut &[u8]) -> std::result::Result<String, String> {
        String::from_utf8(std::mem::take(input).to_vec()).map_err(|e| e.to_string())
    }
}

/// Unsigned integers in eight bytes, in numeric order.
#[derive(Debug, Clone, Copy, Default)]
pub struct U64;

impl Serializer for U64 {
    type Item = u64;

    fn serialize(&self, item: &u64, out: &mut Vec<u8>) {
        alluvium_codec::key::put_u64(out, *item);
    }

    fn deserialize(&self, input: &mut &[u8]) -> std::result::Result<u64, String> {
        alluvium_codec::key::get_u64(input).map_err(|e| e.to_string())
    }

    fn skip(&self, input: &mut &[u8]) -> std::result::Result<(), String> {
        let (_, rest) = input.split_at_checked(8).ok_or("fewer than eight bytes")?;
        *input = rest;
        Ok(())
    }
}

/// Wraps a serializer so that the length of each item precedes the item. Then one value can hold many items, and each
/// can be skipped in one step.
#[derive(Debug, Clone, Copy, Default)]
pub struct SizePrefixed<S>(pub S);

impl<S: Serializer> Serializer for SizePrefixed<S> {
    type Item = S::Item;

    fn serialize(&self, item: &S::Item, out: &mut Vec<u8>) {
        let mut inner = Vec::new();
        self.0.serialize(item, &mut inner);
        alluvium_codec::varint::put_bytes(out, &inner);
    }

    fn deserialize(&self, input: &mut &[u8]) -> std::result::Result<S::Item, String> {
        let mut inner = alluvium_codec::varint::get_bytes(input).map_err(|e| e.to_string())?;
        let item = self.0.deserialize(&mut inner)?;
        if inner.is_empty() { Ok(item) } else { Err("bytes are left after the item".into()) }
    }

    fn skip(&self, input: &mut &[u8]) -> std::result::Result<(), String> {
        alluvium_codec::varint::get_bytes(input).map(drop).map_err(|e| e.to_string())
    }
}

/// A tree of a store with typed keys and values.
///
/// ```
/// use alluvium_store::typed::{Text, Typed, U64};
/// use alluvium_store::{Options, Store};
/// # fn main() -> alluvium_store::Result<()> {
/// let env = alluvium_env::Env::in_memory(1);
/// let store = std::sync::Arc::new(Store::open(env, "db".as_ref(), Options::default())?);
/// let tree = store.create_trees(&[b"ages"])?[0];
/// let ages = Typed::new(store, tree, Text, U64);
/// ages.put(&"ada".to_string(), &36)?;
/// assert_eq!(ages.get(&"ada".to_string())?, Some(36));
/// # Ok(())
/// # }
/// ```
pub struct Typed<K, V> {
    store: Arc<Store>,
    tree: TreeId,
    keys: K,
    values: V,
}

impl<K: Serializer, V: Serializer> Typed<K, V> {
    /// Creates a typed view of `tree`.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use alluvium_store::typed::{Text, Typed, U64};
    /// # use alluvium_store::{Options, Store};
    /// # let store = Arc::new(Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?);
    /// # let tree = store.create_trees(&[b"ages"])?[0];
    /// let ages: Typed<Text, U64> = Typed::new(store, tree, Text, U64);
    /// assert_eq!(ages.get(&"ada".to_owned())?, None);
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn new(store: Arc<Store>, tree: TreeId, keys: K, values: V) -> Self {
        Self { store, tree, keys, values }
    }

    fn key(&self, key: &K::Item) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.keys.serialize(key, &mut bytes);
        bytes
    }

    fn whole<S: Serializer>(what: &'static str, serializer: &S, mut bytes: &[u8]) -> Result<S::Item> {
        let item = serializer.deserialize(&mut bytes);
        let item = item.map_err(|reason| Error::Decode { what, reason })?;
        if bytes.is_empty() {
            return Ok(item);
        }
        Err(Error::Decode { what, reason: format!("{} bytes are left over", bytes.len()) })
    }

    /// Sets the value of a key, with the durability of the store.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use alluvium_store::typed::{Text, Typed, U64};
    /// # use alluvium_store::{Options, Store};
    /// # let store = Arc::new(Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?);
    /// # let tree = store.create_trees(&[b"ages"])?[0];
    /// # let ages = Typed::new(store, tree, Text, U64);
    /// ages.put(&"ada".to_owned(), &36)?;
    /// assert_eq!(ages.get(&"ada".to_owned())?, Some(36));
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Store::write`].
    pub fn put(&self, key: &K::Item, value: &V::Item) -> Result<()> {
        let mut bytes = Vec::new();
        self.values.serialize(value, &mut bytes);
        let mut batch = self.store.batch();
        batch.put(self.tree, &self.key(key), &bytes);
        self.store.write(batch, self.durability()).map(drop)
    }

    /// Removes a key, whether it exists or not.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use alluvium_store::typed::{Text, Typed, U64};
    /// # use alluvium_store::{Options, Store};
    /// # let store = Arc::new(Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?);
    /// # let tree = store.create_trees(&[b"ages"])?[0];
    /// # let ages = Typed::new(store, tree, Text, U64);
    /// ages.put(&"ada".to_owned(), &36)?;
    /// ages.delete(&"ada".to_owned())?;
    /// assert_eq!(ages.get(&"ada".to_owned())?, None);
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Store::write`].
    pub fn delete(&self, key: &K::Item) -> Result<()> {
        let mut batch = self.store.batch();
        batch.delete(self.tree, &self.key(key));
        self.store.write(batch, self.durability()).map(drop)
    }

    /// Removes the keys from `from` to below `to`.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use alluvium_store::typed::{Text, Typed, U64};
    /// # use alluvium_store::{Options, Store};
    /// # let store = Arc::new(Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?);
    /// # let tree = store.create_trees(&[b"ages"])?[0];
    /// # let ages = Typed::new(store, tree, Text, U64);
    /// for name in ["ada", "bob", "eve"] {
    ///     ages.put(&name.to_owned(), &36)?;
    /// }
    /// ages.delete_range(&"b".to_owned(), &"c".to_owned())?;
    /// assert_eq!(ages.scan()?.count(), 2);
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Store::write`].
    pub fn delete_range(&self, from: &K::Item, to: &K::Item) -> Result<()> {
        let (from, to) = (self.key(from), self.key(to));
        self.store.delete_range(self.tree, &from, &to, self.durability()).map(drop)
    }

    /// Reads the value of a key.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use alluvium_store::typed::{Text, Typed, U64};
    /// # use alluvium_store::{Options, Store};
    /// # let store = Arc::new(Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?);
    /// # let tree = store.create_trees(&[b"ages"])?[0];
    /// # let ages = Typed::new(store, tree, Text, U64);
    /// ages.put(&"ada".to_owned(), &36)?;
    /// assert_eq!(ages.get(&"ada".to_owned())?, Some(36));
    /// assert_eq!(ages.get(&"bob".to_owned())?, None);
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Store::get`], and [`Error::Decode`].
    pub fn get(&self, key: &K::Item) -> Result<Option<V::Item>> {
        let mut bytes = Vec::new();
        if !self.store.get(self.tree, &self.key(key), &mut bytes)? {
            return Ok(None);
        }
        Self::whole("value", &self.values, &bytes).map(Some)
    }

    /// Iterates over the keys and values in key order.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use alluvium_store::typed::{Text, Typed, U64};
    /// # use alluvium_store::{Options, Store};
    /// # let store = Arc::new(Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?);
    /// # let tree = store.create_trees(&[b"ages"])?[0];
    /// # let ages = Typed::new(store, tree, Text, U64);
    /// ages.put(&"bob".to_owned(), &25)?;
    /// ages.put(&"ada".to_owned(), &36)?;
    /// let all = ages.scan()?.collect::<alluvium_store::Result<Vec<_>>>()?;
    /// assert_eq!(all, [("ada".to_owned(), 36), ("bob".to_owned(), 25)]);
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Store::scan`].
    pub fn scan(&self) -> Result<TypedScan<'_, K, V>> {
        let scan = self.store.scan(self.tree, Bounds::all(), None)?;
        Ok(TypedScan { scan, typed: self })
    }

    fn durability(&self) -> Durability {
        self.store.options().durability
    }
}

/// A scan of a [`Typed`] tree.
pub struct TypedScan<'a, K, V> {
    scan: Scan,
    typed: &'a Typed<K, V>,
}

impl<K: Serializer, V: Serializer> Iterator for TypedScan<'_, K, V> {
    type Item = Result<(K::Item, V::Item)>;

    fn next(&mut self) -> Option<Self::Item> {
        let (key, value) = match self.scan.next() {
            Ok(found) => found?,
            Err(error) => return Some(Err(error)),
        };
        let key = Typed::<K, V>::whole("key", &self.typed.keys, key);
        let value = Typed::<K, V>::whole("value", &self.typed.values, value);
        Some(key.and_then(|key| Ok((key, value?))))
    }
}
