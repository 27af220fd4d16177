//! Reading a file from its beginning to its end in large pieces.

use alluvium_env::{AroundReader, File, Result, Unreadable};

/// A piece of a file. Reads move it forward.
pub(crate) struct Window<'a> {
    file: &'a dyn File,
    /// Replaces unreadable bytes instead of returning an error.
    around: Option<AroundReader<'a>>,
    len: u64,
    start: u64,
    piece: Vec<u8>,
}

/// The least number of bytes that are read at once.
const PIECE: usize = 256 << 10;

impl<'a> Window<'a> {
    pub(crate) fn new(file: &'a dyn File) -> Result<Self> {
        Ok(Self { len: file.len()?, file, around: None, start: 0, piece: Vec::new() })
    }

    /// A window that contains [`alluvium_env::FILLER`] where the file cannot be read.
    pub(crate) fn around(file: &'a dyn File) -> Result<Self> {
        let around = AroundReader::new(file)?;
        Ok(Self { len: around.file_bytes(), file, around: Some(around), start: 0, piece: Vec::new() })
    }

    /// The parts that could not be read so far.
    pub(crate) fn unreadable(&self) -> &[Unreadable] {
        self.around.as_ref().map_or(&[], AroundReader::unreadable)
    }

    /// The length of the file.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Returns the `want` bytes at `at`, or fewer if the file ends before.
    pub(crate) fn bytes(&mut self, at: u64, want: usize) -> Result<&[u8]> {
        let want = usize::try_from(self.len.saturating_sub(at)).map_or(want, |left| want.min(left));
        let end = self.start + self.piece.len() as u64;
        if at < self.start || at + want as u64 > end {
            self.read(at, want)?;
        }
        let from = ((at - self.start) as usize).min(self.piece.len());
        let to = (from + want).min(self.piece.len());
        Ok(&self.piece[from..to])
    }

    fn read(&mut self, at: u64, want: usize) -> Result<()> {
        let left = usize::try_from(self.len.saturating_sub(at)).unwrap_or(usize::MAX);
        self.piece.resize(want.max(PIECE).min(left), 0);
        self.start = at;
        let got = match &mut self.around {
            Some(around) => around.read_at(&mut self.piece, at),
            None => self.file.read_at(&mut self.piece, at)?,
        };
        self.piece.truncate(got);
        Ok(())
    }

    /// The buffered bytes from `at` on, or, if there are none, the bytes of one read; empty at the
    /// end.
    fn some(&mut self, at: u64) -> Result<&[u8]> {
        if at < self.start || at >= self.start + self.piece.len() as u64 {
            self.read(at, 0)?;
        }
        let from = ((at - self.start) as usize).min(self.piece.len());
        Ok(&self.piece[from..])
    }

    /// The offset of the first byte at or after `from` that is not zero.
    pub(crate) fn next_nonzero(&mut self, from: u64) -> Result<Option<u64>> {
        let mut at = from;
        while at < self.len {
            let some = self.some(at)?;
            if let Some(found) = first_nonzero(some) {
                return Ok(Some(at + found as u64));
            }
            if some.is_empty() {
                break;
            }
            at += some.len() as u64;
        }
        Ok(None)
    }

    /// The offset after the last byte at or after `from` that is not zero.
    pub(crate) fn end_of_nonzero(&mut self, from: u64) -> Result<Option<u64>> {
        let mut end = None;
        let mut at = from;
        while at < self.len {
            let some = self.some(at)?;
            if let Some(found) = some.iter().rposition(|&byte| byte != 0) {
                end = Some(at + found as u64 + 1);
            }
            if some.is_empty() {
                break;
            }
            at += some.len() as u64;
        }
        Ok(end)
    }
}

fn first_nonzero(bytes: &[u8]) -> Option<usize> {
    // Whole blocks are checked first, because most of a preallocated tail is zeros.
    let block = bytes.chunks(64).position(|block| block.iter().fold(0, |a, b| a | b) != 0)? * 64;
    bytes[block..].iter().position(|&byte| byte != 0).map(|at| block + at)
}

#[cfg(test)]
mod tests;
