//! Arithmetic on numbers of all types, by MongoDB's rules for results.

use crate::code::ErrorCode;
use crate::expression::error::{ExpressionError, fail};
use alluvium_document::value::Double;
use alluvium_document::{Decimal, Value};

/// 2^63.
pub(super) const TWO_63: f64 = 9_223_372_036_854_775_808.0;

/// The type of a number, in order from narrow to wide.
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

/// A sum. Integers are added exactly. Doubles are added with an error term, so that the order of
/// the numbers changes the result little: the two-sum algorithm of D. Knuth, "The Art of Computer
/// Programming", volume 2, section 4.2.2.
#[derive(Debug, Clone)]
pub(crate) struct Sum {
    kind: Kind,
    integers: i64,
    double: f64,
    error: f64,
    rare: Option<Box<Rare>>,
}

/// The parts of a sum that are rarely used.
#[derive(Debug, Clone, Default)]
struct Rare {
    /// The sum of the integers that would have overflowed the sum of 64 bits.
    integers: i128,
    /// The sum of infinities and NaN, which have no error term.
    special: f64,
    decimals: Option<Decimal>,
}

impl Default for Sum {
    fn default() -> Self {
        Self { kind: Kind::Int, integers: 0, double: 0.0, error: 0.0, rare: None }
    }
}

impl Sum {
    /// Adds a number; other values are ignored.
    pub fn add(&mut self, value: &Value) {
        let Some(kind) = Kind::of(value) else { return };
        self.kind = self.kind.max(kind);
        match value {
            Value::Int32(n) => self.add_integer(i64::from(*n)),
            Value::Int64(n) => self.add_integer(*n),
            Value::Double(Double(x)) => self.add_double(*x),
            Value::Decimal(decimal) => self.add_decimal(decimal),
            _ => {}
        }
    }

    /// As [`Sum::add`] this number of times.
    pub fn add_times(&mut self, value: &Value, times: u64) {
        let integer = match value {
            Value::Int32(n) => Some(i64::from(*n)),
            Value::Int64(n) => Some(*n),
            _ => None,
        };
        let product = integer.zip(i64::try_from(times).ok()).and_then(|(n, times)| n.checked_mul(times));
        match product.filter(|_| times > 0) {
            Some(product) => {
                self.kind = self.kind.max(Kind::of(value).unwrap_or(self.kind));
                self.add_integer(product);
            }
            // The sum of doubles has the rounding of each addition.
            None => (0..times).for_each(|_| self.add(value)),
        }
    }

    fn add_integer(&mut self, n: i64) {
        match self.integers.checked_add(n) {
            Some(sum) => self.integers = sum,
            None => {
                let full = std::mem::replace(&mut self.integers, n);
                self.rare().integers += i128::from(full);
            }
        }
    }

    fn add_decimal(&mut self, decimal: &Decimal) {
        let rare = self.rare();
        // Starts with zero, so that a sum of negative zeros is not negative.
        let sum = rare.decimals.take().unwrap_or_else(|| Decimal::from(0)).add(decimal);
        rare.decimals = Some(sum.map_or(Decimal::NAN, |sum| sum.rounded_to_decimal128()));
    }

    fn add_double(&mut self, x: f64) {
        if !x.is_finite() {
            self.rare().special += x;
            return;
        }
        let sum = self.double + x;
        let part = sum - self.double;
        self.error += (self.double - (sum - part)) + (x - part);
        self.double = sum;
    }

    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    fn all_integers(&self) -> i128 {
        i128::from(self.integers) + self.rare.as_ref().map_or(0, |rare| rare.integers)
    }

    fn special(&self) -> f64 {
        self.rare.as_ref().map_or(0.0, |rare| rare.special)
    }

    fn decimals(&self) -> Option<&Decimal> {
        self.rare.as_ref()?.decimals.as_ref()
    }

    /// The sum as a double.
    pub fn to_f64(&self) -> f64 {
        let decimals = self.decimals().map_or(0.0, Decimal::to_f64);
        self.doubles() + decimals
    }

    fn doubles(&self) -> f64 {
        let (special, integers) = (self.special(), self.all_integers());
        if special != 0.0 || special.is_nan() {
            return special;
        }
        // Integers beyond 2^53 are split into two doubles, so that precision is lost only in the last rounding.
        let high = integers as f64;
        let low = (integers - high as i128) as f64;
        let sum = self.double + high;
        let part = sum - self.double;
        let error = (self.double - (sum - part)) + (high - part);
        match sum + (error + self.error + low) {
            // If the sum overflows, the error term is NaN, and the sum without it is the result.
            rounded if rounded.is_nan() => sum,
            rounded => rounded,
        }
    }

    /// The sum in the widest type of its numbers; integers that do not fit 64 bits become a double.
    pub fn value(&self) -> Value {
        match self.kind {
            Kind::Int | Kind::Long => match i64::try_from(self.all_integers()) {
                Ok(n) if self.kind == Kind::Int => int_or_long(n),
                Ok(n) => Value::Int64(n),
                Err(_) => Value::from(self.all_integers() as f64),
            },
            Kind::Double => Value::from(self.doubles()),
            Kind::Decimal => Value::Decimal(self.decimal()),
        }
    }

    /// The sum as a decimal.
    pub fn decimal(&self) -> Decimal {
        let mut sum = self.decimals().cloned().unwrap_or_else(|| Decimal::from(0));
        let all = self.all_integers();
        let integers = all.to_string().parse().unwrap_or(Decimal::NAN);
        let doubles = [self.special(), self.double, self.error];
        let parts = doubles.into_iter().filter(|x| *x != 0.0).map(exact).chain([integers]);
        for part in parts {
            sum = sum.add(&part).map_or(Decimal::NAN, |sum| sum.rounded_to_decimal128());
        }
        sum
    }

    /// Adds another sum to this one.
    pub fn absorb(&mut self, other: &Self) {
        self.kind = self.kind.max(other.kind);
        self.add_integer(other.integers);
        self.add_double(other.double);
        self.error += other.error;
        if let Some(rare) = &other.rare {
            self.rare().integers += rare.integers;
            self.rare().special += rare.special;
            if let Some(decimals) = &rare.decimals {
                self.add_decimal(decimals);
            }
        }
    }

    /// Adds another sum that [`Sum::to_value`] encoded. `None` if the value is not an encoded sum.
    pub fn merge(&mut self, other: &Value) -> Option<()> {
        let mut sum = Self::default();
        match other {
            Value::Int32(_) | Value::Int64(_) => {
                sum.add_integer(other.as_i64()?);
                sum.kind = if let Value::Int32(_) = other { Kind::Int } else { Kind::Long };
            }
            Value::Array(parts) => {
                let [kind, integers, double, error, special, rest @ ..] = &parts[..] else { return None };
                sum.kind = match kind.as_i64()? {
                    0 => Kind::Int,
                    1 => Kind::Long,
                    2 => Kind::Double,
                    _ => Kind::Decimal,
                };
                (sum.double, sum.error) = (double.as_f64()?, error.as_f64()?);
                let decimals = match rest.first() {
                    Some(Value::Decimal(decimal)) => Some(decimal.clone()),
                    _ => None,
                };
                let (integers, special) = (integers.as_str()?.parse().ok()?, special.as_f64()?);
                sum.rare = Some(Box::new(Rare { integers, special, decimals }));
            }
            _ => return None,
        }
        self.absorb(&sum);
        Some(())
    }

    /// Encodes the whole state, so that [`Sum::merge`] can continue with it.
    pub fn to_value(&self) -> Value {
        if self.rare.is_none() && self.kind <= Kind::Long {
            return match (self.kind, i32::try_from(self.integers)) {
                (Kind::Int, Ok(n)) => Value::Int32(n),
                (Kind::Long, _) => Value::Int64(self.integers),
                (..) => self.parts(),
            };
        }
        self.parts()
    }

    fn parts(&self) -> Value {
        let parts = [self.double, self.error, self.special()].map(Value::from);
        let head = [Value::from(self.kind as i32), Value::from(self.all_integers().to_string())];
        let decimals = self.decimals().cloned().map(Value::Decimal);
        Value::Array(head.into_iter().chain(parts).chain(decimals).collect())
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

/// An integer of 32 bits if it fits, otherwise of 64 bits.
pub(in crate::expression) fn int_or_long(n: i64) -> Value {
    i32::try_from(n).map_or(Value::Int64(n), Value::Int32)
}

/// The integer that a value is equal to, if it is an integer of either width, or a double or decimal without a
/// fraction.
pub(in crate::expression) fn whole(value: &Value) -> Option<i64> {
    if value.is_number() { value.as_i64() } else { None }
}

/// A number as an integer of 64 bits: a double is truncated, a decimal rounded half to even. As in MongoDB, a decimal
/// that does not fit is the smallest integer.
pub(super) fn to_long(value: &Value, what: &str) -> Result<i64, ExpressionError> {
    match value {
        Value::Int32(n) => Ok(i64::from(*n)),
        Value::Int64(n) => Ok(*n),
        Value::Double(Double(x)) if (-TWO_63..TWO_63).contains(x) => Ok(*x as i64),
        Value::Double(Double(x)) => fail(ErrorCode::Location31109, format!("{what} does not fit 64 bits: {x}")),
        Value::Decimal(decimal) => Ok(rounded_to_long(decimal).unwrap_or(i64::MIN)),
        other => {
            fail(ErrorCode::Location16004, format!("{what} must be a number, this is of type {}", other.type_name()))
        }
    }
}

fn rounded_to_long(decimal: &Decimal) -> Option<i64> {
    let (_, digits, exponent) = decimal.parts()?;
    let kept = digits.len() as i64 + exponent;
    match (exponent < 0, usize::try_from(kept)) {
        (false, _) => decimal.to_i64(),
        (true, Ok(kept @ 1..)) => decimal.rounded(kept).ok()?.to_i64(),
        // Half to even: 0.5 rounds to 0, and only a number above 0.5 rounds to 1.
        (true, Ok(_)) if decimal.compare_f64(0.5).is_gt() => Some(1),
        (true, Ok(_)) if decimal.compare_f64(-0.5).is_lt() => Some(-1),
        (true, _) => Some(0),
    }
}

/// A whole number that fits 32 bits.
pub(in crate::expression) fn whole_32(value: &Value) -> Option<i32> {
    whole(value).and_then(|n| i32::try_from(n).ok())
}
