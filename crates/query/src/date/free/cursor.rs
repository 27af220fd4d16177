//! A position in a text, from which small parts are read.

use std::ops::RangeInclusive;

/// The rest of a text. A method that returns `None` may have consumed some of the text, so callers work on copies.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'t> {
    rest: &'t [u8],
}

impl<'t> Cursor<'t> {
    pub fn new(rest: &'t [u8]) -> Self {
        Self { rest }
    }

    /// A copy, to look ahead.
    pub fn ahead(self) -> Self {
        self
    }

    pub fn rest(self) -> &'t [u8] {
        self.rest
    }

    pub fn len(self) -> usize {
        self.rest.len()
    }

    pub fn is_empty(self) -> bool {
        self.rest.is_empty()
    }

    /// Skips all bytes at this position that are in the set.
    pub fn skip(&mut self, set: &[u8]) {
        while self.one_of(set).is_some() {}
    }

    /// Reads one byte of the set.
    pub fn one_of(&mut self, set: &[u8]) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        set.contains(first).then(|| {
            self.rest = rest;
            *first
        })
    }

    /// Reads this text, ignoring case.
    pub fn literal(&mut self, text: &str) -> Option<()> {
        let (head, rest) = self.rest.split_at_checked(text.len())?;
        head.eq_ignore_ascii_case(text.as_bytes()).then(|| self.rest = rest)
    }

    /// A number of `least` to `most` digits, and the count of its digits. At most 18 digits are allowed.
    pub fn digits(&mut self, least: usize, most: usize) -> Option<(i64, usize)> {
        let count = self.rest.iter().take(most).take_while(|byte| byte.is_ascii_digit()).count();
        if count < least {
            return None;
        }
        let (digits, rest) = self.rest.split_at(count);
        self.rest = rest;
        Some((digits.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0')), count))
    }

    /// A number within a range.
    pub fn number(&mut self, least: usize, most: usize, range: RangeInclusive<i64>) -> Option<i64> {
        let (number, _) = self.digits(least, most)?;
        range.contains(&number).then_some(number)
    }

    /// A month as a number.
    pub fn month(&mut self) -> Option<i64> {
        self.number(1, 2, 0..=12)
    }

    /// A day of the month, optionally followed by `st`, `nd`, `rd` or `th`.
    pub fn day(&mut self) -> Option<i64> {
        let day = self.number(1, 2, 0..=31)?;
        for suffix in ["st", "nd", "rd", "th"] {
            if self.literal(suffix).is_some() {
                break;
            }
        }
        Some(day)
    }

    /// A year of one to four digits. A year below 100 that has fewer than four digits is from 1970 to 2069.
    pub fn year(&mut self) -> Option<i64> {
        let (year, digits) = self.digits(1, 4)?;
        Some(match year {
            0..=69 if digits < 4 => year + 2000,
            70..=99 if digits < 4 => year + 1900,
            _ => year,
        })
    }

    /// A year of four digits.
    pub fn full_year(&mut self) -> Option<i64> {
        self.number(4, 4, 0..=9999)
    }

    /// One or more letters, up to the next byte that is not a letter.
    pub fn word(&mut self) -> Option<&'t str> {
        let letters = self.rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let (word, rest) = self.rest.split_at(letters);
        self.rest = rest;
        std::str::from_utf8(word).ok().filter(|word| !word.is_empty())
    }

    /// The microseconds of a fraction; digits after the sixth are dropped.
    pub fn fraction(&mut self) -> Option<i64> {
        let (fraction, count) = self.digits(1, 6)?;
        self.skip(b"0123456789");
        Some(fraction * 10i64.pow(6 - count as u32))
    }
}
