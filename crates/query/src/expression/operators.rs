//! The operators that compute a value from the values of their arguments, in one table.

use super::ExpressionError;
use super::operand::Operand;
use super::operand::is_nullish;
use crate::code::ErrorCode;
use crate::collation::Collation;
use crate::work::Work;
use alluvium_document::Value;
use prepared::{Codes, PreparedOperator};

mod arithmetic;
mod arrays;
mod bits;
mod comparison;
mod convert;
mod dates;
mod maps;
pub(crate) mod numbers;
pub(super) mod prepared;
mod real;
mod regexes;
mod sets;
mod statistics;
mod strings;

/// An operator.
pub(super) struct Operator {
    /// The name, with its dollar sign.
    pub name: &'static str,
    pub parameters: Parameters,
    pub function: Function,
    pub cost: Cost,
    /// True if the same arguments always give the same value.
    pub is_constant: bool,
}

/// The cost of a call. For every operator, arguments and the result count as work by their sizes when they are copied
/// or made. Constants are neither copied nor made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cost {
    /// The cost does not depend on the sizes of the arguments.
    Constant,
    /// The cost is proportional to the sizes of the arguments and of the result. An operator with a higher cost is a
    /// [`Function::Counting`] or a [`PreparedOperator`], and counts the additional work itself.
    Linear,
    /// As [`Cost::Linear`], but the result contains copies of most of the arguments. The memory of the copies is
    /// charged before the result is made.
    Copying,
}

/// Computes the value; `None` is a missing value.
#[derive(Clone, Copy)]
pub(super) enum Function {
    Plain(Plain),
    /// Compares values. Strings are compared by the collation if there is one, otherwise by their bytes.
    Comparing(Comparing),
    /// As [`Function::Comparing`], and counts the work and memory in excess of the arguments' sizes.
    Counting(Counting),
    /// The value may be much larger than the arguments. Its memory is charged before it is made.
    Making(Making),
}

impl Operator {
    /// Computes the value; `None` is a missing value.
    pub fn call(&self, values: &[Operand<'_>], collation: Option<&Collation>, work: &mut Work<'_>) -> Outcome {
        match self.function {
            Function::Plain(function) => function(self, values),
            Function::Comparing(function) => function(self, values, collation),
            Function::Counting(function) => function(self, values, collation, work),
            Function::Making(function) => function(self, values, work),
        }
    }

    /// True if the value may depend on the order of strings.
    pub fn compares(&self) -> bool {
        matches!(self.function, Function::Comparing(_) | Function::Counting(_))
    }

    /// The same operator, at a cost that is independent of the sizes of its arguments.
    const fn constant(self) -> Self {
        Self { cost: Cost::Constant, ..self }
    }

    /// The same operator, whose result contains copies of its arguments.
    const fn copying(self) -> Self {
        Self { cost: Cost::Copying, ..self }
    }
}

/// The result of an operator.
pub(super) type Outcome = Result<Option<Value>, ExpressionError>;

/// How the arguments are written.
#[derive(Clone, Copy)]
pub(super) enum Parameters {
    /// An array of arguments, with a minimum and a maximum number. A single argument may be written without the array.
    Count(usize, usize),
    /// One argument. An array is the argument itself, not a list of arguments.
    One,
    /// As a [`Parameters::Count`] of one, with a specific code for a wrong number of arguments.
    Only(ErrorCode),
    /// A map with these names. A name with an exclamation mark is required. If the value of a name with a question mark
    /// is missing, it is null. The value of a name with an equals sign is not an expression. The function gets all
    /// values in the order of the names.
    Named(&'static [&'static str], Codes),
    /// As [`Parameters::Named`], or a single argument, to which the parser adds the document as the second.
    NamedOrOne(&'static [&'static str], Codes),
}

impl PartialEq for Operator {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Operator {}

impl std::fmt::Debug for Operator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

type Plain = fn(&Operator, &[Operand<'_>]) -> Outcome;
type Comparing = fn(&Operator, &[Operand<'_>], Option<&Collation>) -> Outcome;
type Counting = fn(&Operator, &[Operand<'_>], Option<&Collation>, &mut Work<'_>) -> Outcome;
type Making = fn(&Operator, &[Operand<'_>], &mut Work<'_>) -> Outcome;

const fn operator(name: &'static str, parameters: Parameters, function: Plain) -> Operator {
    Operator { name, parameters, function: Function::Plain(function), cost: Cost::Linear, is_constant: true }
}

/// An operator that compares values.
const fn comparing(name: &'static str, parameters: Parameters, function: Comparing) -> Operator {
    Operator { name, parameters, function: Function::Comparing(function), cost: Cost::Linear, is_constant: true }
}

/// An operator that compares values, and counts its work.
const fn counting(name: &'static str, parameters: Parameters, function: Counting) -> Operator {
    Operator { name, parameters, function: Function::Counting(function), cost: Cost::Linear, is_constant: true }
}

/// An operator whose value may take much more memory than its arguments.
const fn making(name: &'static str, parameters: Parameters, function: Making) -> Operator {
    Operator { name, parameters, function: Function::Making(function), cost: Cost::Linear, is_constant: true }
}

/// An operator of exactly this number of arguments.
const fn exactly(name: &'static str, count: usize, function: Plain) -> Operator {
    operator(name, Parameters::Count(count, count), function)
}

/// An operator of any number of arguments.
const fn any_number(name: &'static str, function: Plain) -> Operator {
    operator(name, Parameters::Count(0, usize::MAX), function)
}

/// All rows, except those of operators that check constants when they are parsed.
pub(super) fn tables() -> [&'static [Operator]; 11] {
    [
        arithmetic::OPERATORS,
        arrays::OPERATORS,
        bits::OPERATORS,
        comparison::OPERATORS,
        convert::OPERATORS,
        dates::OPERATORS,
        maps::OPERATORS,
        real::OPERATORS,
        sets::OPERATORS,
        statistics::OPERATORS,
        strings::OPERATORS,
    ]
}

/// The operator with this name.
pub(super) fn find(name: &str) -> Option<&'static Operator> {
    tables().into_iter().flatten().find(|operator| operator.name == name)
}

/// The rows of operators that check constants when they are parsed.
pub(super) fn prepared_tables() -> impl Iterator<Item = &'static PreparedOperator> {
    let others = [convert::PREPARED, regexes::OPERATORS, statistics::PREPARED];
    dates::PREPARED.into_iter().chain(others).flatten()
}

/// The operator with this name that checks constants when it is parsed.
pub(super) fn find_prepared(name: &str) -> Option<&'static PreparedOperator> {
    prepared_tables().find(|operator| operator.name == name)
}

/// The names of all operators.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let prepared = prepared_tables().map(|operator| operator.name);
    tables().into_iter().flatten().map(|operator| operator.name).chain(prepared)
}

/// An argument; `None` if it is missing, null or undefined.
fn given<'v>(values: &'v [Operand<'_>], at: usize) -> Option<&'v Value> {
    let value = values.get(at)?.as_deref();
    value.filter(|_| !is_nullish(value))
}

/// True if an argument is missing, null or undefined.
fn any_nullish(values: &[Operand<'_>]) -> bool {
    values.iter().any(|value| is_nullish(value.as_deref()))
}

/// The name of an argument's type.
fn type_of(value: Option<&Value>) -> &'static str {
    value.map_or("missing", Value::type_name)
}

const NULL: Outcome = Ok(Some(Value::Null));

fn some(value: impl Into<Value>) -> Outcome {
    Ok(Some(value.into()))
}
