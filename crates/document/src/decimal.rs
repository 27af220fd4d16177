//! Decimals of arbitrary precision.
//!
//! A finite decimal is a sign, decimal digits and a power of ten. `1.0` and `1.00` are different decimals with the same
//! value, as in the General Decimal Arithmetic specification, which also defines the text form. No operation expands a
//! power of ten: `1e1000000000` takes a dozen bytes, and a comparison with 1 compares the exponents first.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

mod arithmetic;
mod decimal128;
mod float;
mod functions;

/// The largest magnitude of an exponent. Text with a larger exponent is refused.
pub const MAX_EXPONENT: i64 = i32::MAX as i64;

/// A decimal number, an infinity, or NaN.
///
/// `PartialEq` is identity (1.0 is not 1.00, -0 is not 0, NaN is NaN); [`Decimal::compare`]
/// compares by value.
#[derive(Clone, PartialEq, Eq)]
pub struct Decimal {
    repr: Repr,
}

#[derive(Clone, PartialEq, Eq)]
enum Repr {
    Nan,
    Infinity { negative: bool },
    Finite(Box<Finite>),
}

/// Invariants: `digits` holds ASCII digits only, at least one, and starts with 0 only if it is "0";
/// the exponent is within [`MAX_EXPONENT`] on both sides.
#[derive(Clone, PartialEq, Eq)]
struct Finite {
    negative: bool,
    exponent: i64,
    digits: Box<str>,
}

/// The reason why text is not a decimal, or an operation has no decimal result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecimalError {
    /// The text is not a number.
    #[error("not a decimal number")]
    Syntax,
    /// The exponent is beyond [`MAX_EXPONENT`].
    #[error("the exponent of a decimal is out of range")]
    Exponent,
    /// An exact result would have more digits than [`Decimal::MAX_RESULT_DIGITS`].
    #[error("the exact result has too many digits")]
    TooManyDigits,
    /// BSON's decimal128 holds 34 digits and exponents from -6176 to 6111.
    #[error("the decimal does not fit BSON's decimal128 (34 digits, exponents -6176 to 6111)")]
    NotDecimal128,
    /// Division by zero.
    #[error("division by zero")]
    DivisionByZero,
}

impl Decimal {
    /// Not a number; equal to itself and below all numbers.
    pub const NAN: Decimal = Decimal { repr: Repr::Nan };
    /// Greater than all finite numbers.
    pub const INFINITY: Decimal = Decimal { repr: Repr::Infinity { negative: false } };
    /// Less than all finite numbers.
    pub const NEG_INFINITY: Decimal = Decimal { repr: Repr::Infinity { negative: true } };

    /// The decimal ±`digits` times ten to the power of `exponent`. Leading zeros are removed.
    ///
    /// # Errors
    /// [`DecimalError::Syntax`] unless `digits` is one ASCII digit or more; [`DecimalError::Exponent`].
    pub fn from_parts(negative: bool, digits: &str, exponent: i64) -> Result<Decimal, DecimalError> {
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(DecimalError::Syntax);
        }
        Self::finite(negative, digits, exponent)
    }

    /// As [`Decimal::from_parts`], for digits that were validated.
    fn finite(negative: bool, digits: &str, exponent: i64) -> Result<Decimal, DecimalError> {
        if exponent.unsigned_abs() > MAX_EXPONENT.unsigned_abs() {
            return Err(DecimalError::Exponent);
        }
        let digits = match digits.trim_start_matches('0') {
            "" => "0",
            rest => rest,
        };
        let finite = Finite { negative, exponent, digits: digits.into() };
        Ok(Decimal { repr: Repr::Finite(Box::new(finite)) })
    }

    /// True for NaN.
    pub fn is_nan(&self) -> bool {
        matches!(self.repr, Repr::Nan)
    }

    /// True unless the value is NaN or an infinity.
    pub fn is_finite(&self) -> bool {
        matches!(self.repr, Repr::Finite(_))
    }

    /// True for 0 of either sign and any scale.
    pub fn is_zero(&self) -> bool {
        self.as_finite().is_some_and(Finite::is_zero)
    }

    /// True if the sign is minus, even for -0 and -infinity.
    pub fn is_negative(&self) -> bool {
        match &self.repr {
            Repr::Nan => false,
            Repr::Infinity { negative } => *negative,
            Repr::Finite(finite) => finite.negative,
        }
    }

    /// Sign, digits and exponent, if the decimal is finite.
    pub fn parts(&self) -> Option<(bool, &str, i64)> {
        self.as_finite().map(|f| (f.negative, &*f.digits, f.exponent))
    }

    /// As [`Decimal::parts`], without the digits' trailing zeros; zero is ("0", 0).
    pub fn normalized_parts(&self) -> Option<(bool, &str, i64)> {
        self.as_finite().map(|f| {
            let (digits, exponent) = f.normalized();
            (f.negative, digits, exponent)
        })
    }

    /// The value as a 64-bit integer, if it is exactly such an integer.
    pub fn to_i64(&self) -> Option<i64> {
        let finite = self.as_finite()?;
        let (digits, exponent) = finite.normalized();
        if exponent < 0 || finite.adjusted() > 18 {
            return None;
        }
        let mut n = digits.parse::<i128>().ok()?;
        for _ in 0..exponent {
            n *= 10;
        }
        i64::try_from(if finite.negative { -n } else { n }).ok()
    }

    /// The order by value: NaN, -infinity, the finite numbers, infinity. -0 equals 0, 1.0 equals 1.00.
    pub fn compare(&self, other: &Decimal) -> Ordering {
        match (&self.repr, &other.repr) {
            (Repr::Finite(a), Repr::Finite(b)) => a.compare(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }

    /// The rank of NaN, infinities and finite numbers.
    fn rank(&self) -> u8 {
        match &self.repr {
            Repr::Nan => 0,
            Repr::Infinity { negative: true } => 1,
            Repr::Finite(_) => 2,
            Repr::Infinity { negative: false } => 3,
        }
    }

    fn as_finite(&self) -> Option<&Finite> {
        match &self.repr {
            Repr::Finite(finite) => Some(finite),
            _ => None,
        }
    }

    /// Appends the text form; see [`fmt::Display`].
    pub fn write_text(&self, out: &mut Vec<u8>) {
        let finite = match &self.repr {
            Repr::Nan => return out.extend_from_slice(b"NaN"),
            Repr::Infinity { negative: false } => return out.extend_from_slice(b"Infinity"),
            Repr::Infinity { negative: true } => return out.extend_from_slice(b"-Infinity"),
            Repr::Finite(finite) => finite,
        };
        if finite.negative {
            out.push(b'-');
        }
        let digits = finite.digits.as_bytes();
        let adjusted = finite.adjusted();
        if finite.exponent == 0 {
            out.extend_from_slice(digits);
        } else if finite.exponent < 0 && adjusted >= 0 {
            let (whole, fraction) = digits.split_at(adjusted as usize + 1);
            out.extend_from_slice(whole);
            out.push(b'.');
            out.extend_from_slice(fraction);
        } else if finite.exponent < 0 && adjusted >= -6 {
            out.extend_from_slice(&b"0.00000"[..1 + adjusted.unsigned_abs() as usize]);
            out.extend_from_slice(digits);
        } else {
            out.push(digits[0]);
            if digits.len() > 1 {
                out.push(b'.');
                out.extend_from_slice(&digits[1..]);
            }
            out.extend_from_slice(if adjusted < 0 { b"E-" } else { b"E+" });
            out.extend_from_slice(itoa::Buffer::new().format(adjusted.unsigned_abs()).as_bytes());
        }
    }

    /// The bytes that [`Decimal::write_text`] appends.
    pub fn text_len(&self) -> usize {
        let finite = match &self.repr {
            Repr::Nan => return 3,
            Repr::Infinity { negative } => return 8 + usize::from(*negative),
            Repr::Finite(finite) => finite,
        };
        let (digits, adjusted) = (finite.digits.len(), finite.adjusted());
        let more = match finite.exponent {
            0 => 0,
            ..0 if adjusted >= 0 => 1,
            ..0 if adjusted >= -6 => 1 + adjusted.unsigned_abs() as usize,
            _ => usize::from(digits > 1) + 3 + adjusted.unsigned_abs().checked_ilog10().unwrap_or(0) as usize,
        };
        usize::from(finite.negative) + digits + more
    }
}

impl Finite {
    fn is_zero(&self) -> bool {
        &*self.digits == "0"
    }

    /// The exponent of the first digit.
    fn adjusted(&self) -> i64 {
        self.exponent + self.digits.len() as i64 - 1
    }

    fn normalized(&self) -> (&str, i64) {
        if self.is_zero() {
            return ("0", 0);
        }
        let digits = self.digits.trim_end_matches('0');
        (digits, self.exponent + (self.digits.len() - digits.len()) as i64)
    }

    fn compare(&self, other: &Finite) -> Ordering {
        match (self.is_zero(), other.is_zero()) {
            (true, true) => return Ordering::Equal,
            (true, false) => return if other.negative { Ordering::Greater } else { Ordering::Less },
            (false, true) => return if self.negative { Ordering::Less } else { Ordering::Greater },
            (false, false) => {}
        }
        match (self.negative, other.negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => self.compare_magnitude(other),
            (true, true) => other.compare_magnitude(self),
        }
    }

    /// Compares two numbers other than zero: by the exponent of the first digit, then by the
    /// digits.
    fn compare_magnitude(&self, other: &Finite) -> Ordering {
        let by_place = self.adjusted().cmp(&other.adjusted());
        by_place.then_with(|| self.normalized().0.cmp(other.normalized().0))
    }
}

/// Plain (`-12.30`) if the exponent is at most 0 and there are at most six zeros after the point,
/// otherwise scientific (`1.23E+10`); `NaN`, `Infinity`, `-Infinity`. Parsing gives the identical
/// decimal.
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::new();
        self.write_text(&mut text);
        f.pad(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Decimal({self})")
    }
}

/// Accepts the output of [`fmt::Display`] and all common notations: a sign, digits with or without a point, an
/// exponent; `inf`, `infinity` and `nan` in upper or lower case.
impl FromStr for Decimal {
    type Err = DecimalError;

    fn from_str(text: &str) -> Result<Self, DecimalError> {
        let (negative, rest) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        if rest.eq_ignore_ascii_case("infinity") || rest.eq_ignore_ascii_case("inf") {
            return Ok(Decimal { repr: Repr::Infinity { negative } });
        }
        if rest.eq_ignore_ascii_case("nan") {
            return Ok(Decimal::NAN);
        }
        let (mantissa, exponent) = match rest.find(['e', 'E']) {
            Some(at) => (&rest[..at], parse_exponent(&rest[at + 1..])?),
            None => (rest, 0),
        };
        match mantissa.split_once('.') {
            None => Decimal::from_parts(negative, mantissa, exponent),
            Some((whole, fraction)) => {
                let digits = [whole, fraction].concat();
                Decimal::from_parts(negative, &digits, exponent - fraction.len() as i64)
            }
        }
    }
}

/// The number after the E. A value out of range, of any length, is [`DecimalError::Exponent`].
fn parse_exponent(text: &str) -> Result<i64, DecimalError> {
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(DecimalError::Syntax);
    }
    // The type is wide enough for an exponent that is out of range alone, but in range together with a long mantissa.
    let magnitude: i64 = match digits.trim_start_matches('0') {
        "" => 0,
        rest if rest.len() > 17 => return Err(DecimalError::Exponent),
        rest => rest.parse().map_err(|_| DecimalError::Exponent)?,
    };
    Ok(if negative { -magnitude } else { magnitude })
}

macro_rules! from_integer {
    ($($type:ty),*) => {
        $(impl From<$type> for Decimal {
            fn from(n: $type) -> Self {
                let mut buffer = itoa::Buffer::new();
                let text = buffer.format(n);
                let digits = text.trim_start_matches('-');
                let negative = digits.len() < text.len();
                Decimal { repr: Repr::Finite(Box::new(Finite { negative, exponent: 0, digits: digits.into() })) }
            }
        })*
    };
}

from_integer!(i32, u32, i64, u64, i128, u128);

#[cfg(test)]
mod tests;
