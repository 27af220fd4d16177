//! The syntax tree of filters.

use std::borrow::Cow;

use alluvium_document::Value;
use alluvium_document::compare::{compare, equal, type_rank};
use alluvium_document::path::array_index;

use super::bits::Bits;
use super::node::is_nan;
use super::schema::Schema;
use super::types::TypeSet;
use super::{ElementFilter, Filter, Form};
use crate::collation::{Collation, has_text};
use crate::expression::Expression;
use crate::interrupt::Interrupt;
use crate::pattern::Pattern;

/// The values that a filter demands at paths, as often and in the order in which they were written.
/// They are ignored by comparisons: filters with equal conditions are equal.
#[derive(Debug, Clone, Default)]
pub(crate) struct Demands(pub Vec<(Box<str>, Value)>);

impl PartialEq for Demands {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Demands {}

/// The positions of sorted clauses in the order in which they were written. Empty if the clauses
/// were written in sorted order, or if the order is unknown. It is ignored by comparisons.
#[derive(Debug, Clone, Default)]
pub(crate) struct Written(pub Box<[u32]>);

impl Written {
    /// The positions of `len` clauses.
    pub fn order(&self, len: usize) -> impl Iterator<Item = usize> {
        let is_known = self.0.len() == len;
        (0..len).map(move |at| if is_known { self.0[at] as usize } else { at })
    }
}

impl PartialEq for Written {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Written {}

/// A condition on documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Clause {
    /// A condition on the values at a path.
    Field { path: Path, condition: Condition },
    /// At least one of two or more filters matches.
    Or(Vec<Filter>),
    /// None of the filters matches.
    Nor(Vec<Filter>),
    /// An expression is true.
    Expression(Box<Computed>),
    /// The document obeys a schema.
    Schema(Box<Shaped>),
}

/// A schema that documents obey.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shaped {
    pub schema: Schema,
    /// The operand as it was written.
    pub written: Value,
}

/// An expression that must be true.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Computed {
    pub expression: Expression,
    /// The operand as it was written.
    pub written: Value,
    /// Comparisons for the planner. They hold for every document for which the expression is true.
    pub orders: Vec<Ordered>,
}

/// A comparison of the value at a path with a constant, by the rules of expressions: values of all
/// types are ordered, an array is compared as a whole, and a missing value sorts below null.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ordered {
    pub path: Path,
    /// Any comparison except [`Comparison::Equal`].
    pub comparison: Comparison,
    pub operand: Operand,
}

impl Ordered {
    /// True if the comparison holds for values above the operand, and false if it holds for values below.
    pub fn is_above(&self) -> bool {
        matches!(self.comparison, Comparison::Greater | Comparison::GreaterOrEqual)
    }
}

/// The path to the values that a condition tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Path {
    pub text: Box<str>,
    pub steps: Box<[Step]>,
    /// The interrupt for tests of the elements of arrays.
    pub interrupt: Option<Interrupt>,
}

/// A name, and the array position if the name is a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    pub name: Box<str>,
    pub position: Option<usize>,
}

impl Path {
    pub fn new(text: &str) -> Self {
        let step = |name: &str| Step { name: name.into(), position: array_index(name) };
        let mut steps = Vec::with_capacity(1 + text.bytes().filter(|byte| *byte == b'.').count());
        steps.extend(text.split('.').map(step));
        Self { text: text.into(), steps: steps.into(), interrupt: None }
    }

    /// The path with its first `count` names replaced by another name; `None` if it has fewer names.
    pub fn renamed(&self, count: usize, name: &str) -> Option<Self> {
        let rest = self.steps.get(count..)?.iter().map(|step| &*step.name);
        let names: Vec<&str> = std::iter::once(name).chain(rest).collect();
        Some(Self { interrupt: self.interrupt.clone(), ..Self::new(&names.join(".")) })
    }

    /// The path without its first name; `None` if it has only one name.
    pub fn without_first(&self) -> Option<Self> {
        let (_, rest) = self.text.split_once('.')?;
        Some(Self { interrupt: self.interrupt.clone(), ..Self::new(rest) })
    }
}

/// A test of the values at a path, or of an element of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Condition {
    /// At least one of the values passes.
    Test(Test),
    /// At least one of these conditions does not hold.
    Not(Vec<Condition>),
}

/// A test of a single value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Test {
    Compare(Comparison, Operand),
    In(In),
    Exists,
    Type(TypeSet),
    Mod {
        divisor: i64,
        remainder: i64,
    },
    Regex(Pattern),
    Bits(Bits),
    /// The value is an array with this number of elements.
    Size(u64),
    /// The value is an array with an element that matches.
    ElemMatch(ElementFilter),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

impl Comparison {
    pub fn of_name(name: &str) -> Option<Self> {
        Some(match name {
            "$eq" => Self::Equal,
            "$gt" => Self::Greater,
            "$gte" => Self::GreaterOrEqual,
            "$lt" => Self::Less,
            "$lte" => Self::LessOrEqual,
            _ => return None,
        })
    }

    /// The comparison with its sides exchanged.
    pub fn reversed(self) -> Self {
        match self {
            Self::Equal => Self::Equal,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Equal => "$eq",
            Self::Greater => "$gt",
            Self::GreaterOrEqual => "$gte",
            Self::Less => "$lt",
            Self::LessOrEqual => "$lte",
        }
    }
}

/// The operand of a comparison, with properties that every comparison needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Operand {
    pub value: Value,
    pub rank: u8,
    pub is_nan: bool,
    /// True for min and max key, which are compared with values of all types.
    pub is_end: bool,
    /// The collation for the strings in the value. `None` if they are compared by their bytes, or if there are none.
    pub collation: Option<Collation>,
}

impl Operand {
    /// The value in the form that the keys of an index with this collation have; `None` if these
    /// keys cannot decide the comparison.
    pub fn as_key(&self, of_index: Option<&Collation>) -> Option<Cow<'_, Value>> {
        match &self.collation {
            None if of_index.is_some() && has_text(&self.value) => None,
            None => Some(Cow::Borrowed(&self.value)),
            own if own.as_ref() == of_index => own.as_ref().map(|own| own.keyed(&self.value)),
            _ => None,
        }
    }

    pub fn new(value: Value) -> Self {
        let is_end = matches!(value, Value::MinKey | Value::MaxKey);
        Self { rank: type_rank(&value), is_nan: is_nan(&value), is_end, value, collation: None }
    }

    fn collate(&mut self, collation: &Collation) {
        if has_text(&self.value) {
            self.collation = Some(collation.clone());
        }
    }
}

/// A list of values and patterns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct In {
    /// Sorted; no two are equal, by the collation if there is one.
    pub values: Vec<Value>,
    pub patterns: Vec<Pattern>,
    pub has_null: bool,
    /// The collation for the strings in the values. `None` if they are compared by their bytes, or if there are none.
    pub collation: Option<Collation>,
}

impl In {
    /// The values in the form that the keys of an index with this collation have, sorted; `None` if these keys cannot
    /// decide the comparison.
    pub fn as_keys(&self, of_index: Option<&Collation>) -> Option<Cow<'_, [Value]>> {
        match &self.collation {
            None if of_index.is_some() && self.values.iter().any(has_text) => None,
            None => Some(Cow::Borrowed(&self.values)),
            own if own.as_ref() == of_index => {
                own.as_ref().map(|own| self.values.iter().map(|value| own.keyed(value).into_owned()).collect())
            }
            _ => None,
        }
    }

    pub fn new(mut values: Vec<Value>, patterns: Vec<Pattern>) -> Self {
        values.sort_by(compare);
        Self::of_sorted(values, patterns)
    }

    /// As [`In::new`], for values that are sorted but may have duplicates.
    pub fn of_sorted(mut values: Vec<Value>, mut patterns: Vec<Pattern>) -> Self {
        values.dedup_by(|a, b| equal(a, b));
        let key = |pattern: &Pattern| (pattern.source().pattern.clone(), pattern.source().options.clone());
        patterns.sort_by_cached_key(key);
        patterns.dedup();
        let has_null = values.contains(&Value::Null);
        Self { values, patterns, has_null, collation: None }
    }

    fn collate(&mut self, collation: &Collation) {
        if self.values.iter().any(has_text) {
            // The sort is stable: of values that are equal by the collation, the first in byte order is kept.
            self.values.sort_by(|a, b| collation.compare_values(a, b));
            self.values.dedup_by(|a, b| collation.compare_values(a, b).is_eq());
            self.collation = Some(collation.clone());
        }
    }
}

impl Filter {
    /// Makes the conditions compare strings by a collation. Expressions already got their collation from the parser.
    /// Patterns and schemas have no collation.
    pub(crate) fn collate(&mut self, collation: &Collation) {
        for clause in &mut self.clauses {
            match clause {
                Clause::Field { condition, .. } => condition.collate(collation),
                Clause::Or(branches) | Clause::Nor(branches) => {
                    branches.iter_mut().for_each(|branch| branch.collate(collation));
                }
                // The expression itself got its collation from the parser.
                Clause::Expression(computed) => {
                    computed.orders.iter_mut().for_each(|order| order.operand.collate(collation));
                }
                Clause::Schema(_) => {}
            }
        }
    }
}

impl ElementFilter {
    /// As [`Filter::collate`].
    pub(crate) fn collate(&mut self, collation: &Collation) {
        match &mut self.form {
            Form::Element(conditions) => conditions.iter_mut().for_each(|condition| condition.collate(collation)),
            Form::Fields(filter) => filter.collate(collation),
        }
    }
}

impl Condition {
    /// The collation by which strings are compared. `None` also if a collation would have no effect.
    pub fn collation(&self) -> Option<&Collation> {
        match self {
            Self::Test(Test::Compare(_, operand)) => operand.collation.as_ref(),
            Self::Test(Test::In(list)) => list.collation.as_ref(),
            Self::Test(Test::ElemMatch(element)) => match &element.form {
                Form::Element(conditions) => conditions.iter().find_map(Self::collation),
                Form::Fields(filter) => filter.collation(),
            },
            Self::Test(_) => None,
            Self::Not(conditions) => conditions.iter().find_map(Self::collation),
        }
    }

    fn collate(&mut self, collation: &Collation) {
        match self {
            Self::Test(Test::Compare(_, operand)) => operand.collate(collation),
            Self::Test(Test::In(list)) => list.collate(collation),
            Self::Test(Test::ElemMatch(element)) => element.collate(collation),
            Self::Test(_) => {}
            Self::Not(conditions) => conditions.iter_mut().for_each(|condition| condition.collate(collation)),
        }
    }
}

impl Test {
    /// True if the test passes when the path leads to no value.
    pub fn passes_missing(&self) -> bool {
        match self {
            // A missing value counts as null.
            Self::Compare(comparison, operand) => {
                let order = compare(&Value::Null, &operand.value);
                let comparable = operand.is_end || operand.value == Value::Null;
                comparable && comparison.takes(order)
            }
            Self::In(list) => list.has_null,
            _ => false,
        }
    }

    /// True if the test applies only to an array as a whole, not to its elements.
    pub fn is_of_arrays(&self) -> bool {
        matches!(self, Self::Size(_) | Self::ElemMatch(_))
    }

    /// The only value that passes, if there is exactly one.
    pub fn only_value(&self) -> Option<&Value> {
        match self {
            Self::Compare(Comparison::Equal, operand) => Some(&operand.value),
            Self::In(list) if list.patterns.is_empty() => match &list.values[..] {
                [only] => Some(only),
                _ => None,
            },
            _ => None,
        }
    }

    /// The operator's name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Compare(comparison, _) => comparison.name(),
            Self::In(_) => "$in",
            Self::Exists => "$exists",
            Self::Type(_) => "$type",
            Self::Mod { .. } => "$mod",
            Self::Regex(_) => "$regex",
            Self::Bits(bits) => bits.wanted.name(),
            Self::Size(_) => "$size",
            Self::ElemMatch(_) => "$elemMatch",
        }
    }
}
