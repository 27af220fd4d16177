//! Units of time, and arithmetic with them.

use super::local::{Local, weekday};
use super::{DateError, Zone, names};
use crate::code::ErrorCode;
use alluvium_document::calendar::{Date, month_days};

const MILLIS_PER_DAY: i64 = 86_400_000;

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Year,
    Quarter,
    Month,
    Week,
    Day,
    Hour,
    Minute,
    Second,
    Millisecond,
}

const UNITS: [(&str, Unit); 9] = [
    ("year", Unit::Year),
    ("quarter", Unit::Quarter),
    ("month", Unit::Month),
    ("week", Unit::Week),
    ("day", Unit::Day),
    ("hour", Unit::Hour),
    ("minute", Unit::Minute),
    ("second", Unit::Second),
    ("millisecond", Unit::Millisecond),
];

/// How the length of a unit is measured.
enum Measure {
    Months(i64),
    Days(i64),
    /// Units of the same length everywhere and at all times.
    Millis(i64),
}

impl Unit {
    /// The unit with this name, in lower case.
    pub fn find(name: &str) -> Option<Self> {
        UNITS.iter().find(|(known, _)| *known == name).map(|(_, unit)| *unit)
    }

    fn measure(self) -> Measure {
        match self {
            Self::Year => Measure::Months(12),
            Self::Quarter => Measure::Months(3),
            Self::Month => Measure::Months(1),
            Self::Week => Measure::Days(7),
            Self::Day => Measure::Days(1),
            Self::Hour => Measure::Millis(3_600_000),
            Self::Minute => Measure::Millis(60_000),
            Self::Second => Measure::Millis(1000),
            Self::Millisecond => Measure::Millis(1),
        }
    }

    /// MongoDB's limit for amounts of this unit that are added: the smallest amount that exceeds all dates.
    fn amount_max(self) -> u64 {
        const DAYS: u64 = u64::MAX / MILLIS_PER_DAY as u64 + 1;
        const YEARS: u64 = DAYS / 365 + 1;
        match self {
            Self::Year => YEARS,
            Self::Quarter => YEARS * 4,
            Self::Month => YEARS * 12,
            Self::Week => DAYS / 7,
            Self::Day => DAYS,
            Self::Hour => DAYS * 24,
            Self::Minute => DAYS * 24 * 60,
            Self::Second => DAYS * 24 * 60 * 60,
            Self::Millisecond => u64::MAX,
        }
    }
}

/// A day of the week, as the number of days after Monday.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Weekday(i64);

impl Weekday {
    /// The first day of the week unless another is given.
    pub const SUNDAY: Self = Self(6);

    /// The day with this English name or abbreviation of three letters, ignoring case.
    pub fn find(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        (name.len() == 3 || name.ends_with("day")).then(|| names::weekday(&name)).flatten().map(Self)
    }
}

/// A date plus an amount of a unit. Units from days to years are added in the local time of the zone and keep the time
/// of day. The day of the month is also kept; if the month is too short for it, the result is the last day of the
/// month.
pub(crate) fn add(millis: i64, unit: Unit, amount: i64, zone: &Zone) -> Result<i64, DateError> {
    if unit == Unit::Millisecond {
        let sum = millis.checked_add(amount);
        return sum.ok_or_else(|| DateError::new(ErrorCode::DurationOverflow, "the date overflows"));
    }
    if amount.unsigned_abs() >= unit.amount_max() {
        let message = format!("the amount {amount} is more than dates have of this unit");
        return Err(DateError::new(ErrorCode::Location5976500, message));
    }
    if amount == 0 {
        return Ok(millis);
    }
    let sum = match unit.measure() {
        Measure::Millis(length) => i128::from(millis) + i128::from(amount) * i128::from(length),
        Measure::Days(length) => {
            let local = Local::at(millis, zone);
            moved(millis, &local, local.day_number + amount * length, zone)
        }
        Measure::Months(length) => {
            let local = Local::at(millis, zone);
            moved(millis, &local, plus_months(local.date, amount * length), zone)
        }
    };
    let overflow = |_| DateError::new(ErrorCode::Location5166406, "the date overflows");
    i64::try_from(sum).map_err(overflow)
}

/// The same time of day on another day.
fn moved(millis: i64, local: &Local, day_number: i64, zone: &Zone) -> i128 {
    let seconds = i128::from(day_number) * 86_400 + i128::from(local.millis / 1000);
    let in_dst = zone.is_dst_at(millis.div_euclid(1000));
    zone.to_utc(seconds, in_dst) * 1000 + i128::from(local.millisecond())
}

/// The number of the day that is some months later. If its month is too short for the day, it is the last day of the
/// month.
fn plus_months(date: Date, months: i64) -> i64 {
    let month = date.year * 12 + date.month - 1 + months;
    let (year, month) = (month.div_euclid(12), month.rem_euclid(12) + 1);
    Date { year, month, day: date.day.min(month_days(year, month)) }.day_number()
}

/// The number of boundaries between units from one date to another; negative if the end is before the start. Weeks
/// begin with `first_day`.
pub(crate) fn difference(start: i64, end: i64, unit: Unit, zone: &Zone, first_day: Weekday) -> Result<i64, DateError> {
    let (a, b) = (Local::at(start, zone), Local::at(end, zone));
    match unit.measure() {
        Measure::Millis(1) => {
            let overflow = || DateError::new(ErrorCode::Location5166308, "the difference of the dates overflows");
            end.checked_sub(start).ok_or_else(overflow)
        }
        // The boundaries are in local time. A change of the offset between the dates does not count as elapsed time.
        Measure::Millis(length) => {
            let length = length / 1000;
            let units = b.seconds().div_euclid(length) - a.seconds().div_euclid(length);
            Ok(units + (a.offset - b.offset) / length)
        }
        _ => Ok(index(b.date, b.day_number, unit, first_day) - index(a.date, a.day_number, unit, first_day)),
    }
}

/// The number of the unit that contains a day, counted from an arbitrary start.
fn index(date: Date, day_number: i64, unit: Unit, first_day: Weekday) -> i64 {
    match unit {
        Unit::Year => date.year,
        Unit::Quarter => date.year * 4 + (date.month - 1) / 3,
        Unit::Month => date.year * 12 + date.month - 1,
        // Day 4 (1970-01-05) is a Monday.
        Unit::Week => (day_number - 4 - first_day.0).div_euclid(7),
        _ => day_number,
    }
}

/// The day at which the first bin begins: 2000-01-01, a Saturday.
const REFERENCE_DAY: i64 = 10_957;

/// MongoDB's limit for bins of days and longer units.
const BIN_MAX: i64 = 100_000_000_000;

/// The start of the bin that contains a date. Bins have `bin_size` units, and one of the bins begins at 2000-01-01 in
/// the zone. Bins of weeks begin on a `first_day`: one begins on the first such day at or after 2000-01-01.
pub(crate) fn truncate(
    millis: i64,
    unit: Unit,
    bin_size: i64,
    zone: &Zone,
    first_day: Weekday,
) -> Result<i64, DateError> {
    let overflow = |code| move || DateError::new(code, "the truncated date overflows");
    let mut reference = REFERENCE_DAY * MILLIS_PER_DAY - zone.offset_at(REFERENCE_DAY * 86_400) * 1000;
    if let Measure::Millis(length) = unit.measure() {
        let bin = bin_size.checked_mul(length).ok_or_else(overflow(ErrorCode::Location5439002))?;
        let since = millis.checked_sub(reference).ok_or_else(overflow(ErrorCode::Location5439000))?;
        return millis.checked_sub(since.rem_euclid(bin)).ok_or_else(overflow(ErrorCode::Location5439001));
    }
    if bin_size > BIN_MAX {
        return Err(DateError::new(ErrorCode::Location5439006, format!("a bin has at most {BIN_MAX} units")));
    }
    let mut day_number = REFERENCE_DAY;
    if unit == Unit::Week {
        let days = (first_day.0 - weekday(REFERENCE_DAY)).rem_euclid(7);
        day_number += days;
        reference += days * MILLIS_PER_DAY;
    }
    let local = Local::at(millis, zone);
    let distance = index(local.date, local.day_number, unit, first_day)
        - index(Date::of_day(day_number), day_number, unit, first_day);
    add(reference, unit, distance - distance.rem_euclid(bin_size), zone)
}
