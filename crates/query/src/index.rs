//! Definitions of secondary indexes, and the keys that a document yields under them.
//!
//! A definition is written as for MongoDB's `createIndexes`: keys, such as `{author: 1, time: -1}`,
//! and options. A document yields index keys by MongoDB's rules (see its manual, "Multikey
//! Indexes", "Sparse Indexes", "Partial Indexes", "Hashed Indexes"):
//!
//! - Each part of a key is the value at the part's path, or null if it is missing.
//! - An array at the end of a path yields a key for each element; an empty array yields the value
//!   *undefined*, which sorts below null. An array in the middle of a path is followed into those
//!   elements that are maps. If two parts lead through the same array, each element yields its own
//!   keys; two parts must not lead through different arrays ([`IndexError::ParallelArrays`]).
//! - A number in a path after an array selects the element at that position, if it exists. If the
//!   path ends with the number and the element is an array, the whole array is one key (an empty
//!   array is *undefined*). A document is refused if elements of the array also have a field of
//!   that name ([`IndexError::AmbiguousPath`]).
//! - A document in which all paths are missing has no keys in a sparse index. A document that does
//!   not match the filter of a partial index has no keys in it.
//!
//! # Bytes of an entry
//! The key begins with the parts: for each part, [`alluvium_document::key`], with all bits inverted
//! if the part is descending, or the eight bytes of the hash for a hashed part. The key of the
//! document's `_id` follows. No key of a part is a prefix of another, so entries sort by their
//! parts and then by `_id`. The value is empty if the values of the parts can be decoded exactly
//! from the key. Otherwise it holds the values of the parts as an array in the self-describing
//! encoding (1.0 and 1 have the same key). The value of a hashed part is never needed.
//!
//! If the key of a part is longer than [`MAX_PART_BYTES`], it is *cut*: its first bytes are kept,
//! followed by a hash of the remaining bytes. Equal values have equal cut keys. Therefore a search
//! for a value finds its entries, and the documents must be read to check them. Cut keys with the
//! same first bytes are not in the order of their values, and the value cannot be decoded from the
//! key: see [`Keys::cut`].

mod definition;
mod error;
mod keys;
mod part;
mod unbuilt;

pub use definition::{Definition, Order, Part};
pub use error::IndexError;
pub(crate) use keys::show_keys;
pub use keys::{IndexKey, Keys};
pub use part::skip_part;
pub(crate) use part::{is_long, put_edge, put_index_part, put_part};
pub use unbuilt::Unbuilt;

/// The maximum number of parts of an index key.
pub const MAX_PARTS: usize = 32;
/// The maximum length of an index name in bytes. The limit also applies to a name that is derived
/// from the keys.
pub const MAX_NAME_BYTES: usize = 64 << 10;
/// The maximum length of the key of one part in bytes. It is part of the disk format: a longer key
/// is cut to this length, and a hash of [`CUT_HASH_BYTES`] follows.
pub const MAX_PART_BYTES: usize = 8 << 10;
/// The length of the hash in a cut key.
pub const CUT_HASH_BYTES: usize = 16;
/// The maximum number of keys of one document in one index.
pub const MAX_KEYS: usize = 1 << 20;
/// The maximum number of bytes of all keys of a document in one index: twice the maximum size of a
/// document. The key of the `_id` counts once for each entry.
pub const MAX_KEYS_BYTES: usize = 32 << 20;
/// The maximum nesting of a partial filter. The descriptions of indexes and the metadata of dumps
/// nest definitions a few levels deeper. The metadata of dumps is JSON, which is limited to 128
/// levels.
pub const MAX_PARTIAL_LEVELS: usize = 90;
