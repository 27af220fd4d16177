//! The bytes of a file, in pages that clones share until one clone writes to them.

use std::ops::Range;
use std::sync::Arc;

/// Bytes per page.
pub(crate) const PAGE: u64 = 4096;

/// The number of bytes that a disk writes atomically.
pub(crate) const SECTOR: u64 = 512;

/// The maximum length of a file, in bytes. The limit keeps the list of leaves small.
pub(crate) const MAX_LEN: u64 = 1 << 40;

const LEAF_PAGES: usize = 64;

type Page = [u8; PAGE as usize];

/// A group of consecutive pages. Absent pages and absent leaves read as zeros.
#[derive(Clone)]
struct Leaf {
    pages: [Option<Arc<Page>>; LEAF_PAGES],
}

/// The bytes of a file. In every page, bytes past the length of the file are zeros.
#[derive(Clone, Default)]
pub(crate) struct Content {
    len: u64,
    /// The number of pages that take memory.
    pages: u64,
    leaves: Vec<Option<Arc<Leaf>>>,
}

impl Content {
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    fn page(&self, page: u64) -> Option<&Arc<Page>> {
        let page = page as usize;
        let leaf = self.leaves.get(page / LEAF_PAGES)?.as_ref()?;
        leaf.pages[page % LEAF_PAGES].as_ref()
    }

    /// True if the page takes memory.
    pub(crate) fn has_page(&self, page: u64) -> bool {
        self.page(page).is_some()
    }

    /// The number of pages from `first` on that take memory.
    pub(crate) fn pages_from(&self, first: u64) -> u64 {
        if first == 0 { self.pages } else { self.pages_in(first..u64::MAX) }
    }

    /// The number of pages in `pages` that take memory.
    pub(crate) fn pages_in(&self, pages: Range<u64>) -> u64 {
        let end = pages.end.min((self.leaves.len() * LEAF_PAGES) as u64);
        (pages.start..end).filter(|page| self.has_page(*page)).count() as u64
    }

    /// Reads up to `buf.len()` bytes at `offset`; fewer only at the end.
    pub(crate) fn read(&self, buf: &mut [u8], offset: u64) -> usize {
        let len = self.len.saturating_sub(offset).min(buf.len() as u64) as usize;
        let mut done = 0;
        while done < len {
            let at = offset + done as u64;
            let within = (at % PAGE) as usize;
            let n = (len - done).min(PAGE as usize - within);
            let part = &mut buf[done..done + n];
            match self.page(at / PAGE) {
                Some(page) => part.copy_from_slice(&page[within..within + n]),
                None => part.fill(0),
            }
            done += n;
        }
        len
    }

    /// Writes `buf` at `offset`, and extends the file if necessary. The caller ensures that the end
    /// is at most [`MAX_LEN`].
    pub(crate) fn write(&mut self, buf: &[u8], offset: u64) {
        let mut done = 0;
        while done < buf.len() {
            let at = offset + done as u64;
            let within = (at % PAGE) as usize;
            let n = (buf.len() - done).min(PAGE as usize - within);
            self.page_mut(at / PAGE)[within..within + n].copy_from_slice(&buf[done..done + n]);
            done += n;
        }
        if !buf.is_empty() {
            self.len = self.len.max(offset + buf.len() as u64);
        }
    }

    fn page_mut(&mut self, page: u64) -> &mut Page {
        let page = page as usize;
        let at = page / LEAF_PAGES;
        if self.leaves.len() <= at {
            self.leaves.resize(at + 1, None);
        }
        let empty = || Arc::new(Leaf { pages: [const { None }; LEAF_PAGES] });
        let leaf = Arc::make_mut(self.leaves[at].get_or_insert_with(empty));
        let zeros = || {
            self.pages += 1;
            Arc::new([0; PAGE as usize])
        };
        Arc::make_mut(leaf.pages[page % LEAF_PAGES].get_or_insert_with(zeros))
    }

    /// Sets the length. Bytes past the new length are lost; added bytes read as zeros.
    pub(crate) fn set_len(&mut self, len: u64) {
        if len < self.len {
            let keep = len.div_ceil(PAGE) as usize;
            self.leaves.truncate(keep.div_ceil(LEAF_PAGES));
            let within = keep % LEAF_PAGES;
            if within != 0
                && let Some(Some(last)) = self.leaves.get_mut(keep / LEAF_PAGES)
            {
                Arc::make_mut(last).pages[within..].fill(None);
            }
            self.pages = self.pages_in(0..u64::MAX);
            let tail = (len % PAGE) as usize;
            if tail != 0 && self.has_page(len / PAGE) {
                self.page_mut(len / PAGE)[tail..].fill(0);
            }
        }
        self.len = len;
    }

    /// The bytes of a sector. Bytes past the end of the file are zeros.
    pub(crate) fn sector(&self, sector: u64) -> [u8; SECTOR as usize] {
        let mut bytes = [0; SECTOR as usize];
        self.read(&mut bytes, sector * SECTOR);
        bytes
    }
}

#[cfg(test)]
mod tests;
