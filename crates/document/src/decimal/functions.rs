//! Square roots, exponentials, logarithms and powers to 34 digits.
//!
//! The functions are computed in fixed point, with [`SCALE`] digits after the point. The last of the 34 digits is
//! correct unless the exact result is within 10^-60 of the midpoint between two decimals.

use super::arithmetic::round_digits;
use super::{Decimal, Finite};
use num_bigint::{BigInt, BigUint, Sign};

/// The number of digits of results, as in BSON's decimal128.
const DIGITS: usize = 34;

/// The number of digits after the point in intermediate results.
const SCALE: u32 = 110;

/// The natural logarithm of 10, with [`SCALE`] digits after the point.
const LN_10: &str = concat!(
    "23025850929940456840179914546843642076011014886287729760333279009675726096773524",
    "8023599720508959829834196778404"
);

/// The largest exponent of ten of an argument of the exponential function whose result may be a
/// decimal128: e^14150 has 6145 digits.
const EXP_ARGUMENT_ADJUSTED_MAX: i64 = 5;

impl Decimal {
    /// The square root, to 34 digits; NaN for a negative number. The scale of an exact root is half the scale of the
    /// argument.
    pub fn sqrt(&self) -> Decimal {
        let Some(finite) = self.as_finite() else {
            return if self.is_negative() { Decimal::NAN } else { self.clone() };
        };
        let ideal = finite.exponent.div_euclid(2);
        if finite.is_zero() {
            return Decimal::finite(finite.negative, "0", ideal).unwrap_or(Decimal::NAN);
        }
        if finite.negative {
            return Decimal::NAN;
        }
        // Shifts the argument so that the root has 36 digits, and the exponent is even.
        let shift = (2 * (DIGITS as i64 + 2) - finite.digits.len() as i64).max(0);
        let shift = shift + (finite.exponent - shift).rem_euclid(2);
        let Some(square) = magnitude(&finite.digits).map(|n| n * ten_to(shift)) else { return Decimal::NAN };
        let root = square.sqrt();
        let is_exact = &root * &root == square;
        let mut digits = root.to_string();
        let mut exponent = (finite.exponent - shift) / 2;
        if !is_exact {
            // The root is not exact, so a nonzero digit follows its last digit.
            digits.push('1');
            exponent -= 1;
        }
        let (digits, exponent) = round_digits(&digits, exponent, DIGITS);
        let (digits, exponent) = if is_exact { trimmed(&digits, exponent, ideal) } else { (&*digits, exponent) };
        Decimal::finite(false, digits, exponent).unwrap_or(Decimal::NAN)
    }

    /// e to the power of the number, rounded as decimal128.
    pub fn exp(&self) -> Decimal {
        let Some(finite) = self.as_finite() else {
            return if self.is_negative() { Decimal::from(0) } else { self.clone() };
        };
        // The result is so close to 1 that it is rounded to 1.
        if finite.is_zero() || finite.adjusted() < -(DIGITS as i64) - 1 {
            return Decimal::from(1);
        }
        if finite.adjusted() > EXP_ARGUMENT_ADJUSTED_MAX {
            return beyond(finite.negative);
        }
        exponential(&finite.to_fixed())
    }

    /// The natural logarithm, to 34 digits; NaN for a negative number, -infinity for zero.
    pub fn ln(&self) -> Decimal {
        match self.logarithm() {
            Ok(fixed) => from_fixed(&fixed),
            Err(special) => special,
        }
    }

    /// The logarithm to the base 10, to 34 digits; NaN for a negative number, -infinity for zero.
    pub fn log10(&self) -> Decimal {
        match self.logarithm() {
            Ok(fixed) => from_fixed(&(fixed * one() / ln_10())),
            Err(special) => special,
        }
    }

    /// The number to the power of `exponent`, rounded as decimal128. NaN for a negative number unless the exponent is
    /// whole; 1 if the exponent is zero.
    pub fn pow(&self, exponent: &Decimal) -> Decimal {
        let (Some(base), Some(power)) = (self.as_finite(), exponent.as_finite()) else {
            // If an operand is an infinity or NaN, the result is the same as for doubles.
            return Decimal::from_f64(self.to_f64().powf(exponent.to_f64()));
        };
        if power.is_zero() {
            return Decimal::from(1);
        }
        let (digits, scale) = power.normalized();
        let is_odd = scale == 0 && digits.bytes().next_back().is_some_and(|digit| digit % 2 == 1);
        let is_negative = base.negative && is_odd;
        if base.negative && !base.is_zero() && scale < 0 {
            return Decimal::NAN;
        }
        let magnitude = match (base.is_zero(), power.negative) {
            (true, true) => Decimal::INFINITY,
            (true, false) => Decimal::from(0),
            _ => {
                let positive = if base.negative { self.negated() } else { self.clone() };
                match positive.logarithm() {
                    // The base is 1, or so close to 1 that its logarithm is zero in fixed point.
                    Ok(logarithm) if logarithm.sign() == Sign::NoSign => Decimal::from(1),
                    Ok(logarithm) => scaled(&logarithm, power).map_or_else(
                        || beyond((logarithm.sign() == Sign::Minus) != power.negative),
                        |product| exponential(&product),
                    ),
                    Err(special) => special,
                }
            }
        };
        if is_negative { magnitude.negated() } else { magnitude }
    }

    /// The natural logarithm in fixed point; `Err` with the result if it is not finite.
    fn logarithm(&self) -> Result<BigInt, Decimal> {
        let Some(finite) = self.as_finite() else {
            return Err(if self.is_negative() { Decimal::NAN } else { self.clone() });
        };
        if finite.is_zero() {
            return Err(Decimal::NEG_INFINITY);
        }
        if finite.negative {
            return Err(Decimal::NAN);
        }
        let adjusted = finite.adjusted();
        let mantissa =
            Finite { negative: false, exponent: 1 - finite.digits.len() as i64, digits: finite.digits.clone() };
        let start: f64 = format!("{}e{}", mantissa.digits, mantissa.exponent).parse().unwrap_or(1.0);
        let mantissa = mantissa.to_fixed();
        // Halley's method triples the number of correct digits with each step: 16, 48, 144.
        let mut logarithm =
            BigInt::from((start.ln() * 1e15).round() as i64) * BigInt::from(ten_to(i64::from(SCALE) - 15));
        for _ in 0..2 {
            let power = exp_fixed(&logarithm);
            logarithm += 2 * (&mantissa - &power) * one() / (&mantissa + &power);
        }
        Ok(logarithm + ln_10() * adjusted)
    }
}

impl Finite {
    /// The number times 10^[`SCALE`], truncated to an integer.
    fn to_fixed(&self) -> BigInt {
        let shift = self.exponent + i64::from(SCALE);
        let digits = magnitude(&self.digits).unwrap_or_default();
        let fixed = if shift < 0 { digits / ten_to(-shift) } else { digits * ten_to(shift) };
        BigInt::from_biguint(if self.negative { Sign::Minus } else { Sign::Plus }, fixed)
    }
}

/// The result of an overflow (infinity), or of an underflow (zero with the smallest exponent).
fn beyond(is_small: bool) -> Decimal {
    if is_small { Decimal::finite(false, "0", -6176).unwrap_or(Decimal::NAN) } else { Decimal::INFINITY }
}

fn magnitude(digits: &str) -> Option<BigUint> {
    BigUint::parse_bytes(digits.as_bytes(), 10)
}

fn ten_to(power: i64) -> BigUint {
    // The power is bounded by the number of digits of a decimal and by `SCALE`.
    BigUint::from(10u8).pow(u32::try_from(power.clamp(0, 100_000)).unwrap_or(0))
}

fn one() -> BigInt {
    BigInt::from(ten_to(i64::from(SCALE)))
}

fn ln_10() -> BigInt {
    BigInt::from(magnitude(LN_10).unwrap_or_default())
}

/// The product of a number in fixed point and a power; `None` if the exponential of the product is out of range.
fn scaled(fixed: &BigInt, power: &Finite) -> Option<BigInt> {
    let decimal = |fixed: &BigInt| Decimal::from_big(fixed.clone(), -i64::from(SCALE)).ok();
    let power = Decimal::finite(power.negative, &power.digits, power.exponent).ok()?;
    let product = decimal(fixed)?.multiply(&power).ok()?;
    let product = product.as_finite()?;
    (product.adjusted() <= EXP_ARGUMENT_ADJUSTED_MAX).then(|| product.to_fixed())
}

/// The exponential of a number in fixed point. The exponent of ten is the number divided by ln 10, truncated.
fn exponential(fixed: &BigInt) -> Decimal {
    let ln_10 = ln_10();
    let tens = fixed / &ln_10;
    let rest = fixed - &tens * &ln_10;
    let exponent = i64::try_from(tens).unwrap_or(0) - i64::from(SCALE);
    let result = Decimal::from_big(exp_fixed(&rest), exponent).and_then(|result| result.rounded(DIGITS));
    result.map_or(Decimal::NAN, |result| match result.rounded_to_decimal128() {
        zero if zero.is_zero() => beyond(true),
        other => other,
    })
}

/// The exponential of a number in fixed point, by its Taylor series.
fn exp_fixed(fixed: &BigInt) -> BigInt {
    // The series converges fast for small numbers, so exp(x) is computed as exp(x / 2^k), squared k times.
    const HALVINGS: u32 = 16;
    let small = fixed >> HALVINGS;
    let (mut term, mut sum) = (one(), one());
    for n in 1u32..=200 {
        term = term * &small / one() / n;
        if term.sign() == Sign::NoSign {
            break;
        }
        sum += &term;
    }
    for _ in 0..HALVINGS {
        sum = &sum * &sum / one();
    }
    sum
}

/// A number in fixed point as a decimal of 34 digits, or fewer if it is whole.
fn from_fixed(fixed: &BigInt) -> Decimal {
    let digits = fixed.magnitude().to_string();
    let (digits, exponent) = round_digits(&digits, -i64::from(SCALE), DIGITS);
    let whole = trimmed(&digits, exponent, 0);
    let (digits, exponent) = if digits == "0" || whole.1 == 0 { whole } else { (&*digits, exponent) };
    let exponent = if digits == "0" { 0 } else { exponent };
    Decimal::finite(fixed.sign() == Sign::Minus, digits, exponent).unwrap_or(Decimal::NAN)
}

/// Removes trailing zeros, until the exponent is `ideal`.
fn trimmed(digits: &str, exponent: i64, ideal: i64) -> (&str, i64) {
    let zeros = (digits.len() - digits.trim_end_matches('0').len()) as i64;
    let extra = (ideal - exponent).clamp(0, zeros.min(digits.len() as i64 - 1).max(0));
    (&digits[..digits.len() - extra as usize], exponent + extra)
}

#[cfg(test)]
mod tests;
