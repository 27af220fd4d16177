//! `$bitsAllSet`, `$bitsAnySet`, `$bitsAllClear`, `$bitsAnyClear`.

use alluvium_document::value::Binary;
use alluvium_document::{Decimal, Value};

use super::FilterError;

/// The bits to test, and the test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bits {
    pub wanted: Wanted,
    /// Positions of bytes, counted from the least significant byte, with the bits of each byte.
    /// Sorted and unique; no byte is zero.
    mask: Vec<(u32, u8)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    AllSet,
    AnySet,
    AllClear,
    AnyClear,
}

impl Wanted {
    const ALL: [(Self, &str); 4] = [
        (Self::AllSet, "$bitsAllSet"),
        (Self::AnySet, "$bitsAnySet"),
        (Self::AllClear, "$bitsAllClear"),
        (Self::AnyClear, "$bitsAnyClear"),
    ];

    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(wanted, _)| *wanted)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::AllSet => "$bitsAllSet",
            Self::AnySet => "$bitsAnySet",
            Self::AllClear => "$bitsAllClear",
            Self::AnyClear => "$bitsAnyClear",
        }
    }
}

impl Bits {
    /// Parses the operand: a non-negative number, a binary value, or an array of positions.
    pub fn parse(wanted: Wanted, operand: &Value) -> Result<Self, FilterError> {
        let name = wanted.name();
        let mask = match operand {
            Value::Binary(Binary { bytes, .. }) => of_bytes(bytes),
            Value::Array(positions) => of_positions(name, positions)?,
            number if number.is_number() => match number.as_i64().map(u64::try_from) {
                Some(Ok(bits)) => of_bytes(&bits.to_le_bytes()),
                _ => {
                    return Err(FilterError::FailedToParse(format!(
                        "{name} has a number that is negative, not whole, or beyond 64 bits"
                    )));
                }
            },
            other => {
                let found = other.type_name();
                return Err(FilterError::bad(format!(
                    "{name} takes a number, an array of positions or binary data, this is of type {found}"
                )));
            }
        };
        Ok(Self { wanted, mask })
    }

    /// Tests the bits of an integer. Beyond the integer's width, all bits are equal to the sign bit.
    pub fn match_number(&self, n: i64) -> bool {
        let bytes = n.to_le_bytes();
        let sign = if n < 0 { 0xff } else { 0 };
        self.matches(|at| bytes.get(at).copied().unwrap_or(sign))
    }

    /// Tests bytes, of which the first is the least significant. All bits after the last byte are zero.
    pub fn match_bytes(&self, bytes: &[u8]) -> bool {
        self.matches(|at| bytes.get(at).copied().unwrap_or(0))
    }

    fn matches(&self, byte: impl Fn(usize) -> u8) -> bool {
        let mut masked = self.mask.iter().map(|(at, mask)| (byte(*at as usize) & mask, *mask));
        match self.wanted {
            Wanted::AllSet => masked.all(|(found, mask)| found == mask),
            Wanted::AnySet => masked.any(|(found, _)| found != 0),
            Wanted::AllClear => masked.all(|(found, _)| found == 0),
            Wanted::AnyClear => masked.any(|(found, mask)| found != mask),
        }
    }

    /// The operand: binary data if that is short, otherwise an array of positions.
    pub fn to_value(&self) -> Value {
        let len = self.mask.last().map_or(0, |(at, _)| *at as usize + 1);
        if len <= 8 + 4 * self.mask.len() {
            let mut bytes = vec![0; len];
            self.mask.iter().for_each(|(at, mask)| bytes[*at as usize] = *mask);
            return Value::Binary(Binary { subtype: 0, bytes });
        }
        let positions = self.mask.iter().flat_map(|(at, mask)| {
            (0..8).filter(move |bit| mask & 1 << bit != 0).map(move |bit| Value::from(i64::from(*at) * 8 + bit))
        });
        Value::Array(positions.collect())
    }
}

fn of_bytes(bytes: &[u8]) -> Vec<(u32, u8)> {
    (0..).zip(bytes).filter(|(_, byte)| **byte != 0).map(|(at, byte)| (at, *byte)).collect()
}

fn of_positions(name: &str, positions: &[Value]) -> Result<Vec<(u32, u8)>, FilterError> {
    let position = |value: &Value| match value.as_i64().map(i32::try_from) {
        Some(Ok(position @ 0..)) => Ok(position as u32),
        _ => Err(FilterError::bad(format!("a position of a bit in {name} is a whole number from 0 to 2147483647"))),
    };
    let mut positions = positions.iter().map(position).collect::<Result<Vec<u32>, _>>()?;
    positions.sort_unstable();
    let mut mask: Vec<(u32, u8)> = Vec::new();
    for position in positions {
        let (at, bit) = (position / 8, 1 << (position % 8));
        match mask.last_mut() {
            Some((last, bits)) if *last == at => *bits |= bit,
            _ => mask.push((at, bit)),
        }
    }
    Ok(mask)
}

/// The number as a 64-bit integer, if it is one without a fraction.
pub(super) fn whole(number: &Value) -> Option<i64> {
    number.as_i64()
}

/// The number without its fraction, if that fits 64 bits: the dividend of `$mod`.
pub(super) fn truncated(number: &Value) -> Option<i64> {
    const TWO_63: f64 = 9_223_372_036_854_775_808.0;
    match number {
        Value::Double(x) => Some(x.0).filter(|x| (-TWO_63..TWO_63).contains(x)).map(|x| x as i64),
        Value::Decimal(decimal) => truncated_decimal(decimal),
        other => other.as_i64(),
    }
}

fn truncated_decimal(decimal: &Decimal) -> Option<i64> {
    let (negative, digits, exponent) = decimal.parts()?;
    if exponent >= 0 {
        return decimal.to_i64();
    }
    let fraction = usize::try_from(exponent.unsigned_abs()).ok()?;
    let whole = digits.get(..digits.len().saturating_sub(fraction))?;
    let whole = if whole.is_empty() { "0" } else { whole };
    Decimal::from_parts(negative, whole, 0).ok()?.to_i64()
}
