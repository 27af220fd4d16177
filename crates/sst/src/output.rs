//! The file that a writer fills: blocks, collected into large writes.

use crate::compress::Encoder;
use crate::stored::{self, Content, Handle, Role};
use alluvium_env::{DIRECT_BLOCK_BYTES, Env, Error, File, OpenMode, Result};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Collected bytes are passed to the file system when there are this many.
const WRITE_BYTES: usize = 512 << 10;

/// Appends stored blocks to a new file. The file is removed on drop, unless it was finished.
pub(crate) struct Output {
    env: Env,
    file: Arc<dyn File>,
    number: u64,
    buffer: Vec<u8>,
    /// The number of bytes that were written before the bytes in the buffer.
    written: u64,
    digest: u64,
    finished: bool,
}

impl Output {
    pub(crate) fn create(env: &Env, path: &Path, number: u64) -> Result<Self> {
        let file = env.fs.open(path, OpenMode::CreateNew)?;
        Ok(Self { env: env.clone(), file, number, buffer: Vec::new(), written: 0, digest: 0, finished: false })
    }

    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    /// The checksums of all blocks so far, folded.
    pub(crate) fn digest(&self) -> u64 {
        self.digest
    }

    /// The length of the file so far.
    #[inline]
    pub(crate) fn len(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Appends a block that is compressed as a whole, or not at all.
    pub(crate) fn put(&mut self, raw: &[u8], role: Role, encoder: Option<&mut Encoder>) -> Result<Handle> {
        self.put_content(Content::new(raw, role), encoder)
    }

    /// The error for a caller that adds more than the file can hold.
    pub(crate) fn refusal(&self, what: &'static str) -> Error {
        Error::io("add to", self.path(), io::Error::new(io::ErrorKind::InvalidInput, what))
    }

    /// Appends a block, if a reader would accept it.
    pub(crate) fn put_content(&mut self, content: Content<'_>, encoder: Option<&mut Encoder>) -> Result<Handle> {
        if content.raw.len() > stored::MAX_RAW {
            return Err(self.refusal("a block of a file has 1 GiB at most (smaller keys and blocks let it hold more)"));
        }
        if self.buffer.capacity() == 0 {
            self.buffer.reserve(WRITE_BYTES + WRITE_BYTES / 8);
        }
        let offset = self.len();
        let len = stored::put_content(&mut self.buffer, content, encoder, self.number, offset);
        self.digest = stored::digest(self.digest, stored::checksum_of(&self.buffer));
        if self.buffer.len() >= WRITE_BYTES {
            // Writes whole blocks of the disk, as a file that bypasses the page cache requires.
            self.write_out(self.buffer.len() - self.buffer.len() % DIRECT_BLOCK_BYTES)?;
        }
        Ok(Handle { offset, len: len as u32 })
    }

    /// Appends the footer, writes everything and syncs. From here on the file is kept.
    pub(crate) fn finish(&mut self, footer: &[u8]) -> Result<()> {
        self.buffer.extend_from_slice(footer);
        self.write_out(self.buffer.len())?;
        self.file.sync()?;
        self.finished = true;
        Ok(())
    }

    /// Writes the first `len` bytes of the buffer.
    fn write_out(&mut self, len: usize) -> Result<()> {
        self.file.write_at(&self.buffer[..len], self.written)?;
        self.written += len as u64;
        self.buffer.drain(..len);
        self.buffer.shrink_to(2 * WRITE_BYTES);
        Ok(())
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if !self.finished {
            // No manifest names the file yet. If it cannot be removed, the next open removes it.
            let _ = self.env.fs.remove(self.file.path());
        }
    }
}

#[cfg(test)]
mod tests;
