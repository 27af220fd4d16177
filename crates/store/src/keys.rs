//! The location of a key: the internal key under which a partition stores it, its partition, and the hash that locks
//! it.
//!
//! An internal key is the id of the tree (4 bytes, most significant first), followed by the key. In a multivalue tree,
//! key and value together are the key of an ordinary entry without content: the key with its end marked
//! ([`alluvium_codec::key::put_bytes`], which keeps order), then the value. All values of a key are in the partition
//! that is computed from the hash of the key.

use crate::trees::TreeId;

/// The length of the tree id at the beginning of an internal key, in bytes.
pub(crate) const TREE_BYTES: usize = 4;
/// An internal key of up to this many bytes is built on the stack.
const SHORT_BYTES: usize = 128;

/// The hash that identifies a key in the lock table.
pub(crate) fn lock_hash(tree: u32, key_hash: u64) -> u64 {
    key_hash ^ u64::from(tree).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The partition of a key with this hash.
#[inline]
pub(crate) fn partition_of(hash: u64, partitions: u32) -> u32 {
    // Uses the high half of the hash. Filters use the low bits, and so are independent of the partition.
    ((u64::from((hash >> 32) as u32) * u64::from(partitions)) >> 32) as u32
}

/// The tree of an internal key.
pub(crate) fn tree_of(internal: &[u8]) -> u32 {
    internal.first_chunk().map_or(0, |tree| u32::from_be_bytes(*tree))
}

/// An internal key without its tree.
pub(crate) fn key_of(internal: &[u8]) -> &[u8] {
    internal.get(TREE_BYTES..).unwrap_or(&[])
}

/// Calls `f` with the internal key of `key`, which is built on the stack if it is short.
#[inline]
pub(crate) fn with_internal<T>(tree: TreeId, key: &[u8], f: impl FnOnce(&[u8]) -> T) -> T {
    let mut short = [0u8; SHORT_BYTES];
    let len = key.len() + TREE_BYTES;
    if let Some(buffer) = short.get_mut(..len) {
        buffer[..TREE_BYTES].copy_from_slice(&tree.0.to_be_bytes());
        buffer[TREE_BYTES..].copy_from_slice(key);
        return f(buffer);
    }
    let mut long = tree.0.to_be_bytes().to_vec();
    long.extend_from_slice(key);
    f(&long)
}

/// The range of the internal entries that hold the values of one key of a multivalue tree.
pub(crate) struct ValueRange {
    /// The key with its end marked: the first bytes of each entry.
    pub from: Vec<u8>,
    /// The first key after these entries.
    pub to: Vec<u8>,
    /// The hash from which their partition is computed.
    pub hash: u64,
}

/// The key, without its tree, under which a multivalue tree stores a value.
pub(crate) fn of_value(key: &[u8], value: &[u8]) -> Vec<u8> {
    let mut internal = Vec::with_capacity(key.len() + value.len() + 4);
    alluvium_codec::key::put_bytes(&mut internal, key);
    internal.extend_from_slice(value);
    internal
}

/// The range of the values of `key` in a multivalue tree.
pub(crate) fn of_values(key: &[u8]) -> ValueRange {
    let from = of_value(key, &[]);
    let mut to = from.clone();
    // The end mark is 00 01, so only values of this key are between it and 00 02.
    if let Some(last) = to.last_mut() {
        *last += 1;
    }
    ValueRange { from, to, hash: alluvium_codec::hash64(key) }
}

/// The key in a result of [`of_value`]; `None` if the bytes are anything else.
pub(crate) fn of_multivalue(stored: &[u8]) -> Option<Vec<u8>> {
    let (mut input, mut key) = (stored, Vec::new());
    alluvium_codec::key::get_bytes(&mut input, &mut key).ok()?;
    Some(key)
}
