//! Sets of values as intervals in the order of all values.

use std::cmp::Ordering;
use std::fmt;

use alluvium_document::compare::compare;
use alluvium_document::json::{self, Format};
use alluvium_document::value::{Binary, Code, DbPointer, Regex, Timestamp};
use alluvium_document::{Map, Value};

use crate::collation::has_text;
use crate::index::is_long;

/// A boundary in the order of all values: directly before or after a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    /// The value.
    pub value: Value,
    /// True for the boundary after the value.
    pub after: bool,
}

impl Edge {
    pub(super) fn before(value: Value) -> Self {
        Self { value, after: false }
    }

    pub(super) fn after(value: Value) -> Self {
        Self { value, after: true }
    }

    fn compare(&self, other: &Edge) -> Ordering {
        compare(&self.value, &other.value).then(self.after.cmp(&other.after))
    }
}

/// The values between two edges. In text form, `[` and `]` are inclusive bounds, `(` and `)` are
/// exclusive bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interval {
    /// The lower edge.
    pub low: Edge,
    /// The upper edge.
    pub high: Edge,
}

impl Interval {
    /// The interval of a single value, which includes all values that are equal to it.
    pub(super) fn point(value: Value) -> Self {
        Self { low: Edge::before(value.clone()), high: Edge::after(value) }
    }

    /// The interval of all values.
    pub fn all() -> Self {
        Self { low: Edge::before(Value::MinKey), high: Edge::after(Value::MaxKey) }
    }

    /// True if the interval consists of one value and the values that are equal to it.
    pub fn is_point(&self) -> bool {
        !self.low.after && self.high.after && compare(&self.low.value, &self.high.value).is_eq()
    }

    /// True if the interval contains all values.
    pub fn is_all(&self) -> bool {
        *self == Self::all()
    }

    /// True if the interval is a single value that contains no strings.
    fn is_plain_point(&self) -> bool {
        self.is_point() && !has_text(&self.low.value)
    }

    /// True if the interval contains the value.
    pub fn contains(&self, value: &Value) -> bool {
        let place = |edge: &Edge| {
            compare(value, &edge.value).then_with(|| if edge.after { Ordering::Less } else { Ordering::Greater })
        };
        place(&self.low).is_gt() && place(&self.high).is_lt()
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (open, close) = (if self.low.after { '(' } else { '[' }, if self.high.after { ']' } else { ')' });
        write!(f, "{open}{}, {}{close}", text(&self.low.value), text(&self.high.value))
    }
}

/// A value as shortened text.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::MinKey => "min".to_owned(),
        Value::MaxKey => "max".to_owned(),
        Value::Double(x) if x.0.is_nan() => "NaN".to_owned(),
        Value::Double(x) if x.0.is_infinite() => if x.0 > 0.0 { "inf" } else { "-inf" }.to_owned(),
        value => json::to_string(value, Format::RELAXED).unwrap_or_else(|_| value.type_name().to_owned()),
    }
}

/// A set of values: sorted intervals that do not touch each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Intervals(pub Vec<Interval>);

impl Intervals {
    pub fn none() -> Self {
        Self(Vec::new())
    }

    pub fn all() -> Self {
        Self(vec![Interval::all()])
    }

    pub fn point(value: Value) -> Self {
        Self(vec![Interval::point(value)])
    }

    pub fn one(low: Edge, high: Edge) -> Self {
        if low.compare(&high).is_lt() { Self(vec![Interval { low, high }]) } else { Self::none() }
    }

    /// The union of several sets.
    pub fn union(sets: impl IntoIterator<Item = Self>) -> Self {
        let mut all: Vec<Interval> = sets.into_iter().flat_map(|set| set.0).collect();
        all.sort_by(|a, b| a.low.compare(&b.low));
        let mut union: Vec<Interval> = Vec::with_capacity(all.len());
        for interval in all {
            match union.last_mut() {
                Some(last) if interval.low.compare(&last.high).is_le() => {
                    if interval.high.compare(&last.high).is_gt() {
                        last.high = interval.high;
                    }
                }
                _ => union.push(interval),
            }
        }
        Self(union)
    }

    pub fn intersection(&self, other: &Self) -> Self {
        let (mut a, mut b) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut both = Vec::new();
        while let (Some(left), Some(right)) = (a.peek(), b.peek()) {
            let low = if left.low.compare(&right.low).is_ge() { &left.low } else { &right.low };
            let left_ends = left.high.compare(&right.high).is_le();
            let high = if left_ends { &left.high } else { &right.high };
            both.extend(Self::one(low.clone(), high.clone()).0);
            if left_ends {
                a.next()
            } else {
                b.next()
            };
        }
        Self(both)
    }

    pub fn complement(&self) -> Self {
        let mut from = Edge::before(Value::MinKey);
        let mut others = Vec::with_capacity(self.0.len() + 1);
        for interval in &self.0 {
            others.extend(Self::one(from, interval.low.clone()).0);
            from = interval.high.clone();
        }
        others.extend(Self::one(from, Edge::after(Value::MaxKey)).0);
        Self(others)
    }

    pub fn is_subset(&self, other: &Self) -> bool {
        self.intersection(other) == *self
    }

    pub fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    pub fn is_all(&self) -> bool {
        matches!(&self.0[..], [only] if only.is_all())
    }

    /// True if an interval begins or ends at a value whose index key is cut. In that case keys cannot decide whether a
    /// value is in the set.
    pub fn is_cut(&self) -> bool {
        self.0.iter().any(|interval| is_long(&interval.low.value) || is_long(&interval.high.value))
    }

    /// True if the set consists of single values.
    pub fn is_points(&self) -> bool {
        self.0.iter().all(Interval::is_point)
    }
}

/// True if the order of the values in the intervals depends on the collation, because the intervals may contain
/// strings, or arrays and maps with strings.
pub(super) fn has_texts(intervals: &[Interval]) -> bool {
    // The types between these two edges are strings, maps and arrays.
    let (least, above) = (Edge::before(Value::from("")), Edge::before(least_of_types()[3].clone()));
    let outside = |interval: &Interval| interval.high.compare(&least).is_le() || interval.low.compare(&above).is_ge();
    !intervals.iter().all(|interval| outside(interval) || interval.is_plain_point())
}

/// The edges around the values that are comparable with `value`, except NaN.
pub(super) fn bracket(value: &Value) -> (Edge, Edge) {
    match value {
        number if number.is_number() => (Edge::after(Value::from(f64::NAN)), Edge::after(Value::from(f64::INFINITY))),
        Value::MinKey | Value::MaxKey | Value::Undefined | Value::Null => {
            (Edge::before(value.clone()), Edge::after(value.clone()))
        }
        value => {
            let least = least_of_types();
            let rank = alluvium_document::compare::type_rank(value);
            let at =
                least.iter().position(|least| alluvium_document::compare::type_rank(least) == rank).unwrap_or_default();
            let high = least.get(at + 1).unwrap_or(&Value::MaxKey);
            (Edge::before(least[at].clone()), Edge::before(high.clone()))
        }
    }
}

/// The least value of each type that has several values, in the order of types.
fn least_of_types() -> [Value; 13] {
    let code = |scope| Value::Code(Box::new(Code { code: String::new(), scope }));
    [
        Value::from(""),
        Value::Map(Map::new()),
        Value::Array(Vec::new()),
        Value::Binary(Binary { subtype: 0, bytes: Vec::new() }),
        Value::ObjectId([0; 12]),
        Value::Bool(false),
        Value::DateTime(i64::MIN),
        Value::Timestamp(Timestamp { time: 0, increment: 0 }),
        Value::Regex(Box::new(Regex { pattern: String::new(), options: String::new() })),
        Value::DbPointer(Box::new(DbPointer { namespace: String::new(), id: [0; 12] })),
        code(None),
        code(Some(Map::new())),
        Value::MaxKey,
    ]
}

#[cfg(test)]
mod tests;
