//! Slices of inputs whose records do not end where lines end: runs of whole records, found by a
//! small state machine that looks at each byte once and keeps nothing but the record it is in.

mod bson;
mod csv;
mod json;

pub(crate) use bson::{BsonFraming, next_document};
pub(crate) use csv::CsvFraming;
pub(crate) use json::{JsonFraming, Outer};

use super::Source;
use super::slice::{BrokenPlace, Cut, MAX_LINE, Slice, Slicer, fill};

/// The input is not of its format; there is no going on behind that place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Broken {
    /// The byte, from the first that is kept.
    pub at: usize,
    pub reason: String,
}

impl Broken {
    fn new(at: usize, reason: impl Into<String>) -> Self {
        Self { at, reason: reason.into() }
    }
}

/// Finds the records in bytes that come piece by piece.
pub(crate) trait Framing: Send {
    /// Looks at `bytes` from `from` on, having looked at what is before.
    fn scan(&mut self, bytes: &[u8], from: usize) -> Result<(), Broken>;

    /// The input ends behind `bytes`, all of which was looked at.
    fn finish(&mut self, bytes: &[u8]) -> Result<(), Broken>;

    /// Where the last whole record ends; 0 if there is none.
    fn end(&self) -> usize;

    /// Forgets the whole records, whose bytes are cut off, and gives them where they are not found
    /// again easily.
    fn cut(&mut self) -> Vec<Cut>;

    /// In what places are told: lines if true, else whole records.
    fn counts_lines(&self) -> bool;
}

/// Cuts slices of whole records off a source.
pub(crate) struct FramedSlicer {
    source: Box<dyn Source>,
    framing: Box<dyn Framing>,
    /// What is read and not cut off yet.
    carry: Vec<u8>,
    /// So many of its bytes were looked at.
    scanned: usize,
    /// Where the carry begins.
    place: Start,
    ticket: u64,
    slice_bytes: usize,
    ended: bool,
    /// Nothing comes any more.
    done: bool,
}

/// Where a slicer begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start {
    /// In the decompressed input.
    pub offset: u64,
    /// Characters before it in its line.
    pub column: u64,
}

impl FramedSlicer {
    /// A slicer of a source of which `carry` was read already; the carry begins at `place`.
    pub fn new(
        source: Box<dyn Source>,
        framing: Box<dyn Framing>,
        carry: Vec<u8>,
        place: Start,
        slice_bytes: usize,
    ) -> Self {
        Self { source, framing, carry, scanned: 0, place, ticket: 0, slice_bytes, ended: false, done: false }
    }

    /// The next slice; `None` at the end of the input.
    pub fn next(&mut self) -> Option<Slice> {
        if self.done {
            return None;
        }
        let mut bytes = std::mem::take(&mut self.carry);
        let mut wanted = self.slice_bytes.max(bytes.len());
        let (end, broken, unread) = loop {
            let read = fill(self.source.as_mut(), &mut self.ended, &mut bytes, wanted);
            let mut looked = self.framing.scan(&bytes, self.scanned);
            self.scanned = bytes.len();
            if looked.is_ok() && self.ended {
                looked = self.framing.finish(&bytes);
            }
            if let Err(broken) = looked {
                break (self.framing.end(), Some(broken), None);
            }
            if let Err(error) = read {
                break (self.framing.end(), None, Some(error.to_string()));
            }
            if self.ended {
                // What closes the text is no slice's: a load that ends right before its last mark finds it again.
                break (self.framing.end(), None, None);
            }
            match self.framing.end() {
                0 if bytes.len() > MAX_LINE => {
                    let what = format!("the next document has over {MAX_LINE} bytes");
                    break (0, Some(Broken::new(0, what)), None);
                }
                0 => wanted = bytes.len() * 2,
                end => break (end, None, None),
            }
        };
        self.done = broken.is_some() || unread.is_some() || self.ended;
        let broken = broken.map(|broken| self.locate(&bytes, broken));
        self.slice(bytes, end, broken, unread)
    }

    /// The slice that ends at `end`; what follows is carried over.
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

/// The lines that end within `bytes`, and the characters behind the last end of a line, if `column`
/// characters of that line stand before `bytes`.
pub(crate) fn place_after(bytes: &[u8], column: u64) -> (u64, u64) {
    let lines = memchr::memchr_iter(b'\n', bytes).count() as u64;
    let (rest, before) = match memchr::memrchr(b'\n', bytes) {
        Some(at) => (&bytes[at + 1..], 0),
        None => (bytes, column),
    };
    // Continuation bytes begin no character.
    (lines, before + rest.iter().filter(|&&byte| byte & 0xc0 != 0x80).count() as u64)
}

/// True if the braces that `text` opens are closed at its end, and nothing follows them.
pub(crate) fn is_whole_json(text: &[u8]) -> bool {
    let mut framing = JsonFraming::new(Outer::Nothing, true);
    let scanned = framing.scan(text, 0).and_then(|()| framing.finish(text));
    scanned.is_ok() && framing.cut().len() == 1
}

/// What gives a load its slices.
pub(crate) enum Cutter {
    /// Of lines.
    Lines(Slicer),
    /// Of other records.
    Framed(FramedSlicer),
}

impl Cutter {
    /// The next slice; `None` at the end of the input.
    pub fn next(&mut self) -> Option<Slice> {
        match self {
            Self::Lines(slicer) => slicer.next(),
            Self::Framed(slicer) => slicer.next(),
        }
    }
}

#[cfg(test)]
mod tests;
