//! For each tree, the sequence number up to which files alone do not prove that a version is the
//! newest of its key.

use alluvium_codec::entry::Seq;

/// For each tree, the highest number of a superseded entry that is or was in files, or was left out
/// of them. An entry is superseded if it is not the only full write of its key: an older version of
/// a key, an entry that a range tombstone hides, or a delta. Where keys are marked
/// ([`crate::DefinitionUse::uses_definitions`]), an entry does not count if a newer version of its
/// key stays in the files and marks the key in the filter of its file. It counts where the key has
/// been deleted, or where deltas were dropped because no full write is below them.
///
/// Numbers only rise, so an entry that was dropped still counts. Hence a full write is the newest
/// of its key if it has a higher number, and if its key is in no memtable, in at most one place of
/// the files, and not marked there ([`crate::View::proves_newest`]).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Superseded {
    /// Ascending, each tree once, no number 0.
    trees: Vec<(u32, Seq)>,
}

impl Superseded {
    /// The number of a tree, or 0.
    #[inline]
    pub fn of(&self, tree: u32) -> Seq {
        self.trees.binary_search_by_key(&tree, |(tree, _)| *tree).map_or(0, |at| self.trees[at].1)
    }

    /// Raises the number of a tree. Cheapest if trees are passed in order.
    #[inline]
    pub fn note(&mut self, tree: u32, seq: Seq) {
        if let Some((last, highest)) = self.trees.last_mut()
            && *last == tree
        {
            *highest = seq.max(*highest);
            return;
        }
        match self.trees.binary_search_by_key(&tree, |(tree, _)| *tree) {
            Ok(at) => self.trees[at].1 = self.trees[at].1.max(seq),
            Err(_) if seq == 0 => {}
            Err(at) => self.trees.insert(at, (tree, seq)),
        }
    }

    /// Removes the trees for which `is_dead` is true.
    pub fn forget(&mut self, is_dead: impl Fn(u32) -> bool) {
        self.trees.retain(|(tree, _)| !is_dead(*tree));
    }

    /// Raises the numbers of all trees to the numbers in `other`.
    pub fn join(&mut self, other: &Self) {
        other.trees.iter().for_each(|&(tree, seq)| self.note(tree, seq));
    }

    /// The trees, ascending, with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u32, Seq)> {
        self.trees.iter().copied()
    }

    /// True if no tree has a number.
    pub fn is_empty(&self) -> bool {
        self.trees.is_empty()
    }
}

#[cfg(test)]
mod tests;
