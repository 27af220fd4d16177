//! Files without the system's page cache: reads and writes are done on the disk directly.
//!
//! The system requires the addresses, lengths and offsets of such reads and writes to be multiples
//! of a block. A [`DirectFile`] accepts any address, length and offset. For a read, it reads the
//! whole blocks that contain the bytes. For a write, it writes whole blocks directly; the rest,
//! less than a block on each side, is written through the page cache. A writer that appends whole
//! blocks uses the page cache only for the end of the file.

use crate::error::Result;
use crate::fs::{File, Fs, OpenMode};
use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

/// Addresses, lengths and offsets are multiples of this many bytes. Disks require 512 or 4096.
pub const DIRECT_BLOCK_BYTES: usize = 4096;

/// The maximum number of bytes read or written at once, and the size of a thread's buffer.
const PIECE_BYTES: usize = 256 << 10;

thread_local! {
    /// The thread's buffer; its blocks begin at the first aligned address in it.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Runs `act` on aligned memory of `len` bytes with arbitrary contents.
fn with_aligned<T>(len: usize, act: impl FnOnce(&mut [u8]) -> T) -> T {
    BUFFER.with_borrow_mut(|buffer| {
        if buffer.len() < len + DIRECT_BLOCK_BYTES {
            buffer.resize(len + DIRECT_BLOCK_BYTES, 0);
        }
        // The buffer always contains an aligned address. If it did not, the system would refuse the
        // operation.
        let start = buffer.as_ptr().align_offset(DIRECT_BLOCK_BYTES).min(DIRECT_BLOCK_BYTES);
        act(&mut buffer[start..start + len])
    })
}

/// A file that was opened without the page cache: it reads and writes aligned blocks.
pub(crate) trait Blocks: Send + Sync {
    /// Reads once; the system may return fewer bytes than requested, even before the end of the
    /// file.
    fn read_blocks(&self, blocks: &mut [u8], offset: u64) -> Result<usize>;
    /// Writes all of `blocks`.
    fn write_blocks(&self, blocks: &[u8], offset: u64) -> Result<()>;
}

/// A file that is read and written without the page cache.
pub(crate) struct DirectFile {
    blocks: Arc<dyn Blocks>,
    /// The same file through the page cache, for all operations except reads and writes of whole
    /// blocks.
    plain: Arc<dyn File>,
}

impl DirectFile {
    /// A file of two handles, which must be handles of the same file.
    pub(crate) fn new(blocks: Arc<dyn Blocks>, plain: Arc<dyn File>) -> Self {
        Self { blocks, plain }
    }

    /// Fills `buf` with the bytes at `start + skipped`, where `start` is the offset of a block.
    /// Returns the number of bytes read.
    fn read_piece(&self, buf: &mut [u8], start: u64, skipped: usize) -> Result<usize> {
        let len = (skipped + buf.len()).next_multiple_of(DIRECT_BLOCK_BYTES).min(PIECE_BYTES);
        with_aligned(len, |blocks| {
            let read = self.blocks.read_blocks(blocks, start)?;
            let got = read.saturating_sub(skipped).min(buf.len());
            buf[..got].copy_from_slice(&blocks[skipped..skipped + got]);
            Ok(got)
        })
    }

    /// Writes whole blocks; `offset` is a multiple of a block.
    fn write_whole(&self, whole: &[u8], mut offset: u64) -> Result<()> {
        for piece in whole.chunks(PIECE_BYTES) {
            with_aligned(piece.len(), |blocks| {
                blocks.copy_from_slice(piece);
                self.blocks.write_blocks(blocks, offset)
            })?;
            offset += piece.len() as u64;
        }
        Ok(())
    }
}

impl File for DirectFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        let mut got = 0;
        while got < buf.len() {
            let at = offset + got as u64;
            let skipped = at % DIRECT_BLOCK_BYTES as u64;
            match self.read_piece(&mut buf[got..], at - skipped, skipped as usize)? {
                0 => break,
                more => got += more,
            }
        }
        Ok(got)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        let before = (offset.next_multiple_of(DIRECT_BLOCK_BYTES as u64) - offset).min(buf.len() as u64) as usize;
        let (before, rest) = buf.split_at(before);
        let (whole, after) = rest.split_at(rest.len() - rest.len() % DIRECT_BLOCK_BYTES);
        if !before.is_empty() {
            self.plain.write_at(before, offset)?;
        }
        let at = offset + before.len() as u64;
        self.write_whole(whole, at)?;
        if !after.is_empty() {
            self.plain.write_at(after, at + whole.len() as u64)?;
        }
        Ok(())
    }

    fn allocate(&self, len: u64) -> Result<()> {
        self.plain.allocate(len)
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.plain.set_len(len)
    }

    fn sync(&self) -> Result<()> {
        self.plain.sync()
    }

    fn len(&self) -> Result<u64> {
        self.plain.len()
    }

    fn path(&self) -> &Path {
        self.plain.path()
    }
}

/// A file system that opens every file with [`Fs::open_direct`] of another file system.
pub struct DirectFs {
    inner: Arc<dyn Fs>,
}

impl DirectFs {
    /// A file system over `inner`. If `inner` has no page cache, or cannot bypass it, its
    /// `open_direct` decides the result.
    pub fn new(inner: Arc<dyn Fs>) -> Self {
        Self { inner }
    }
}

impl Fs for DirectFs {
    crate::forward_fs! {
        inner:
            open_direct, rename, remove, create_dir_all, remove_dir, list, exists, sync_dir, hard_link,
            try_lock, try_lock_to_read, is_locked_here, available_bytes, capacity_bytes, is_same_disk, open_files_max,
    }

    fn hold_dir(&self, dir: &Path) -> Result<Arc<dyn Fs>> {
        Ok(Arc::new(Self { inner: self.inner.hold_dir(dir)? }))
    }

    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>> {
        self.inner.open_direct(path, mode)
    }
}

#[cfg(test)]
mod tests;
