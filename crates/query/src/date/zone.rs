//! Time zones.

use super::DateError;
use crate::code::ErrorCode;

#[cfg(not(feature = "time-zones"))]
mod absent;
#[cfg(feature = "time-zones")]
mod named;

#[cfg(not(feature = "time-zones"))]
use absent as named;
use named::Named;

/// A time zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Zone {
    Utc,
    /// Seconds east of UTC; not 0.
    Fixed(i64),
    /// A zone of the time zone database.
    Named(Named),
}

impl Zone {
    /// The zone with a name of the time zone database, such as `Europe/London`, or with an offset: `+05:30`, `+0530` or
    /// `+05`.
    pub fn find(name: &str) -> Result<Self, DateError> {
        if name == "UTC" {
            return Ok(Self::Utc);
        }
        match utc_offset(name) {
            Some(0) => return Ok(Self::Utc),
            Some(offset) => return Ok(Self::Fixed(offset)),
            None => {}
        }
        Named::find(name).map(Self::Named).ok_or_else(|| DateError::new(ErrorCode::Location40485, named::unknown(name)))
    }

    /// True for UTC and offsets of 0. False for all names of the time zone database.
    pub fn is_utc(&self) -> bool {
        matches!(self, Self::Utc)
    }

    /// The seconds east of UTC at a moment, which is in seconds since 1970 in UTC.
    pub fn offset_at(&self, seconds: i64) -> i64 {
        match self {
            Self::Utc => 0,
            Self::Fixed(offset) => *offset,
            Self::Named(zone) => zone.offset_at(seconds),
        }
    }

    /// True if the zone has daylight saving time at a moment, which is in seconds since 1970 in UTC.
    pub fn is_dst_at(&self, seconds: i64) -> bool {
        match self {
            Self::Utc | Self::Fixed(_) => false,
            Self::Named(zone) => zone.is_dst_at(seconds),
        }
    }

    /// The moment of a local time; both are in seconds since 1970. A time in a gap is converted with the offset before
    /// the gap. If a time occurs twice, the occurrence in daylight saving time is chosen if `in_dst`, otherwise the
    /// occurrence in standard time.
    pub fn to_utc(&self, local: i128, in_dst: bool) -> i128 {
        let offset = match self {
            Self::Utc => 0,
            Self::Fixed(offset) => *offset,
            Self::Named(zone) => zone.offset_of_local(local, in_dst),
        };
        local - i128::from(offset)
    }
}

/// The seconds of `+HH`, `+HHMM` or `+HH:MM`.
fn utc_offset(text: &str) -> Option<i64> {
    let (sign, digits) = match text.as_bytes() {
        [b'+', rest @ ..] => (1, rest),
        [b'-', rest @ ..] => (-1, rest),
        _ => return None,
    };
    let two = |tens: u8, ones: u8| {
        let is_number = tens.is_ascii_digit() && ones.is_ascii_digit();
        is_number.then(|| i64::from(tens - b'0') * 10 + i64::from(ones - b'0'))
    };
    let (hours, minutes) = match *digits {
        [a, b] => (two(a, b)?, 0),
        [a, b, c, d] | [a, b, b':', c, d] => (two(a, b)?, two(c, d)?),
        _ => return None,
    };
    Some(sign * (hours * 3600 + minutes * 60))
}
