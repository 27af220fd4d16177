//! The kinds of trees of a database. The first byte of a tree's description is its kind:
//!
//! | first byte | kind | rest of the description |
//! |---|---|---|
//! | 1 | documents of a collection | logical name, collection name, number of the system tree |
//! | 2 | system tree of a collection | empty |
//! | 3 | a multivalue set, as the command `mv` makes them | the name of the set |
//! | 4 | a secondary index | see [`crate::index::Index::describe`] |
//!
//! `docs/FORMAT.md` defines the bytes. A tree whose description begins with another byte belongs to
//! an application that uses the key/value store directly.

use crate::names::FullName;
use alluvium_codec::varint;
use alluvium_store::TreeId;

/// A collection's documents.
pub const DOCUMENTS: u8 = 1;
/// A collection's system tree: shapes, progress of loads.
pub const SYSTEM: u8 = 2;
/// A multivalue set.
pub const MULTIVALUE: u8 = 3;
/// A secondary index.
pub const INDEX: u8 = 4;

/// First byte of the key of a shape's definition in a system tree; the shape's number follows.
pub(crate) const SHAPE_PREFIX: u8 = b's';
/// The key, in a system tree, of the lowest number that a new shape may have.
pub(crate) const LOWEST_NEXT: &[u8] = b"m";

/// The key of a shape's definition in a system tree.
pub(crate) fn shape_key(number: u32) -> [u8; 5] {
    let n = number.to_be_bytes();
    [SHAPE_PREFIX, n[0], n[1], n[2], n[3]]
}

/// The description of a tree of documents.
pub(crate) fn describe_documents(name: &FullName, system: TreeId) -> Vec<u8> {
    let mut out = vec![DOCUMENTS];
    varint::put_bytes(&mut out, name.logical.as_bytes());
    varint::put_bytes(&mut out, name.collection.as_bytes());
    varint::put_u64(&mut out, u64::from(system.0));
    out
}

/// The name and the system tree of the collection whose tree of documents has this description.
/// `None` for a tree of another kind.
pub(crate) fn read_documents(mut input: &[u8]) -> Option<(FullName, TreeId)> {
    let (&DOCUMENTS, rest) = input.split_first()? else { return None };
    input = rest;
    let logical = String::from_utf8(varint::get_bytes(&mut input).ok()?.to_vec()).ok()?;
    let collection = String::from_utf8(varint::get_bytes(&mut input).ok()?.to_vec()).ok()?;
    let system = u32::try_from(varint::get_u64(&mut input).ok()?).ok()?;
    Some((FullName { logical, collection }, TreeId(system)))
}

/// The description of a multivalue set.
pub fn describe_multivalue(name: &str) -> Vec<u8> {
    [&[MULTIVALUE], name.as_bytes()].concat()
}

/// The name of the multivalue set with this description. `None` for a tree of another kind.
pub fn read_multivalue(description: &[u8]) -> Option<&str> {
    let name = description.strip_prefix(&[MULTIVALUE])?;
    std::str::from_utf8(name).ok()
}

#[cfg(test)]
mod tests;
