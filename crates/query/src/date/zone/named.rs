//! Time zones of the time zone database.

use jiff::Timestamp;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone, TimeZoneDatabase};

/// The period in seconds after which the calendar, and with it the rules of a zone, repeats: 400 years.
const ERA: i128 = 146_097 * 86_400;

/// A moment in the year 1494. Before it, each zone has a single offset.
const FIRST: i64 = -15_000_000_000;

/// A moment in the year 9480. A later moment is looked up at the corresponding moment of the preceding 400 years,
/// because the library of time zones ends with the year 9999.
const LAST: i64 = 237_000_000_000;

/// A zone of the time zone database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named(TimeZone);

/// The message for a name that is not a zone.
pub(super) fn unknown(name: &str) -> String {
    format!("there is no time zone \"{name}\": use a name such as Europe/London, or +05:30")
}

impl Named {
    pub fn find(name: &str) -> Option<Self> {
        // The database ignores the case of names; MongoDB does not.
        let zone = TimeZoneDatabase::bundled().get(name).ok()?;
        (!zone.is_unknown() && zone.iana_name() == Some(name)).then_some(Self(zone))
    }

    /// As [`super::Zone::offset_at`].
    pub fn offset_at(&self, seconds: i64) -> i64 {
        i64::from(self.0.to_offset(moment(i128::from(seconds))).seconds())
    }

    /// As [`super::Zone::is_dst_at`].
    pub fn is_dst_at(&self, seconds: i64) -> bool {
        self.0.to_offset_info(moment(i128::from(seconds))).dst().is_dst()
    }

    /// The seconds east of UTC at a local time, as [`super::Zone::to_utc`] chooses them.
    pub fn offset_of_local(&self, local: i128, in_dst: bool) -> i64 {
        let civil = Offset::UTC.to_datetime(moment(local));
        let offset = match self.0.to_ambiguous_timestamp(civil).offset() {
            AmbiguousOffset::Unambiguous { offset } => offset,
            AmbiguousOffset::Gap { before, .. } => before,
            AmbiguousOffset::Fold { before, after } => {
                let earlier = moment(local - i128::from(before.seconds()));
                let ends_dst = self.0.to_offset_info(earlier).dst().is_dst();
                // If the zone changed its standard time, MongoDB's choice depends on whether the zone is west or east
                // of UTC.
                let first = if ends_dst { in_dst } else { before.seconds() <= 0 };
                if first { before } else { after }
            }
        };
        i64::from(offset.seconds())
    }
}

/// A moment that the library supports and at which zones have the same offset as at `seconds`.
fn moment(seconds: i128) -> Timestamp {
    let last = i128::from(LAST);
    let within = match i64::try_from(seconds) {
        Ok(seconds @ FIRST..=LAST) => seconds,
        _ if seconds < last => FIRST,
        _ => (last - ERA + (seconds - last).rem_euclid(ERA)) as i64,
    };
    Timestamp::from_second(within).unwrap_or(Timestamp::UNIX_EPOCH)
}
