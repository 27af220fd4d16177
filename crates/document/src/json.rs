//! JSON in and out, with MongoDB's Extended JSON v2.
//!
//! Plain JSON comes back with the same fields in the same order, and with numbers of the same value:
//! - an integer becomes an int32 or int64, the smaller that holds it, else a decimal (`-0` is the integer 0);
//! - a number with a fraction or exponent becomes a double if the double's shortest text has the same value, else a
//!   decimal.
//!
//! A map with one of the names of Extended JSON (`$oid`, `$date`, …) becomes the value that it stands for; if it is not
//! well formed, that is an error.

mod date;
mod error;
mod extended;
mod number;
mod parse;
mod print;
mod text;

pub use error::{JsonError, Reason};
pub(crate) use extended::interpret;
pub use number::parse_number;
pub use parse::{Parser, parse};
pub use print::{Format, PrintError, print, print_map, to_string};
pub use print::{write_double, write_integer, write_string};
pub use text::find_special;
