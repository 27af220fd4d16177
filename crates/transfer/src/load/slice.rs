//! Slices: runs of whole lines, cut from the input in order.

use super::Source;
use std::io;

/// The bounds of a record within a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    pub start: usize,
    pub end: usize,
}

/// The position and the reason of a format error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BrokenPlace {
    /// The line within the slice, from 0; for formats without lines, the record.
    pub line: u64,
    /// The column, from 1; 0 for formats without lines.
    pub column: u64,
    pub reason: String,
}

/// The sizes of the pieces in which an input is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SliceLimits {
    /// The usual size of a slice, in bytes.
    pub slice_bytes: usize,
    /// The maximum size of a line or another record, in bytes.
    pub record_max: usize,
}

/// The text of a document may be six times as large as the document, which has a size limit of its
/// own.
const RECORD_MAX: usize = 128 << 20;
/// Such texts are rare. With little memory the limit is lower; every document without escapes still
/// fits.
const RECORD_MAX_LEAST: usize = 32 << 20;

impl SliceLimits {
    /// The sizes for a memory budget.
    pub fn of_memory(memory_bytes: usize) -> Self {
        Self {
            slice_bytes: (memory_bytes / 64).clamp(64 << 10, 2 << 20),
            record_max: (memory_bytes / 2).clamp(RECORD_MAX_LEAST, RECORD_MAX),
        }
    }

    /// The number of bytes to read next, if `bytes` bytes of a record were read and its end was not
    /// found; `None` if the record is too long.
    pub fn next_wanted(&self, bytes: usize) -> Option<usize> {
        (bytes <= self.record_max).then(|| (bytes * 2).min(self.record_max + 1))
    }
}

/// Whole lines, or other whole records, of the input.
#[derive(Default)]
pub(crate) struct Slice {
    /// The number of the slice in input order, from 0.
    pub ticket: u64,
    /// The offset of the slice in the decompressed input.
    pub offset: u64,
    /// The lines. The last line of the input need not end with a newline.
    pub bytes: Vec<u8>,
    /// The bounds of the records, for formats whose records are hard to find again.
    pub cuts: Vec<Cut>,
    /// The number of characters before the slice in the line in which it begins.
    pub column: u64,
    /// The format error that follows this slice. No slice follows.
    pub broken: Option<BrokenPlace>,
    /// Why the input cannot be read after this slice. No slice follows.
    pub unread: Option<String>,
}

/// Cuts slices of whole lines from a source.
pub(crate) struct Slicer {
    source: Box<dyn Source>,
    /// The beginning of a line whose end is not read yet.
    carry: Vec<u8>,
    offset: u64,
    ticket: u64,
    limits: SliceLimits,
    ended: bool,
}

impl Slicer {
    /// A slicer that skips the first `skip` bytes.
    pub fn new(mut source: Box<dyn Source>, skip: u64, limits: SliceLimits) -> io::Result<Self> {
        if skip > 0 {
            source.skip(skip)?;
        }
        Ok(Self { source, carry: Vec::new(), offset: skip, ticket: 0, limits, ended: false })
    }

    /// The next slice; `None` at the end of the input. Before a record is read that is longer than a slice, `wait_for`
    /// is called with the bytes that are read next. If it returns false, the load has ended, and there is no slice.
    pub fn next(&mut self, wait_for: &mut dyn FnMut(usize) -> bool) -> Option<Slice> {
        let mut bytes = std::mem::take(&mut self.carry);
        let mut unread = None;
        let mut searched = 0;
        let mut wanted = self.limits.slice_bytes;
        let end = loop {
            if let Err(error) = fill(self.source.as_mut(), &mut self.ended, &mut bytes, wanted) {
                unread = Some(error.to_string());
                break memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1);
            }
            if self.ended {
                break bytes.len();
            }
            let tail = bytes.get(searched..).unwrap_or(&[]);
            if let Some(at) = memchr::memrchr(b'\n', tail) {
                break searched + at + 1;
            }
            searched = bytes.len();
            let Some(more) = self.limits.next_wanted(bytes.len()) else {
                let what = format!(
                    "a line of over {} bytes begins at byte {}: is this a file of JSON lines? (With more memory, \
                     longer lines are read.)",
                    self.limits.record_max, self.offset
                );
                unread = Some(what);
                break 0;
            };
            if !wait_for(more) {
                return None;
            }
            wanted = more;
        };
        if unread.is_some() {
            // The remaining bytes are not a whole line.
            self.ended = true;
            bytes.truncate(end);
            bytes.shrink_to_fit();
        } else {
            self.carry.extend_from_slice(bytes.get(end..).unwrap_or(&[]));
        }
        bytes.truncate(end);
        if bytes.is_empty() && unread.is_none() {
            return None;
        }
        let slice = Slice { ticket: self.ticket, offset: self.offset, bytes, unread, ..Slice::default() };
        self.ticket += 1;
        self.offset += slice.bytes.len() as u64;
        Some(slice)
    }
}

/// Reads until `bytes` has `wanted` bytes or the source ends. After an error `bytes` keeps the
/// bytes read before it.
pub(crate) fn fill(source: &mut dyn Source, ended: &mut bool, bytes: &mut Vec<u8>, wanted: usize) -> io::Result<()> {
    let mut have = bytes.len();
    if *ended || have >= wanted {
        return Ok(());
    }
    bytes.resize(wanted, 0);
    while have < wanted {
        match source.read(bytes.get_mut(have..).unwrap_or(&mut [])) {
            Ok(0) => {
                *ended = true;
                break;
            }
            Ok(read) => have += read,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => {
                bytes.truncate(have);
                return Err(e);
            }
        }
    }
    bytes.truncate(have);
    Ok(())
}
