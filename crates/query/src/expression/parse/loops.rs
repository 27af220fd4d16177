//! Parsing of operators that define variables: `$let`, `$map`, `$filter`, `$reduce`.

use super::{Parser, Result};
use crate::code::ErrorCode;
use crate::expression::error::{ExpressionError, fail};
use crate::expression::node::Node;
use crate::suggest::suggestion;
use alluvium_document::{Map, Value};

impl Parser<'_> {
    pub(super) fn let_(&mut self, operand: &Value) -> Result<Node> {
        let Value::Map(map) = operand else {
            return fail(ErrorCode::Location16874, "$let takes a map of vars and in");
        };
        for (name, _) in map.iter() {
            let name = name.as_str().unwrap_or_default();
            if !["vars", "in"].contains(&name) {
                return fail(ErrorCode::Location16875, format!("$let has no argument '{name}'; there are vars, in"));
            }
        }
        let vars = match map.get("vars") {
            Some(Value::Map(vars)) => vars,
            None => return fail(ErrorCode::Location16876, "$let needs a map of variables, 'vars'"),
            Some(Value::Array(_)) => {
                return fail(ErrorCode::FailedToParse, "the vars of $let must be a map, not an array");
            }
            Some(other) => {
                let found = other.type_name();
                return fail(
                    ErrorCode::Location10065,
                    format!("the vars of $let must be a map, this is of type {found}"),
                );
            }
        };
        let Some(body) = map.get("in") else {
            return fail(ErrorCode::Location16877, "$let needs the argument 'in'");
        };
        let slot = self.variables.len();
        let (mut names, mut values) = (Vec::new(), Vec::new());
        for (name, value) in vars.iter() {
            names.push(variable_name(name.as_str().unwrap_or_default())?.to_owned());
            values.push(self.node(value)?);
        }
        let body = self.within(names, body)?;
        Ok(Node::Let { slot, values, body: Box::new(body) })
    }

    pub(super) fn map_over(&mut self, operand: &Value) -> Result<Node> {
        let (operator, code) = ("$map", ErrorCode::Location16879);
        let map = arguments(operator, operand, &["input", "as", "in"], ErrorCode::Location16878, code)?;
        let input = self.node(required(operator, map, "input", ErrorCode::Location16880)?)?;
        let body = required(operator, map, "in", ErrorCode::Location16882)?;
        let slot = self.variables.len();
        let body = self.within(vec![element_name(map)?.to_owned()], body)?;
        Ok(Node::MapOver { input: Box::new(input), slot, body: Box::new(body) })
    }

    pub(super) fn filter(&mut self, operand: &Value) -> Result<Node> {
        let (operator, code) = ("$filter", ErrorCode::Location28647);
        let map = arguments(operator, operand, &["input", "as", "cond", "limit"], ErrorCode::Location28646, code)?;
        let input = self.node(required(operator, map, "input", ErrorCode::Location28648)?)?;
        let condition = required(operator, map, "cond", ErrorCode::Location28650)?;
        let limit = map.get("limit").map(|limit| self.node(limit)).transpose()?.map(Box::new);
        let slot = self.variables.len();
        let condition = self.within(vec![element_name(map)?.to_owned()], condition)?;
        Ok(Node::Filter { input: Box::new(input), slot, condition: Box::new(condition), limit })
    }

    pub(super) fn reduce(&mut self, operand: &Value) -> Result<Node> {
        let (operator, code) = ("$reduce", ErrorCode::Location40076);
        let map = arguments(operator, operand, &["input", "initialValue", "in"], ErrorCode::Location40075, code)?;
        let input = self.node(required(operator, map, "input", ErrorCode::Location40077)?)?;
        let initial = self.node(required(operator, map, "initialValue", ErrorCode::Location40078)?)?;
        let body = required(operator, map, "in", ErrorCode::Location40079)?;
        let slot = self.variables.len();
        let body = self.within(vec!["this".to_owned(), "value".to_owned()], body)?;
        let (input, initial, body) = (Box::new(input), Box::new(initial), Box::new(body));
        Ok(Node::Reduce { input, initial, slot, body })
    }

    /// An expression that may use further variables.
    fn within(&mut self, names: Vec<String>, expression: &Value) -> Result<Node> {
        let before = self.variables.len();
        self.variables.extend(names);
        let node = self.node(expression);
        self.variables.truncate(before);
        node
    }
}

/// Checks the operand of an operator, which must be a map with these arguments.
fn arguments<'v>(
    operator: &str,
    operand: &'v Value,
    known: &[&str],
    no_map: ErrorCode,
    unknown: ErrorCode,
) -> Result<&'v Map> {
    let Value::Map(map) = operand else {
        return fail(no_map, format!("{operator} takes a map of {}", known.join(", ")));
    };
    match map.iter().filter_map(|(name, _)| name.as_str()).find(|name| !known.contains(name)) {
        None => Ok(map),
        Some(name) => {
            let near = suggestion(name, known);
            fail(unknown, format!("{operator} has no argument '{name}'{near}; there are {}", known.join(", ")))
        }
    }
}

fn required<'v>(operator: &str, map: &'v Map, name: &str, code: ErrorCode) -> Result<&'v Value> {
    map.get(name).ok_or_else(|| ExpressionError::new(code, format!("{operator} needs the argument '{name}'")))
}

/// The name of the variable for the elements: the value of `as`, or `this`.
fn element_name(map: &Map) -> Result<&str> {
    match map.get("as") {
        None => Ok("this"),
        Some(Value::String(name)) => variable_name(name),
        Some(other) => fail(
            ErrorCode::FailedToParse,
            format!("the name of a variable must be text, this is of type {}", other.type_name()),
        ),
    }
}

/// Checks the name of a variable that an expression defines.
pub(in crate::expression) fn variable_name(name: &str) -> Result<&str> {
    let begins = |c: char| c.is_ascii_lowercase() || !c.is_ascii();
    if name == "CURRENT" {
        return Ok(name);
    }
    readable_name(name)?;
    if !name.starts_with(begins) {
        let problem = format!("the variable '{name}' must begin with a small letter");
        return fail(ErrorCode::FailedToParse, problem);
    }
    Ok(name)
}

/// Checks the name of a variable that an expression reads.
pub(super) fn readable_name(name: &str) -> Result<()> {
    let begins = |c: char| c.is_ascii_alphabetic() || !c.is_ascii();
    let goes_on = |c: char| c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii();
    if name.is_empty() {
        return fail(ErrorCode::FailedToParse, "the name of a variable is empty");
    }
    if !name.starts_with(begins) {
        return fail(ErrorCode::FailedToParse, format!("the variable '{name}' must begin with a letter"));
    }
    match name.chars().find(|c| !goes_on(*c)) {
        None => Ok(()),
        Some(c) => {
            let problem =
                format!("the name of the variable '{name}' has the character {c:?}: use letters, digits and _");
            fail(ErrorCode::FailedToParse, problem)
        }
    }
}
