//! Parsing and printing JSON, with MongoDB's Extended JSON v2.
//!
//! If plain JSON is parsed and printed, the order of fields and the values of numbers are preserved:
//! - an integer becomes an int32 or int64, the smaller that can represent it, otherwise a decimal
//!   (`-0` is the integer 0);
//! - a number with a fraction or exponent becomes a double if the double's shortest text has the
//!   same value, otherwise a decimal.
//!
//! A map with one of the names of Extended JSON (`$oid`, `$date`, …) becomes the value that it represents. A malformed
//! map of this kind is an error.

pub(crate) mod date;
mod error;
mod exact;
mod extended;
mod number;
mod parse;
mod print;
mod text;

pub use error::{JsonError, Reason};
pub use exact::{parse_exact, print_exact};
pub(crate) use extended::{interpret, is_extended};
pub use number::parse_number;
pub use parse::{Parser, parse, parse_repaired};
pub use print::{Format, PrintError, print, print_map, to_string};
pub use print::{write_double, write_integer, write_string};
pub use text::find_special;

/// Parses a date as for `$date`, `2012-12-24T12:15:30.501Z` or `2012-12-24`, or in the notation of spreadsheets. A time
/// without a zone is in UTC, a space may replace the `T`, and all years that [`date_to_iso`] writes are accepted.
/// Returns milliseconds since 1970.
pub fn parse_date(text: &str) -> Option<i64> {
    date::parse_lenient(text)
}

/// A date in ISO 8601. Years that do not have four digits are written with a sign and at least six
/// digits.
pub fn date_to_iso(millis: i64) -> String {
    let mut text = Vec::with_capacity(24);
    date::write(millis, &mut text);
    text.iter().map(|byte| char::from(*byte)).collect()
}

/// A date in ISO 8601, if it is in the years 1970 to 9999.
pub fn date_to_string(millis: i64) -> Option<String> {
    let mut text = Vec::with_capacity(24);
    if !(0..=date::MAX_PLAIN).contains(&millis) {
        return None;
    }
    date::write(millis, &mut text);
    String::from_utf8(text).ok()
}

/// The object id of 24 hexadecimal digits.
pub fn parse_object_id(text: &str) -> Option<[u8; 12]> {
    extended::hex(text.as_bytes())
}
