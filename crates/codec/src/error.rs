//! The error of every decoder.

/// The error for bytes that an encoder of this crate does not write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The input ends within a value.
    #[error("the bytes end within a value")]
    Truncated,
    /// A value is out of its range, or a code is unknown.
    #[error("the bytes hold no valid value: {0}")]
    Invalid(&'static str),
}

/// A result with [`DecodeError`].
pub type Result<T> = std::result::Result<T, DecodeError>;
