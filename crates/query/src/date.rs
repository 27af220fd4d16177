//! Dates in time zones: their parts, arithmetic by units, and text, by the rules of MongoDB's date operators.
//!
//! A date is a number of milliseconds since 1970 in UTC. The calendar is Gregorian at all times and has no leap
//! seconds. All dates are supported, including those in years far beyond 9999.

mod error;
mod fields;
mod free;
mod local;
mod names;
mod pattern;
mod print;
mod unit;
mod zone;

pub(crate) use error::DateError;
pub(crate) use free::parse;
pub(crate) use local::{Local, iso_day_number};
pub(crate) use pattern::parse_by;
pub(crate) use print::{Direction, check_format, to_text};
pub(crate) use unit::{Unit, Weekday, add, difference, truncate};
pub(crate) use zone::Zone;

/// The format of dates as text in UTC.
pub(crate) const ISO_UTC: &str = "%Y-%m-%dT%H:%M:%S.%LZ";

/// The format of dates as text in other zones.
pub(crate) const ISO_LOCAL: &str = "%Y-%m-%dT%H:%M:%S.%L";

#[cfg(test)]
mod tests;
