//! Parses dates from text by a format.

use super::fields::Fields;
use super::free::offset_at;
use super::{DateError, Zone, names};
use alluvium_document::calendar::Date;

/// The date of a text that follows a format, in milliseconds since 1970 in UTC. The format must have passed
/// [`super::check_format`]. If the text has no offset, the time is in `zone`.
pub(crate) fn parse_by(text: &str, format: &str, zone: &Zone) -> Result<i64, DateError> {
    let mut reader = Reader { text, rest: text.as_bytes(), fields: Fields::default() };
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        match c {
            '%' => reader.specifier(chars.next().unwrap_or('%'))?,
            literal => reader.literal(literal)?,
        }
    }
    if !reader.rest.is_empty() {
        return Err(DateError::text(format!("'{text}' is longer than the format \"{format}\"")));
    }
    reader.fields.moment(text, zone)
}

struct Reader<'t> {
    text: &'t str,
    rest: &'t [u8],
    fields: Fields,
}

impl Reader<'_> {
    fn literal(&mut self, literal: char) -> Result<(), DateError> {
        let mut buffer = [0; 4];
        match self.rest.strip_prefix(literal.encode_utf8(&mut buffer).as_bytes()) {
            Some(rest) => self.rest = rest,
            None => return self.refuse(&format!("'{literal}'")),
        }
        Ok(())
    }

    fn refuse<T>(&self, wanted: &str) -> Result<T, DateError> {
        let at = self.text.len() - self.rest.len();
        Err(DateError::text(format!("'{}' does not follow the format: byte {at} should begin {wanted}", self.text)))
    }

    /// A number of `least` to `most` digits.
    fn number(&mut self, least: usize, most: usize, what: &str) -> Result<i64, DateError> {
        let digits = self.rest.iter().take(most).take_while(|byte| byte.is_ascii_digit()).count();
        if digits < least {
            return self.refuse(what);
        }
        let (number, rest) = self.rest.split_at(digits);
        self.rest = rest;
        Ok(number.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0')))
    }

    fn specifier(&mut self, specifier: char) -> Result<(), DateError> {
        match specifier {
            'b' | 'B' => self.fields.month = Some(self.month()?),
            'd' => self.fields.day = Some(self.number(1, 2, "a day")?),
            'G' => self.fields.iso_year = Some(self.number(1, 4, "an ISO year")?),
            'H' => self.fields.hour = Some(self.number(1, 2, "an hour")?),
            'j' => self.day_of_year()?,
            'L' => {
                let before = self.rest.len();
                let fraction = self.number(1, 3, "milliseconds")?;
                let digits = before - self.rest.len();
                self.fields.micros = fraction * [0, 100_000, 10_000, 1000][digits];
            }
            'm' => self.fields.month = Some(self.number(1, 2, "a month")?),
            'M' => self.fields.minute = Some(self.number(2, 2, "a minute of two digits")?),
            'S' => self.fields.second = Some(self.number(2, 2, "a second of two digits")?),
            'u' => self.fields.iso_weekday = Some(self.within(1, 7, "a day of the week from 1 to 7")?),
            'V' => self.fields.iso_week = Some(self.within(2, 53, "a week from 1 to 53")?),
            'Y' => self.fields.year = Some(self.number(4, 4, "a year of four digits")?),
            'z' => match offset_at(self.rest) {
                Some((offset, rest)) => {
                    self.fields.offset = Some(offset);
                    self.rest = rest;
                }
                None => return self.refuse("a time zone"),
            },
            'Z' => {
                let (sign, rest) = match self.rest.split_first() {
                    Some((b'+', rest)) => (60, rest),
                    Some((b'-', rest)) => (-60, rest),
                    _ => return self.refuse("an offset in minutes, with its sign"),
                };
                self.rest = rest;
                self.fields.offset = Some(sign * self.number(1, 4, "an offset in minutes")?);
            }
            literal => self.literal(literal)?,
        }
        Ok(())
    }

    /// A number from 1 to `most`, with at most this many digits.
    fn within(&mut self, digits: usize, most: i64, what: &str) -> Result<i64, DateError> {
        let number = self.number(1, digits, what)?;
        if (1..=most).contains(&number) { Ok(number) } else { self.refuse(what) }
    }

    fn month(&mut self) -> Result<i64, DateError> {
        let letters = self.rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let (word, rest) = self.rest.split_at(letters);
        match std::str::from_utf8(word).ok().and_then(names::month) {
            Some(month) => {
                self.rest = rest;
                Ok(month)
            }
            None => self.refuse("the name of a month"),
        }
    }

    /// As in MongoDB, the first day of the year is 0 here, and the year must come first.
    fn day_of_year(&mut self) -> Result<(), DateError> {
        let Some(year) = self.fields.year else { return self.refuse("a year, before the day of the year") };
        let days = self.number(1, 3, "a day of the year")?;
        let date = Date::of_day(Date { year, month: 1, day: 1 }.day_number() + days);
        self.fields = Fields { year: Some(date.year), month: Some(date.month), day: Some(date.day), ..self.fields };
        Ok(())
    }
}
