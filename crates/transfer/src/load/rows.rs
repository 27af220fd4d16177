//! Rows of CSV: the fields, and whether each field is quoted.
//!
//! The rules follow RFC 4180. A quote opens only at the beginning of a field, and two quotes within quotes represent
//! one. A row ends with CR, LF or both, and empty lines are not rows. The CSV library is not used because it does not
//! report which fields are quoted. It also accepts text after a closing quote as part of the field, which is an error
//! here.

use memchr::{memchr, memchr3};
use std::borrow::Cow;

/// How fields are separated and quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dialect {
    pub separator: u8,
    /// False if quotes are ordinary characters.
    pub has_quotes: bool,
}

/// A field of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RowField<'a> {
    /// The content, without the quotes around it. For a malformed field, this is its whole text.
    pub text: Cow<'a, [u8]>,
    pub is_quoted: bool,
}

/// The place of a row in its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RowPlace {
    pub start: usize,
    /// The end, with the line end.
    pub end: usize,
    /// The number, from 1, of the first field with text after its closing quote.
    pub malformed: Option<usize>,
    /// True if the bytes end within quotes.
    pub is_open: bool,
}

/// Splits bytes that begin at the beginning of a row.
pub(crate) struct Rows<'a> {
    bytes: &'a [u8],
    at: usize,
    dialect: Dialect,
}

impl<'a> Rows<'a> {
    pub fn new(bytes: &'a [u8], dialect: Dialect) -> Self {
        Self { bytes, at: 0, dialect }
    }

    /// Reads the next row, and replaces the contents of `fields` by its fields. Returns `None` at the end.
    pub fn next(&mut self, fields: &mut Vec<RowField<'a>>) -> Option<RowPlace> {
        fields.clear();
        self.at += self.rest().iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        if self.at == self.bytes.len() {
            return None;
        }
        let mut place = RowPlace { start: self.at, end: 0, malformed: None, is_open: false };
        loop {
            let is_quoted = self.dialect.has_quotes && self.rest().first() == Some(&b'"');
            if is_quoted {
                fields.push(self.quoted(fields.len() + 1, &mut place));
            } else {
                fields.push(RowField { text: Cow::Borrowed(self.plain()), is_quoted: false });
            }
            match self.rest().first() {
                Some(byte) if *byte == self.dialect.separator => self.at += 1,
                Some(b'\r') if self.rest().get(1) == Some(&b'\n') => self.at += 2,
                Some(_) => self.at += 1,
                None => {}
            }
            if self.at == self.bytes.len() || self.bytes.get(self.at.wrapping_sub(1)) != Some(&self.dialect.separator) {
                break;
            }
        }
        if self.at == self.bytes.len() && self.bytes.last() == Some(&self.dialect.separator) && !place.is_open {
            // An empty field follows the last separator.
            fields.push(RowField { text: Cow::Borrowed(&[]), is_quoted: false });
        }
        place.end = self.at;
        Some(place)
    }

    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or(&[])
    }

    /// The text up to the next separator or line end.
    fn plain(&mut self) -> &'a [u8] {
        let rest = self.rest();
        let len = memchr3(b'\n', b'\r', self.dialect.separator, rest).unwrap_or(rest.len());
        self.at += len;
        rest.get(..len).unwrap_or(rest)
    }

    /// The field `number`, which begins with a quote.
    fn quoted(&mut self, number: usize, place: &mut RowPlace) -> RowField<'a> {
        let start = self.at;
        let mut text: Cow<'a, [u8]> = Cow::Borrowed(&[]);
        self.at += 1;
        loop {
            let rest = self.rest();
            let Some(len) = memchr(b'"', rest) else {
                place.is_open = true;
                self.at = self.bytes.len();
                append(&mut text, rest);
                return RowField { text, is_quoted: true };
            };
            let (inside, after) = rest.split_at(len);
            append(&mut text, inside);
            self.at += len + 1;
            match after.get(1) {
                Some(b'"') => {
                    append(&mut text, b"\"");
                    self.at += 1;
                }
                None | Some(b'\r' | b'\n') => return RowField { text, is_quoted: true },
                Some(byte) if *byte == self.dialect.separator => return RowField { text, is_quoted: true },
                Some(_) => {
                    place.malformed.get_or_insert(number);
                    self.plain();
                    let whole = self.bytes.get(start..self.at).unwrap_or(&[]);
                    return RowField { text: Cow::Borrowed(whole), is_quoted: false };
                }
            }
        }
    }
}

/// Appends to a text. The text stays borrowed as long as it is a single piece.
fn append<'a>(text: &mut Cow<'a, [u8]>, more: &'a [u8]) {
    if text.is_empty() {
        *text = Cow::Borrowed(more);
    } else if !more.is_empty() {
        text.to_mut().extend_from_slice(more);
    }
}

#[cfg(test)]
mod tests;
