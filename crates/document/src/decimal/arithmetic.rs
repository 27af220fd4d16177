//! Exact addition and multiplication, and division to 34 digits.

use super::{Decimal, DecimalError, Finite, Repr};
use num_bigint::{BigInt, Sign};
use std::cmp::Ordering;

/// The maximum number of digits of a quotient, as in BSON's decimal128.
const QUOTIENT_DIGITS: i64 = 34;

impl Decimal {
    /// The maximum number of digits of an exact result. With this limit, 1e1000000000 + 1 is an error instead of
    /// exhausting memory. The sum of the largest and the smallest decimal128 has 12,321 digits.
    pub const MAX_RESULT_DIGITS: usize = 12_400;

    /// The exact sum. Its scale is the larger of the two scales. Infinities, NaN and the sign of zero behave as for
    /// doubles: only the sum of two negative zeros is a negative zero.
    ///
    /// # Errors
    /// [`DecimalError::TooManyDigits`].
    pub fn add(&self, other: &Decimal) -> Result<Decimal, DecimalError> {
        let (a, b) = match (&self.repr, &other.repr) {
            (Repr::Finite(a), Repr::Finite(b)) => (a, b),
            (Repr::Infinity { negative: x }, Repr::Infinity { negative: y }) if x != y => return Ok(Decimal::NAN),
            (Repr::Nan, _) | (_, Repr::Nan) => return Ok(Decimal::NAN),
            (Repr::Infinity { .. }, _) => return Ok(self.clone()),
            _ => return Ok(other.clone()),
        };
        let exponent = a.exponent.min(b.exponent);
        if a.is_zero() && b.is_zero() {
            return Decimal::finite(a.negative && b.negative, "0", exponent);
        }
        let sum = a.scaled_to(exponent)? + b.scaled_to(exponent)?;
        Decimal::from_big(sum, exponent)
    }

    /// The exact difference; see [`Decimal::add`].
    ///
    /// # Errors
    /// [`DecimalError::TooManyDigits`].
    pub fn subtract(&self, other: &Decimal) -> Result<Decimal, DecimalError> {
        self.add(&other.negated())
    }

    /// The exact product. Infinities, NaN and the sign of zero behave as for doubles.
    ///
    /// # Errors
    /// [`DecimalError::TooManyDigits`], [`DecimalError::Exponent`].
    pub fn multiply(&self, other: &Decimal) -> Result<Decimal, DecimalError> {
        let negative = self.is_negative() != other.is_negative();
        match (&self.repr, &other.repr) {
            (Repr::Finite(a), Repr::Finite(b)) => {
                if a.digits.len() + b.digits.len() > Self::MAX_RESULT_DIGITS {
                    return Err(DecimalError::TooManyDigits);
                }
                if self.is_zero() || other.is_zero() {
                    return Decimal::finite(negative, "0", a.exponent + b.exponent);
                }
                Decimal::from_big(a.unscaled() * b.unscaled(), a.exponent + b.exponent)
            }
            _ if self.is_nan() || other.is_nan() || self.is_zero() || other.is_zero() => Ok(Decimal::NAN),
            _ => Ok(Decimal { repr: Repr::Infinity { negative } }),
        }
    }

    /// The quotient with at most 34 digits, rounded half to even.
    ///
    /// # Errors
    /// [`DecimalError::DivisionByZero`], [`DecimalError::TooManyDigits`], [`DecimalError::Exponent`].
    pub fn divide(&self, other: &Decimal) -> Result<Decimal, DecimalError> {
        let negative = self.is_negative() != other.is_negative();
        let (a, b) = match (&self.repr, &other.repr) {
            (Repr::Finite(a), Repr::Finite(b)) => (a, b),
            (Repr::Nan, _) | (_, Repr::Nan) => return Ok(Decimal::NAN),
            (Repr::Infinity { .. }, Repr::Infinity { .. }) => return Ok(Decimal::NAN),
            (Repr::Infinity { .. }, _) => return Ok(Decimal { repr: Repr::Infinity { negative } }),
            _ => return Decimal::finite(negative, "0", 0),
        };
        if b.is_zero() {
            return Err(DecimalError::DivisionByZero);
        }
        if a.digits.len().max(b.digits.len()) > Self::MAX_RESULT_DIGITS {
            return Err(DecimalError::TooManyDigits);
        }
        // The division computes two more digits than needed. If there is a remainder, a last digit that is not zero is
        // appended.
        let shift = (QUOTIENT_DIGITS + 2 + b.digits.len() as i64 - a.digits.len() as i64).max(0);
        let ten = BigInt::from(10);
        let dividend = a.unscaled() * ten.pow(u32::try_from(shift).unwrap_or(u32::MAX));
        let divisor = b.unscaled();
        let (quotient, rest) = (&dividend / &divisor, &dividend % &divisor);
        let mut digits = quotient.magnitude().to_string();
        let mut exponent = a.exponent - b.exponent - shift;
        if rest.sign() != Sign::NoSign {
            digits.push('1');
            exponent -= 1;
        }
        let nonzero = digits.trim_end_matches('0').len();
        let (digits, exponent) = round_digits(&digits, exponent, QUOTIENT_DIGITS as usize);
        if nonzero > QUOTIENT_DIGITS as usize {
            return Decimal::finite(negative, &digits, exponent);
        }
        // Trailing zeros that come from the shift are removed from an exact quotient, down to the ideal scale.
        let ideal = a.exponent - b.exponent;
        let zeros = digits.len() - digits.trim_end_matches('0').len();
        let extra = (ideal - exponent).clamp(0, zeros as i64);
        let kept = digits.len() - extra as usize;
        Decimal::finite(negative, &digits[..kept.max(1)], if kept == 0 { ideal } else { exponent + extra })
    }

    /// The remainder of a division with a truncated quotient. It has the sign of this decimal, and the larger of the
    /// two scales. NaN if this decimal is not finite, or the other decimal is zero.
    ///
    /// # Errors
    /// [`DecimalError::TooManyDigits`].
    pub fn remainder(&self, other: &Decimal) -> Result<Decimal, DecimalError> {
        let (a, b) = match (&self.repr, &other.repr) {
            (Repr::Finite(a), Repr::Finite(b)) if !b.is_zero() => (a, b),
            (Repr::Finite(_), Repr::Infinity { .. }) => return Ok(self.clone()),
            _ => return Ok(Decimal::NAN),
        };
        let exponent = a.exponent.min(b.exponent);
        let rest = a.scaled_to(exponent)? % b.scaled_to(exponent)?;
        Decimal::finite(a.negative, &rest.magnitude().to_string(), exponent)
    }

    /// The decimal with the opposite sign; NaN is unchanged.
    pub fn negated(&self) -> Decimal {
        let mut result = self.clone();
        match &mut result.repr {
            Repr::Nan => {}
            Repr::Infinity { negative } => *negative = !*negative,
            Repr::Finite(finite) => finite.negative = !finite.negative,
        }
        result
    }

    /// Rounds half to even to at most `max_digits` digits (at least 1). Infinities and NaN are
    /// unchanged.
    ///
    /// # Errors
    /// [`DecimalError::Exponent`].
    pub fn rounded(&self, max_digits: usize) -> Result<Decimal, DecimalError> {
        match self.parts() {
            Some((negative, digits, exponent)) if digits.len() > max_digits => {
                let (digits, exponent) = round_digits(digits, exponent, max_digits.max(1));
                Decimal::finite(negative, &digits, exponent)
            }
            _ => Ok(self.clone()),
        }
    }

    pub(super) fn from_big(value: BigInt, exponent: i64) -> Result<Decimal, DecimalError> {
        Decimal::finite(value.sign() == Sign::Minus, &value.magnitude().to_string(), exponent)
    }
}

impl Finite {
    /// The digits with the sign, as if the exponent were 0.
    fn unscaled(&self) -> BigInt {
        let sign = if self.negative { Sign::Minus } else { Sign::Plus };
        let magnitude = num_bigint::BigUint::parse_bytes(self.digits.as_bytes(), 10).unwrap_or_default();
        BigInt::from_biguint(sign, magnitude)
    }

    /// The integer `n` such that the value is `n` times ten to the power of `exponent`, which must
    /// not exceed this decimal's exponent.
    fn scaled_to(&self, exponent: i64) -> Result<BigInt, DecimalError> {
        if self.is_zero() {
            return Ok(BigInt::default());
        }
        let zeros = self.exponent - exponent;
        if zeros + self.digits.len() as i64 > Decimal::MAX_RESULT_DIGITS as i64 {
            return Err(DecimalError::TooManyDigits);
        }
        let power = BigInt::from(10).pow(u32::try_from(zeros).map_err(|_| DecimalError::TooManyDigits)?);
        Ok(self.unscaled() * power)
    }
}

/// Rounds to `keep` digits (at least 1), half to even. The digits are ASCII.
pub(super) fn round_digits(digits: &str, exponent: i64, keep: usize) -> (String, i64) {
    if digits.len() <= keep {
        return (digits.to_owned(), exponent);
    }
    let (head, tail) = digits.split_at(keep);
    let exponent = exponent + tail.len() as i64;
    let odd = head.as_bytes()[keep - 1] % 2 == 1;
    let up = match tail.as_bytes()[0].cmp(&b'5') {
        Ordering::Less => false,
        Ordering::Greater => true,
        Ordering::Equal => odd || tail.bytes().skip(1).any(|b| b != b'0'),
    };
    if !up {
        return (head.to_owned(), exponent);
    }
    match head.trim_end_matches('9') {
        "" => (format!("1{}", "0".repeat(keep - 1)), exponent + 1),
        rest => {
            let (front, last) = rest.split_at(rest.len() - 1);
            let last = char::from(last.as_bytes()[0] + 1);
            (format!("{front}{last}{}", "0".repeat(keep - rest.len())), exponent)
        }
    }
}
