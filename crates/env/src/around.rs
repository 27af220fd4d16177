//! Reading around what a disk cannot read any more: for tools and salvage.

use crate::error::{Error, Result};
use crate::fs::File;

/// A disk is asked again for so many bytes at a time, at multiples of this, where it fails to read more.
const UNIT: u64 = 4 << 10;
/// Where it fails to read much, it is asked for so many bytes first.
const PIECE: u64 = 64 << 10;

/// What stands in place of bytes that cannot be read. Not zero: zeros mean "nothing was written here".
pub const FILLER: u8 = 0xff;

/// Bytes of a file that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// Where they begin.
    pub offset: u64,
    /// How many there are.
    pub bytes: u64,
    /// What the operating system says.
    pub why: String,
}

/// Reads a file around what cannot be read of it, and remembers that.
pub struct AroundReader<'a> {
    file: &'a dyn File,
    len: u64,
    /// In the order of the file, none touching another.
    found: Vec<Unreadable>,
}

impl<'a> AroundReader<'a> {
    /// Begins to read `file`.
    ///
    /// # Errors
    /// What asking for its length says.
    pub fn new(file: &'a dyn File) -> Result<Self> {
        Ok(Self { len: file.len()?, file, found: Vec::new() })
    }

    /// The length of the file in bytes.
    pub fn file_bytes(&self) -> u64 {
        self.len
    }

    /// What could not be read so far, in the order of the file.
    pub fn unreadable(&self) -> &[Unreadable] {
        &self.found
    }

    /// Why some of the `bytes` from `offset` on cannot be read, in words, if so.
    pub fn why(&self, offset: u64, bytes: u64) -> Option<String> {
        let end = offset.saturating_add(bytes);
        let touches = |part: &&Unreadable| part.offset < end && offset < part.offset + part.bytes;
        self.found
            .iter()
            .find(touches)
            .map(|part| format!("{} bytes from offset {} on cannot be read: {}", part.bytes, part.offset, part.why))
    }

    /// Fills `buf` from `offset` on; what cannot be read is filled with [`FILLER`] and remembered. Returns how many
    /// bytes there are up to the end of the file.
    pub fn read_at(&mut self, buf: &mut [u8], offset: u64) -> usize {
        let there = |len: u64, buf: &[u8]| len.saturating_sub(offset).min(buf.len() as u64) as usize;
        let bytes = there(self.len, buf);
        if !self.is_known(offset, bytes as u64) && self.try_read(&mut buf[..bytes], offset).is_ok() {
            return bytes;
        }
        // A log that is in use is cut behind its end; what is gone so is not unreadable.
        self.len = self.file.len().map_or(self.len, |now| now.min(self.len));
        let there = there(self.len, buf);
        let buf = &mut buf[..there];
        self.in_parts(buf, offset, PIECE);
        there
    }

    fn try_read(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.file.read_exact_at(buf, offset)
    }

    /// True if some of these bytes were found to be unreadable before: a failing disk is slow, and is not asked
    /// for them again.
    fn is_known(&self, offset: u64, bytes: u64) -> bool {
        self.why(offset, bytes).is_some()
    }

    /// Reads parts that end at multiples of `part` one by one.
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
        // The whole unit, so that it is not asked for again with other bounds.
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
