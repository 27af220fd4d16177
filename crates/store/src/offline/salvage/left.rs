//! What is left of a damaged file: where its whole blocks stand.

use super::entry::{KeyRange, OwnedEntry};
use crate::error::Result;
use crate::keys::tree_of;
use alluvium_env::Env;
use alluvium_sst::{BlockReader, Dictionary, DictionaryRegistry, WalkedFile};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A damaged file. Looking for its blocks is dear, so their places are kept: some bytes for each.
pub(super) struct LeftFile {
    path: PathBuf,
    number: u64,
    dictionary: Option<Arc<Dictionary>>,
    spans: Vec<Span>,
    /// The lowest and the highest key.
    keys: Option<KeyRange>,
    /// Whose keys are left.
    pub trees: BTreeSet<u32>,
}

/// Whole blocks, each of which begins where the one before ends. If there are several, all are of one tree.
struct Span {
    /// The trees of the first key and of the last.
    trees: (u32, u32),
    offset: u64,
    end: u64,
    /// The stored bytes of each.
    bytes: Vec<u32>,
}

impl LeftFile {
    /// Looks what is left of a file.
    pub fn read(
        env: &Env,
        path: &Path,
        number: u64,
        registry: &DictionaryRegistry,
    ) -> alluvium_env::Result<(WalkedFile, Self)> {
        let (path, spans, trees) = (path.to_owned(), Vec::new(), BTreeSet::new());
        let mut left = Self { path: path.clone(), number, dictionary: None, spans, keys: None, trees };
        let walked = alluvium_sst::walk_file(env, &path, number, registry, &mut |block| {
            let mut trees = None;
            block.each(&mut |entry| {
                let tree = tree_of(entry.key);
                trees = Some((trees.map_or(tree, |(first, _)| first), tree));
                left.add(entry.key);
                Ok(())
            })?;
            if let Some(trees) = trees {
                left.add_block(trees, block.offset, block.bytes as u32);
            }
            Ok(())
        })?;
        left.dictionary.clone_from(&walked.dictionary);
        Ok((walked, left))
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

    fn add_block(&mut self, trees: (u32, u32), offset: u64, bytes: u32) {
        let end = offset + u64::from(bytes);
        let goes_on = |last: &&mut Span| trees.0 == trees.1 && last.trees == trees && last.end == offset;
        match self.spans.last_mut().filter(goes_on) {
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
    pub fn iter(&self, env: &Env, tree: u32) -> Result<LeftIter<'_>> {
        let reader = BlockReader::open(env, &self.path, self.number, self.dictionary.clone())?;
        let mut iter = LeftIter { reader, tree, spans: &self.spans, within: (0, 0), entries: Vec::new(), at: 0 };
        iter.read()?;
        Ok(iter)
    }
}

/// The entries of a tree in what is left of a file, of which one block is in memory at a time.
pub(super) struct LeftIter<'a> {
    reader: BlockReader,
    tree: u32,
    /// The spans that are still to be read, and what has been read of the first: so many blocks, and so many bytes.
    spans: &'a [Span],
    within: (usize, u64),
    entries: Vec<OwnedEntry>,
    at: usize,
}

impl LeftIter<'_> {
    pub fn at(&self) -> Option<&OwnedEntry> {
        self.entries.get(self.at)
    }

    pub fn next(&mut self) -> Result<()> {
        self.at += 1;
        self.read()
    }

    /// Reads on, if nothing is left of the block at hand.
    fn read(&mut self) -> Result<()> {
        while self.at >= self.entries.len() {
            let Some((span, rest)) = self.spans.split_first() else { return Ok(()) };
            let (blocks, offset) = self.within;
            let asked = span.trees.0 <= self.tree && self.tree <= span.trees.1;
            let Some(bytes) = span.bytes.get(blocks).filter(|_| asked) else {
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
