//! Evaluation of expressions.

use super::error::{EvaluateError, fail};
use super::node::{Node, PreparedCall};
use super::operand::{Operand, is_nullish, is_true};
use super::operators::Cost;
use super::scope::{Scope, in_value};
use super::{MAX_VALUE_BYTES, TEXT_BYTES_MAX};
use crate::code::ErrorCode;
use crate::work::{Bounds, Work};
use alluvium_document::path::FieldPath;
use alluvium_document::{LEVELS_MAX, Map, Value, bson};
use std::borrow::Cow;

type Result<T> = std::result::Result<T, EvaluateError>;

/// The work counted for one element of a loop. It is so large that the interrupt is checked at least once in 64
/// elements.
const ELEMENT_UNITS: usize = 1024;

/// The work counted for looking up a field of the document, because the look-up may have to skip large fields.
const FIELD_UNITS: usize = 4096;

/// A value that is smaller than this as BSON is not counted while it is made, only when it is kept.
const LARGE_BYTES: usize = 4096;

/// As [`LARGE_BYTES`], for the stored size of documents.
pub(crate) const LARGE_STORED_BYTES: usize = 64 << 10;

/// One evaluation of an expression: its scope, its work, and the values that it holds.
///
/// An expression that keeps values while it evaluates other expressions holds these values ([`Work::hold`]). It
/// releases them when its own value is complete. The enclosing expression holds that value.
pub(super) struct Run<'r, 'd> {
    scope: &'r mut Scope<'d>,
    work: Work<'r>,
}

impl<'r, 'd> Run<'r, 'd> {
    pub fn new(scope: &'r mut Scope<'d>, bounds: &'r Bounds) -> Self {
        let held = std::mem::take(&mut scope.held);
        Self { scope, work: Work::new(bounds, held) }
    }

    /// Ends the evaluation with this value, which counts as used as long as the scope exists. `held` is the memory in
    /// use before the evaluation.
    pub fn end(mut self, held: usize, value: Option<&Value>) -> Result<()> {
        self.work.release(held);
        if let Some(value) = value {
            self.work.hold(value.memory())?;
        }
        self.scope.held = self.work.into_held();
        Ok(())
    }

    /// A value that was copied. The copying counts as work in proportion to the size.
    fn copied<'n>(&mut self, value: Option<Value>) -> Result<Operand<'n>> {
        if let Some(value) = &value
            && self.work.is_counted()
        {
            let size = bson::bson_size(value);
            self.work.add(size)?;
            self.makes(size, value)?;
        }
        Ok(value.map(Cow::Owned))
    }

    /// Counts the memory of a new value of this size, in addition to the values that are held.
    fn makes(&mut self, size: usize, value: &Value) -> Result<()> {
        if size >= LARGE_BYTES {
            self.work.make(value.memory())?;
        }
        Ok(())
    }

    /// The value at a path of the document.
    fn field<'n>(&mut self, path: &FieldPath) -> Result<Operand<'n>> {
        self.work.add(FIELD_UNITS)?;
        if self.scope.stored_bytes() >= LARGE_STORED_BYTES {
            let bytes = self.scope.memory_of_field(path)?;
            self.work.make(bytes)?;
        }
        let value = self.scope.field(path)?;
        self.copied(value)
    }

    /// The value at a path of a variable.
    fn variable<'n>(&mut self, slot: usize, path: Option<&FieldPath>) -> Result<Operand<'n>> {
        let Some(value) = self.scope.variable(slot) else { return Ok(None) };
        if let Some(path) = path {
            let value = in_value(value, path, 0);
            return self.copied(value);
        }
        if self.work.is_counted() {
            let size = bson::bson_size(value);
            self.work.add(size)?;
            if size >= LARGE_BYTES {
                self.work.make(value.memory())?;
            }
        }
        Ok(Some(Cow::Owned(value.clone())))
    }

    /// Takes a value to keep it. A constant is copied; the copying counts as work in proportion to the size.
    fn owned(&mut self, value: Operand<'_>) -> Result<Option<Value>> {
        if let Some(Cow::Borrowed(value)) = &value
            && self.work.is_counted()
        {
            self.work.add(bson::bson_size(value))?;
        }
        Ok(value.map(Cow::into_owned))
    }

    /// A value that an operator made. Its size is checked, because a value may grow with each enclosing operator.
    fn made<'n>(&mut self, value: Option<Value>) -> Result<Operand<'n>> {
        let Some(value) = value else { return Ok(None) };
        let size = bounded(&value, self.work.value_bytes_max())?;
        self.work.add(size)?;
        self.makes(size, &value)?;
        Ok(Some(Cow::Owned(value)))
    }
}

impl Node {
    // long: one arm for each kind of expression
    pub fn evaluate<'n>(&'n self, run: &mut Run<'_, '_>) -> Result<Operand<'n>> {
        let owned = |value: Option<Value>| Ok(value.map(Cow::Owned));
        match self {
            Self::Constant(value) => Ok(Some(Cow::Borrowed(value))),
            Self::Known(value) => Ok(Some(Cow::Borrowed(value))),
            Self::KnownPart(value, path) => run.copied(in_value(value, path, 0)),
            Self::Field(path) => run.field(path),
            Self::Root => {
                if run.scope.stored_bytes() >= LARGE_STORED_BYTES {
                    let bytes = run.scope.memory_of_root()?;
                    run.work.make(bytes)?;
                }
                let root = run.scope.root()?;
                run.copied(Some(root))
            }
            Self::Missing => Ok(None),
            Self::Random(source) => owned(Some(Value::from(source.next()))),
            Self::Variable { slot, path } => run.variable(*slot, path.as_ref()),
            Self::Map(fields) => {
                let held = run.work.held();
                let (mut map, mut bytes) = (Map::with_capacity(fields.len()), 0);
                for (name, node) in fields {
                    if let Some(value) = node.evaluate(run)? {
                        grow(&mut bytes, &value, &mut run.work)?;
                        if let Some(value) = run.owned(Some(value))? {
                            map.push(name.clone(), value);
                        }
                    }
                }
                run.work.release(held);
                run.made(Some(Value::Map(map)))
            }
            Self::Array(nodes) => {
                let held = run.work.held();
                let (mut elements, mut bytes) = (Vec::with_capacity(nodes.len()), 0);
                for node in nodes {
                    elements.push(or_null(node, run)?);
                    elements.last().map_or(Ok(()), |element| grow(&mut bytes, element, &mut run.work))?;
                }
                run.work.release(held);
                run.made(Some(Value::Array(elements)))
            }
            // The first operand that is false decides `$and`; the first that is true decides `$or`.
            Self::And(nodes) => owned(Some(Value::Bool(!any_is(false, nodes, run)?))),
            Self::Or(nodes) => owned(Some(Value::Bool(any_is(true, nodes, run)?))),
            Self::IfNull(nodes) => {
                let mut last = None;
                for node in nodes {
                    last = node.evaluate(run)?;
                    if !is_nullish(last.as_deref()) {
                        break;
                    }
                }
                Ok(last)
            }
            Self::Switch { branches, default } => {
                for (when, then) in branches {
                    if when.is_true(run)? {
                        return then.evaluate(run);
                    }
                }
                match default {
                    Some(default) => default.evaluate(run),
                    None => Ok(fail(
                        ErrorCode::Location40066,
                        "$switch could not find a matching branch for an input, and no default was specified",
                    )?),
                }
            }
            Self::Let { slot, values, body } => {
                // The expressions of the values cannot use the variables that they define.
                let held = run.work.held();
                let values = all(values.iter().map(Some), run)?;
                run.scope.variables.truncate(*slot);
                for value in values {
                    let value = run.owned(value)?;
                    run.scope.variables.push(value);
                }
                let value = body.evaluate_within(*slot, run)?;
                run.work.release(held);
                owned(value)
            }
            Self::MapOver { .. } | Self::Filter { .. } | Self::Reduce { .. } => {
                let held = run.work.held();
                let value = self.over_elements(run)?;
                run.work.release(held);
                owned(value)
            }
            Self::Call { operator, arguments, collation } => {
                let held = run.work.held();
                let values = all(arguments.iter().map(Option::as_ref), run)?;
                if operator.cost != Cost::Constant {
                    read(&values, &mut run.work)?;
                }
                if operator.cost == Cost::Copying {
                    run.work.make(run.work.held() - held)?;
                }
                let value = operator.call(&values, collation.as_ref(), &mut run.work)?;
                let value = run.made(value)?;
                run.work.release(held);
                Ok(value)
            }
            Self::Prepared(call) => call.evaluate(run),
        }
    }

    fn is_true(&self, run: &mut Run<'_, '_>) -> Result<bool> {
        Ok(is_true(self.evaluate(run)?.as_deref()))
    }

    /// Evaluates an expression that uses the variables at and above a slot, and then removes these variables.
    fn evaluate_within(&self, slot: usize, run: &mut Run<'_, '_>) -> Result<Option<Value>> {
        let value = self.evaluate(run)?;
        let value = run.owned(value)?;
        run.scope.variables.truncate(slot);
        Ok(value)
    }

    // long: a loop for each of three operators
    fn over_elements(&self, run: &mut Run<'_, '_>) -> Result<Option<Value>> {
        let (Self::MapOver { input, slot, .. } | Self::Filter { input, slot, .. } | Self::Reduce { input, slot, .. }) =
            self
        else {
            return Ok(None);
        };
        let input = input.evaluate(run)?;
        let elements = match run.owned(input)? {
            None | Some(Value::Null | Value::Undefined) => return Ok(Some(Value::Null)),
            Some(Value::Array(elements)) => elements,
            Some(other) => return Ok(self.no_array(&other)?),
        };
        // The memory of the array is held until the end of the loop.
        run.work.hold(elements.iter().map(Value::memory).sum())?;
        match self {
            Self::MapOver { body, .. } => {
                run.work.make(elements.len() * size_of::<Value>())?;
                let mut results = Vec::with_capacity(elements.len());
                let mut bytes = 0;
                for element in elements {
                    run.work.add(ELEMENT_UNITS)?;
                    run.scope.variables.truncate(*slot);
                    run.scope.variables.push(Some(element));
                    let result = body.evaluate_within(*slot, run)?.unwrap_or_default();
                    grow(&mut bytes, &result, &mut run.work)?;
                    results.push(result);
                }
                Ok(Some(Value::Array(results)))
            }
            Self::Filter { condition, limit, .. } => {
                let limit = match limit {
                    Some(limit) => filter_limit(limit.evaluate(run)?.as_deref())?,
                    None => usize::MAX,
                };
                let mut kept: Vec<Value> = Vec::new();
                for element in elements {
                    if kept.len() == limit {
                        break;
                    }
                    run.work.add(ELEMENT_UNITS)?;
                    run.scope.variables.truncate(*slot);
                    run.scope.variables.push(Some(element));
                    let keeps = condition.is_true(run)?;
                    // The condition cannot change the variable, so the variable still has the element.
                    let element = run.scope.variables.drain(*slot..).next().flatten();
                    if kept.len() == kept.capacity() {
                        // The vector is full: its contents are copied to a vector of twice the capacity.
                        run.work.make(3 * kept.len() * size_of::<Value>())?;
                    }
                    kept.extend(element.filter(|_| keeps));
                }
                Ok(Some(Value::Array(kept)))
            }
            Self::Reduce { initial, body, .. } => {
                let initial = initial.evaluate(run)?;
                let mut value = run.owned(initial)?;
                let held = run.work.held();
                for element in elements {
                    run.work.add(ELEMENT_UNITS)?;
                    run.scope.variables.truncate(*slot);
                    run.scope.variables.extend([Some(element), value]);
                    value = body.evaluate_within(*slot, run)?;
                    let size = value.as_ref().map_or(0, bson::bson_size);
                    within_limit(size, run.work.value_bytes_max())?;
                    run.work.add(size)?;
                    run.work.release(held);
                    if let Some(value) = value.as_ref().filter(|_| size >= LARGE_BYTES) {
                        run.work.hold(value.memory())?;
                    }
                }
                Ok(value)
            }
            _ => Ok(None),
        }
    }

    fn no_array<T>(&self, input: &Value) -> std::result::Result<T, super::ExpressionError> {
        let (name, code) = match self {
            Self::MapOver { .. } => ("$map", ErrorCode::Location16883),
            Self::Filter { .. } => ("$filter", ErrorCode::Location28651),
            _ => ("$reduce", ErrorCode::Location40080),
        };
        let found = input.type_name();
        fail(
            code,
            match self {
                Self::Reduce { .. } => {
                    format!("$reduce requires that 'input' be an array, found: a value of type {found}")
                }
                _ => format!("input to {name} must be an array not {found}"),
            },
        )
    }
}

impl PreparedCall {
    fn evaluate<'n>(&'n self, run: &mut Run<'_, '_>) -> Result<Operand<'n>> {
        let held = run.work.held();
        let values = all(self.arguments.iter().map(Option::as_ref), run)?;
        read(&values, &mut run.work)?;
        let outcome = (self.operator.function)(self.operator, &values, self.prepared.as_ref(), &mut run.work);
        let is_null = is_nullish(values.first().and_then(Option::as_deref));
        match (outcome, &self.on_null, &self.on_error) {
            (Ok(_), Some(on_null), _) if is_null => {
                run.work.release(held);
                on_null.evaluate(run)
            }
            (Err(error), _, Some(on_error)) if error.code == ErrorCode::ConversionFailure => {
                run.work.release(held);
                on_error.evaluate(run)
            }
            (outcome, ..) => {
                let value = outcome?;
                let value = run.made(value)?;
                run.work.release(held);
                Ok(value)
            }
        }
    }
}

fn any_is(wanted: bool, nodes: &[Node], run: &mut Run<'_, '_>) -> Result<bool> {
    for node in nodes {
        if node.is_true(run)? == wanted {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Evaluates expressions whose values are in memory at the same time.
fn all<'n>(nodes: impl Iterator<Item = Option<&'n Node>>, run: &mut Run<'_, '_>) -> Result<Vec<Operand<'n>>> {
    let (mut values, mut bytes) = (Vec::new(), 0);
    for node in nodes {
        let value = node.map_or(Ok(None), |node| node.evaluate(run))?;
        // Constants take no memory of their own.
        if let Some(Cow::Owned(value)) = &value {
            grow(&mut bytes, value, &mut run.work)?;
        }
        values.push(value);
    }
    Ok(values)
}

/// Counts the constants that an operator reads. Other arguments were counted when they were copied or made.
fn read(values: &[Operand<'_>], work: &mut Work<'_>) -> Result<()> {
    if work.is_counted() {
        for value in values {
            if let Some(Cow::Borrowed(value)) = value {
                work.add(bson::bson_size(value))?;
            }
        }
    }
    Ok(())
}

/// Adds the size of one of several values that are kept together, and holds its memory.
fn grow(bytes: &mut usize, value: &Value, work: &mut Work<'_>) -> Result<()> {
    *bytes += bson::bson_size(value);
    within_limit(*bytes, work.value_bytes_max())?;
    Ok(work.hold(value.memory())?)
}

fn or_null(node: &Node, run: &mut Run<'_, '_>) -> Result<Value> {
    let value = node.evaluate(run)?;
    Ok(run.owned(value)?.unwrap_or_default())
}

/// The limit of `$filter`: a positive integer; null is no limit.
fn filter_limit(limit: Option<&Value>) -> Result<usize> {
    if is_nullish(limit) {
        return Ok(usize::MAX);
    }
    let number = limit.filter(|value| value.is_number()).and_then(Value::as_i64).and_then(|n| i32::try_from(n).ok());
    match number.and_then(|n| usize::try_from(n).ok()) {
        Some(limit @ 1..) => Ok(limit),
        Some(0) => Ok(fail(ErrorCode::Location327392, "the limit of $filter must be greater than 0")?),
        None if number.is_some() => Ok(fail(ErrorCode::Location327392, "the limit of $filter must be greater than 0")?),
        None => Ok(fail(ErrorCode::Location327391, "the limit of $filter must be an integer of 32 bits")?),
    }
}

/// Checks the size of a value that may grow with each enclosing operator, and returns its approximate size.
fn bounded(value: &Value, bytes_max: Option<usize>) -> Result<usize> {
    match value {
        Value::String(text) if text.len() > TEXT_BYTES_MAX => {
            Ok(fail(ErrorCode::Location16493, "an expression makes a text of 16 MiB or more")?)
        }
        Value::String(text) => Ok(text.len()),
        Value::Array(_) | Value::Map(_) => {
            let size = bson::bson_size(value);
            within_limit(size, bytes_max)?;
            if value.is_deeper_than(LEVELS_MAX) {
                fail(
                    ErrorCode::Overflow,
                    format!("an expression makes a value that nests deeper than {LEVELS_MAX} levels"),
                )?;
            }
            Ok(size)
        }
        _ => Ok(1),
    }
}

fn within_limit(bytes: usize, bytes_max: Option<usize>) -> Result<()> {
    let bytes_max = bytes_max.unwrap_or(MAX_VALUE_BYTES);
    if bytes > bytes_max {
        let message = format!("an expression makes a value of more than {} MiB", bytes_max >> 20);
        fail(ErrorCode::BSONObjectTooLarge, message)?;
    }
    Ok(())
}
