//! The iterator over the keys of a partition at a snapshot.

use crate::chain::{Base, Chain};
use crate::covers::{Covers, Pass};
use crate::key::tree_of;
use crate::merge::Merge;
use crate::policy::{DeltaFold, Policies};
use crate::run_iter::RunIter;
use crate::uncommitted::Visible;
use crate::view::View;
use alluvium_codec::entry::{EntryIter, Kind, Seq};
use alluvium_env::{Error, Result};
use alluvium_memtable::MemtableIter;
use std::ops::Bound;
use std::sync::Arc;

/// A source of a merging iterator.
pub(crate) enum IterSource {
    Memtable(MemtableIter),
    Run(RunIter),
}

macro_rules! each_source {
    ($self:expr, $inner:ident => $do:expr) => {
        match $self {
            IterSource::Memtable($inner) => $do,
            IterSource::Run($inner) => $do,
        }
    };
}

impl IterSource {
    /// Releases the entries that it holds. Not positioned afterwards.
    fn release(&mut self) {
        each_source!(self, inner => inner.release());
    }
}

impl Pass for IterSource {
    fn pass_forward(&mut self, cover: Seq, high: &[u8]) -> Result<()> {
        each_source!(self, inner => inner.pass_forward(cover, high))
    }
    fn pass_back(&mut self, cover: Seq, low: &[u8]) -> Result<()> {
        each_source!(self, inner => inner.pass_back(cover, low))
    }
}

impl EntryIter for IterSource {
    type Error = Error;

    fn seek_first(&mut self) -> Result<()> {
        each_source!(self, inner => inner.seek_first())
    }
    fn seek_last(&mut self) -> Result<()> {
        each_source!(self, inner => inner.seek_last())
    }
    fn seek(&mut self, key: &[u8], seq: Seq) -> Result<()> {
        each_source!(self, inner => inner.seek(key, seq))
    }
    fn seek_before(&mut self, key: &[u8]) -> Result<()> {
        each_source!(self, inner => inner.seek_before(key))
    }
    #[inline]
    fn next(&mut self) -> Result<()> {
        each_source!(self, inner => inner.next())
    }
    #[inline]
    fn prev(&mut self) -> Result<()> {
        each_source!(self, inner => inner.prev())
    }
    #[inline]
    fn valid(&self) -> bool {
        each_source!(self, inner => inner.valid())
    }
    #[inline]
    fn key(&self) -> &[u8] {
        each_source!(self, inner => inner.key())
    }
    #[inline]
    fn seq(&self) -> Seq {
        each_source!(self, inner => inner.seq())
    }
    #[inline]
    fn kind(&self) -> Kind {
        each_source!(self, inner => inner.kind())
    }
    #[inline]
    fn value(&self) -> &[u8] {
        each_source!(self, inner => inner.value())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    /// Not on a key.
    Nowhere,
    /// On the current entry of `merge`; its key is in `key` too.
    Forward,
    /// At `key` and `value`. `merge` is behind the entries from which the value was made: at an
    /// older version of the key, or at the next key.
    Made,
    /// On `key` and `value`; `merge` is at the entry before all versions of the key.
    Back,
    /// On `key`, without its value; `merge` is not positioned. See [`PartitionIter::park`].
    Parked,
}

/// Walks the keys of a partition that have a value at a snapshot, in both directions, within
/// bounds.
///
/// Holds the memtables and files that it reads until it is dropped. A new iterator is not
/// positioned. After an error, or a move beyond either end, it is not valid until the next seek.
pub struct PartitionIter {
    merge: Merge<IterSource>,
    policies: Arc<Policies>,
    visible: Visible,
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    position: Position,
    key: Vec<u8>,
    value: Vec<u8>,
    chain: Chain,
    /// The range tombstones, if there are any.
    covers: Option<Covers>,
    found_seq: Seq,
    /// The sequence number of the full write below the value's deltas.
    full_seq: Seq,
    /// The last tree for which liveness was looked up, and the result.
    tree: Option<(u32, bool)>,
}

fn owned(bound: Bound<&[u8]>) -> Bound<Vec<u8>> {
    bound.map(<[u8]>::to_vec)
}

/// True if a run from `smallest` to `largest` can have a key within the bounds.
fn overlaps(smallest: &[u8], largest: &[u8], lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> bool {
    let above = match lower {
        Bound::Included(key) => largest >= key,
        Bound::Excluded(key) => largest > key,
        Bound::Unbounded => true,
    };
    let below = match upper {
        Bound::Included(key) => smallest <= key,
        Bound::Excluded(key) => smallest < key,
        Bound::Unbounded => true,
    };
    above && below
}

impl PartitionIter {
    pub(crate) fn new(
        policies: Arc<Policies>,
        view: &View,
        seq: Seq,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
    ) -> Self {
        let mut sources = Vec::with_capacity(2 + view.immutable.len() + view.version.runs.len());
        if let Some(uncommitted) = &view.uncommitted {
            sources.push(IterSource::Memtable(uncommitted.memtable.iter()));
        }
        for memtable in view.memtables() {
            if memtable.first_seq() <= seq && !memtable.is_empty() {
                sources.push(IterSource::Memtable(memtable.iter()));
            }
        }
        for run in &view.version.runs {
            let (Some(first), Some(last)) = (run.files.first(), run.files.last()) else { continue };
            if overlaps(&first.meta.smallest, &last.meta.largest, lower, upper) {
                sources.push(IterSource::Run(RunIter::new(run.clone(), true)));
            }
        }
        Self {
            merge: Merge::new(sources),
            policies,
            visible: Visible::new(seq, view.uncommitted.as_ref()),
            lower: owned(lower),
            upper: owned(upper),
            position: Position::Nowhere,
            key: Vec::new(),
            value: Vec::new(),
            chain: Chain::default(),
            covers: Covers::new(view.ranges(), seq),
            found_seq: 0,
            full_seq: 0,
            tree: None,
        }
    }

    /// Releases the blocks and the copies of entries that the iterator holds, but keeps its memtables and files. Not
    /// valid until the next seek.
    pub fn release(&mut self) {
        self.position = Position::Nowhere;
        self.merge.release(IterSource::release);
        self.key = Vec::new();
        self.value = Vec::new();
        self.chain = Chain::default();
    }

    /// Releases the value and the blocks, but stays on the key. The value is empty until [`PartitionIter::wake`].
    pub fn park(&mut self) {
        if self.valid() {
            self.merge.release(IterSource::release);
            self.value = Vec::new();
            self.chain = Chain::default();
            self.position = Position::Parked;
        }
    }

    /// Reads the value of a parked key again. Does nothing when not parked.
    ///
    /// # Errors
    /// As [`PartitionIter::seek_first`].
    #[inline]
    pub fn wake(&mut self) -> Result<()> {
        if self.position == Position::Parked { self.seek_again() } else { Ok(()) }
    }

    #[cold]
    fn seek_again(&mut self) -> Result<()> {
        let key = std::mem::take(&mut self.key);
        self.seek(&key)
    }

    /// Moves to the first key.
    ///
    /// # Errors
    /// [`alluvium_env::Error::Corrupt`] or [`alluvium_env::Error::Io`].
    pub fn seek_first(&mut self) -> Result<()> {
        self.position = Position::Nowhere;
        match &self.lower {
            Bound::Included(key) => self.merge.seek(key, alluvium_codec::entry::MAX_SEQ)?,
            // No entry has number 0, so this skips all versions of the key.
            Bound::Excluded(key) => self.merge.seek(key, 0)?,
            Bound::Unbounded => self.merge.seek_first()?,
        }
        self.settle_forward(false)
    }

    /// Moves to the last key.
    ///
    /// # Errors
    /// As [`PartitionIter::seek_first`].
    pub fn seek_last(&mut self) -> Result<()> {
        self.position = Position::Nowhere;
        match &self.upper {
            Bound::Included(key) => {
                let mut after = key.clone();
                after.push(0);
                self.merge.seek_before(&after)?;
            }
            Bound::Excluded(key) => self.merge.seek_before(key)?,
            Bound::Unbounded => self.merge.seek_last()?,
        }
        self.settle_back()
    }

    /// Moves to the first key at or above `key`.
    ///
    /// # Errors
    /// As [`PartitionIter::seek_first`].
    pub fn seek(&mut self, key: &[u8]) -> Result<()> {
        if !self.above_lower(key) {
            return self.seek_first();
        }
        self.position = Position::Nowhere;
        // Newer versions of the key are stored before the visible one; this seek skips them.
        self.merge.seek(key, self.visible.highest())?;
        self.settle_forward(false)
    }

    /// Moves to the last key below `key`.
    ///
    /// # Errors
    /// As [`PartitionIter::seek_first`].
    pub fn seek_before(&mut self, key: &[u8]) -> Result<()> {
        if !self.below_upper(key) {
            return self.seek_last();
        }
        self.position = Position::Nowhere;
        self.merge.seek_before(key)?;
        self.settle_back()
    }

    /// Moves to the next key. Does nothing when not valid.
    ///
    /// # Errors
    /// As [`PartitionIter::seek_first`].
    #[inline]
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<()> {
        match self.position {
            Position::Nowhere => Ok(()),
            Position::Forward => {
                self.position = Position::Nowhere;
                self.merge.next()?;
                self.settle_forward(true)
            }
            Position::Made => {
                self.position = Position::Nowhere;
                self.settle_forward(true)
            }
            Position::Back | Position::Parked => {
                self.position = Position::Nowhere;
                self.merge.seek(&self.key, 0)?;
                self.settle_forward(false)
            }
        }
    }

    /// Moves to the previous key. Does nothing when not valid.
    ///
    /// # Errors
    /// As [`PartitionIter::seek_first`].
    pub fn prev(&mut self) -> Result<()> {
        match self.position {
            Position::Nowhere => Ok(()),
            Position::Forward | Position::Made | Position::Parked => {
                self.position = Position::Nowhere;
                self.merge.seek_before(&self.key)?;
                self.settle_back()
            }
            Position::Back => {
                self.position = Position::Nowhere;
                self.settle_back()
            }
        }
    }

    /// True while on a key.
    #[inline]
    pub fn valid(&self) -> bool {
        self.position != Position::Nowhere
    }

    /// The key; empty when not valid.
    #[inline]
    pub fn key(&self) -> &[u8] {
        if self.valid() { &self.key } else { &[] }
    }

    /// The value; empty when not valid, or parked.
    #[inline]
    pub fn value(&self) -> &[u8] {
        match self.position {
            Position::Nowhere | Position::Parked => &[],
            Position::Forward => self.merge.value(),
            Position::Made | Position::Back => &self.value,
        }
    }

    /// The sequence number of the version; 0 when not valid.
    #[inline]
    pub fn seq(&self) -> Seq {
        if self.valid() { self.found_seq } else { 0 }
    }

    /// The sequence number of the last full write of the key, at most [`PartitionIter::seq`]; 0
    /// when not valid.
    #[inline]
    pub fn full_seq(&self) -> Seq {
        if self.valid() { self.full_seq } else { 0 }
    }

    fn above_lower(&self, key: &[u8]) -> bool {
        match &self.lower {
            Bound::Included(lower) => key >= lower.as_slice(),
            Bound::Excluded(lower) => key > lower.as_slice(),
            Bound::Unbounded => true,
        }
    }

    fn below_upper(&self, key: &[u8]) -> bool {
        match &self.upper {
            Bound::Included(upper) => key <= upper.as_slice(),
            Bound::Excluded(upper) => key < upper.as_slice(),
            Bound::Unbounded => true,
        }
    }

    /// The tree of the current entry, if it is dead.
    fn dead_tree(&mut self) -> Option<u32> {
        let tree = tree_of(self.merge.key());
        let live = match self.tree {
            Some((known, live)) if known == tree => live,
            _ => {
                let live = self.policies.liveness.tree_is_live(tree, self.visible.committed);
                self.tree = Some((tree, live));
                live
            }
        };
        (!live).then_some(tree)
    }

    /// The sequence number of the newest range tombstone over the current key that the reader sees,
    /// or 0.
    #[inline]
    fn cover(&mut self) -> Seq {
        self.covers.as_mut().map_or(0, |covers| covers.newest(self.merge.key()))
    }

    /// Moves `merge` forward to the first visible put. With `done`, the remaining versions of `key`
    /// are skipped.
    fn settle_forward(&mut self, mut done: bool) -> Result<()> {
        while self.merge.valid() {
            let key = self.merge.key();
            if done && key == self.key {
                self.merge.next()?;
                continue;
            }
            if !self.below_upper(key) {
                return Ok(());
            }
            if !self.visible.includes(self.merge.seq()) {
                self.merge.next()?;
                continue;
            }
            if let Some(covers) = &mut self.covers {
                let cover = covers.newest(self.merge.key());
                if self.merge.seq() < cover {
                    self.merge.pass_forward(cover, covers.high())?;
                    continue;
                }
            }
            if let Some(tree) = self.dead_tree() {
                let Some(next) = tree.checked_add(1) else { return Ok(()) };
                self.merge.seek(&next.to_be_bytes(), alluvium_codec::entry::MAX_SEQ)?;
                done = false;
                continue;
            }
            self.key.clear();
            self.key.extend_from_slice(self.merge.key());
            self.found_seq = self.merge.seq();
            match self.merge.kind() {
                Kind::Put => {
                    self.full_seq = self.found_seq;
                    self.position = Position::Forward;
                    return Ok(());
                }
                Kind::Delta | Kind::Folded => {
                    if self.make_forward()? {
                        self.position = Position::Made;
                        return Ok(());
                    }
                }
                Kind::Delete | Kind::RangeDelete => self.merge.next()?,
            }
            done = true;
        }
        Ok(())
    }

    /// Makes the value of `key` from the entries that begin at the position of `merge`; false if
    /// the key has no value.
    fn make_forward(&mut self) -> Result<bool> {
        self.chain.clear();
        let cover = self.cover();
        while self.merge.valid() && self.merge.key() == self.key && self.merge.seq() >= cover {
            let (seq, kind) = (self.merge.seq(), self.merge.kind());
            // Below uncommitted deltas, there may be committed versions that the reader does not see.
            if !self.visible.includes(seq) {
                self.merge.next()?;
                continue;
            }
            if kind == Kind::Delta {
                self.chain.push(seq, self.merge.value());
                self.merge.next()?;
                continue;
            }
            let base = Base::of(seq, kind, self.merge.value()).map_err(|e| self.damaged(&e))?;
            self.full_seq = base.full_seq();
            let found = finish(&self.chain, &*self.policies.fold, &self.key, base, &mut self.value)?;
            self.merge.next()?;
            return Ok(found);
        }
        Ok(false)
    }

    fn damaged(&self, error: &alluvium_codec::DecodeError) -> Error {
        Error::corrupt(std::path::Path::new("a folded value"), 0, format!("key {:02x?}: {error}", self.key))
    }

    /// Moves `merge` back to the first key that has a value. In this direction the oldest version
    /// of a key is read first, so the versions are copied.
    fn settle_back(&mut self) -> Result<()> {
        while self.merge.valid() {
            if !self.above_lower(self.merge.key()) {
                return Ok(());
            }
            if let Some(tree) = self.dead_tree() {
                self.merge.seek_before(&tree.to_be_bytes())?;
                continue;
            }
            if let Some(covers) = &mut self.covers {
                let cover = covers.newest(self.merge.key());
                if self.merge.seq() < cover {
                    self.merge.pass_back(cover, covers.low())?;
                    continue;
                }
            }
            self.key.clear();
            self.key.extend_from_slice(self.merge.key());
            if self.make_back()? {
                self.position = Position::Back;
                return Ok(());
            }
        }
        Ok(())
    }

    /// Makes the value of `key`, moving back over its versions; false if the key has no value.
    fn make_back(&mut self) -> Result<bool> {
        let cover = self.cover();
        let mut base = None;
        // Oldest first; folded at the end, newest first.
        let mut deltas: Vec<(Seq, Vec<u8>)> = Vec::new();
        while self.merge.valid() && self.merge.key() == self.key {
            let (seq, kind) = (self.merge.seq(), self.merge.kind());
            if self.visible.includes(seq) && seq >= cover {
                self.found_seq = seq;
                if kind == Kind::Delta {
                    deltas.push((seq, self.merge.value().to_vec()));
                } else {
                    deltas.clear();
                    base = Some((seq, kind));
                    self.value.clear();
                    self.value.extend_from_slice(self.merge.value());
                }
            }
            self.merge.prev()?;
        }
        match base {
            Some((seq, Kind::Put)) if deltas.is_empty() => {
                self.full_seq = seq;
                Ok(true)
            }
            Some((seq, kind @ (Kind::Put | Kind::Folded))) => {
                self.chain.clear();
                deltas.iter().rev().for_each(|(seq, delta)| self.chain.push(*seq, delta));
                let content = std::mem::take(&mut self.value);
                let base = Base::of(seq, kind, &content).map_err(|e| self.damaged(&e))?;
                self.full_seq = base.full_seq();
                finish(&self.chain, &*self.policies.fold, &self.key, base, &mut self.value)
            }
            _ => Ok(false),
        }
    }
}

/// Writes the value that a reader sees for `base` under the chain to `out`. The chain may be empty.
fn finish(chain: &Chain, fold: &dyn DeltaFold, key: &[u8], base: Base<'_>, out: &mut Vec<u8>) -> Result<bool> {
    match base {
        Base::Value(_, value) if chain.is_empty() => {
            out.clear();
            out.extend_from_slice(value);
            Ok(true)
        }
        base => chain.read(fold, key, base, out),
    }
}
