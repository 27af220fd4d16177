//! Derives the bounds of index parts from conditions.

use alluvium_document::Value;
use alluvium_document::compare::type_rank;
use alluvium_document::value::Regex;

use super::interval::{Edge, Interval, Intervals, bracket};
use crate::collation::Collation;
use crate::filter::bits::Bits;
use crate::filter::tree::{Comparison, Condition, Ordered, Test};
use crate::filter::types::TypeSet;
use crate::filter::{ElementFilter, Form};
use crate::pattern::Pattern;

/// The bounds that a condition imposes on the keys of an index part, or on single values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bounds {
    /// Every document that meets the condition has a key in this set.
    pub set: Intervals,
    /// True if every document with a key in the set meets the condition.
    pub exact: bool,
}

/// The source of the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeySource {
    /// The keys that a document yields at a path.
    Path {
        /// True if a document may yield several keys, because the path leads through an array or to
        /// one.
        multikey: bool,
        /// True if the path has more than one name.
        dotted: bool,
        /// True if a name in the path may be a position.
        positions: bool,
    },
    /// A single value, which is its own key.
    Value,
}

impl KeySource {
    fn is_value(self) -> bool {
        self == Self::Value
    }

    fn has_positions(self) -> bool {
        matches!(self, Self::Path { positions: true, .. })
    }
}

impl Bounds {
    fn inexact(set: Intervals) -> Self {
        Self { set, exact: false }
    }

    /// The set of all keys: no bounds.
    pub fn all() -> Self {
        Self::inexact(Intervals::all())
    }

    fn none() -> Self {
        Self { set: Intervals::none(), exact: true }
    }

    /// The bounds that a condition imposes on the keys of an index with this collation.
    pub fn of_condition(condition: &Condition, of: KeySource, collation: Option<&Collation>) -> Self {
        let mut bounds = match condition {
            Condition::Test(test) => Self::of_test(test, of, collation),
            Condition::Not(conditions) => Self::of_negation(conditions, of, collation),
        };
        // A position may lead to an array. The elements of that array have keys, but conditions do not examine them.
        bounds.exact &= !of.has_positions();
        bounds
    }

    /// The bounds that a comparison of an expression imposes on the keys of an index with this collation. They are
    /// never exact: a key within them does not prove that the comparison holds.
    pub fn of_order(order: &Ordered, of: KeySource, collation: Option<&Collation>) -> Self {
        let Some(value) = order.operand.as_key(collation) else { return Self::all() };
        // An array has the keys of its elements, but the expression compares the array as a whole.
        let arrays = type_rank(&Value::Array(Vec::new()));
        let takes_arrays = if order.is_above() { order.operand.rank <= arrays } else { order.operand.rank >= arrays };
        let may_be_array = matches!(of, KeySource::Path { multikey: true, .. });
        if of.has_positions() || (may_be_array && takes_arrays) {
            return Self::all();
        }
        let after = matches!(order.comparison, Comparison::Greater | Comparison::LessOrEqual);
        let edge = Edge { value: value.into_owned(), after };
        Self::inexact(match order.is_above() {
            true => Intervals::one(edge, Edge::after(Value::MaxKey)),
            // A missing value sorts below null in the expression, but its key is the key of null.
            false => {
                Intervals::union([Intervals::one(Edge::before(Value::MinKey), edge), Intervals::point(Value::Null)])
            }
        })
    }

    /// The bounds for the condition that at least one of these conditions does not hold.
    fn of_negation(conditions: &[Condition], of: KeySource, collation: Option<&Collation>) -> Self {
        if let ([Condition::Test(Test::Exists)], KeySource::Path { positions: false, .. }) = (conditions, of) {
            // A missing value has the key of null, and an existing value may have that key too.
            return Self::inexact(Intervals::point(Value::Null));
        }
        let bounds = |condition| Self::of_condition(condition, of, collation);
        let inner: Vec<Self> = conditions.iter().map(bounds).collect();
        // If a document had a key inside of these bounds, it would meet the condition. Therefore only keys outside
        // remain.
        if !inner.iter().all(|bounds| bounds.exact) {
            return Self::all();
        }
        let set = Intervals::union(inner.iter().map(|bounds| bounds.set.complement()));
        let exact = match of {
            KeySource::Value => true,
            KeySource::Path { multikey, .. } => !multikey,
        };
        Self { set, exact }
    }

    fn of_test(test: &Test, of: KeySource, collation: Option<&Collation>) -> Self {
        match test {
            Test::Compare(comparison, operand) => match operand.as_key(collation) {
                Some(value) if *comparison == Comparison::Equal => Self::equal(&value, of),
                Some(value) => Self::range(*comparison, &value, operand.is_nan, of),
                None => Self::all(),
            },
            Test::In(list) => match list.as_keys(collation) {
                Some(values) => Self::of_list(&values, &list.patterns, of, collation),
                None => Self::all(),
            },
            Test::Exists => Self { set: Intervals::all(), exact: of.is_value() },
            Test::Type(types) => Self::of_types(*types, of),
            Test::Mod { .. } => Self::inexact(numbers()),
            Test::Bits(bits) => Self::of_bits(bits),
            Test::Regex(pattern) => Self::inexact(texts(pattern, collation)),
            Test::Size(_) if of.is_value() => Self::inexact(arrays()),
            // An empty array has the key of undefined.
            Test::Size(0) if !of.has_positions() => Self::inexact(Intervals::point(Value::Undefined)),
            Test::Size(_) => Self::all(),
            Test::ElemMatch(filter) => Self::of_element(filter, of, collation),
        }
    }

    fn equal(value: &Value, of: KeySource) -> Self {
        match (value, of) {
            // Maps before the selected position yield no key, but the field is missing in them.
            (Value::Null, KeySource::Path { positions: true, .. }) => Self::all(),
            // An element in the middle of the path that is not a map yields the key of null, but
            // does not count as null.
            (Value::Null, KeySource::Path { multikey, dotted, .. }) => {
                Self { set: Intervals::point(Value::Null), exact: !(multikey && dotted) }
            }
            (Value::Array(elements), KeySource::Path { .. }) => {
                let first = elements.first().cloned().unwrap_or(Value::Undefined);
                Self::inexact(Intervals::union([Intervals::point(first), Intervals::point(value.clone())]))
            }
            (value, _) => Self { set: Intervals::point(value.clone()), exact: true },
        }
    }

    fn range(comparison: Comparison, value: &Value, is_nan: bool, of: KeySource) -> Self {
        let or_equal = matches!(comparison, Comparison::GreaterOrEqual | Comparison::LessOrEqual);
        let above = matches!(comparison, Comparison::Greater | Comparison::GreaterOrEqual);
        match value {
            Value::MinKey | Value::MaxKey => {
                let to_the_end = above == (*value == Value::MaxKey);
                match (to_the_end, or_equal) {
                    (true, true) => return Self::equal(value, of),
                    (true, false) => return Self::none(),
                    // The type includes arrays as a whole, whatever the keys of their elements are,
                    // and missing values.
                    (false, true) => return Self { set: Intervals::all(), exact: of.is_value() },
                    (false, false) if !of.is_value() => return Self::all(),
                    (false, false) => return Self { set: Intervals::point(value.clone()).complement(), exact: true },
                }
            }
            Value::Null => return if or_equal { Self::equal(value, of) } else { Self::none() },
            Value::Array(_) if !of.is_value() => return Self::all(),
            _ if is_nan => return if or_equal { Self::equal(value, of) } else { Self::none() },
            _ => {}
        }
        let (low, high) = bracket(value);
        let edge = Edge { value: value.clone(), after: above != or_equal };
        let set = if above { Intervals::one(edge, high) } else { Intervals::one(low, edge) };
        Self { set, exact: true }
    }

    fn of_list(values: &[Value], patterns: &[Pattern], of: KeySource, collation: Option<&Collation>) -> Self {
        let is_plain = |value: &Value| !matches!(value, Value::Null | Value::Array(_));
        if patterns.is_empty() && values.iter().all(is_plain) {
            // The values are sorted and unique.
            return Self { set: Intervals(values.iter().cloned().map(Interval::point).collect()), exact: true };
        }
        let each = values.iter().map(|value| Self::equal(value, of));
        let patterns = patterns.iter().map(|pattern| Self::inexact(texts(pattern, collation)));
        let all: Vec<Self> = each.chain(patterns).collect();
        let exact = all.iter().all(|bounds| bounds.exact);
        Self { set: Intervals::union(all.into_iter().map(|bounds| bounds.set)), exact }
    }

    fn of_types(types: TypeSet, of: KeySource) -> Self {
        if types.has("array") && !of.is_value() {
            return Self::all();
        }
        let (mut sets, mut exact) = (Vec::new(), true);
        for (names, least) in type_groups() {
            let some = names.iter().any(|name| types.has(name));
            if !some {
                continue;
            }
            exact &= names.iter().all(|name| types.has(name));
            let is_number = least.is_number();
            let (low, high) = bracket(&least);
            let low = if is_number { Edge::before(Value::from(f64::NAN)) } else { low };
            // A missing value has the key of null, and an empty array has the key of undefined.
            exact &= of.is_value() || !matches!(least, Value::Null | Value::Undefined);
            sets.push(Intervals::one(low, high));
        }
        Self { set: Intervals::union(sets), exact }
    }

    fn of_bits(_: &Bits) -> Self {
        Self::inexact(Intervals::union([numbers(), {
            let (low, high) = bracket(&Value::Binary(alluvium_document::Binary { subtype: 0, bytes: Vec::new() }));
            Intervals::one(low, high)
        }]))
    }

    /// An element that meets the condition is itself a key of the document.
    fn of_element(filter: &ElementFilter, of: KeySource, collation: Option<&Collation>) -> Self {
        match (&filter.form, of) {
            (_, KeySource::Value) => Self::inexact(arrays()),
            (_, KeySource::Path { positions: true, .. }) | (Form::Fields(_), _) => Self::all(),
            (Form::Element(conditions), _) => {
                let bounds = |condition| Self::of_condition(condition, KeySource::Value, collation).set;
                let of_each = conditions.iter().map(bounds);
                Self::inexact(of_each.fold(Intervals::all(), |all, one| all.intersection(&one)))
            }
        }
    }
}

fn numbers() -> Intervals {
    let (low, high) = bracket(&Value::Int32(0));
    Intervals::one(low, high)
}

fn arrays() -> Intervals {
    let (low, high) = bracket(&Value::Array(Vec::new()));
    Intervals::one(low, high)
}

/// The texts that may match, and stored regular expressions that are equal to the pattern. With a collation there are
/// no bounds for the texts, because collation keys do not show the beginning of a text.
fn texts(pattern: &Pattern, collation: Option<&Collation>) -> Intervals {
    let (low, high) = bracket(&Value::from(""));
    let texts = match pattern.prefix().filter(|_| collation.is_none()) {
        None => Intervals::one(low, high),
        Some(prefix) => {
            let high = after_prefix(prefix).map_or(high, |next| Edge::before(Value::from(next)));
            Intervals::one(Edge::before(Value::from(prefix)), high)
        }
    };
    let stored = |pattern: String| Edge::before(Value::Regex(Box::new(Regex { pattern, options: String::new() })));
    let source = &pattern.source().pattern;
    Intervals::union([texts, Intervals::one(stored(source.clone()), stored(format!("{source}\0")))])
}

/// The least text that is greater than all texts with this prefix.
fn after_prefix(prefix: &str) -> Option<String> {
    let mut chars: Vec<char> = prefix.chars().collect();
    while let Some(last) = chars.pop() {
        let next = match last {
            '\u{d7ff}' => Some('\u{e000}'),
            last => char::from_u32(last as u32 + 1),
        };
        if let Some(next) = next {
            chars.push(next);
            return Some(chars.into_iter().collect());
        }
    }
    None
}

/// Groups of type names whose values are comparable with each other, each with an example value.
fn type_groups() -> Vec<(&'static [&'static str], Value)> {
    let code = |scope| Value::Code(Box::new(alluvium_document::Code { code: String::new(), scope }));
    let pointer = alluvium_document::DbPointer { namespace: String::new(), id: [0; 12] };
    vec![
        (&["minKey"], Value::MinKey),
        (&["undefined"], Value::Undefined),
        (&["null"], Value::Null),
        (&["double", "int", "long", "decimal"], Value::Int32(0)),
        (&["string", "symbol"], Value::from("")),
        (&["object"], Value::Map(alluvium_document::Map::new())),
        (&["array"], Value::Array(Vec::new())),
        (&["binData"], Value::Binary(alluvium_document::Binary { subtype: 0, bytes: Vec::new() })),
        (&["objectId"], Value::ObjectId([0; 12])),
        (&["bool"], Value::Bool(false)),
        (&["date"], Value::DateTime(0)),
        (&["timestamp"], Value::Timestamp(alluvium_document::Timestamp { time: 0, increment: 0 })),
        (&["regex"], Value::Regex(Box::new(Regex { pattern: String::new(), options: String::new() }))),
        (&["dbPointer"], Value::DbPointer(Box::new(pointer))),
        (&["javascript"], code(None)),
        (&["javascriptWithScope"], code(Some(alluvium_document::Map::new()))),
        (&["maxKey"], Value::MaxKey),
    ]
}

#[cfg(test)]
mod tests;
