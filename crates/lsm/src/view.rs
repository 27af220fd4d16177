//! Views: the memtables and the version of a partition at one time, and point reads in them.

use crate::chain::{Base, Chain};
use crate::marks;
use crate::policy::Policies;
use crate::uncommitted::Uncommitted;
use crate::version::Version;
use alluvium_codec::entry::{self, Entry, Kind, MAX_SEQ, Seq};
use alluvium_codec::ranges::RangeSet;
use alluvium_env::{Error, Result};
use alluvium_memtable::Memtable;
use std::sync::Arc;

mod invariants;

/// The memtables and files that a partition had at one time. A view holds them until it is dropped.
pub struct View {
    pub(crate) active: Arc<Memtable>,
    /// Sealed, newest first.
    pub(crate) immutable: Vec<Arc<Memtable>>,
    pub(crate) version: Arc<Version>,
    pub(crate) policies: Arc<Policies>,
    /// Entries that only the reader of this view sees.
    pub(crate) uncommitted: Option<Uncommitted>,
    /// True if the immutable memtables or the version have range tombstones, or if there are uncommitted entries.
    covered: bool,
}

impl View {
    pub(crate) fn new(
        active: Arc<Memtable>,
        immutable: Vec<Arc<Memtable>>,
        version: Arc<Version>,
        policies: Arc<Policies>,
    ) -> Self {
        let covered = !version.ranges.is_empty() || immutable.iter().any(|memtable| memtable.has_ranges());
        Self { active, immutable, version, policies, uncommitted: None, covered }
    }

    /// The same view under uncommitted entries. Only for reads at a registered snapshot.
    #[must_use]
    pub fn under(&self, uncommitted: Uncommitted) -> Self {
        let (active, immutable) = (self.active.clone(), self.immutable.clone());
        let view = Self::new(active, immutable, self.version.clone(), self.policies.clone());
        Self { uncommitted: Some(uncommitted), covered: true, ..view }
    }

    /// True if range tombstones or uncommitted entries may hide an entry. Must be called after the
    /// sequence number of the read was taken.
    #[inline]
    pub(crate) fn is_covered(&self) -> bool {
        self.covered || self.active.has_ranges()
    }

    /// True if memtables have range tombstones. Those are thinned concurrently, and stay complete
    /// only for registered snapshots and *visible*. A read at a number that was *visible* earlier
    /// must register it.
    #[inline]
    pub fn needs_snapshot(&self) -> bool {
        self.is_covered() && self.memtables().any(|memtable| memtable.has_ranges())
    }

    /// The memtables of committed entries, newest first.
    pub(crate) fn memtables(&self) -> impl Iterator<Item = &Arc<Memtable>> {
        std::iter::once(&self.active).chain(&self.immutable)
    }

    /// All range tombstones, newest first.
    pub(crate) fn ranges(&self) -> Vec<Arc<RangeSet>> {
        if !self.is_covered() {
            return Vec::new();
        }
        let mut sets: Vec<_> = self.memtables().flat_map(|memtable| memtable.ranges()).collect();
        sets.push(self.version.ranges.clone());
        sets.retain(|set| !set.is_empty());
        sets
    }

    /// The number of the newest range tombstone that covers `key` and is not above `seq`, or 0.
    pub(crate) fn cover(&self, key: &[u8], seq: Seq) -> Seq {
        if !self.is_covered() {
            return 0;
        }
        let in_memory = self.memtables().map(|memtable| memtable.cover(key, seq)).max().unwrap_or(0);
        in_memory.max(self.version.ranges.cover(key, seq))
    }

    /// Finds the newest version of `key` that is not above `seq`, or uncommitted: returns its number
    /// and kind, and replaces `value` by its content. Returns `None` if there is no such version. A delta is a
    /// version too, and so is a range tombstone over the key ([`Kind::RangeDelete`]), whether it
    /// deleted anything or not.
    ///
    /// Searches from the newest source to the oldest and ends at the first hit: no memtable or run
    /// has a version of a key that is older than a version in a source below it. A run costs a
    /// search among its files' bounds, then the file's filter, then at most one data block.
    ///
    /// # Errors
    /// [`alluvium_env::Error::Corrupt`] or [`alluvium_env::Error::Io`].
    #[inline]
    pub fn find(&self, key: &[u8], seq: Seq, value: &mut Vec<u8>) -> Result<Option<(Seq, Kind)>> {
        if self.is_covered() {
            return self.find_covered(key, seq, value);
        }
        self.find_entry(key, seq, 0, value)
    }

    #[cold]
    fn find_covered(&self, key: &[u8], seq: Seq, value: &mut Vec<u8>) -> Result<Option<(Seq, Kind)>> {
        if let Some(Uncommitted { memtable, last }) = &self.uncommitted
            && let Some(found) = memtable.get(key, *last, value)
        {
            return Ok(Some(found));
        }
        let cover = self.cover(key, seq);
        let found = self.find_entry(key, seq, cover, value)?.filter(|(found, _)| *found > cover);
        Ok(found.or((cover > 0).then_some((cover, Kind::RangeDelete))))
    }

    /// Finds the newest entry of `key` not above `seq`. An entry at or below `floor` may be left
    /// out.
    #[inline(always)]
    fn find_entry(&self, key: &[u8], seq: Seq, floor: Seq, value: &mut Vec<u8>) -> Result<Option<(Seq, Kind)>> {
        if let Some(found) = self.active.get(key, seq, value) {
            return Ok(Some(found));
        }
        for memtable in &self.immutable {
            if let Some(found) = memtable.get(key, seq, value) {
                return Ok(Some(found));
            }
        }
        let hash = alluvium_codec::hash64(key);
        for run in &self.version.runs {
            let Some(file) = run.find(key) else { continue };
            if file.meta.min_seq > seq || floor > 0 && file.meta.max_seq <= floor {
                continue;
            }
            if let Some(found) = file.reader()?.get(key, hash, seq, value)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Reads `key` at `seq` into `value`, whose content is replaced. Returns false if the key is
    /// absent; the content of `value` is then unspecified. Deltas are collected and folded onto the
    /// value below them.
    ///
    /// # Errors
    /// As [`View::find`], and the errors of [`crate::DeltaFold::fold`].
    #[inline]
    pub fn get(&self, key: &[u8], seq: Seq, value: &mut Vec<u8>) -> Result<bool> {
        Ok(self.get_chained(key, seq, value)?.is_some())
    }

    /// As [`View::get`]; returns the number of folded deltas, or `None` if the key is absent.
    ///
    /// # Errors
    /// As [`View::get`].
    #[inline]
    pub fn get_chained(&self, key: &[u8], seq: Seq, value: &mut Vec<u8>) -> Result<Option<usize>> {
        Ok(self.get_numbered(key, seq, value)?.map(|(_, deltas)| deltas))
    }

    /// As [`View::get`]; returns the sequence number of the newest version and the number of folded
    /// deltas, or `None` if the key is absent.
    ///
    /// # Errors
    /// As [`View::get`].
    #[inline]
    pub fn get_numbered(&self, key: &[u8], seq: Seq, value: &mut Vec<u8>) -> Result<Option<(Seq, usize)>> {
        match self.find(key, seq, value)? {
            Some((found, Kind::Put)) => Ok(Some((found, 0))),
            None | Some((_, Kind::Delete | Kind::RangeDelete)) => Ok(None),
            Some((found, Kind::Folded)) => {
                let (_, folded) = entry::split_folded(found, value).map_err(|e| self.damaged(key, &e))?;
                let prefix = value.len() - folded.len();
                value.drain(..prefix);
                Ok(Some((found, 0)))
            }
            Some((found, Kind::Delta)) => Ok(self.get_folded(key, seq, value)?.map(|deltas| (found, deltas))),
        }
    }

    /// As [`View::get_numbered`], where the newest version is a delta; returns the number of
    /// folded deltas.
    #[cold]
    fn get_folded(&self, key: &[u8], seq: Seq, value: &mut Vec<u8>) -> Result<Option<usize>> {
        let mut chain = Chain::default();
        let mut base = None;
        self.walk(key, seq, value, &mut |seq, kind, content| {
            if kind == Kind::Delta {
                chain.push(seq, content);
                return true;
            }
            base = Some((seq, kind));
            false
        })?;
        let Some((seq, kind)) = base else { return Ok(None) };
        let content = std::mem::take(value);
        let base = Base::of(seq, kind, &content).map_err(|e| self.damaged(key, &e))?;
        let found = chain.read(&*self.policies.fold, key, base, value)?;
        Ok(found.then_some(chain.len()))
    }

    /// Folds the deltas of `key` in `memtable`, a memtable of this view, if at least `longest` of them are in a row
    /// below `visible`. The result replaces the newest delta. Therefore a chain stays short, however often a key is
    /// written. Returns the number of deltas that could not apply.
    ///
    /// The caller is registered as a writer of the memtable, and everything up to `visible` is applied.
    ///
    /// # Errors
    /// As [`View::get`]; nothing has changed then.
    pub fn shorten(&self, memtable: &Memtable, key: &[u8], visible: Seq, longest: usize) -> Result<u64> {
        let mut content = Vec::new();
        let (mut newest, mut at) = (0, visible);
        for _ in 0..longest {
            match memtable.get(key, at, &mut content) {
                Some((seq, Kind::Delta)) => {
                    newest = newest.max(seq);
                    at = seq.saturating_sub(1);
                }
                _ => return Ok(0),
            }
        }
        let mut chain = Chain::default();
        let mut base = None;
        self.walk(key, newest, &mut content, &mut |seq, kind, delta| {
            match kind {
                Kind::Delta => chain.push(seq, delta),
                _ => base = Some((seq, kind)),
            }
            base.is_none()
        })?;
        let Some((seq, kind)) = base else { return Ok(0) };
        let Base::Value(full, value) = Base::of(seq, kind, &content).map_err(|e| self.damaged(key, &e))? else {
            return Ok(0);
        };
        let mut folded = Vec::with_capacity(value.len() + 64);
        entry::put_folded(&mut folded, newest, full);
        let Some(refused) = chain.fold(&*self.policies.fold, key, value, &mut folded)? else { return Ok(0) };
        let is_across_flush = seq < memtable.first_seq();
        (if is_across_flush { &marks::FOLD_ACROSS_FLUSH } else { &marks::CHAIN_FOLDED }).hit();
        memtable.apply(std::iter::once(Entry { key, seq: newest, kind: Kind::Folded, value: &folded }));
        Ok(refused)
    }

    fn damaged(&self, key: &[u8], error: &alluvium_codec::DecodeError) -> Error {
        Error::corrupt(std::path::Path::new("a folded value"), 0, format!("key {key:02x?}: {error}"))
    }

    /// Visits the versions of `key` that are uncommitted or have numbers up to `seq`, newest first,
    /// and that no range tombstone hides, until `visit` returns false. `value` then has the content of the last visited
    /// version.
    fn walk(
        &self,
        key: &[u8],
        seq: Seq,
        value: &mut Vec<u8>,
        visit: &mut dyn FnMut(Seq, Kind, &[u8]) -> bool,
    ) -> Result<()> {
        let cover = self.cover(key, seq);
        // The next lower number: no entry has number 0.
        let next = |found: Seq| found.checked_sub(1).filter(|next| *next > 0);
        let mut visit = |seq: Seq, kind, content: &[u8]| seq > cover && visit(seq, kind, content);
        let uncommitted = self.uncommitted.iter().map(|uncommitted| (&uncommitted.memtable, uncommitted.last));
        for (memtable, from) in uncommitted.chain(self.memtables().map(|memtable| (memtable, seq))) {
            let mut at = Some(from);
            while let Some((found, kind)) = at.and_then(|at| memtable.get(key, at, value)) {
                if !visit(found, kind, value) {
                    return Ok(());
                }
                at = next(found);
            }
        }
        let hash = alluvium_codec::hash64(key);
        for run in &self.version.runs {
            let Some(file) = run.find(key) else { continue };
            let mut at = Some(seq);
            while let Some(from) = at {
                let Some((found, kind)) = file.reader()?.get(key, hash, from, value)? else { break };
                if !visit(found, kind, value) {
                    return Ok(());
                }
                at = next(found);
            }
        }
        Ok(())
    }

    /// True if a committed version of `key` has a number above `seq`, or a range tombstone above it
    /// covers the key. Reads only files that have such numbers.
    ///
    /// # Errors
    /// As [`View::find`].
    pub fn has_newer(&self, key: &[u8], seq: Seq) -> Result<bool> {
        let mut value = Vec::new();
        let is_newer = |found: Option<(Seq, Kind)>| found.is_some_and(|(found, _)| found > seq);
        if self.memtables().any(|memtable| is_newer(memtable.get(key, MAX_SEQ, &mut value))) {
            return Ok(true);
        }
        let hash = alluvium_codec::hash64(key);
        for run in &self.version.runs {
            if let Some(file) = run.find(key)
                && file.meta.max_seq > seq
                && is_newer(file.reader()?.get(key, hash, MAX_SEQ, &mut value)?)
            {
                return Ok(true);
            }
        }
        Ok(self.cover(key, MAX_SEQ) > seq)
    }

    /// False if no version of `key` is in memtables or files; true if one may be, even under a
    /// range tombstone. Uses filters only, and reads no data block.
    ///
    /// # Errors
    /// As [`View::find`].
    pub fn may_contain(&self, key: &[u8]) -> Result<bool> {
        let mut value = Vec::new();
        let uncommitted = self.uncommitted.iter().map(|uncommitted| &uncommitted.memtable);
        for memtable in uncommitted.chain(self.memtables()) {
            if memtable.get(key, MAX_SEQ, &mut value).is_some() {
                return Ok(true);
            }
        }
        let hash = alluvium_codec::hash64(key);
        for run in &self.version.runs {
            if let Some(file) = run.find(key)
                && file.reader()?.may_contain(key, hash)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Everything up to this sequence number is in files.
    pub fn flushed_seq(&self) -> Seq {
        self.version.flushed_seq
    }

    /// The first sequence number of the oldest memtable that has or may get entries to flush. These
    /// memtables are all immutable ones, and the active one if it is not empty. `None` if there is
    /// no such memtable.
    pub fn oldest_unflushed(&self) -> Option<Seq> {
        let active = (!self.active.is_empty()).then_some(&self.active);
        self.immutable.last().or(active).map(|memtable| memtable.first_seq())
    }

    /// The number of immutable memtables.
    pub fn immutable_count(&self) -> usize {
        self.immutable.len()
    }

    /// The memory of the immutable memtables in bytes.
    pub fn immutable_bytes(&self) -> u64 {
        self.immutable.iter().map(|memtable| memtable.charged_bytes() as u64).sum()
    }
}

impl std::fmt::Debug for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("View")
            .field("immutable", &self.immutable.len())
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}
