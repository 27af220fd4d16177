//! Definitions of secondary indexes, and the keys that a document yields under them.
//!
//! A definition is written as MongoDB's `createIndexes` has it: `{author: 1, time: -1}` and options. A document yields
//! index keys by MongoDB's rules (its manual, "Multikey Indexes", "Sparse Indexes", "Partial
//! Indexes", "Hashed Indexes"):
//!
//! - Each part of a key is the value at the part's path; null where there is none.
//! - An array at the end of a path yields a key for each element; an empty one the value
//!   *undefined*, which is below null. An array on the way is followed into its maps. Where two
//!   parts lead through the same array, each element yields keys of its own; through two different
//!   arrays they may not lead ([`IndexError::ParallelArrays`]).
//! - A number in a path that follows an array means the element at that position, if there is one.
//!   If that is an array and the path ends there, it is one key as a whole (an empty one is
//!   *undefined*). If elements of the array have a field of that name, too, the document is refused
//!   ([`IndexError::AmbiguousPath`]).
//! - A sparse index has no keys for a document in which all its paths are missing, a partial one
//!   none for a document that its filter does not match.
//!
//! # Bytes of an entry
//! Key: for each part [`alluvium_document::key`], all bits inverted where the part descends, or for
//! a hashed part the eight bytes of the hash; then the key of the document's `_id`. No such key is
//! a prefix of another, so keys of whole entries sort by parts and then by `_id`. Value: nothing,
//! if the values can be told from the key exactly; else the values of the parts
//! as an array in the self-describing encoding (1.0 and 1 have one key). The value of a hashed part is never needed.

mod definition;
mod error;
mod keys;

pub use definition::{Definition, Order, Part};
pub use error::IndexError;
pub(crate) use keys::put_part;
pub use keys::{IndexKey, Keys};

/// The most parts of an index key.
pub const MAX_PARTS: usize = 32;
/// The longest name of an index in bytes. A name that is made of the keys is no longer either.
pub const MAX_NAME_BYTES: usize = 64 << 10;
/// The longest index key in bytes, without the `_id`.
pub const MAX_KEY_BYTES: usize = 8 << 10;
/// The most keys that one document may yield under one index.
pub const MAX_KEYS: usize = 1 << 20;
/// The most bytes that the keys of a document in an index have together: twice the longest document.
/// The key of the `_id`, which every entry has, counts with each.
pub const MAX_KEYS_BYTES: usize = 32 << 20;
/// The most levels of a partial filter. Whatever a definition is written into (the description of
/// an index, the metadata of a dump) nests a few levels more, and is read again only up to
/// [`alluvium_document::MAX_DEPTH`].
pub const MAX_PARTIAL_LEVELS: usize = alluvium_document::MAX_DEPTH - 10;
