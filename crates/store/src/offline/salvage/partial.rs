//! The undamaged blocks of a damaged file.

use super::entry::{KeyRange, OwnedEntry};
use crate::error::Result;
use crate::keys::tree_of;
use alluvium_env::Env;
use alluvium_sst::{BlockReader, Dictionary, DictionaryRegistry, WalkedFile};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A damaged file. Finding its blocks is costly, so their positions are kept; this takes a few bytes for each.
pub(super) struct PartialFile {
    path: PathBuf,
    number: u64,
    dictionary: Option<Arc<Dictionary>>,
    spans: Vec<Span>,
    /// The lowest and the highest key in the blocks.
    keys: Option<KeyRange>,
    /// The trees of the remaining keys.
    pub trees: BTreeSet<u32>,
}

/// The trees of the first and of the last key.
#[derive(Clone, Copy, PartialEq, Eq)]
struct TreeSpan {
    first: u32,
    last: u32,
}

/// Consecutive undamaged blocks: each begins where the previous one ends. If there are several, all belong to one tree.
struct Span {
    trees: TreeSpan,
    offset: u64,
    end: u64,
    /// The stored length of each block, in bytes.
    bytes: Vec<u32>,
}

impl PartialFile {
    /// Finds the undamaged blocks of a file.
    pub fn read(
        env: &Env,
        path: &Path,
        number: u64,
        registry: &DictionaryRegistry,
    ) -> alluvium_env::Result<(WalkedFile, Self)> {
        let (path, spans, trees) = (path.to_owned(), Vec::new(), BTreeSet::new());
        let mut file = Self { path: path.clone(), number, dictionary: None, spans, keys: None, trees };
        let walked = alluvium_sst::walk_file(env, &path, number, registry, &mut |block| {
            let mut trees = None;
            block.each(&mut |entry| {
                let tree = tree_of(entry.key);
                let first = trees.map_or(tree, |trees: TreeSpan| trees.first);
                trees = Some(TreeSpan { first, last: tree });
                file.add(entry.key);
                Ok(())
            })?;
            if let Some(trees) = trees {
                file.add_block(trees, block.offset, block.bytes as u32);
            }
            Ok(())
        })?;
        file.dictionary.clone_from(&walked.dictionary);
        Ok((walked, file))
    }

    fn add(&mut self, key: &[u8]) {
        match &mut self.keys {
            None => self.keys = Some((key.to_vec(), key.to_vec())),
            Some((low, _)) if key < low.as_slice() => *low = key.to_vec(),
            Some((_, high)) if key > high.as_slice() => {
                high.clear();
                high.extend_from_slice(key);
            }
            Some(_) => {}
        }
        self.trees.insert(tree_of(key));
    }

    fn add_block(&mut self, trees: TreeSpan, offset: u64, bytes: u32) {
        let end = offset + u64::from(bytes);
        let continues = |last: &&mut Span| trees.first == trees.last && last.trees == trees && last.end == offset;
        match self.spans.last_mut().filter(continues) {
            Some(last) => {
                last.bytes.push(bytes);
                last.end = end;
            }
            None => self.spans.push(Span { trees, offset, end, bytes: vec![bytes] }),
        }
    }

    /// The lowest and the highest key, if there are any.
    pub fn keys(&self) -> Option<KeyRange> {
        self.keys.clone()
    }

    /// The entries of a tree, in their order.
    pub fn iter(&self, env: &Env, tree: u32) -> Result<PartialIter<'_>> {
        let reader = BlockReader::open(env, &self.path, self.number, self.dictionary.clone())?;
        let mut iter = PartialIter { reader, tree, spans: &self.spans, within: (0, 0), entries: Vec::new(), at: 0 };
        iter.read()?;
        Ok(iter)
    }
}

/// The entries of a tree in the undamaged blocks of a file. One block is in memory at a time.
pub(super) struct PartialIter<'a> {
    reader: BlockReader,
    tree: u32,
    /// The spans that are still to be read. `within` has the numbers of blocks and bytes of the first span that were
    /// read.
    spans: &'a [Span],
    within: (usize, u64),
    entries: Vec<OwnedEntry>,
    at: usize,
}

impl PartialIter<'_> {
    pub fn at(&self) -> Option<&OwnedEntry> {
        self.entries.get(self.at)
    }

    pub fn next(&mut self) -> Result<()> {
        self.at += 1;
        self.read()
    }

    /// Reads the next block, if the current one has no more entries.
    fn read(&mut self) -> Result<()> {
        while self.at >= self.entries.len() {
            let Some((span, rest)) = self.spans.split_first() else { return Ok(()) };
            let (blocks, offset) = self.within;
            let has_tree = (span.trees.first..=span.trees.last).contains(&self.tree);
            let Some(bytes) = span.bytes.get(blocks).filter(|_| has_tree) else {
                (self.spans, self.within) = (rest, (0, 0));
                continue;
            };
            self.within = (blocks + 1, offset + u64::from(*bytes));
            self.entries.clear();
            self.at = 0;
            let (tree, entries) = (self.tree, &mut self.entries);
            self.reader.each(span.offset + offset, *bytes, &mut |entry| {
                if tree_of(entry.key) == tree {
                    entries.push(OwnedEntry::of(&entry));
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}
