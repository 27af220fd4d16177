//! The elements of one large array, the fields of one large object, or values one after the other.
//!
//! The framing finds where records begin and end by counting brackets outside strings. The parser,
//! not the framing, checks that they are valid JSON.

use super::{Broken, Cut, Framing};
use memchr::memchr2;

/// The bracket that encloses all records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outer {
    /// Nothing: values one after the other.
    Nothing,
    /// An array; its elements are the records.
    Array,
    /// An object; its fields are the records, name and value together.
    Object,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the outer opening bracket.
    Start,
    /// After the outer opening bracket: a record or the end follows.
    First,
    /// After a comma: a record follows.
    Next,
    /// Where an earlier load stopped: a record, a comma or the end follows.
    Resumed,
    /// After a record: a comma or the end follows.
    After,
    /// After a field's name.
    Colon,
    /// After the colon.
    Value,
    /// In a record, outside strings, with brackets open.
    Inside,
    /// In a number or a word that is itself a record.
    Scalar,
    /// In a string.
    Text,
    /// After a backslash in a string.
    Escape,
    /// After the outer closing bracket.
    Done,
}

pub(crate) struct JsonFraming {
    outer: Outer,
    state: State,
    /// The number of brackets open in the record.
    depth: usize,
    /// The current string is a field's name.
    naming: bool,
    /// The beginning of the unfinished record.
    start: usize,
    cuts: Vec<Cut>,
    /// The end of the last whole record, even after its bytes are cut off.
    end: usize,
    /// True if the first byte scanned is the first byte of the input.
    fresh: bool,
    /// True if the outer bracket is part of a larger text. The text after the closing bracket is
    /// then ignored.
    is_inner: bool,
}

impl JsonFraming {
    /// A framing for an input that is read from its beginning if `fresh`, otherwise from the offset
    /// where a load stopped.
    pub fn new(outer: Outer, fresh: bool) -> Self {
        let state = match (outer, fresh) {
            (Outer::Nothing, _) => State::First,
            (_, true) => State::Start,
            (_, false) => State::Resumed,
        };
        Self { outer, state, depth: 0, naming: false, start: 0, cuts: Vec::new(), end: 0, fresh, is_inner: false }
    }

    /// A framing for an array within a larger text. The text after the array is not read.
    pub fn inner(fresh: bool) -> Self {
        Self { is_inner: true, ..Self::new(Outer::Array, fresh) }
    }

    fn opening(&self) -> (u8, u8) {
        if self.outer == Outer::Object { (b'{', b'}') } else { (b'[', b']') }
    }

    /// Ends the record before `at`.
    fn record(&mut self, at: usize) {
        self.cuts.push(Cut { start: self.start, end: at });
        self.end = at;
        self.state = if self.outer == Outer::Nothing { State::First } else { State::After };
    }

    /// Processes a byte between records that is not white space.
    fn between(&mut self, byte: u8, at: usize) -> Result<(), Broken> {
        let (open, close) = self.opening();
        let several = self.outer != Outer::Nothing;
        self.state = match (self.state, byte) {
            (State::Start, _) if byte == open => State::First,
            (State::Start, _) => {
                let what = if open == b'[' { "expected [, an array of documents" } else { "expected {, an object" };
                return Err(Broken::new(at, what));
            }
            (State::After | State::Resumed, b',') if several => State::Next,
            (State::First | State::After | State::Resumed, _) if several && byte == close => State::Done,
            (State::After, _) => {
                let whole = if open == b'[' { "array" } else { "object" };
                return Err(Broken::new(at, format!("expected a comma or the end of the {whole}")));
            }
            (State::Done, _) => return Err(Broken::new(at, "there is more text after the end")),
            _ => return self.begin(byte, at),
        };
        Ok(())
    }

    /// Processes the first byte of a record or of a field's value.
    fn begin(&mut self, byte: u8, at: usize) -> Result<(), Broken> {
        let value = self.state == State::Value;
        if !value {
            self.start = at;
            self.depth = 0;
            self.naming = self.outer == Outer::Object;
        }
        self.state = match byte {
            b'"' => State::Text,
            _ if self.naming && !value => return Err(Broken::new(at, "expected a field name in quotes")),
            b'{' | b'[' => {
                self.depth = 1;
                State::Inside
            }
            b',' | b':' | b']' | b'}' => return Err(Broken::new(at, "expected a value")),
            _ => State::Scalar,
        };
        Ok(())
    }

    /// Scans the inside of a record from `at`; returns the offset where it stopped.
    fn inside(&mut self, bytes: &[u8], mut at: usize) -> usize {
        while let Some(&byte) = bytes.get(at) {
            at += 1;
            match byte {
                b'"' => {
                    self.state = State::Text;
                    return at;
                }
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        self.record(at);
                        return at;
                    }
                }
                _ => {}
            }
        }
        at
    }

    /// Scans the inside of a string from `at`.
    fn text(&mut self, bytes: &[u8], at: usize) -> usize {
        let Some(found) = memchr2(b'"', b'\\', &bytes[at..]).map(|found| at + found) else { return bytes.len() };
        if bytes[found] == b'\\' {
            self.state = State::Escape;
        } else if self.naming {
            self.naming = false;
            self.state = State::Colon;
        } else if self.depth > 0 {
            self.state = State::Inside;
        } else {
            self.record(found + 1);
        }
        found + 1
    }

    fn scalar(&mut self, bytes: &[u8], at: usize) -> usize {
        let ends = |byte: &u8| matches!(byte, b',' | b']' | b'}' | b'{' | b'[' | b'"') || is_space(*byte);
        match bytes[at..].iter().position(ends) {
            Some(len) => {
                self.record(at + len);
                at + len
            }
            None => bytes.len(),
        }
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

impl Framing for JsonFraming {
    fn scan(&mut self, bytes: &[u8], from: usize) -> Result<(), Broken> {
        let mut at = from;
        if self.fresh && from == 0 && bytes.starts_with(super::super::BOM) {
            at = super::super::BOM.len();
        }
        while let Some(&byte) = bytes.get(at) {
            match self.state {
                State::Done if self.is_inner => break,
                State::Inside => at = self.inside(bytes, at),
                State::Text => at = self.text(bytes, at),
                State::Escape => {
                    self.state = State::Text;
                    at += 1;
                }
                State::Scalar => at = self.scalar(bytes, at),
                _ if is_space(byte) => at += 1,
                State::Colon if byte == b':' => {
                    self.state = State::Value;
                    at += 1;
                }
                State::Colon => return Err(Broken::new(at, "expected a colon")),
                State::Value => {
                    self.begin(byte, at)?;
                    at += 1;
                }
                _ => {
                    self.between(byte, at)?;
                    at += 1;
                }
            }
        }
        Ok(())
    }

    fn finish(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        if self.state == State::Scalar {
            self.record(bytes.len());
        }
        match (self.outer, self.state) {
            (_, State::Done) | (Outer::Nothing, State::First) => Ok(()),
            _ => Err(Broken::new(bytes.len(), "the text ends too early")),
        }
    }

    fn end(&self) -> usize {
        self.end
    }

    fn cut(&mut self) -> Vec<Cut> {
        self.start = self.start.saturating_sub(self.end);
        self.end = 0;
        self.fresh = false;
        std::mem::take(&mut self.cuts)
    }

    fn counts_lines(&self) -> bool {
        true
    }

    fn is_done(&self) -> bool {
        self.is_inner && self.state == State::Done
    }
}
