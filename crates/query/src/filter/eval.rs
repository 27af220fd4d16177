//! Evaluation of filters.

use std::cmp::Ordering;

use super::bits::{truncated, whole};
use super::node::{Kind, Node};
use super::tree::{Clause, Comparison, Condition, In, Operand, Path, Step, Test};
use super::{ElementFilter, Filter, FilterError, Form};
use crate::interrupt::Interrupt;

/// The interrupt is checked before tests of arrays of at least this number of elements.
const ELEMENTS: usize = 64;

/// The interrupt is checked before tests with at least this number of patterns.
const PATTERNS: usize = 16;

/// Checks the interrupt of the query.
#[cold]
fn ask(interrupt: Option<&Interrupt>) -> Result<(), FilterError> {
    match interrupt {
        Some(interrupt) => Ok(interrupt.check().map_err(crate::expression::ExpressionError::from)?),
        None => Ok(()),
    }
}

impl Filter {
    /// True if a map matches. An array is treated as a map from positions to elements.
    pub(super) fn matches_node<N: Node>(&self, root: &N) -> Result<bool, N::Error> {
        for clause in &self.clauses {
            if !clause.holds(root)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Clause {
    fn holds<N: Node>(&self, root: &N) -> Result<bool, N::Error> {
        match self {
            Self::Field { path, condition } => condition.holds(&mut |test| at_path(root, path, test)),
            Self::Or(branches) => any(branches.iter().map(Ok), |branch| branch.matches_node(root)),
            Self::Nor(branches) => Ok(!any(branches.iter().map(Ok), |branch| branch.matches_node(root))?),
            Self::Expression(computed) => root.makes_true(&computed.expression),
            Self::Schema(shaped) => root.obeys(&shaped.schema),
        }
    }
}

impl Condition {
    fn holds<E>(&self, test: &mut dyn FnMut(&Test) -> Result<bool, E>) -> Result<bool, E> {
        match self {
            Self::Test(it) => test(it),
            Self::Not(conditions) => Ok(!all(conditions, test)?),
        }
    }
}

fn all<E>(conditions: &[Condition], test: &mut dyn FnMut(&Test) -> Result<bool, E>) -> Result<bool, E> {
    for condition in conditions {
        if !condition.holds(test)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn any<T, E>(
    mut items: impl Iterator<Item = Result<T, E>>,
    mut wanted: impl FnMut(T) -> Result<bool, E>,
) -> Result<bool, E> {
    items.try_fold(false, |found, item| Ok(found || wanted(item?)?))
}

/// True if one of the values at a path passes the test.
#[inline]
fn at_path<N: Node>(root: &N, path: &Path, test: &Test) -> Result<bool, N::Error> {
    in_map(root, &path.steps, test, path.interrupt.as_ref())
}

fn in_map<N: Node>(map: &N, steps: &[Step], test: &Test, interrupt: Option<&Interrupt>) -> Result<bool, N::Error> {
    let Some((step, rest)) = steps.split_first() else { return Ok(false) };
    let Some(value) = map.field(&step.name)? else { return Ok(test.passes_missing()) };
    let kind = value.kind();
    if kind == Kind::Array && value.len().is_some_and(|len| len >= ELEMENTS) {
        ask(interrupt)?;
    }
    match kind {
        Kind::Array if rest.is_empty() => {
            Ok((!test.is_of_arrays() && in_elements(&value, test)?) || passes(test, &value)?)
        }
        Kind::Array => in_array(&value, rest, test, interrupt),
        _ if rest.is_empty() => passes(test, &value),
        Kind::Map => in_map(&value, rest, test, interrupt),
        Kind::Scalar => Ok(test.passes_missing()),
    }
}

fn in_elements<N: Node>(array: &N, test: &Test) -> Result<bool, N::Error> {
    for element in array.elements() {
        if passes(test, &element?)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Continues through an array in the middle of the path: into its elements that are maps, and into
/// the element whose position is the next name.
fn in_array<N: Node>(array: &N, steps: &[Step], test: &Test, interrupt: Option<&Interrupt>) -> Result<bool, N::Error> {
    for (at, element) in array.elements().enumerate() {
        if in_element(&element?, at, steps, test, interrupt)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn in_element<N: Node>(
    element: &N,
    at: usize,
    steps: &[Step],
    test: &Test,
    interrupt: Option<&Interrupt>,
) -> Result<bool, N::Error> {
    let kind = element.kind();
    if kind == Kind::Map && in_map(element, steps, test, interrupt)? {
        return Ok(true);
    }
    match steps {
        // As in MongoDB, an array that a position selects is not entered.
        [step] if step.position == Some(at) => passes(test, element),
        [step, rest @ ..] if step.position == Some(at) => match kind {
            Kind::Map => in_map(element, rest, test, interrupt),
            Kind::Array => in_array(element, rest, test, interrupt),
            Kind::Scalar => Ok(false),
        },
        _ => Ok(false),
    }
}

/// True if a value passes the test. Elements of an array are not examined.
pub(super) fn passes<N: Node>(test: &Test, value: &N) -> Result<bool, N::Error> {
    Ok(match test {
        Test::Compare(comparison, operand) => return comparison.passes(operand, value),
        Test::In(list) => return list.passes(value),
        Test::Exists => true,
        Test::Type(types) => types.contains(value.type_code()),
        Test::Mod { divisor, remainder } => value
            .number()
            .and_then(|number| truncated(&number))
            .is_some_and(|number| number.wrapping_rem(*divisor) == *remainder),
        Test::Regex(pattern) => match value.text() {
            Some(text) => pattern.is_match(text).map_err(FilterError::from)?,
            None => value.regex().is_some_and(|stored| pattern.is(stored)),
        },
        Test::Bits(bits) => match value.bytes() {
            Some(bytes) => bits.match_bytes(bytes),
            None => value.number().and_then(|number| whole(&number)).is_some_and(|number| bits.match_number(number)),
        },
        Test::Size(size) => value.len().is_some_and(|len| len as u64 == *size),
        Test::ElemMatch(filter) => return any(value.elements(), |element| filter.matches_node(&element)),
    })
}

impl Comparison {
    /// True if the comparison holds for a value whose order relative to the operand is `order`.
    pub(super) fn takes(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
        }
    }

    /// A value is comparable if it has the operand's type. Min and max key are comparable with
    /// every value.
    #[inline]
    fn passes<N: Node>(self, operand: &Operand, value: &N) -> Result<bool, N::Error> {
        if !operand.is_end && value.rank() != operand.rank {
            return Ok(false);
        }
        let order = match &operand.collation {
            None => value.compare(&operand.value)?,
            Some(collation) => value.compare_by(collation, &operand.value)?,
        };
        // NaN is neither less nor greater than a number.
        let apart = order.is_ne() && !operand.is_end && (operand.is_nan || value.is_nan());
        Ok(self.takes(order) && !apart)
    }
}

impl In {
    fn passes<N: Node>(&self, value: &N) -> Result<bool, N::Error> {
        let (mut low, mut high) = (0, self.values.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let order = match &self.collation {
                None => value.compare(&self.values[middle])?,
                Some(collation) => value.compare_by(collation, &self.values[middle])?,
            };
            match order {
                Ordering::Equal => return Ok(true),
                Ordering::Less => high = middle,
                Ordering::Greater => low = middle + 1,
            }
        }
        if self.patterns.is_empty() {
            return Ok(false);
        }
        Ok(match value.text() {
            Some(text) => any(self.patterns.iter().enumerate().map(Ok), |(at, pattern)| {
                if at % PATTERNS == 0 && self.patterns.len() >= PATTERNS {
                    pattern.ask(usize::MAX).map_err(FilterError::from)?;
                }
                Ok::<_, N::Error>(pattern.is_match(text).map_err(FilterError::from)?)
            })?,
            None => value.regex().is_some_and(|stored| self.patterns.iter().any(|pattern| pattern.is(stored))),
        })
    }
}

impl ElementFilter {
    pub(super) fn matches_node<N: Node>(&self, element: &N) -> Result<bool, N::Error> {
        if self.interrupt.is_some() {
            ask(self.interrupt.as_ref())?;
        }
        match &self.form {
            Form::Element(conditions) => all(conditions, &mut |test| passes(test, element)),
            Form::Fields(filter) => Ok(element.kind() != Kind::Scalar && filter.matches_node(element)?),
        }
    }
}
