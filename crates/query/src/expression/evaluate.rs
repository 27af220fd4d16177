//! Evaluation of expressions.

use super::error::{EvaluateError, fail};
use super::node::{Node, PreparedCall};
use super::operand::{Operand, is_nullish, is_true};
use super::scope::Scope;
use super::{MAX_VALUE_BYTES, TEXT_BYTES_MAX};
use crate::code::ErrorCode;
use alluvium_document::{Map, Value, bson};
use std::borrow::Cow;

type Result<T> = std::result::Result<T, EvaluateError>;

impl Node {
    pub fn evaluate<'n>(&'n self, scope: &mut Scope<'_>) -> Result<Operand<'n>> {
        let owned = |value: Option<Value>| Ok(value.map(Cow::Owned));
        match self {
            Self::Constant(value) => Ok(Some(Cow::Borrowed(value))),
            Self::Field(path) => owned(scope.field(path)?),
            Self::Root => owned(Some(scope.root()?)),
            Self::Missing => Ok(None),
            Self::Random(source) => owned(Some(Value::from(source.next()))),
            Self::Variable { slot, path } => owned(scope.variable(*slot, path.as_ref())),
            Self::Map(fields) => {
                let (mut map, mut bytes) = (Map::with_capacity(fields.len()), 0);
                for (name, node) in fields {
                    if let Some(value) = node.evaluate(scope)? {
                        grow(&mut bytes, &value)?;
                        map.push(name.clone(), value.into_owned());
                    }
                }
                owned(Some(bounded(Value::Map(map))?))
            }
            Self::Array(nodes) => {
                let (mut elements, mut bytes) = (Vec::with_capacity(nodes.len()), 0);
                for node in nodes {
                    elements.push(or_null(node, scope)?);
                    elements.last().map_or(Ok(()), |element| grow(&mut bytes, element))?;
                }
                owned(Some(bounded(Value::Array(elements))?))
            }
            // The first that is false, or true, decides.
            Self::And(nodes) => owned(Some(Value::Bool(!any_is(false, nodes, scope)?))),
            Self::Or(nodes) => owned(Some(Value::Bool(any_is(true, nodes, scope)?))),
            Self::IfNull(nodes) => {
                let mut last = None;
                for node in nodes {
                    last = node.evaluate(scope)?;
                    if !is_nullish(last.as_deref()) {
                        break;
                    }
                }
                Ok(last)
            }
            Self::Switch { branches, default } => {
                for (when, then) in branches {
                    if when.is_true(scope)? {
                        return then.evaluate(scope);
                    }
                }
                match default {
                    Some(default) => default.evaluate(scope),
                    None => Ok(fail(ErrorCode::Location40066, "$switch has no branch that is true, and no default")?),
                }
            }
            Self::Let { slot, values, body } => {
                // The values do not see each other.
                let values = all(values.iter().map(Some), scope)?;
                scope.variables.truncate(*slot);
                scope.variables.extend(values.into_iter().map(|value| value.map(Cow::into_owned)));
                owned(body.evaluate_within(*slot, scope)?)
            }
            Self::MapOver { .. } | Self::Filter { .. } | Self::Reduce { .. } => owned(self.over_elements(scope)?),
            Self::Call { operator, arguments, collation } => {
                let values = all(arguments.iter().map(Option::as_ref), scope)?;
                let value = operator.call(&values, collation.as_ref())?;
                owned(value.map(bounded).transpose()?)
            }
            Self::Prepared(call) => call.evaluate(scope),
        }
    }

    fn is_true(&self, scope: &mut Scope<'_>) -> Result<bool> {
        Ok(is_true(self.evaluate(scope)?.as_deref()))
    }

    /// Evaluates an expression that uses variables from a slot on, and forgets these.
    fn evaluate_within(&self, slot: usize, scope: &mut Scope<'_>) -> Result<Option<Value>> {
        let value = self.evaluate(scope)?.map(Cow::into_owned);
        scope.variables.truncate(slot);
        Ok(value)
    }

    fn over_elements(&self, scope: &mut Scope<'_>) -> Result<Option<Value>> {
        let (Self::MapOver { input, slot, interrupt, .. }
        | Self::Filter { input, slot, interrupt, .. }
        | Self::Reduce { input, slot, interrupt, .. }) = self
        else {
            return Ok(None);
        };
        let step = |scope: &mut Scope<'_>| match interrupt {
            Some(interrupt) => interrupt.step(&mut scope.steps),
            None => Ok(()),
        };
        let elements = match input.evaluate(scope)?.map(Cow::into_owned) {
            None | Some(Value::Null | Value::Undefined) => return Ok(Some(Value::Null)),
            Some(Value::Array(elements)) => elements,
            Some(other) => return Ok(self.no_array(&other)?),
        };
        match self {
            Self::MapOver { body, .. } => {
                let mut results = Vec::with_capacity(elements.len());
                let mut bytes = 0;
                for element in elements {
                    step(scope)?;
                    scope.variables.truncate(*slot);
                    scope.variables.push(Some(element));
                    let result = body.evaluate_within(*slot, scope)?.unwrap_or_default();
                    bytes += bson::bson_size(&result);
                    within_limit(bytes)?;
                    results.push(result);
                }
                Ok(Some(Value::Array(results)))
            }
            Self::Filter { condition, limit, .. } => {
                let limit = match limit {
                    Some(limit) => filter_limit(limit.evaluate(scope)?.as_deref())?,
                    None => usize::MAX,
                };
                let mut kept = Vec::new();
                for element in elements {
                    if kept.len() == limit {
                        break;
                    }
                    step(scope)?;
                    scope.variables.truncate(*slot);
                    scope.variables.push(Some(element));
                    let keeps = condition.is_true(scope)?;
                    // The condition does not change its variable.
                    let element = scope.variables.drain(*slot..).next().flatten();
                    kept.extend(element.filter(|_| keeps));
                }
                Ok(Some(Value::Array(kept)))
            }
            Self::Reduce { initial, body, .. } => {
                let mut value = initial.evaluate(scope)?.map(Cow::into_owned);
                for element in elements {
                    step(scope)?;
                    scope.variables.truncate(*slot);
                    scope.variables.extend([Some(element), value]);
                    value = body.evaluate_within(*slot, scope)?;
                    within_limit(value.as_ref().map_or(0, bson::bson_size))?;
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
        fail(code, format!("the input of {name} must be an array, this is of type {}", input.type_name()))
    }
}

impl PreparedCall {
    fn evaluate<'n>(&'n self, scope: &mut Scope<'_>) -> Result<Operand<'n>> {
        let values = all(self.arguments.iter().map(Option::as_ref), scope)?;
        let outcome = (self.operator.function)(self.operator, &values, self.prepared.as_ref());
        let is_null = is_nullish(values.first().and_then(Option::as_deref));
        match (outcome, &self.on_null, &self.on_error) {
            (Ok(_), Some(on_null), _) if is_null => on_null.evaluate(scope),
            (Err(error), _, Some(on_error)) if error.code == ErrorCode::ConversionFailure => on_error.evaluate(scope),
            (outcome, ..) => Ok(outcome?.map(bounded).transpose()?.map(Cow::Owned)),
        }
    }
}

fn any_is(wanted: bool, nodes: &[Node], scope: &mut Scope<'_>) -> Result<bool> {
    for node in nodes {
        if node.is_true(scope)? == wanted {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The values of expressions, which are in memory together.
fn all<'n>(nodes: impl Iterator<Item = Option<&'n Node>>, scope: &mut Scope<'_>) -> Result<Vec<Operand<'n>>> {
    let (mut values, mut bytes) = (Vec::new(), 0);
    for node in nodes {
        let value = node.map_or(Ok(None), |node| node.evaluate(scope))?;
        // Constants take no memory of their own.
        if let Some(Cow::Owned(value)) = &value {
            grow(&mut bytes, value)?;
        }
        values.push(value);
    }
    Ok(values)
}

/// Adds the size of one of several values that are kept together.
fn grow(bytes: &mut usize, value: &Value) -> Result<()> {
    *bytes += bson::bson_size(value);
    within_limit(*bytes)
}

fn or_null(node: &Node, scope: &mut Scope<'_>) -> Result<Value> {
    Ok(node.evaluate(scope)?.map(Cow::into_owned).unwrap_or_default())
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

/// Checks a value that may grow with each operator around it.
fn bounded(value: Value) -> Result<Value> {
    if let Value::String(text) = &value
        && text.len() > TEXT_BYTES_MAX
    {
        fail(ErrorCode::Location16493, "an expression makes a text of 16 MiB or more")?;
    }
    if let Value::Array(_) | Value::Map(_) = &value {
        within_limit(bson::bson_size(&value))?;
        if value.is_too_deep() {
            fail(ErrorCode::Overflow, "an expression makes a value that nests deeper than 100 levels")?;
        }
    }
    Ok(value)
}

fn within_limit(bytes: usize) -> Result<()> {
    if bytes > MAX_VALUE_BYTES {
        fail(ErrorCode::BSONObjectTooLarge, "an expression makes a value of more than 16 MiB")?;
    }
    Ok(())
}
