//! Errors of change streams.

use std::fmt;

/// The reason why a change stream is refused, or has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchError {
    kind: WatchErrorKind,
    message: String,
}

/// The kind of a [`WatchError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchErrorKind {
    /// A token is not the text of one.
    NotAToken,
    /// A token has no field `_data` with a text.
    TokenWithoutData,
    /// A token does not fit the way in which the stream begins.
    InvalidToken,
    /// A stage is not allowed in a change stream.
    NotAllowed,
    /// A document that the stream requires is not known.
    NoDocument,
    /// A stage has changed or removed the `_id` of an event.
    IdChanged,
    /// A token is that of a fragment, and the stream does not split events.
    Fragment,
    /// The event of a token is not one of the stream.
    OtherEvent,
    /// An event is larger than a document may be.
    TooLarge,
}

impl WatchErrorKind {
    /// An error of this kind.
    pub(crate) fn error(self, message: impl Into<String>) -> WatchError {
        WatchError { kind: self, message: message.into() }
    }

    /// MongoDB's code and its name.
    fn code(self) -> (i32, &'static str) {
        match self {
            Self::NotAToken => (9, "FailedToParse"),
            Self::TokenWithoutData => (40647, "Location40647"),
            Self::InvalidToken => (260, "InvalidResumeToken"),
            Self::NotAllowed => (20, "IllegalOperation"),
            Self::NoDocument => (47, "NoMatchingDocument"),
            Self::IdChanged | Self::Fragment | Self::OtherEvent => (280, "ChangeStreamFatalError"),
            Self::TooLarge => (10334, "BSONObjectTooLarge"),
        }
    }
}

impl WatchError {
    /// The kind.
    pub fn kind(&self) -> WatchErrorKind {
        self.kind
    }

    /// MongoDB's code and its name.
    pub fn code(&self) -> (i32, &'static str) {
        self.kind.code()
    }
}

impl fmt::Display for WatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for WatchError {}
