//! Finds the trees of a damaged database, by the registry as far as it can be read.

use crate::error::Result;
use crate::history::History;
use crate::index::Index;
use crate::trees::{INDEX, read_documents, shape_key};
use alluvium_codec::entry::{self, Kind};
use alluvium_document::shape::Shape;
use alluvium_store::{Salvage, SalvagedKey};
use std::collections::{BTreeMap, BTreeSet};

/// The registry's information about a tree.
pub(super) struct Described {
    pub description: Vec<u8>,
    pub multivalue: bool,
    /// True if the tree may have been dropped.
    pub doubtful: bool,
}

/// The trees of a damaged database.
pub(super) struct Trees {
    pub described: BTreeMap<u32, Described>,
    /// Trees of documents that no description names, and the trees of their shapes.
    pub nameless: Vec<(u32, u32)>,
    /// The indexes, by the tree of documents of their collection. Their entries are built again.
    pub indexes: BTreeMap<u32, Vec<Index>>,
    /// The trees of these indexes.
    made: BTreeSet<u32>,
    /// Trees of indexes whose definitions are lost.
    pub lost_indexes: BTreeSet<u32>,
}

impl Trees {
    pub fn read(salvage: &Salvage) -> Result<Self> {
        let mut described: BTreeMap<u32, Described> = BTreeMap::new();
        let (mut marked, mut lost_indexes) = (Vec::new(), BTreeSet::new());
        let mut dropped = Vec::new();
        salvage.scan(0, &mut |key| {
            let Some((&kind, id)) = key.key.split_first() else { return Ok(()) };
            let Ok(id) = <[u8; 4]>::try_from(id).map(u32::from_be_bytes) else { return Ok(()) };
            match (kind, plain_value(key)) {
                (b't', Some(Ok(description))) => {
                    let (description, doubtful) = (description.to_vec(), key.doubtful);
                    described.insert(id, Described { description, multivalue: false, doubtful });
                }
                (b't', None) => dropped.push(id),
                (b'm', Some(_)) => marked.push(id),
                (b'i', Some(_)) => drop(lost_indexes.insert(id)),
                _ => {}
            }
            Ok(())
        })?;
        for id in marked {
            if let Some(known) = described.get_mut(&id) {
                known.multivalue = true;
            }
        }
        let mut indexes: BTreeMap<u32, Vec<Index>> = BTreeMap::new();
        let mut made = BTreeSet::new();
        described.retain(|id, known| {
            if known.description.first() != Some(&INDEX) || known.multivalue {
                return true;
            }
            if let Some((documents, index)) = Index::read(alluvium_store::TreeId(*id), &known.description) {
                lost_indexes.remove(id);
                made.insert(*id);
                indexes.entry(documents.0).or_default().push(index);
            } else if History::read(alluvium_store::TreeId(*id), &known.description).is_some() {
                // The recorded changes are not saved: the repaired database is another one.
                lost_indexes.remove(id);
                made.insert(*id);
            }
            false
        });
        lost_indexes.retain(|id| !dropped.contains(id));
        let mut trees = Self { described, nameless: Vec::new(), indexes, made, lost_indexes };
        // If the registry is intact, a tree that it does not name was dropped, and is being removed.
        if salvage.has_losses_in(0) || !salvage.lost_numbers.is_empty() {
            trees.find_nameless(salvage, &dropped)?;
        }
        Ok(trees)
    }

    fn find_nameless(&mut self, salvage: &Salvage, dropped: &[u32]) -> Result<()> {
        let systems: Vec<u32> =
            self.described.values().filter_map(|known| Some(read_documents(&known.description)?.1.0)).collect();
        for tree in salvage.trees() {
            let known = tree == 0 || self.described.contains_key(&tree) || systems.contains(&tree);
            let index = self.lost_indexes.contains(&tree) || self.made.contains(&tree);
            if known || index || dropped.contains(&tree) || holds_shapes(salvage, tree)? {
                continue;
            }
            match holds_documents(salvage, tree)? {
                Some(true) => {}
                Some(false) => {
                    self.lost_indexes.insert(tree);
                    continue;
                }
                // No key of the tree can be read, so nothing can be saved.
                None => continue,
            }
            // The two trees of a collection are created together, and the tree of its shapes gets the lower number.
            self.nameless.push((tree, tree - 1));
        }
        Ok(())
    }
}

/// True if a key in the tree is the key of an `_id` (keys of an index have a prefix); `None` if the
/// tree has no keys.
fn holds_documents(salvage: &Salvage, tree: u32) -> Result<Option<bool>> {
    let mut holds = None;
    salvage.scan(tree, &mut |key| {
        let mut rest = key.key;
        let is_id = alluvium_document::key::decode(&mut rest).is_ok() && rest.is_empty();
        holds = Some(is_id || holds == Some(true));
        Ok(())
    })?;
    Ok(holds)
}

/// True if the tree holds a definition of a shape.
fn holds_shapes(salvage: &Salvage, tree: u32) -> Result<bool> {
    let mut holds = false;
    salvage.scan(tree, &mut |key| {
        let shape = plain_value(key).and_then(|value| Shape::decode(&mut value.ok()?).ok());
        holds |= shape.is_some_and(|shape| key.key == shape_key(shape.number()));
        Ok(())
    })?;
    Ok(holds)
}

/// The value of a key that has no deltas; `None` if it was deleted; an error if it cannot be
/// determined.
pub(super) fn plain_value<'a>(key: &'a SalvagedKey<'_>) -> Option<std::result::Result<&'a [u8], ()>> {
    let newest = key.versions.first()?;
    match newest.kind {
        Kind::Put => Some(Ok(&newest.value)),
        Kind::Delete => None,
        Kind::Folded => Some(entry::split_folded(newest.seq, &newest.value).map(|(_, value)| value).map_err(|_| ())),
        Kind::Delta | Kind::RangeDelete => Some(Err(())),
    }
}

/// The key and the value of an entry in a multivalue tree.
pub(super) fn multivalue_parts(entry: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let (mut rest, mut key) = (entry, Vec::new());
    alluvium_codec::key::get_bytes(&mut rest, &mut key).ok()?;
    Some((key, rest))
}
