//! MongoDB's error codes.

use std::fmt;

macro_rules! codes {
    ($($name:ident = $number:literal,)*) => {
        /// An error code of MongoDB, for the errors of this crate. As in MongoDB, a code without a
        /// name is called `Location` followed by its number.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[allow(missing_docs, reason = "the names are MongoDB's")]
        #[repr(i32)]
        pub enum ErrorCode {
            $($name = $number,)*
        }

        impl ErrorCode {
            /// The name, such as `BadValue`.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }
        }
    };
}

codes! {
    InternalError = 1,
    BadValue = 2,
    FailedToParse = 9,
    TypeMismatch = 14,
    Overflow = 15,
    PathNotViable = 28,
    CannotBackfillArray = 34,
    ConflictingUpdateOperators = 40,
    DollarPrefixedFieldName = 52,
    NotSingleValueField = 54,
    NotExactValueField = 55,
    EmptyFieldName = 56,
    ImmutableField = 66,
    CannotCreateIndex = 67,
    InvalidOptions = 72,
    CannotIndexParallelArrays = 171,
    InvalidIndexSpecificationOption = 197,
    NotImplemented = 238,
    NoQueryExecutionPlans = 291,
    QueryExceededMemoryLimitNoDiskUseAllowed = 292,
    DataCorruptionDetected = 301,
    BSONObjectTooLarge = 10334,
    KeyTooLong = 17280,
    Location13103 = 13103,
    Location15974 = 15974,
    Location15975 = 15975,
    Location15998 = 15998,
    Location16410 = 16410,
    Location16411 = 16411,
    Location16746 = 16746,
    Location16764 = 16764,
    Location16766 = 16766,
    Location17217 = 17217,
    Location28667 = 28667,
    Location28724 = 28724,
    Location31032 = 31032,
    Location31249 = 31249,
    Location31250 = 31250,
    Location31253 = 31253,
    Location31254 = 31254,
    Location31255 = 31255,
    Location31256 = 31256,
    Location31271 = 31271,
    Location31274 = 31274,
    Location31275 = 31275,
    Location31276 = 31276,
    Location31277 = 31277,
    Location31303 = 31303,
    Location31308 = 31308,
    Location31325 = 31325,
    Location31394 = 31394,
    Location31395 = 31395,
    Location40352 = 40352,
    Location40353 = 40353,
    Location51074 = 51074,
    Location51075 = 51075,
    Location51091 = 51091,
    Location51108 = 51108,
    Location51156 = 51156,
    Location51246 = 51246,
    Location51247 = 51247,
    Location51270 = 51270,
    Location5984700 = 5_984_700,
    Location7472500 = 7_472_500,
}

impl ErrorCode {
    /// The number.
    pub fn number(self) -> i32 {
        self as i32
    }

    /// The code for a path with an empty name, a zero character or more names than allowed.
    pub(crate) fn of_path(path: &str) -> Self {
        match path {
            "" => Self::Location40352,
            path if path.contains('\0') => Self::Location16411,
            path if path.ends_with('.') => Self::Location40353,
            path if path.split('.').any(str::is_empty) => Self::Location15998,
            _ => Self::Location5984700,
        }
    }

    /// The code for a name in a path that begins with a dollar sign.
    pub(crate) const DOLLAR: Self = Self::Location16410;
}

/// The number and the name: `2 BadValue`.
impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.number(), self.name())
    }
}

/// Compares the number.
impl PartialEq<i32> for ErrorCode {
    fn eq(&self, number: &i32) -> bool {
        self.number() == *number
    }
}
