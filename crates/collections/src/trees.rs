//! The kinds of trees of a database. The first byte of a tree's description is its kind:
//!
//! | first byte | kind | rest of the description |
//! |---|---|---|
//! | 1 | documents of a collection | logical name, collection name, number of the system tree |
//! | 2 | system tree of a collection | empty |
//! | 3 | a multivalue set, as the command `mv` makes them | the name of the set |
//! | 4 | a secondary index | see [`crate::index::Index::describe`] |
//! | 5 | documents of a collection with options | as for 1, then the options: a map |
//! | 6 | a view, whose tree is empty | logical name, name, then a map |
//!
//! `docs/FORMAT.md` defines the bytes. A tree whose description begins with another byte belongs to
//! an application that uses the key/value store directly.

use crate::names::FullName;
use crate::options::{CollectionOptions, View};
use alluvium_codec::varint;
use alluvium_document::{Text, Value, encoding};
use alluvium_store::TreeId;

/// A collection's documents.
pub const DOCUMENTS: u8 = 1;
/// A collection's system tree: shapes, progress of loads.
pub const SYSTEM: u8 = 2;
/// A multivalue set.
pub const MULTIVALUE: u8 = 3;
/// A secondary index.
pub const INDEX: u8 = 4;

/// A collection's documents, if it has options.
pub const DOCUMENTS_WITH_OPTIONS: u8 = 5;

/// A view.
pub const VIEW: u8 = 6;

/// First byte of the key of a shape's definition in a system tree; the shape's number follows.
pub(crate) const SHAPE_PREFIX: u8 = b's';
/// The key, in a system tree, of the lowest number that a new shape may have.
pub(crate) const LOWEST_NEXT: &[u8] = b"m";

/// The key of the totals in the system tree of a capped collection. Each write holds the lock of this key.
pub(crate) const CAPPED_TOTALS: &[u8] = b"c";
/// First byte of the keys of the order in the system tree of a capped collection; a number follows.
pub(crate) const ORDER_PREFIX: u8 = b'o';
/// First byte of the keys of positions in the system tree of a capped collection; the key of a document follows.
pub(crate) const POSITION_PREFIX: u8 = b'p';

/// The key of a number in the order of a capped collection.
pub(crate) fn order_key(number: u64) -> [u8; 9] {
    let mut key = [ORDER_PREFIX; 9];
    key[1..].copy_from_slice(&number.to_be_bytes());
    key
}

/// The number in a key that was made by [`order_key`].
pub(crate) fn order_number(key: &[u8]) -> Option<u64> {
    let (&ORDER_PREFIX, number) = key.split_first()? else { return None };
    Some(u64::from_be_bytes(number.try_into().ok()?))
}

/// The key of the position of a document of a capped collection.
pub(crate) fn position_key(document: &[u8]) -> Vec<u8> {
    [&[POSITION_PREFIX], document].concat()
}

/// The key of a shape's definition in a system tree.
pub(crate) fn shape_key(number: u32) -> [u8; 5] {
    let n = number.to_be_bytes();
    [SHAPE_PREFIX, n[0], n[1], n[2], n[3]]
}

/// The description of a tree of documents.
pub(crate) fn describe_documents(name: &FullName, system: TreeId, options: &CollectionOptions) -> Vec<u8> {
    let options = options.to_description();
    let mut out = vec![if options.is_empty() { DOCUMENTS } else { DOCUMENTS_WITH_OPTIONS }];
    varint::put_bytes(&mut out, name.logical.as_bytes());
    varint::put_bytes(&mut out, name.collection.as_bytes());
    varint::put_u64(&mut out, u64::from(system.0));
    if !options.is_empty() {
        encoding::encode_map(&options, &mut out);
    }
    out
}

/// The options in the description of a tree of documents; `None` if they cannot be read.
pub fn read_options(description: &[u8]) -> Option<CollectionOptions> {
    if description.first() == Some(&DOCUMENTS) {
        return Some(CollectionOptions::default());
    }
    let (_, _, mut input) = read_named(description)?;
    match encoding::decode(&mut input) {
        Ok(Value::Map(options)) if input.is_empty() => CollectionOptions::from_description(options).ok(),
        _ => None,
    }
}

/// The name and the system tree of the collection whose tree of documents has this description.
/// `None` for a tree of another kind.
pub(crate) fn read_documents(description: &[u8]) -> Option<(FullName, TreeId)> {
    read_named(description).map(|(name, system, _)| (name, system))
}

/// As [`read_documents`], with the remaining bytes of the description.
fn read_named(description: &[u8]) -> Option<(FullName, TreeId, &[u8])> {
    let (&(DOCUMENTS | DOCUMENTS_WITH_OPTIONS), mut input) = description.split_first()? else { return None };
    let logical = Text::from_utf8(varint::get_bytes(&mut input).ok()?).ok()?;
    let collection = Text::from_utf8(varint::get_bytes(&mut input).ok()?).ok()?;
    let system = u32::try_from(varint::get_u64(&mut input).ok()?).ok()?;
    Some((FullName { logical, collection }, TreeId(system), input))
}

/// The description of a view.
pub(crate) fn describe_view(name: &FullName, view: &View) -> Vec<u8> {
    let mut out = vec![VIEW];
    varint::put_bytes(&mut out, name.logical.as_bytes());
    varint::put_bytes(&mut out, name.collection.as_bytes());
    encoding::encode_map(&view.to_map(), &mut out);
    out
}

/// The view with this description; `None` for a tree of another kind, or if it cannot be read.
pub(crate) fn read_view(description: &[u8]) -> Option<(FullName, View)> {
    let (&VIEW, mut input) = description.split_first()? else { return None };
    let logical = Text::from_utf8(varint::get_bytes(&mut input).ok()?).ok()?;
    let collection = Text::from_utf8(varint::get_bytes(&mut input).ok()?).ok()?;
    match encoding::decode(&mut input) {
        Ok(Value::Map(map)) => Some((FullName { logical, collection }, View::from_map(&map)?)),
        _ => None,
    }
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
