//! The iterator over one run.

use crate::covers::Pass;
use crate::files::FileHandle;
use crate::version::Run;
use alluvium_codec::entry::{EntryIter, Kind, Seq};
use alluvium_env::{Error, Result};
use alluvium_sst::SstIter;
use std::sync::Arc;

/// Walks the files of a run in order, opening each when it is reached.
pub(crate) struct RunIter {
    run: Arc<Run>,
    /// The index of the file that `inner` walks.
    at: usize,
    inner: Option<SstIter>,
    fill_cache: bool,
}

impl RunIter {
    pub fn new(run: Arc<Run>, fill_cache: bool) -> Self {
        Self { run, at: 0, inner: None, fill_cache }
    }

    /// Releases the blocks that it holds. Not positioned afterwards.
    pub fn release(&mut self) {
        self.inner = None;
    }

    /// Moves to the file at `index`; false if there is no such file.
    fn enter(&mut self, index: usize) -> Result<bool> {
        if self.inner.is_some() && self.at == index {
            return Ok(true);
        }
        self.inner = None;
        let Some(file) = self.run.files.get(index) else { return Ok(false) };
        self.inner = Some(file.reader()?.iter(self.fill_cache));
        self.at = index;
        Ok(true)
    }

    /// Moves forward through the files until one has an entry.
    fn skip_forward(&mut self) -> Result<()> {
        while !self.valid() && self.inner.is_some() {
            if self.enter(self.at + 1)?
                && let Some(inner) = &mut self.inner
            {
                inner.seek_first()?;
            }
        }
        Ok(())
    }

    /// Moves back through the files until one has an entry.
    fn skip_back(&mut self) -> Result<()> {
        while !self.valid() && self.inner.is_some() {
            let before = self.at.checked_sub(1);
            match before {
                Some(index) if self.enter(index)? => {
                    if let Some(inner) = &mut self.inner {
                        inner.seek_last()?;
                    }
                }
                _ => self.inner = None,
            }
        }
        Ok(())
    }

    fn with_inner(&mut self, index: usize, go: impl FnOnce(&mut SstIter) -> Result<()>) -> Result<()> {
        if self.enter(index)?
            && let Some(inner) = &mut self.inner
        {
            go(inner)?;
        }
        Ok(())
    }
}

impl EntryIter for RunIter {
    type Error = Error;

    fn seek_first(&mut self) -> Result<()> {
        self.with_inner(0, SstIter::seek_first)?;
        self.skip_forward()
    }

    fn seek_last(&mut self) -> Result<()> {
        let Some(last) = self.run.files.len().checked_sub(1) else {
            self.inner = None;
            return Ok(());
        };
        self.with_inner(last, SstIter::seek_last)?;
        self.skip_back()
    }

    fn seek(&mut self, key: &[u8], seq: Seq) -> Result<()> {
        let index = self.run.first_at_or_after(key);
        self.with_inner(index, |inner| inner.seek(key, seq))?;
        self.skip_forward()
    }

    fn seek_before(&mut self, key: &[u8]) -> Result<()> {
        // The last file that begins below the key.
        let index = self.run.files.partition_point(|file| file.meta.smallest.as_slice() < key);
        let Some(index) = index.checked_sub(1) else {
            self.inner = None;
            return Ok(());
        };
        self.with_inner(index, |inner| inner.seek_before(key))?;
        self.skip_back()
    }

    #[inline]
    fn next(&mut self) -> Result<()> {
        let Some(inner) = &mut self.inner else { return Ok(()) };
        inner.next()?;
        if inner.valid() { Ok(()) } else { self.skip_forward() }
    }

    #[inline]
    fn prev(&mut self) -> Result<()> {
        let Some(inner) = &mut self.inner else { return Ok(()) };
        inner.prev()?;
        if inner.valid() { Ok(()) } else { self.skip_back() }
    }

    #[inline]
    fn valid(&self) -> bool {
        self.inner.as_ref().is_some_and(EntryIter::valid)
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.inner.as_ref().map_or(&[], EntryIter::key)
    }

    #[inline]
    fn seq(&self) -> Seq {
        self.inner.as_ref().map_or(0, EntryIter::seq)
    }

    #[inline]
    fn kind(&self) -> Kind {
        self.inner.as_ref().map_or(Kind::Put, EntryIter::kind)
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.inner.as_ref().map_or(&[], EntryIter::value)
    }
}

impl Pass for RunIter {
    /// Skips whole files without opening them.
    fn pass_forward(&mut self, cover: Seq, high: &[u8]) -> Result<()> {
        if self.run.files.get(self.at).is_none_or(|file| file.meta.max_seq >= cover) {
            return self.next();
        }
        let from = self.at;
        let stays = |file: &&Arc<FileHandle>| file.meta.max_seq < cover && file.meta.largest.as_slice() < high;
        let index = from + self.run.files[from..].iter().take_while(stays).count();
        // If true, the hidden stretch ends within this file. If false, the file is not older than
        // the tombstone as a whole.
        let below = self.run.files.get(index).is_some_and(|file| file.meta.max_seq < cover);
        self.with_inner(index, |inner| {
            if below { inner.seek(high, alluvium_codec::entry::MAX_SEQ) } else { inner.seek_first() }
        })?;
        self.skip_forward()
    }

    fn pass_back(&mut self, cover: Seq, low: &[u8]) -> Result<()> {
        if self.run.files.get(self.at).is_none_or(|file| file.meta.max_seq >= cover) {
            return self.prev();
        }
        let to = self.at + 1;
        let stays = |file: &&Arc<FileHandle>| file.meta.max_seq < cover && file.meta.smallest.as_slice() >= low;
        let passed = self.run.files[..to].iter().rev().take_while(stays).count();
        let Some(index) = (to - passed).checked_sub(1) else {
            self.inner = None;
            return Ok(());
        };
        let below = self.run.files[index].meta.max_seq < cover;
        self.with_inner(index, |inner| if below { inner.seek_before(low) } else { inner.seek_last() })?;
        self.skip_back()
    }
}
