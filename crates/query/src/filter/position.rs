//! The element of an array that a positional operator selects, by MongoDB's rules. A condition that
//! an element of an array meets selects the position of that element. If several conditions do so,
//! the last one decides.

use super::Filter;
use super::eval::passes;
use super::node::{Kind, Node};
use super::tree::{Clause, Comparison, Condition, Step, Test};
use crate::filter::Form;

/// The use of a positional operator. The order in which MongoDB evaluates the conditions of a
/// filter depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selection {
    /// A projection: the order in which the conditions were written, but conditions in `$all` and `$and` come last.
    Projection,
    /// An update: first by the operator, then by the path, then as for a projection.
    Update,
}

/// The way in which a condition is met.
enum Hit {
    None,
    /// The condition is met by a value outside of arrays, or by an array as a whole.
    Whole,
    /// The condition is met by the element at this position of the outermost array, or by a value inside that element.
    At(usize),
}

/// Tests of which one must pass.
struct AnyOf<'a>(Vec<&'a Test>);

impl Filter {
    pub(super) fn position_in<N: Node>(&self, root: &N, selection: Selection) -> Result<Option<usize>, N::Error> {
        let mut clauses: Vec<&Clause> = self.as_written().collect();
        if selection == Selection::Update {
            clauses.sort_by_key(|clause| order(clause));
        }
        for clause in clauses.into_iter().rev() {
            let Some((steps, tests)) = tests_of(clause) else { continue };
            if let Hit::At(at) = in_map(root, steps, &tests)? {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }
}

/// The path and the tests of a condition that can select elements. Negations select none. As in
/// MongoDB, an `$or` selects none, unless all of its branches are values of one field, as in an
/// `$in`.
fn tests_of(clause: &Clause) -> Option<(&[Step], AnyOf<'_>)> {
    match clause {
        Clause::Field { path, condition: Condition::Test(test) } => Some((&path.steps, AnyOf(vec![test]))),
        Clause::Or(branches) => {
            let (first, _) = value_of(branches.first()?)?;
            let tests: Option<Vec<&Test>> = branches
                .iter()
                .map(|branch| value_of(branch).filter(|(path, _)| path.text == first.text).map(|(_, test)| test))
                .collect();
            Some((&first.steps, AnyOf(tests?)))
        }
        _ => None,
    }
}

/// The only condition of a branch, if it tests for a value or a pattern.
fn value_of(branch: &Filter) -> Option<(&super::tree::Path, &Test)> {
    let [Clause::Field { path, condition: Condition::Test(test) }] = &branch.clauses[..] else { return None };
    (test.only_value().is_some() || matches!(test, Test::Regex(_))).then_some((path, test))
}

/// A sort key for conditions: the position of the condition's kind in MongoDB's order, and the path.
fn order(clause: &Clause) -> (u8, &str) {
    const OR: u8 = 1;
    match clause {
        Clause::Field { path, condition: Condition::Test(test) } => (rank(test), &path.text),
        Clause::Or(_) => match tests_of(clause).and(first_path(clause)) {
            Some(path) => (IN, path),
            None => (OR, ""),
        },
        // These conditions select nothing.
        Clause::Field { .. } | Clause::Nor(_) | Clause::Expression(_) | Clause::Schema(_) => (u8::MAX, ""),
    }
}

fn first_path(or: &Clause) -> Option<&str> {
    let Clause::Or(branches) = or else { return None };
    value_of(branches.first()?).map(|(path, _)| &*path.text)
}

const IN: u8 = 13;

fn rank(test: &Test) -> u8 {
    const EQUAL: u8 = 5;
    const REGEX: u8 = 10;
    match test {
        Test::ElemMatch(filter) if matches!(filter.form, Form::Fields(_)) => 2,
        Test::ElemMatch(_) => 3,
        Test::Size(_) => 4,
        Test::Compare(Comparison::Equal, _) => EQUAL,
        Test::Compare(Comparison::LessOrEqual, _) => 6,
        Test::Compare(Comparison::Less, _) => 7,
        Test::Compare(Comparison::Greater, _) => 8,
        Test::Compare(Comparison::GreaterOrEqual, _) => 9,
        Test::Regex(_) => REGEX,
        Test::Mod { .. } => 11,
        Test::Exists => 12,
        // A list with one value is an equality.
        Test::In(list) => match (&list.values[..], &list.patterns[..]) {
            ([_], []) => EQUAL,
            ([], [_]) => REGEX,
            _ => IN,
        },
        Test::Bits(bits) => match bits.wanted.name() {
            "$bitsAllSet" => 14,
            "$bitsAllClear" => 15,
            "$bitsAnySet" => 16,
            _ => 17,
        },
        Test::Type(_) => 20,
    }
}

impl AnyOf<'_> {
    fn pass<N: Node>(&self, value: &N) -> Result<bool, N::Error> {
        for test in &self.0 {
            if passes(test, value)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn pass_missing(&self) -> Hit {
        if self.0.iter().any(|test| test.passes_missing()) { Hit::Whole } else { Hit::None }
    }
}

/// Finds the first value at a path that passes.
fn in_map<N: Node>(map: &N, steps: &[Step], tests: &AnyOf<'_>) -> Result<Hit, N::Error> {
    let Some((step, rest)) = steps.split_first() else { return Ok(Hit::None) };
    let Some(value) = map.field(&step.name)? else { return Ok(tests.pass_missing()) };
    match value.kind() {
        Kind::Array if rest.is_empty() => array(&value, tests),
        Kind::Array => in_array(&value, rest, tests),
        _ if rest.is_empty() => Ok(if tests.pass(&value)? { Hit::Whole } else { Hit::None }),
        Kind::Map => in_map(&value, rest, tests),
        Kind::Scalar => Ok(tests.pass_missing()),
    }
}

/// Tests an array at the end of a path.
fn array<N: Node>(array: &N, tests: &AnyOf<'_>) -> Result<Hit, N::Error> {
    match &tests.0[..] {
        [Test::ElemMatch(filter)] => {
            for (at, element) in array.elements().enumerate() {
                if filter.matches_node(&element?)? {
                    return Ok(Hit::At(at));
                }
            }
            return Ok(Hit::None);
        }
        [test] if test.is_of_arrays() => {}
        _ => {
            for (at, element) in array.elements().enumerate() {
                if tests.pass(&element?)? {
                    return Ok(Hit::At(at));
                }
            }
        }
    }
    Ok(if tests.pass(array)? { Hit::Whole } else { Hit::None })
}

/// Continues through an array in the middle of a path.
fn in_array<N: Node>(array: &N, steps: &[Step], tests: &AnyOf<'_>) -> Result<Hit, N::Error> {
    for (at, element) in array.elements().enumerate() {
        let hit = in_element(&element?, at, steps, tests)?;
        if !matches!(hit, Hit::None) {
            return Ok(hit);
        }
    }
    Ok(Hit::None)
}

fn in_element<N: Node>(element: &N, at: usize, steps: &[Step], tests: &AnyOf<'_>) -> Result<Hit, N::Error> {
    let kind = element.kind();
    if kind == Kind::Map && !matches!(in_map(element, steps, tests)?, Hit::None) {
        return Ok(Hit::At(at));
    }
    match steps {
        [step] if step.position == Some(at) => Ok(if tests.pass(element)? { Hit::At(at) } else { Hit::None }),
        // A position in the path selects an element to continue with, but does not count as the position that matched.
        [step, rest @ ..] if step.position == Some(at) => match kind {
            Kind::Map => in_map(element, rest, tests),
            Kind::Array => in_array(element, rest, tests),
            Kind::Scalar => Ok(Hit::None),
        },
        _ => Ok(Hit::None),
    }
}
