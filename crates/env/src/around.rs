//! Reads files of a failing disk and skips unreadable bytes. Tools and salvage use this.

use crate::error::{Error, Result};
use crate::fs::File;

/// The size and the alignment of the smallest part that is read on its own, in bytes.
const UNIT: u64 = 4 << 10;
/// After a failed read, pieces of this many bytes are read first, and single units only in pieces
/// that fail.
const PIECE: u64 = 64 << 10;

/// The value that replaces each byte that cannot be read. It is not zero, because zeros mean
/// "nothing was written here".
pub const FILLER: u8 = 0xff;

/// Bytes of a file that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The offset of the first byte.
    pub offset: u64,
    /// The number of bytes.
    pub bytes: u64,
    /// The operating system's reason.
    pub why: String,
}

/// Reads a file, and remembers the parts that cannot be read.
pub struct AroundReader<'a> {
    file: &'a dyn File,
    len: u64,
    /// The unreadable parts, sorted by offset; between any two there are readable bytes.
    found: Vec<Unreadable>,
}

impl<'a> AroundReader<'a> {
    /// A reader of `file`.
    ///
    /// # Errors
    /// I/O errors when the length of the file is read.
    pub fn new(file: &'a dyn File) -> Result<Self> {
        Ok(Self { len: file.len()?, file, found: Vec::new() })
    }

    /// The length of the file, in bytes.
    pub fn file_bytes(&self) -> u64 {
        self.len
    }

    /// The parts that could not be read so far, sorted by offset.
    pub fn unreadable(&self) -> &[Unreadable] {
        &self.found
    }

    /// The reason why some of the `bytes` bytes at `offset` cannot be read; `None` if all were
    /// read.
    pub fn why(&self, offset: u64, bytes: u64) -> Option<String> {
        let end = offset.saturating_add(bytes);
        let touches = |part: &&Unreadable| part.offset < end && offset < part.offset + part.bytes;
        self.found
            .iter()
            .find(touches)
            .map(|part| format!("{} bytes from offset {} on cannot be read: {}", part.bytes, part.offset, part.why))
    }

    /// Fills `buf` with the bytes at `offset`; bytes that cannot be read become [`FILLER`] and are
    /// remembered. Returns the number of bytes up to the end of the file.
    pub fn read_at(&mut self, buf: &mut [u8], offset: u64) -> usize {
        let available = |len: u64, buf: &[u8]| len.saturating_sub(offset).min(buf.len() as u64) as usize;
        let bytes = available(self.len, buf);
        if !self.is_known(offset, bytes as u64) && self.try_read(&mut buf[..bytes], offset).is_ok() {
            return bytes;
        }
        // A log in use may be truncated during the read; bytes past the new end are not unreadable.
        self.len = self.file.len().map_or(self.len, |now| now.min(self.len));
        let bytes = available(self.len, buf);
        let buf = &mut buf[..bytes];
        self.in_parts(buf, offset, PIECE);
        bytes
    }

    fn try_read(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.file.read_exact_at(buf, offset)
    }

    /// True if some of these bytes are known to be unreadable. Such bytes are not read again,
    /// because a failing disk is slow.
    fn is_known(&self, offset: u64, bytes: u64) -> bool {
        self.why(offset, bytes).is_some()
    }

    /// Reads one part at a time; parts end at multiples of `part`.
    fn in_parts(&mut self, buf: &mut [u8], offset: u64, part: u64) {
        let mut rest = buf;
        let mut at = offset;
        while !rest.is_empty() {
            let len = (part - at % part).min(rest.len() as u64);
            let (now, later) = rest.split_at_mut(len as usize);
            rest = later;
            let read = match self.is_known(at, len) {
                true => None,
                false => Some(self.try_read(now, at)),
            };
            match read {
                Some(Ok(())) => {}
                _ if part > UNIT => self.in_parts(now, at, UNIT),
                failed => {
                    now.fill(FILLER);
                    if let Some(Err(error)) = failed {
                        self.remember(at, len, &error);
                    }
                }
            }
            at += len;
        }
    }

    fn remember(&mut self, offset: u64, bytes: u64, error: &Error) {
        let why = match error {
            Error::Io { source, .. } => source.to_string(),
            other => other.to_string(),
        };
        // The whole unit counts as unreadable, so that later reads with other bounds do not try it
        // again.
        let end = (offset + bytes).next_multiple_of(UNIT).min(self.len);
        let offset = offset - offset % UNIT;
        let bytes = end - offset;
        let at = self.found.partition_point(|part| part.offset < offset);
        self.found.insert(at, Unreadable { offset, bytes, why });
        self.found.dedup_by(|next, part| {
            let touches = part.offset + part.bytes >= next.offset && part.why == next.why;
            if touches {
                part.bytes = part.bytes.max(next.offset + next.bytes - part.offset);
            }
            touches
        });
    }
}

#[cfg(test)]
mod tests;
