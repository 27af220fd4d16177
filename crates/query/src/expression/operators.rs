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
    /// The same arguments always give the same value.
    pub is_constant: bool,
}

/// The cost of a call. Arguments and the result are counted as work by their sizes when they are copied or made, whatever
/// the operator; constants are neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cost {
    /// It does not depend on the sizes of the arguments.
    Constant,
    /// Proportional to the sizes of the arguments and of the result. An operator that needs more is a
    /// [`Function::Counting`], or one of [`PreparedOperator`], and counts the rest.
    Linear,
    /// As [`Cost::Linear`], and the result has copies of most of the arguments: their memory is charged before it is
    /// made.
    Copying,
}

/// Computes the value; `None` is a missing one.
#[derive(Clone, Copy)]
pub(super) enum Function {
    Plain(Plain),
    /// Compares values: strings by the collation if there is one, otherwise by their bytes.
    Comparing(Comparing),
    /// As [`Function::Comparing`], and counts work and memory that are more than those of its arguments.
    Counting(Counting),
    /// The value may be much larger than the arguments: its memory is charged before it is made.
    Making(Making),
}

impl Operator {
    /// The value; `None` is a missing one.
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

    /// The same operator, at a cost that does not depend on the sizes of its arguments.
    const fn constant(self) -> Self {
        Self { cost: Cost::Constant, ..self }
    }

    /// The same operator, whose result has copies of its arguments.
    const fn copying(self) -> Self {
        Self { cost: Cost::Copying, ..self }
    }
}

/// The result of an operator.
pub(super) type Outcome = Result<Option<Value>, ExpressionError>;

/// How the arguments are written.
#[derive(Clone, Copy)]
pub(super) enum Parameters {
    /// An array of at least and at most this number of arguments; a single one need not be in an array.
    Count(usize, usize),
    /// One argument. An array is that argument.
    One,
    /// As a [`Parameters::Count`] of one, with a code for another number of arguments.
    Only(ErrorCode),
    /// A map with these names. A name with an exclamation mark is required; the missing value of a name with a question
    /// mark is null; the value of a name with an equals sign is not an expression. The function gets all values in this
    /// order.
    Named(&'static [&'static str], Codes),
    /// As [`Parameters::Named`], or a single argument, after which the document is the second.
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

/// An operator of this number of arguments.
const fn exactly(name: &'static str, count: usize, function: Plain) -> Operator {
    operator(name, Parameters::Count(count, count), function)
}

/// An operator of any number of arguments.
const fn any_number(name: &'static str, function: Plain) -> Operator {
    operator(name, Parameters::Count(0, usize::MAX), function)
}

/// All rows, but those of operators that check constants when they are parsed.
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

/// All names.
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
