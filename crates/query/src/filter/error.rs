//! Why a filter is refused.

/// Why a filter is refused, with MongoDB's code for it. The message says which operator and field, and what is right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FilterError {
    /// An operator is unknown, or an operand is not one that its operator takes.
    #[error("{0}")]
    BadValue(String),
    /// An operand is of a type that its operator takes, and not one of the values.
    #[error("{0}")]
    FailedToParse(String),
    /// An operand is of a type that its operator does not take; of most operators this is [`FilterError::BadValue`].
    #[error("{0}")]
    TypeMismatch(String),
    /// A regular expression has options of its own and others beside it; and MongoDB's number for it.
    #[error("{0}")]
    OptionsTwice(String, i32),
    /// An operator of MongoDB that Alluvium does not have. The message names it.
    #[error("{0}")]
    NotSupported(String),
    /// A pattern is no regular expression, has what they do not have here, or compiles to too much.
    #[error("{0}")]
    InvalidRegex(String),
    /// The options of a regular expression are not among `imsx`.
    #[error("{0}")]
    InvalidRegexOptions(String),
    /// The filter nests deeper than [`alluvium_document::MAX_DEPTH`], or a path in it has more names.
    #[error("{0}")]
    TooDeep(String),
    /// The filter is larger than [`crate::filter::MAX_FILTER_BYTES`].
    #[error("{0}")]
    TooLarge(String),
}

impl FilterError {
    /// MongoDB's number for the error.
    pub fn code(&self) -> i32 {
        self.number_and_name().0
    }

    /// MongoDB's name for the error.
    pub fn code_name(&self) -> &'static str {
        self.number_and_name().1
    }

    fn number_and_name(&self) -> (i32, &'static str) {
        match self {
            Self::BadValue(_) => (2, "BadValue"),
            Self::FailedToParse(_) => (9, "FailedToParse"),
            Self::TypeMismatch(_) => (14, "TypeMismatch"),
            Self::OptionsTwice(_, code) => (*code, crate::location::name(*code)),
            Self::TooDeep(_) => (15, "Overflow"),
            Self::NotSupported(_) => (238, "NotImplemented"),
            Self::TooLarge(_) => (10334, "BSONObjectTooLarge"),
            Self::InvalidRegex(_) => (51091, "Location51091"),
            Self::InvalidRegexOptions(_) => (51108, "Location51108"),
        }
    }

    /// [`FilterError::BadValue`].
    pub(super) fn bad(message: impl Into<String>) -> Self {
        Self::BadValue(message.into())
    }
}
