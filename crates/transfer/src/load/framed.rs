//! Slices of inputs whose records do not end at line ends. A slice is a run of whole records. A
//! small state machine finds them; it examines each byte once and keeps only the unfinished record.

mod bson;
mod csv;
mod json;
mod within;

pub(crate) use bson::{BsonFraming, next_document};
pub(crate) use csv::CsvFraming;
pub(crate) use json::{JsonFraming, Outer};
pub(crate) use within::Seeker;

use super::Source;
use super::slice::{BrokenPlace, Cut, Slice, SliceLimits, Slicer, fill};

/// A violation of the format, after which the load cannot continue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Broken {
    /// The offset of the violating byte, counted from the first byte that is kept.
    pub at: usize,
    pub reason: String,
}

impl Broken {
    fn new(at: usize, reason: impl Into<String>) -> Self {
        Self { at, reason: reason.into() }
    }
}

/// Finds the records in an input that arrives in pieces.
pub(crate) trait Framing: Send {
    /// Scans `bytes`, beginning at `from`. Earlier calls have scanned the bytes before `from`.
    fn scan(&mut self, bytes: &[u8], from: usize) -> Result<(), Broken>;

    /// Ends the input after `bytes`, all of which were scanned.
    fn finish(&mut self, bytes: &[u8]) -> Result<(), Broken>;

    /// The end of the last whole record; 0 if there is none.
    fn end(&self) -> usize;

    /// Forgets the whole records, because the caller cuts off their bytes. Returns their positions
    /// if the format makes them hard to find again; otherwise returns an empty list.
    fn cut(&mut self) -> Vec<Cut>;

    /// True if errors give positions in lines; false if they count records.
    fn counts_lines(&self) -> bool;

    /// True if the rest of the input has no records and is not read.
    fn is_done(&self) -> bool {
        false
    }
}

/// Cuts slices of whole records from a source.
pub(crate) struct FramedSlicer {
    source: Box<dyn Source>,
    framing: Box<dyn Framing>,
    /// The bytes read but not yet returned in a slice.
    carry: Vec<u8>,
    /// The number of bytes of the carry that were scanned.
    scanned: usize,
    /// The position in the input at which the carry begins.
    place: Start,
    ticket: u64,
    limits: SliceLimits,
    ended: bool,
    /// True if no slice follows.
    done: bool,
}

/// The position at which a slicer begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start {
    /// The byte offset in the decompressed input.
    pub offset: u64,
    /// The number of characters before it in its line.
    pub column: u64,
}

impl FramedSlicer {
    /// A slicer of a source from which `carry` was read already; the carry begins at `place`.
    pub fn new(
        source: Box<dyn Source>,
        framing: Box<dyn Framing>,
        carry: Vec<u8>,
        place: Start,
        limits: SliceLimits,
    ) -> Self {
        Self { source, framing, carry, scanned: 0, place, ticket: 0, limits, ended: false, done: false }
    }

    /// The next slice; `None` at the end of the input. `wait_for` is that of [`Slicer::next`].
    pub fn next(&mut self, wait_for: &mut dyn FnMut(usize) -> bool) -> Option<Slice> {
        if self.done {
            return None;
        }
        let mut bytes = std::mem::take(&mut self.carry);
        let mut wanted = self.limits.slice_bytes.max(bytes.len());
        let (end, broken, unread) = loop {
            let read = fill(self.source.as_mut(), &mut self.ended, &mut bytes, wanted);
            let mut scan = self.framing.scan(&bytes, self.scanned);
            self.scanned = bytes.len();
            if scan.is_ok() && self.framing.is_done() {
                self.ended = true;
            } else if scan.is_ok() && self.ended {
                scan = self.framing.finish(&bytes);
            }
            if let Err(broken) = scan {
                break (self.framing.end(), Some(broken), None);
            }
            if let Err(error) = read {
                break (self.framing.end(), None, Some(error.to_string()));
            }
            if self.ended {
                // The closing bracket belongs to no slice, so a load that stops right before its
                // last mark reads the bracket again.
                break (self.framing.end(), None, None);
            }
            match self.framing.end() {
                0 => match self.limits.next_wanted(bytes.len()) {
                    Some(more) if wait_for(more) => wanted = more,
                    Some(_) => return None,
                    None => {
                        let what = format!("the next document has over {} bytes", self.limits.record_max);
                        break (0, Some(Broken::new(0, what)), None);
                    }
                },
                end => break (end, None, None),
            }
        };
        self.done = broken.is_some() || unread.is_some() || self.ended;
        let broken = broken.map(|broken| self.locate(&bytes, broken));
        self.slice(bytes, end, broken, unread)
    }

    /// The slice that ends at `end`; the bytes after it are carried over.
    fn slice(
        &mut self,
        mut bytes: Vec<u8>,
        end: usize,
        broken: Option<BrokenPlace>,
        unread: Option<String>,
    ) -> Option<Slice> {
        self.carry.extend_from_slice(bytes.get(end..).unwrap_or(&[]));
        self.scanned = self.carry.len();
        bytes.truncate(end);
        let cuts = self.framing.cut();
        if bytes.is_empty() && broken.is_none() && unread.is_none() {
            return None;
        }
        let Start { offset, column } = self.place;
        if self.framing.counts_lines() {
            self.place.column = place_after(&bytes, column).1;
        }
        self.place.offset += bytes.len() as u64;
        let slice = Slice { ticket: self.ticket, offset, bytes, cuts, column, broken, unread };
        self.ticket += 1;
        Some(slice)
    }

    fn locate(&self, bytes: &[u8], broken: Broken) -> BrokenPlace {
        let before = bytes.get(..broken.at).unwrap_or(bytes);
        if !self.framing.counts_lines() {
            return BrokenPlace { line: documents_in(before), column: 0, reason: broken.reason };
        }
        let (line, column) = place_after(before, self.place.column);
        BrokenPlace { line, column: column + 1, reason: broken.reason }
    }
}

fn documents_in(mut bytes: &[u8]) -> u64 {
    let mut count = 0;
    while let Some((_, rest)) = next_document(bytes) {
        bytes = rest;
        count += 1;
    }
    count
}

/// The number of lines that end within `bytes`, and the number of characters after the last line
/// end. `column` is the number of characters of the first line that precede `bytes`.
pub(crate) fn place_after(bytes: &[u8], column: u64) -> (u64, u64) {
    let lines = memchr::memchr_iter(b'\n', bytes).count() as u64;
    let (rest, before) = match memchr::memrchr(b'\n', bytes) {
        Some(at) => (&bytes[at + 1..], 0),
        None => (bytes, column),
    };
    // UTF-8 continuation bytes do not begin a character.
    (lines, before + rest.iter().filter(|&&byte| byte & 0xc0 != 0x80).count() as u64)
}

/// True if `text` is exactly one JSON value, with all its brackets closed.
pub(crate) fn is_whole_json(text: &[u8]) -> bool {
    let mut framing = JsonFraming::new(Outer::Nothing, true);
    let scanned = framing.scan(text, 0).and_then(|()| framing.finish(text));
    scanned.is_ok() && framing.cut().len() == 1
}

/// The values of a text, one after the other; `None` if it is not made of whole values.
pub(crate) fn records_of(text: &[u8]) -> Option<Vec<&[u8]>> {
    let mut framing = JsonFraming::new(Outer::Nothing, true);
    framing.scan(text, 0).and_then(|()| framing.finish(text)).ok()?;
    framing.cut().into_iter().map(|cut| text.get(cut.start..cut.end)).collect()
}

/// Cuts the slices of a load.
pub(crate) enum Cutter {
    Lines(Slicer),
    Framed(FramedSlicer),
}

impl Cutter {
    /// The next slice; `None` at the end of the input. `wait_for` is that of [`Slicer::next`].
    pub fn next(&mut self, wait_for: &mut dyn FnMut(usize) -> bool) -> Option<Slice> {
        match self {
            Self::Lines(slicer) => slicer.next(wait_for),
            Self::Framed(slicer) => slicer.next(wait_for),
        }
    }
}

#[cfg(test)]
mod tests;
