//! Arithmetic on numbers of all types, by MongoDB's rules for results.

use alluvium_document::value::Double;
use alluvium_document::{Decimal, Value};

/// The type of a number, narrow ones first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::expression) enum Kind {
    Int,
    Long,
    Double,
    Decimal,
}

impl Kind {
    /// The type of a value, if it is a number.
    pub fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Int32(_) => Some(Self::Int),
            Value::Int64(_) => Some(Self::Long),
            Value::Double(_) => Some(Self::Double),
            Value::Decimal(_) => Some(Self::Decimal),
            _ => None,
        }
    }
}

/// A sum. Integers are added exactly, and doubles with an error term, so that the order of the
/// numbers does not change the result much: the two-sum algorithm of D. Knuth, "The Art of Computer
/// Programming", volume 2, section 4.2.2.
#[derive(Debug, Clone)]
pub(in crate::expression) struct Sum {
    kind: Kind,
    integers: i128,
    double: f64,
    error: f64,
    /// The sum of infinities and NaN, which have no error term.
    special: f64,
    decimals: Option<Decimal>,
}

impl Default for Sum {
    fn default() -> Self {
        Self { kind: Kind::Int, integers: 0, double: 0.0, error: 0.0, special: 0.0, decimals: None }
    }
}

impl Sum {
    /// Adds a number; other values are ignored.
    pub fn add(&mut self, value: &Value) {
        let Some(kind) = Kind::of(value) else { return };
        self.kind = self.kind.max(kind);
        match value {
            Value::Int32(n) => self.integers += i128::from(*n),
            Value::Int64(n) => self.integers += i128::from(*n),
            Value::Double(Double(x)) => self.add_double(*x),
            Value::Decimal(decimal) => {
                let sum = self.decimals.take().map_or(Ok(decimal.clone()), |sum| sum.add(decimal));
                self.decimals = Some(sum.map_or(Decimal::NAN, |sum| sum.rounded_to_decimal128()));
            }
            _ => {}
        }
    }

    fn add_double(&mut self, x: f64) {
        if !x.is_finite() {
            self.special += x;
            return;
        }
        let sum = self.double + x;
        let part = sum - self.double;
        self.error += (self.double - (sum - part)) + (x - part);
        self.double = sum;
    }

    /// The sum as a double.
    pub fn to_f64(&self) -> f64 {
        let decimals = self.decimals.as_ref().map_or(0.0, Decimal::to_f64);
        self.doubles() + decimals
    }

    fn doubles(&self) -> f64 {
        if self.special != 0.0 || self.special.is_nan() {
            return self.special;
        }
        // Whole numbers beyond 2^53 lose no more than the last step rounds away.
        let high = self.integers as f64;
        let low = (self.integers - high as i128) as f64;
        let sum = self.double + high;
        let part = sum - self.double;
        let error = (self.double - (sum - part)) + (high - part);
        sum + (error + self.error + low)
    }

    /// The sum in the widest type of its numbers; integers that do not fit 64 bits become a double.
    pub fn value(&self) -> Value {
        match self.kind {
            Kind::Int | Kind::Long => match i64::try_from(self.integers) {
                Ok(n) if self.kind == Kind::Int => int_or_long(n),
                Ok(n) => Value::Int64(n),
                Err(_) => Value::from(self.integers as f64),
            },
            Kind::Double => Value::from(self.doubles()),
            Kind::Decimal => Value::Decimal(self.decimal()),
        }
    }

    /// The sum as a decimal.
    pub fn decimal(&self) -> Decimal {
        let mut sum = self.decimals.clone().unwrap_or_else(|| Decimal::from(0));
        let integers = self.integers.to_string().parse().unwrap_or(Decimal::NAN);
        let doubles = [self.special, self.double, self.error];
        let parts =
            doubles.into_iter().filter(|x| *x != 0.0).map(exact).chain((self.integers != 0).then_some(integers));
        for part in parts {
            sum = sum.add(&part).map_or(Decimal::NAN, |sum| sum.rounded_to_decimal128());
        }
        sum
    }

    /// True if a decimal was added.
    pub fn is_decimal(&self) -> bool {
        self.kind == Kind::Decimal
    }
}

/// The double to 34 digits: 0.1 is 0.1000000000000000055511151231257827.
pub(super) fn exact(x: f64) -> Decimal {
    if x == 0.0 || !x.is_finite() {
        return Decimal::from_f64(x);
    }
    let text = format!("{:.33e}", x.abs());
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let digits = digits.replace('.', "");
    let kept = digits.trim_end_matches('0');
    let exponent = exponent.parse::<i64>().unwrap_or(0) - 33 + (digits.len() - kept.len()) as i64;
    Decimal::from_parts(x < 0.0, kept, exponent).unwrap_or(Decimal::NAN)
}

/// An integer of 32 bits if it fits.
pub(in crate::expression) fn int_or_long(n: i64) -> Value {
    i32::try_from(n).map_or(Value::Int64(n), Value::Int32)
}

/// An integer of either width; also the whole doubles and decimals.
pub(in crate::expression) fn whole(value: &Value) -> Option<i64> {
    if value.is_number() { value.as_i64() } else { None }
}

/// A whole number that fits 32 bits.
pub(in crate::expression) fn whole_32(value: &Value) -> Option<i32> {
    whole(value).and_then(|n| i32::try_from(n).ok())
}
