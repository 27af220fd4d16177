//! Errors of JSON text, with their positions.

use crate::value::MAX_DEPTH;
use std::fmt;

/// An error in JSON text, with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonError {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The offset in bytes, from 0.
    pub offset: usize,
    /// The kind of error.
    pub reason: Reason,
}

/// The kind of an error in JSON text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// The text ends within a value, or is empty.
    #[error("the text ends too early")]
    UnexpectedEnd,
    /// Another token was expected here.
    #[error("expected {0}")]
    Expected(&'static str),
    /// Text follows the value.
    #[error("trailing characters behind the value")]
    Trailing,
    /// A field occurs twice in one map.
    #[error("duplicate field {0:?}")]
    DuplicateField(String),
    /// The bytes are not UTF-8.
    #[error("invalid UTF-8")]
    InvalidUtf8,
    /// A character below U+0020 within a string; it must be written as an escape.
    #[error("a control character in a string")]
    ControlCharacter,
    /// A backslash is not followed by a valid escape.
    #[error("an invalid escape in a string")]
    InvalidEscape,
    /// An escape is half of a surrogate pair.
    #[error("a lone surrogate in a string")]
    LoneSurrogate,
    /// A number is not in JSON's notation.
    #[error("an invalid number")]
    InvalidNumber,
    /// A number such as NaN, for which JSON has no notation, but which some programs write.
    #[error("{0} is no number of JSON")]
    NotFinite(&'static str),
    /// The exponent of a number exceeds the range of decimals.
    #[error("a number out of range")]
    NumberOutOfRange,
    /// The nesting exceeds the limit.
    #[error("nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// A map with a name of Extended JSON is malformed.
    #[error("invalid extended JSON: {name}: {problem}")]
    Extended {
        /// The name, such as `$oid`.
        name: &'static str,
        /// The error in the map.
        problem: &'static str,
    },
}

impl JsonError {
    /// The error at `offset` of `text`. Computes line and column.
    pub(crate) fn at(text: &[u8], offset: usize, reason: Reason) -> JsonError {
        let before = &text[..offset.min(text.len())];
        let line = memchr::memchr_iter(b'\n', before).count() + 1;
        let start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
        // Continuation bytes are not the start of a character.
        let column = before[start..].iter().filter(|&&byte| byte & 0xc0 != 0x80).count() + 1;
        JsonError { line, column, offset, reason }
    }
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.reason)
    }
}

impl std::error::Error for JsonError {}
