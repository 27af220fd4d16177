//! BSON's decimal128: IEEE 754-2008 in the binary integer encoding, 16 bytes little-endian.

use super::arithmetic::round_digits;
use super::{Decimal, DecimalError, Repr};

/// The largest coefficient, 34 nines.
const MAX_COEFFICIENT: u128 = 10u128.pow(34) - 1;
const MAX_DIGITS: usize = 34;
const BIAS: i64 = 6176;
const MIN_EXPONENT: i64 = -6176;
const MAX_EXPONENT: i64 = 6111;

impl Decimal {
    /// Decodes the 16 bytes of a decimal128. Sign and payload of a NaN are dropped. A coefficient of more than 34
    /// digits is not canonical and counts as zero, as the standard requires.
    pub fn from_decimal128(bytes: [u8; 16]) -> Decimal {
        let bits = u128::from_le_bytes(bytes);
        let negative = bits >> 127 == 1;
        let combination = (bits >> 122) as u32 & 0x1f;
        let (exponent, coefficient) = match combination {
            0x1f => return Decimal::NAN,
            0x1e => return Decimal { repr: Repr::Infinity { negative } },
            // The coefficient begins with the bits 100, so it always exceeds 34 digits.
            0x18..=0x1d => ((bits >> 111) as i64 & 0x3fff, 0),
            _ => ((bits >> 113) as i64 & 0x3fff, bits & ((1 << 113) - 1)),
        };
        let coefficient = if coefficient > MAX_COEFFICIENT { 0 } else { coefficient };
        let digits = itoa::Buffer::new().format(coefficient).to_owned();
        Decimal::finite(negative, &digits, exponent - BIAS).unwrap_or(Decimal::NAN)
    }

    /// The 16 bytes of a decimal128 with exactly this value and, if possible, this scale.
    ///
    /// # Errors
    /// [`DecimalError::NotDecimal128`] if the value needs more digits or a larger exponent.
    pub fn to_decimal128(&self) -> Result<[u8; 16], DecimalError> {
        let sign = u128::from(self.is_negative()) << 127;
        let (digits, exponent) = match &self.repr {
            Repr::Nan => return Ok((0x1fu128 << 122).to_le_bytes()),
            Repr::Infinity { .. } => return Ok((sign | 0x1e << 122).to_le_bytes()),
            Repr::Finite(f) if f.is_zero() => ("0".to_owned(), f.exponent.clamp(MIN_EXPONENT, MAX_EXPONENT)),
            Repr::Finite(f) => fit(&f.digits, f.exponent).ok_or(DecimalError::NotDecimal128)?,
        };
        let coefficient: u128 = digits.parse().map_err(|_| DecimalError::NotDecimal128)?;
        let exponent = (exponent + BIAS) as u128;
        Ok((sign | exponent << 113 | coefficient).to_le_bytes())
    }

    /// True if decimal128 has exactly this value.
    pub fn is_decimal128(&self) -> bool {
        self.as_finite().is_none_or(|f| f.is_zero() || fit(&f.digits, f.exponent).is_some())
    }

    /// The nearest decimal128 value, rounded half to even as in IEEE 754. It is infinite above the largest exponent,
    /// and has fewer digits or is zero below the smallest exponent. The scale is kept if possible.
    pub fn rounded_to_decimal128(&self) -> Decimal {
        let Repr::Finite(f) = &self.repr else { return self.clone() };
        let signed = |digits: &str, exponent| Decimal::finite(f.negative, digits, exponent).unwrap_or(Decimal::NAN);
        if f.is_zero() {
            return signed("0", f.exponent.clamp(MIN_EXPONENT, MAX_EXPONENT));
        }
        let length = f.digits.len() as i64;
        let keep = (length + f.exponent - MIN_EXPONENT).min(MAX_DIGITS as i64);
        if keep < 0 {
            return signed("0", MIN_EXPONENT);
        }
        // A leading zero is added, so that a digit can be rounded up even if none of the digits is kept.
        let (digits, exponent) = round_digits(&format!("0{}", f.digits), f.exponent, keep as usize + 1);
        let digits = digits.trim_start_matches('0');
        // Rounding up nines may have added a digit.
        match if digits.is_empty() { Some(("0".to_owned(), exponent)) } else { fit(digits, exponent) } {
            Some((digits, exponent)) => signed(&digits, exponent),
            None => Decimal { repr: Repr::Infinity { negative: f.negative } },
        }
    }
}

/// Moves zeros between digits and exponent until both fit, if possible.
fn fit(digits: &str, exponent: i64) -> Option<(String, i64)> {
    let zeros = digits.len() - digits.trim_end_matches('0').len();
    let too_long = digits.len().saturating_sub(MAX_DIGITS) as i64;
    let too_low = (MIN_EXPONENT - exponent).max(0);
    let cut = too_long.max(too_low);
    if cut > zeros as i64 {
        return None;
    }
    let mut digits = digits[..digits.len() - cut as usize].to_owned();
    let mut exponent = exponent + cut;
    let too_high = exponent - MAX_EXPONENT;
    if too_high > 0 {
        if digits.len() as i64 + too_high > MAX_DIGITS as i64 {
            return None;
        }
        digits.extend(std::iter::repeat_n('0', too_high as usize));
        exponent = MAX_EXPONENT;
    }
    Some((digits, exponent))
}
