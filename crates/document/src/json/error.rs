//! What can be wrong with JSON text, and where.

use crate::value::MAX_DEPTH;
use std::fmt;

/// Text that is not JSON, with the place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonError {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The offset in bytes, from 0.
    pub offset: usize,
    /// What is wrong there.
    pub reason: Reason,
}

/// What is wrong with JSON text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// The text ends within a value, or is empty.
    #[error("the text ends too early")]
    UnexpectedEnd,
    /// Something else should be here.
    #[error("expected {0}")]
    Expected(&'static str),
    /// There is more behind the value.
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
    /// A backslash and something that is no escape.
    #[error("an invalid escape in a string")]
    InvalidEscape,
    /// Half of a surrogate pair.
    #[error("a lone surrogate in a string")]
    LoneSurrogate,
    /// A number that is not written as JSON wants it.
    #[error("an invalid number")]
    InvalidNumber,
    /// A number whose exponent no decimal holds.
    #[error("a number out of range")]
    NumberOutOfRange,
    /// More nesting than is taken.
    #[error("nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// A map that looks like Extended JSON and is not.
    #[error("invalid extended JSON: {name}: {problem}")]
    Extended {
        /// The name that made it look so, like `$oid`.
        name: &'static str,
        /// What is wrong with it.
        problem: &'static str,
    },
}

impl JsonError {
    /// The error at `offset` of `text`, whose lines are counted here.
    pub(crate) fn at(text: &[u8], offset: usize, reason: Reason) -> JsonError {
        let before = &text[..offset.min(text.len())];
        let line = memchr::memchr_iter(b'\n', before).count() + 1;
        let start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
        // Continuation bytes begin no character.
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
