//! The registry of trees: live trees with their descriptions, and dropped trees.
//!
//! On disk the registry is tree 0 of partition 0. Key `t` + id (4 bytes, most significant first) holds the description
//! of a tree. Key `m` + id marks a tree with many values under a key, and key `i` + id a tree of index entries. Key `n`
//! holds the next id. Ids are never reused. In memory only the commit leader changes the registry, in number order with
//! the batches that depend on it.

use crate::error::{Error, Result};
use alluvium_codec::entry::Seq;
use alluvium_env::sync::RwLock;
use alluvium_lsm::Partition;
use hashbrown::{HashMap, HashSet};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

/// The id of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TreeId(pub u32);

impl TreeId {
    /// An id that no tree ever has. Reads treat it as a tree without keys, at every snapshot; writes to it are refused.
    pub const EMPTY: Self = Self(u32::MAX);
}

/// The tree that holds the registry.
pub(crate) const SYSTEM: TreeId = TreeId(0);
/// The key of the next id.
pub(crate) const NEXT_KEY: &[u8] = b"n";

/// The key of a tree's description.
pub(crate) fn tree_key(id: TreeId) -> Vec<u8> {
    let mut key = b"t".to_vec();
    key.extend_from_slice(&id.0.to_be_bytes());
    key
}

/// The tree that a key of the registry describes; `None` if the key describes no tree.
pub(crate) fn described_tree(key: &[u8]) -> Option<TreeId> {
    let id = key.strip_prefix(b"t")?.first_chunk()?;
    Some(TreeId(u32::from_be_bytes(*id)))
}

/// The key that marks a tree as a tree of [`crate::Multivalue`].
pub(crate) fn multivalue_key(id: TreeId) -> Vec<u8> {
    let mut key = b"m".to_vec();
    key.extend_from_slice(&id.0.to_be_bytes());
    key
}

/// The key that marks a tree as a tree of index entries.
pub(crate) fn index_key(id: TreeId) -> Vec<u8> {
    let mut key = b"i".to_vec();
    key.extend_from_slice(&id.0.to_be_bytes());
    key
}

/// The tree that a key of the registry marks as a tree of index entries; `None` for any other key.
pub(crate) fn indexed_tree(key: &[u8]) -> Option<TreeId> {
    let id = key.strip_prefix(b"i")?.try_into().ok()?;
    Some(TreeId(u32::from_be_bytes(id)))
}

/// A change of the set of trees. It is part of the batch that writes it.
#[derive(Debug, Clone, Default)]
pub(crate) struct SchemaChange {
    pub create: Vec<(TreeId, Vec<u8>)>,
    /// The multivalue trees among `create`.
    pub multivalue: Vec<TreeId>,
    /// The trees of index entries among `create`.
    pub indexes: Vec<TreeId>,
    pub describe: Vec<(TreeId, Vec<u8>)>,
    pub drop: Vec<TreeId>,
    /// Trees, each with the value of a stamped entry in it.
    pub stamped: Vec<(TreeId, Vec<u8>)>,
}

/// The registry at the end of recovery.
#[derive(Debug, Default)]
struct Recovered {
    pub live: BTreeMap<TreeId, Vec<u8>>,
    pub multivalue: BTreeSet<TreeId>,
    pub indexes: BTreeSet<TreeId>,
    pub next: u32,
}

/// The trees in memory.
pub(crate) struct Trees {
    registry: RwLock<Registry>,
}

struct Registry {
    live: BTreeMap<TreeId, Vec<u8>>,
    multivalue: BTreeSet<TreeId>,
    indexes: BTreeSet<TreeId>,
    /// For trees that were described since open: the number of the last change of their description.
    schemas: HashMap<TreeId, Seq>,
    /// Trees of write sets: they can be read, and are created when the set is committed.
    pending: HashSet<TreeId>,
    /// Dropped trees whose keys may not be removed yet, with the number of the drop. A tree that is not in this map and
    /// not live has no readable keys.
    dropped: HashMap<TreeId, Seq>,
    /// The dropped trees in the order of the drops.
    drops: BTreeSet<(Seq, TreeId)>,
    next: u32,
}

impl Trees {
    pub fn new() -> Self {
        let registry = Registry {
            live: BTreeMap::new(),
            multivalue: BTreeSet::new(),
            indexes: BTreeSet::new(),
            schemas: HashMap::new(),
            pending: HashSet::new(),
            dropped: HashMap::new(),
            drops: BTreeSet::new(),
            next: 1,
        };
        Self { registry: RwLock::new(registry) }
    }

    fn recovered(&self, found: Recovered) {
        let mut registry = self.registry.write();
        registry.next = found.next;
        registry.live = found.live;
        registry.multivalue = found.multivalue;
        registry.indexes = found.indexes;
    }

    /// Reads the registry from partition 0, at number `last`. New ids begin above every id in the registry, and above
    /// `highest`.
    pub fn load(&self, partition: &Partition, last: Seq, highest: u32) -> Result<()> {
        // Ends at the system tree: later trees may have deltas, which cannot be folded yet.
        let end = (SYSTEM.0 + 1).to_be_bytes();
        let mut iter = partition.iter(partition.view(), last, Bound::Unbounded, Bound::Excluded(&end));
        let mut found = Recovered { next: 1, ..Recovered::default() };
        iter.seek(&SYSTEM.0.to_be_bytes())?;
        while iter.valid() && iter.key().starts_with(&SYSTEM.0.to_be_bytes()) {
            let key = iter.key().get(4..).unwrap_or(&[]);
            let id = key.get(1..).and_then(|id| id.first_chunk()).map(|id| TreeId(u32::from_be_bytes(*id)));
            match (key.first(), id) {
                (Some(b't'), Some(id)) => {
                    let what = |_| {
                        alluvium_env::Error::corrupt(partition.dir(), 0, "the registry of trees has an id out of range")
                    };
                    alluvium_codec::limits::tree_of(&id.0.to_be_bytes()).map_err(what)?;
                    found.live.insert(id, iter.value().to_vec());
                }
                (Some(b'm'), Some(id)) => drop(found.multivalue.insert(id)),
                (Some(b'i'), Some(id)) => drop(found.indexes.insert(id)),
                _ => {
                    if let (NEXT_KEY, Ok(bytes)) = (key, <[u8; 4]>::try_from(iter.value())) {
                        found.next = u32::from_le_bytes(bytes);
                    }
                }
            }
            iter.next()?;
        }
        let above = found.live.keys().next_back().map_or(highest, |id| id.0.max(highest)).saturating_add(1);
        found.next = found.next.max(above);
        self.recovered(found);
        Ok(())
    }

    /// True if the tree is a live tree of index entries.
    pub fn is_index(&self, id: TreeId) -> bool {
        self.registry.read().indexes.contains(&id)
    }

    /// The number of the last change of a tree's description since open; 0 if there was none.
    pub fn schema(&self, id: TreeId) -> Seq {
        self.registry.read().schemas.get(&id).copied().unwrap_or(0)
    }

    /// Returns an error if the description of a tree has changed since the batch was made.
    pub fn check_schemas(&self, expected: &[(u32, Seq)]) -> Result<()> {
        if expected.is_empty() {
            return Ok(());
        }
        let registry = self.registry.read();
        for &(tree, schema) in expected {
            if registry.schemas.get(&TreeId(tree)).copied().unwrap_or(0) != schema {
                return Err(Error::SchemaChanged(tree));
            }
        }
        Ok(())
    }

    /// True if the tree is a live multivalue tree.
    pub fn is_multivalue(&self, id: TreeId) -> bool {
        self.registry.read().multivalue.contains(&id)
    }

    /// Returns an error if one of the trees is neither live nor among `created`.
    pub fn check_live(&self, trees: &[u32], created: &[(TreeId, Vec<u8>)]) -> Result<()> {
        let registry = self.registry.read();
        for &tree in trees {
            let is_created = || created.iter().any(|(id, _)| id.0 == tree);
            if tree != SYSTEM.0 && !registry.live.contains_key(&TreeId(tree)) && !is_created() {
                return Err(Error::NoSuchTree(tree));
            }
        }
        Ok(())
    }

    /// Applies a change to the registry. The leader calls this when the change has its number.
    pub fn change(&self, change: &SchemaChange, seq: Seq) {
        let mut registry = self.registry.write();
        for (id, description) in change.create.iter().chain(&change.describe) {
            registry.live.insert(*id, description.clone());
            registry.pending.remove(id);
            registry.schemas.insert(*id, seq);
        }
        registry.multivalue.extend(&change.multivalue);
        registry.indexes.extend(&change.indexes);
        for id in &change.drop {
            registry.live.remove(id);
            registry.multivalue.remove(id);
            registry.indexes.remove(id);
            registry.schemas.remove(id);
            registry.dropped.insert(*id, seq);
            registry.drops.insert((seq, *id));
        }
    }

    /// Takes `count` ids that were never used.
    pub fn allocate(&self, count: u32) -> Result<Vec<TreeId>> {
        let mut registry = self.registry.write();
        let first = registry.next;
        let what = Error::InvalidOption { name: "trees", must_be: "fewer than 2^32 in a database's life" };
        registry.next = first.checked_add(count).ok_or(what)?;
        Ok((first..registry.next).map(TreeId).collect())
    }

    /// As [`Trees::allocate`], for trees that a write set is to create: they can be read already.
    pub fn allocate_pending(&self, count: u32) -> Result<Vec<TreeId>> {
        let ids = self.allocate(count)?;
        self.registry.write().pending.extend(&ids);
        Ok(ids)
    }

    /// Forgets trees of a write set that were not created. Has no effect on trees that were.
    pub fn withdraw(&self, ids: impl Iterator<Item = TreeId>) {
        let mut registry = self.registry.write();
        for id in ids {
            registry.pending.remove(&id);
        }
    }

    /// The next id, which is written to disk with each creation.
    pub fn next(&self) -> u32 {
        self.registry.read().next
    }

    pub fn live(&self) -> Vec<(TreeId, Vec<u8>)> {
        self.registry.read().live.iter().map(|(id, d)| (*id, d.clone())).collect()
    }

    pub fn description(&self, id: TreeId) -> Option<Vec<u8>> {
        self.registry.read().live.get(&id).cloned()
    }

    /// False if the keys of the tree may be removed, that is, if the tree was dropped, the drop is durable, and no
    /// snapshot is older than the drop.
    pub fn keeps_keys(&self, tree: u32) -> bool {
        let id = TreeId(tree);
        if id == SYSTEM {
            return true;
        }
        let registry = self.registry.read();
        // An id that is not live yet belongs to a tree that is being created.
        registry.live.contains_key(&id)
            || registry.pending.contains(&id)
            || registry.dropped.contains_key(&id)
            || id.0 >= registry.next
    }

    /// Returns an error if the tree was dropped at or before `seq`, because its keys may be removed concurrently. Must
    /// be called *after* a snapshot was registered at `seq`, so that a later drop waits for the snapshot.
    pub fn check_readable(&self, tree: TreeId, seq: Seq) -> Result<()> {
        let registry = self.registry.read();
        let readable = tree == SYSTEM
            || tree == TreeId::EMPTY
            || registry.live.contains_key(&tree)
            || registry.pending.contains(&tree)
            || registry.dropped.get(&tree).is_some_and(|dropped| *dropped > seq);
        if readable { Ok(()) } else { Err(Error::NoSuchTree(tree.0)) }
    }

    /// True if there are dropped trees whose keys may not be removed yet.
    pub fn are_drops_pending(&self) -> bool {
        !self.registry.read().drops.is_empty()
    }

    /// The trees that were dropped at or before `seq` and whose keys may not be removed yet, in the order of their
    /// drops.
    pub fn dropped_up_to(&self, seq: Seq) -> Vec<TreeId> {
        let last = (seq, TreeId(u32::MAX));
        self.registry.read().drops.range(..=last).map(|(_, id)| *id).collect()
    }

    /// The trees that were dropped after `seq` and whose keys may not be removed yet.
    pub fn dropped_after(&self, seq: Seq) -> Vec<TreeId> {
        let first = (Bound::Excluded((seq, TreeId(u32::MAX))), Bound::Unbounded);
        self.registry.read().drops.range(first).map(|(_, id)| *id).collect()
    }

    /// Allows the removal of the keys of these dropped trees.
    pub fn forget(&self, ids: &[TreeId]) {
        let mut registry = self.registry.write();
        for id in ids {
            if let Some(seq) = registry.dropped.remove(id) {
                registry.drops.remove(&(seq, *id));
            }
        }
    }
}

/// The trees that a write set is to create. Dropping this value forgets those that were not created.
pub(crate) struct PendingTrees {
    trees: Arc<Trees>,
    pub change: SchemaChange,
}

impl PendingTrees {
    pub fn new(trees: Arc<Trees>) -> Self {
        Self { trees, change: SchemaChange::default() }
    }

    /// Adds `count` trees, which `describe` describes.
    pub fn add(&mut self, count: u32, describe: impl FnOnce(&[TreeId]) -> Vec<Vec<u8>>) -> Result<Vec<TreeId>> {
        let ids = self.trees.allocate_pending(count)?;
        self.change.create.extend(ids.iter().copied().zip(describe(&ids)));
        Ok(ids)
    }
}

impl Drop for PendingTrees {
    fn drop(&mut self) {
        if !self.change.create.is_empty() {
            self.trees.withdraw(self.change.create.iter().map(|(id, _)| *id));
        }
    }
}

#[cfg(test)]
mod tests;
