//! Proofs by filters that operations on the keys of a tree are the last ones.

use crate::error::Result;
use crate::keys;
use crate::partitions;
use crate::reads::Reads;
use crate::trees::{SYSTEM, TreeId};
use crate::visibility::Snapshot;
use alluvium_codec::entry::Seq;
use alluvium_lsm::NewestProver;

/// Proves many operations on a tree at a snapshot. Until it is dropped, it holds the memtables and files of the tree.
///
/// ```
/// # use alluvium_store::{Durability, Options, Store};
/// # fn main() -> alluvium_store::Result<()> {
/// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
/// # let pets = store.create_trees(&[b"pets"])?[0];
/// let prover = store.prover(&store.snapshot(), pets)?;
/// # drop(prover);
/// # Ok(())
/// # }
/// ```
pub struct Prover {
    tree: TreeId,
    /// For each partition; `None` if nothing can be proved there.
    partitions: Vec<Option<NewestProver>>,
}

impl Prover {
    pub(crate) fn new(reads: &Reads, snapshot: &Snapshot, tree: TreeId) -> Result<Self> {
        let views = partitions::views(&reads.partitions);
        // The check comes after the views are pinned, as in a scan.
        reads.check_readable(tree, snapshot)?;
        let provers = views.into_iter().enumerate().map(|(at, view)| snapshot.over(at, view).newest_prover(tree.0));
        Ok(Self { tree, partitions: provers.collect() })
    }

    /// True proves that the full write of a key with this number, which the snapshot includes, is the last operation on
    /// the key at the snapshot. False proves nothing; neither does a file that cannot be read.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", b"dog");
    /// let number = store.write(batch, Durability::Periodic)?;
    /// let prover = store.prover(&store.snapshot(), pets)?;
    /// // The key is in a memtable: only its version there shows which operation was the last.
    /// assert!(!prover.proves(b"rex", number));
    /// # Ok(())
    /// # }
    /// ```
    #[inline]
    pub fn proves(&self, key: &[u8], number: Seq) -> bool {
        let partition = match self.tree {
            SYSTEM => 0,
            _ => keys::partition_of(alluvium_codec::hash64(key), self.partitions.len() as u32) as usize,
        };
        let Some(prover) = &self.partitions[partition] else { return false };
        keys::with_internal(self.tree, key, |internal| prover.proves(internal, number).unwrap_or(false))
    }
}
