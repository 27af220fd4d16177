//! Time zones.

use super::DateError;
use crate::code::ErrorCode;
use jiff::Timestamp;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone, TimeZoneDatabase};

/// The rules of a zone repeat with the calendar: after 400 years, in seconds.
const ERA: i128 = 146_097 * 86_400;

/// In the year 1494: before this, each zone has one offset.
const FIRST: i64 = -15_000_000_000;

/// In the year 9480: all later moments are looked up at an equal place of the calendar before it, because the
/// library of time zones ends with the year 9999.
const LAST: i64 = 237_000_000_000;

/// A time zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Zone {
    Utc,
    /// Seconds east of UTC; not 0.
    Fixed(i64),
    /// A zone of the time zone database.
    Named(TimeZone),
}

impl Zone {
    /// The zone with a name of the time zone database, such as `Europe/London`, or with an offset, `+05:30`, `+0530`
    /// or `+05`.
    pub fn find(name: &str) -> Result<Self, DateError> {
        if name == "UTC" {
            return Ok(Self::Utc);
        }
        match utc_offset(name) {
            Some(0) => return Ok(Self::Utc),
            Some(offset) => return Ok(Self::Fixed(offset)),
            None => {}
        }
        // The database ignores case, and MongoDB does not.
        let zone = TimeZoneDatabase::bundled().get(name).ok();
        match zone.filter(|zone| !zone.is_unknown() && zone.iana_name() == Some(name)) {
            Some(zone) => Ok(Self::Named(zone)),
            None => {
                let message = format!("there is no time zone \"{name}\": use a name such as Europe/London, or +05:30");
                Err(DateError::new(ErrorCode::Location40485, message))
            }
        }
    }

    /// True for UTC and offsets of 0, and for no name of the database.
    pub fn is_utc(&self) -> bool {
        matches!(self, Self::Utc)
    }

    /// The seconds east of UTC at a moment, which is in seconds since 1970 in UTC.
    pub fn offset_at(&self, seconds: i64) -> i64 {
        match self {
            Self::Utc => 0,
            Self::Fixed(offset) => *offset,
            Self::Named(zone) => i64::from(zone.to_offset(moment(i128::from(seconds))).seconds()),
        }
    }

    /// True if the zone has daylight saving time at a moment, which is in seconds since 1970 in UTC.
    pub fn is_dst_at(&self, seconds: i64) -> bool {
        match self {
            Self::Utc | Self::Fixed(_) => false,
            Self::Named(zone) => zone.to_offset_info(moment(i128::from(seconds))).dst().is_dst(),
        }
    }

    /// The moment of a local time; both are in seconds since 1970. A time that is skipped counts on from before the
    /// gap. Of a time that occurs twice, the one in daylight saving time is chosen if `in_dst`, else the one in
    /// standard time.
    pub fn to_utc(&self, local: i128, in_dst: bool) -> i128 {
        let offset = match self {
            Self::Utc => 0,
            Self::Fixed(offset) => *offset,
            Self::Named(zone) => {
                let civil = Offset::UTC.to_datetime(moment(local));
                let offset = match zone.to_ambiguous_timestamp(civil).offset() {
                    AmbiguousOffset::Unambiguous { offset } => offset,
                    AmbiguousOffset::Gap { before, .. } => before,
                    AmbiguousOffset::Fold { before, after } => {
                        let earlier = moment(local - i128::from(before.seconds()));
                        let ends_dst = zone.to_offset_info(earlier).dst().is_dst();
                        // Where a zone changes its standard time, MongoDB's choice depends on the hemisphere.
                        let first = if ends_dst { in_dst } else { before.seconds() <= 0 };
                        if first { before } else { after }
                    }
                };
                i64::from(offset.seconds())
            }
        };
        local - i128::from(offset)
    }
}

/// A moment at which zones have the same offset as at this one.
fn moment(seconds: i128) -> Timestamp {
    let last = i128::from(LAST);
    let within = match i64::try_from(seconds) {
        Ok(seconds @ FIRST..=LAST) => seconds,
        _ if seconds < last => FIRST,
        _ => (last - ERA + (seconds - last).rem_euclid(ERA)) as i64,
    };
    Timestamp::from_second(within).unwrap_or(Timestamp::UNIX_EPOCH)
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
