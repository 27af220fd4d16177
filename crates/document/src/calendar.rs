//! The Gregorian calendar, extended to the time before its introduction: converts between dates and the number of days
//! since 1970.
//!
//! Days and dates are converted by counting eras of 400 years from the first of March, as the public-domain
//! date algorithms of the C++ standard's calendar do.

/// A day of the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Date {
    /// The year. The year before 1 is 0.
    pub year: i64,
    /// The month, from 1.
    pub month: i64,
    /// The day of the month, from 1.
    pub day: i64,
}

impl Date {
    /// The day with this number; 1970-01-01 has the number 0. Numbers up to 4 * 10^18 are supported.
    pub fn of_day(day: i64) -> Self {
        let day = day + 719_468;
        let (era, day_of_era) = (day.div_euclid(146_097), day.rem_euclid(146_097));
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted = (5 * day_of_year + 2) / 153;
        let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        Self { year, month, day: day_of_year - (153 * shifted + 2) / 5 + 1 }
    }

    /// The number of the day. The month must be from 1 to 12. The day may be any number, counted from the first day of
    /// the month. Years up to 10^15 are supported.
    pub fn day_number(self) -> i64 {
        let Self { year, month, day } = self;
        // Years begin in March, so that the leap day is the last day of a year.
        let year = if month <= 2 { year - 1 } else { year };
        let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        era * 146_097 + day_of_era - 719_468
    }

    /// True if the month has this day.
    pub fn is_valid(self) -> bool {
        (1..=12).contains(&self.month) && (1..=month_days(self.year, self.month)).contains(&self.day)
    }
}

/// The number of days of a month, which is from 1 to 12.
pub fn month_days(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests;
