//! Decimals and doubles: exact comparison and rounding.

use super::{Decimal, Finite, Repr};
use num_bigint::BigUint;
use std::cmp::Ordering;

/// The exact decimal expansion of a double has at most 767 significant digits. Further digits of a decimal can only
/// show that its magnitude is greater.
const DOUBLE_DIGITS: usize = 800;

impl Decimal {
    /// The decimal with the shortest text of the double: `from_f64(0.1)` is 0.1.
    pub fn from_f64(x: f64) -> Decimal {
        if x.is_nan() {
            return Decimal::NAN;
        }
        if x.is_infinite() {
            return if x < 0.0 { Decimal::NEG_INFINITY } else { Decimal::INFINITY };
        }
        let text = zmij::Buffer::new().format_finite(x).to_owned();
        let decimal = text.strip_suffix(".0").unwrap_or(&text).parse();
        decimal.unwrap_or(Decimal::NAN)
    }

    /// The nearest double, ties to even; an infinity beyond the range.
    pub fn to_f64(&self) -> f64 {
        match &self.repr {
            Repr::Nan => f64::NAN,
            Repr::Infinity { negative: true } => f64::NEG_INFINITY,
            Repr::Infinity { negative: false } => f64::INFINITY,
            Repr::Finite(_) => self.to_string().parse().unwrap_or(f64::NAN),
        }
    }

    /// Compares with a double exactly; NaN is equal to NaN and less than all other numbers.
    pub fn compare_f64(&self, x: f64) -> Ordering {
        let finite = match &self.repr {
            Repr::Nan => return if x.is_nan() { Ordering::Equal } else { Ordering::Less },
            _ if x.is_nan() => return Ordering::Greater,
            Repr::Finite(finite) => finite,
            Repr::Infinity { .. } => return total(self.to_f64(), x),
        };
        // Rounding to the nearest double is monotone: if the rounded decimal is greater or less than `x`, so is the
        // decimal.
        total(self.to_f64(), x).then_with(|| finite.compare_nearest(x))
    }

    /// The greatest double that is at most the value, and whether both are equal. NaN gives NaN.
    /// Below the range of doubles it is -infinity and not exact.
    pub fn floor_f64(&self) -> (f64, bool) {
        let nearest = self.to_f64();
        match self.as_finite().map(|finite| finite.compare_nearest(nearest)) {
            None | Some(Ordering::Equal) => (nearest, true),
            Some(Ordering::Greater) => (nearest, false),
            Some(Ordering::Less) => (nearest.next_down(), false),
        }
    }
}

/// The order of two doubles that are not NaN.
fn total(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or(Ordering::Equal)
}

impl Finite {
    /// Compares exactly with `x`, which is the double nearest to the value, possibly zero or
    /// infinite.
    fn compare_nearest(&self, x: f64) -> Ordering {
        if x.is_infinite() || x == 0.0 {
            let sign = if self.is_zero() { 0.0 } else { f64::from(1 - 2 * i8::from(self.negative)) };
            return total(sign, x);
        }
        let order = self.compare_magnitude_f64(x.abs());
        if x < 0.0 { order.reverse() } else { order }
    }

    /// Compares magnitudes exactly. `x` is positive, finite, and nearest to the magnitude, so that
    /// the numbers of digits differ by at most one.
    fn compare_magnitude_f64(&self, x: f64) -> Ordering {
        let (all_digits, mut exponent) = self.normalized();
        let digits = &all_digits.as_bytes()[..all_digits.len().min(DOUBLE_DIGITS)];
        let cut = all_digits.len() - digits.len();
        exponent += cut as i64;

        let bits = x.to_bits();
        let biased = (bits >> 52) as i64;
        let fraction = bits & ((1 << 52) - 1);
        let (mantissa, binary) = if biased == 0 { (fraction, -1074) } else { (fraction | 1 << 52, biased - 1075) };

        // Compares digits * 10^exponent with mantissa * 2^binary, after making all powers positive.
        let mut ours = BigUint::parse_bytes(digits, 10).unwrap_or_default();
        let mut theirs = BigUint::from(mantissa);
        let ten = BigUint::from(10u8);
        let power = ten.pow(u32::try_from(exponent.unsigned_abs()).unwrap_or(u32::MAX));
        if exponent >= 0 {
            ours *= power;
        } else {
            theirs *= power;
        }
        if binary >= 0 {
            theirs <<= binary;
        } else {
            ours <<= -binary;
        }
        match ours.cmp(&theirs) {
            Ordering::Equal if cut > 0 => Ordering::Greater,
            order => order,
        }
    }
}
