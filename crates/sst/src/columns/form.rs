//! The common form of the keys of a block, part by part, and the splitting of keys by it.

use alluvium_codec::key::{self, rank};
use alluvium_codec::{DecodeError, Result};

/// The most parts of a form.
pub(super) const MAX_PARTS: usize = 40;
/// The most bytes of a binary that are columns of their own.
const MAX_BINARY: usize = 32;
/// The most bytes after a text that are columns of their own.
const MAX_TAIL: usize = 16;
/// The bytes of a key that name its tree.
const TREE: u8 = 4;

const LITERAL: u8 = 0;
const FIXED: u8 = 1;
const SIGNED: u8 = 2;
const NUMBER: u8 = 3;
const TEXT: u8 = 4;
const BYTES: u8 = 5;
/// The flag of a number or a text whose bits are all inverted.
const FLIPPED: u8 = 0x80;

/// A part of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// This byte.
    Literal(u8),
    /// A big-endian number of this many bytes, 1 to 8.
    Fixed(u8),
    /// Eight bytes: a big-endian number with its sign bit flipped.
    Signed,
    /// The output of [`key::put_number`].
    Number {
        /// All bits are inverted.
        flipped: bool,
    },
    /// The output of [`key::put_bytes`].
    Text {
        /// All bits are inverted.
        flipped: bool,
    },
    /// Bytes whose length is only known after splitting the key.
    Bytes(Bytes),
}

/// The end of a part of arbitrary bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bytes {
    /// The rest of the key of a value; true if its bits are inverted.
    Key(bool),
    /// The end of the whole key.
    Rest,
}

impl Part {
    pub(super) fn put(self, out: &mut Vec<u8>) {
        let flip = |flipped: bool| if flipped { FLIPPED } else { 0 };
        match self {
            Self::Literal(byte) => out.extend_from_slice(&[LITERAL, byte]),
            Self::Fixed(len) => out.push(FIXED | (len - 1) << 4),
            Self::Signed => out.push(SIGNED),
            Self::Number { flipped } => out.push(NUMBER | flip(flipped)),
            Self::Text { flipped } => out.push(TEXT | flip(flipped)),
            Self::Bytes(_) => out.push(BYTES),
        }
    }

    pub(super) fn get(input: &mut &[u8]) -> Result<Self> {
        let mut byte = || -> Result<u8> {
            let (&byte, rest) = input.split_first().ok_or(DecodeError::Truncated)?;
            *input = rest;
            Ok(byte)
        };
        let first = byte()?;
        let flipped = first & FLIPPED != 0;
        Ok(match first {
            LITERAL => Self::Literal(byte()?),
            SIGNED => Self::Signed,
            BYTES => Self::Bytes(Bytes::Rest),
            _ if first & 0x8f == FIXED => Self::Fixed((first >> 4) + 1),
            _ if first & !FLIPPED == NUMBER => Self::Number { flipped },
            _ if first & !FLIPPED == TEXT => Self::Text { flipped },
            _ => return Err(DecodeError::Invalid("a part of the form of keys")),
        })
    }
}

/// The values of a part in all keys: numbers, or lengths and bytes.
#[derive(Debug, Default)]
pub(super) struct Column {
    pub(super) values: Vec<i64>,
    pub(super) bytes: Vec<u8>,
}

/// A form, and the values that its parts belong to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) parts: Vec<Part>,
    /// For each part, the first part of the value that it belongs to, and whether the value is
    /// inverted; `None` for parts that belong to no value.
    of: Vec<Option<(usize, bool)>>,
}

impl Form {
    /// The forms that keys like this one may have; the most likely form is first.
    pub(super) fn guesses(key: &[u8]) -> impl Iterator<Item = Self> {
        [Self::values(key, &[TREE]), Self::text(key), Self::values(key, &[TREE, 8])].into_iter().flatten()
    }

    /// A form with parts of fixed lengths, followed by keys of values.
    fn values(key: &[u8], fixed: &[u8]) -> Option<Self> {
        let mut form = Self { parts: Vec::new(), of: Vec::new() };
        let mut rest = key;
        for &len in fixed {
            rest = rest.get(usize::from(len)..)?;
            form.push(Part::Fixed(len), None);
        }
        if rest.is_empty() {
            return None;
        }
        while !rest.is_empty() {
            let flipped = rest[0] & 0x80 != 0;
            form.push_value(rest, flipped);
            key::skip(&mut rest, flipped).ok()?;
            if form.parts.len() > MAX_PARTS {
                return None;
            }
        }
        Some(form)
    }

    /// A form with a string followed by arbitrary bytes: the keys of a multivalue tree.
    fn text(key: &[u8]) -> Option<Self> {
        let mut rest = key.get(usize::from(TREE)..)?;
        let mut form = Self { parts: Vec::new(), of: Vec::new() };
        form.push(Part::Fixed(TREE), None);
        form.push(Part::Text { flipped: false }, None);
        skip_text(&mut rest, false).ok()?;
        let mut tail = rest.len();
        if tail > MAX_TAIL {
            form.push(Part::Bytes(Bytes::Rest), None);
            return Some(form);
        }
        // The first part takes the remainder of the length divided by eight.
        while tail > 0 {
            let len = if tail.is_multiple_of(8) { 8 } else { tail % 8 };
            form.push(Part::Fixed(len as u8), None);
            tail -= len;
        }
        Some(form)
    }

    fn push(&mut self, part: Part, of: Option<(usize, bool)>) {
        self.parts.push(part);
        self.of.push(of);
    }

    /// Adds the parts of the value whose key is at the front of `key`.
    fn push_value(&mut self, key: &[u8], flipped: bool) {
        let flip = if flipped { 0xff } else { 0 };
        let of = Some((self.parts.len(), flipped));
        let (first, second) = (key[0] ^ flip, key.get(1).map_or(0, |byte| byte ^ flip));
        let mut chunks: &[Part] = &[];
        match first {
            rank::NULL | rank::UNDEFINED | rank::MIN_KEY | rank::MAX_KEY => {}
            rank::NUMBER => {
                chunks = if flipped { &[Part::Number { flipped: true }] } else { &[Part::Number { flipped: false }] }
            }
            rank::STRING => {
                chunks = if flipped { &[Part::Text { flipped: true }] } else { &[Part::Text { flipped: false }] }
            }
            rank::BOOL => chunks = &[Part::Fixed(1)],
            rank::DATE_TIME => chunks = &[Part::Signed],
            rank::TIMESTAMP => chunks = &[Part::Fixed(4), Part::Fixed(4)],
            rank::OBJECT_ID => chunks = &[Part::Fixed(4), Part::Fixed(5), Part::Fixed(3)],
            rank::BINARY if usize::from(second) <= MAX_BINARY => {
                self.push(Part::Literal(key[0]), of);
                self.push(Part::Literal(second ^ flip), of);
                self.push(Part::Fixed(1), of);
                let mut rest = usize::from(second);
                while rest > 0 {
                    self.push(Part::Fixed(rest.min(8) as u8), of);
                    rest -= rest.min(8);
                }
                return;
            }
            _ => return self.push(Part::Bytes(Bytes::Key(flipped)), of),
        }
        self.push(Part::Literal(key[0]), of);
        chunks.iter().for_each(|&part| self.push(part, of));
    }

    /// Splits a key into the columns of the parts. On failure returns the part that did not fit.
    #[inline]
    pub(super) fn split(&self, key: &[u8], columns: &mut [Column]) -> std::result::Result<(), usize> {
        let mut rest = key;
        for (at, (part, column)) in self.parts.iter().zip(columns).enumerate() {
            split_part(*part, &mut rest, column).ok_or(at)?;
        }
        if rest.is_empty() { Ok(()) } else { Err(self.parts.len() - 1) }
    }

    /// The form in which the value of part `at` is stored as bytes; `None` if it is bytes already,
    /// or if the part belongs to no value.
    pub(super) fn without(&self, at: usize) -> Option<Self> {
        let (start, flipped) = self.of[at]?;
        let end = (start..self.of.len()).find(|&part| self.of[part] != self.of[at]).unwrap_or(self.of.len());
        if matches!(self.parts[start], Part::Bytes(_)) {
            return None;
        }
        let mut form = Self { parts: self.parts[..start].to_vec(), of: self.of[..start].to_vec() };
        form.push(Part::Bytes(Bytes::Key(flipped)), Some((start, flipped)));
        let gone = end - start - 1;
        form.parts.extend_from_slice(&self.parts[end..]);
        form.of.extend(self.of[end..].iter().map(|of| of.map(|(start, flipped)| (start - gone, flipped))));
        Some(form)
    }
}

#[inline(always)]
fn split_part(part: Part, rest: &mut &[u8], column: &mut Column) -> Option<()> {
    match part {
        Part::Literal(byte) => {
            *rest = rest.strip_prefix(&[byte])?;
            return Some(());
        }
        Part::Fixed(len) => {
            let (bytes, after) = rest.split_at_checked(usize::from(len))?;
            *rest = after;
            column.values.push(bytes.iter().fold(0, |value, &byte| value << 8 | u64::from(byte)) as i64);
        }
        Part::Signed => {
            let (bytes, after) = rest.split_first_chunk()?;
            *rest = after;
            column.values.push((u64::from_be_bytes(*bytes) ^ 1 << 63) as i64);
        }
        Part::Number { flipped } => {
            let bits = take_number(rest, flipped)?;
            column.values.push((bits ^ 1 << 63) as i64);
        }
        Part::Text { flipped } => {
            let (start, end) = (*rest, if flipped { 0xff } else { 0 });
            skip_text(rest, flipped).ok()?;
            let text = &start[..start.len() - rest.len() - 2];
            debug_assert_eq!(start[text.len()], end);
            put_bytes(text, column);
        }
        Part::Bytes(until) => {
            let start = *rest;
            match until {
                Bytes::Key(flipped) => key::skip(rest, flipped).ok()?,
                Bytes::Rest => *rest = &[],
            }
            put_bytes(&start[..start.len() - rest.len()], column);
        }
    }
    Some(())
}

fn put_bytes(bytes: &[u8], column: &mut Column) {
    column.values.push(bytes.len() as i64);
    column.bytes.extend_from_slice(bytes);
}

/// Takes a number and returns its bits, if the number is exactly a double.
#[inline]
fn take_number(rest: &mut &[u8], flipped: bool) -> Option<u64> {
    if !flipped {
        return key::get_number(rest).ok().filter(|(_, exact)| *exact).map(|(bits, _)| bits);
    }
    const MAX: usize = 2 + key::GROUPS as usize;
    let mut bytes = [0; MAX];
    let len = rest.len().min(MAX);
    for (to, from) in bytes.iter_mut().zip(*rest) {
        *to = !from;
    }
    let mut input = &bytes[..len];
    let (bits, exact) = key::get_number(&mut input).ok()?;
    *rest = &rest[len - input.len()..];
    exact.then_some(bits)
}

/// Skips the output of [`key::put_bytes`].
#[inline]
fn skip_text(input: &mut &[u8], flipped: bool) -> Result<()> {
    let flip = if flipped { 0xff } else { 0 };
    loop {
        let at = input.iter().position(|&byte| byte == flip).ok_or(DecodeError::Truncated)?;
        let next = input.get(at + 1).ok_or(DecodeError::Truncated)? ^ flip;
        *input = &input[at + 2..];
        match next {
            0xff => {}
            1 => return Ok(()),
            _ => return Err(DecodeError::Invalid("an unknown escape in a key")),
        }
    }
}

#[cfg(test)]
mod tests;
