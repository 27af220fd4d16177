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
    ExceededMemoryLimit = 146,
    InvalidPipelineOperator = 168,
    CannotIndexParallelArrays = 171,
    InvalidIndexSpecificationOption = 197,
    NotImplemented = 238,
    ConversionFailure = 241,
    NoQueryExecutionPlans = 291,
    QueryExceededMemoryLimitNoDiskUseAllowed = 292,
    DataCorruptionDetected = 301,
    BSONObjectTooLarge = 10334,
    Location13103 = 13103,
    Location15974 = 15974,
    Location15975 = 15975,
    Location15983 = 15983,
    Location15998 = 15998,
    Location16007 = 16007,
    Location16020 = 16020,
    Location16034 = 16034,
    Location16035 = 16035,
    Location16410 = 16410,
    Location16411 = 16411,
    Location16412 = 16412,
    Location16554 = 16554,
    Location16555 = 16555,
    Location16556 = 16556,
    Location16609 = 16609,
    Location16610 = 16610,
    Location16611 = 16611,
    Location16612 = 16612,
    Location16702 = 16702,
    Location16746 = 16746,
    Location16764 = 16764,
    Location16766 = 16766,
    Location16866 = 16866,
    Location16867 = 16867,
    Location16868 = 16868,
    Location16872 = 16872,
    Location16874 = 16874,
    Location16875 = 16875,
    Location16876 = 16876,
    Location16877 = 16877,
    Location16878 = 16878,
    Location16879 = 16879,
    Location16880 = 16880,
    Location16882 = 16882,
    Location16883 = 16883,
    Location17040 = 17040,
    Location17041 = 17041,
    Location17042 = 17042,
    Location17043 = 17043,
    Location17044 = 17044,
    Location17046 = 17046,
    Location17047 = 17047,
    Location17048 = 17048,
    Location17049 = 17049,
    Location17080 = 17080,
    Location17081 = 17081,
    Location17082 = 17082,
    Location17083 = 17083,
    Location17124 = 17124,
    Location17217 = 17217,
    Location17276 = 17276,
    KeyTooLong = 17280,
    Location28646 = 28646,
    Location28647 = 28647,
    Location28648 = 28648,
    Location28650 = 28650,
    Location28651 = 28651,
    Location28656 = 28656,
    Location28657 = 28657,
    Location28664 = 28664,
    Location28667 = 28667,
    Location28680 = 28680,
    Location28689 = 28689,
    Location28690 = 28690,
    Location28691 = 28691,
    Location28714 = 28714,
    Location28724 = 28724,
    Location28725 = 28725,
    Location28726 = 28726,
    Location28727 = 28727,
    Location28728 = 28728,
    Location28729 = 28729,
    Location28756 = 28756,
    Location28757 = 28757,
    Location28758 = 28758,
    Location28759 = 28759,
    Location28761 = 28761,
    Location28762 = 28762,
    Location28763 = 28763,
    Location28764 = 28764,
    Location28765 = 28765,
    Location28766 = 28766,
    Location31032 = 31032,
    Location31249 = 31249,
    Location31250 = 31250,
    Location31252 = 31252,
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
    Location31393 = 31393,
    Location31394 = 31394,
    Location31395 = 31395,
    Location34435 = 34435,
    Location34443 = 34443,
    Location34444 = 34444,
    Location34445 = 34445,
    Location34446 = 34446,
    Location34447 = 34447,
    Location34448 = 34448,
    Location34449 = 34449,
    Location34450 = 34450,
    Location34451 = 34451,
    Location34452 = 34452,
    Location34453 = 34453,
    Location34454 = 34454,
    Location34455 = 34455,
    Location34461 = 34461,
    Location34462 = 34462,
    Location34463 = 34463,
    Location34465 = 34465,
    Location34466 = 34466,
    Location34467 = 34467,
    Location34468 = 34468,
    Location34471 = 34471,
    Location34473 = 34473,
    Location40060 = 40060,
    Location40061 = 40061,
    Location40062 = 40062,
    Location40063 = 40063,
    Location40064 = 40064,
    Location40065 = 40065,
    Location40066 = 40066,
    Location40067 = 40067,
    Location40068 = 40068,
    Location40075 = 40075,
    Location40076 = 40076,
    Location40077 = 40077,
    Location40078 = 40078,
    Location40079 = 40079,
    Location40080 = 40080,
    Location40081 = 40081,
    Location40085 = 40085,
    Location40086 = 40086,
    Location40087 = 40087,
    Location40090 = 40090,
    Location40091 = 40091,
    Location40092 = 40092,
    Location40093 = 40093,
    Location40094 = 40094,
    Location40096 = 40096,
    Location40097 = 40097,
    Location40352 = 40352,
    Location40353 = 40353,
    Location40386 = 40386,
    Location40390 = 40390,
    Location40391 = 40391,
    Location40392 = 40392,
    Location40393 = 40393,
    Location40394 = 40394,
    Location40395 = 40395,
    Location40397 = 40397,
    Location40398 = 40398,
    Location40400 = 40400,
    Location50699 = 50699,
    Location50700 = 50700,
    Location50752 = 50752,
    Location50989 = 50989,
    Location51044 = 51044,
    Location51074 = 51074,
    Location51075 = 51075,
    Location51080 = 51080,
    Location51081 = 51081,
    Location51082 = 51082,
    Location51083 = 51083,
    Location51091 = 51091,
    Location51104 = 51104,
    Location51105 = 51105,
    Location51106 = 51106,
    Location51107 = 51107,
    Location51108 = 51108,
    Location51156 = 51156,
    Location51246 = 51246,
    Location51247 = 51247,
    Location51270 = 51270,
    Location51276 = 51276,
    Location51744 = 51744,
    Location51745 = 51745,
    Location51746 = 51746,
    Location327391 = 327391,
    Location327392 = 327392,
    Location1257300 = 1_257_300,
    Location2942504 = 2_942_504,
    Location2942505 = 2_942_505,
    Location2942507 = 2_942_507,
    Location3041704 = 3_041_704,
    Location4161105 = 4_161_105,
    Location4161107 = 4_161_107,
    Location4940400 = 4_940_400,
    Location5787902 = 5_787_902,
    Location5787908 = 5_787_908,
    Location5788200 = 5_788_200,
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
