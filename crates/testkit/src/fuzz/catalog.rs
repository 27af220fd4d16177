//! Hostile descriptions of trees, collections and indexes, and hostile definitions of shapes, in a record of the log.

use super::sealed::append;
use super::storage::{options, read_all, small};
use alluvium_codec::varint;

/// The internal key of a tree in the registry.
fn registry(tag: u8, tree: u32) -> Vec<u8> {
    [&[0, 0, 0, 0, tag][..], &tree.to_be_bytes()].concat()
}

/// A batch with a single put into the first partition (`docs/format/store.md`).
fn put(key: &[u8], value: &[u8]) -> Vec<u8> {
    let mut record = vec![0, 1, 0];
    varint::put_bytes(&mut record, key);
    varint::put_bytes(&mut record, value);
    record
}

/// Appends a description to the log, and opens the database. The first byte of the input selects the tree or shape, and
/// the rest is its description.
pub fn catalog(data: &[u8]) {
    let Some((&which, value)) = data.split_first() else { return };
    let tree = u32::from(which >> 4);
    let key = match which & 7 {
        0..=3 => registry(b't', tree),
        4 => registry(b'm', tree),
        5 => registry(b'i', tree),
        6 => [&tree.to_be_bytes()[..], b"s\0\0\0\x01"].concat(),
        _ => b"\0\0\0\0n".to_vec(),
    };
    let world = small();
    append(&world, 0, &put(&key, value));
    read_all(&world, &options());
}

/// The descriptions in a database, each as an input of the target.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let world = small();
    let db = world.open(&options()).unwrap_or_else(|e| panic!("{e}"));
    let mut all = vec![vec![6, 1, 0], vec![7, 9, 0, 0, 0]];
    for (tree, description) in db.store().trees() {
        all.push([&[(tree.0 as u8) << 4][..], &description].concat());
        all.push([&[9 << 4][..], &description].concat());
    }
    all
}
