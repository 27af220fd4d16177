//! Parsing of operators that check constants.

use super::{Parser, Result, folded};
use crate::code::ErrorCode;
use crate::expression::error::{EvaluateError, fail};
use crate::expression::node::{Node, PreparedCall};
use crate::expression::operators::prepared::{Argument, Form, PreparedOperator};
use crate::expression::scope::Scope;
use alluvium_document::{Map, Value};

impl Parser<'_> {
    pub(super) fn prepared(&mut self, operator: &'static PreparedOperator, operand: &Value) -> Result<Node> {
        let mut arguments = match (operator.form, operand) {
            (Form::Named, _) => self.named(operator.name, operand, operator.names, operator.codes)?,
            (Form::NamedOrFirst, Value::Map(map)) if is_named(map) => {
                self.named(operator.name, operand, operator.names, operator.codes)?
            }
            (Form::NamedOrFirst, Value::Array(elements)) => match &elements[..] {
                [only] => vec![Some(self.node(only)?)],
                _ => {
                    let problem = format!("{} takes one argument, it has {}", operator.name, elements.len());
                    return fail(operator.codes.no_map, problem);
                }
            },
            (Form::NamedOrFirst, other) => vec![Some(self.node(other)?)],
        };
        // They come last.
        let mut lazy = |name: &str| match operator.names.iter().position(|known| known.strip_suffix('~') == Some(name))
        {
            Some(at) => arguments.get_mut(at).and_then(Option::take),
            None => None,
        };
        let (on_error, on_null) = (lazy("onError"), lazy("onNull"));
        arguments.truncate(operator.names.iter().filter(|name| !name.ends_with('~')).count());
        let known: Vec<Argument<'_>> = arguments.iter().map(argument).collect();
        let prepared = (operator.prepare)(operator, &known, self.patterns)?;
        let is_constant = !known.iter().any(|argument| matches!(argument, Argument::Computed));
        let node = Node::Prepared(Box::new(PreparedCall { operator, arguments, prepared, on_null, on_error }));
        if is_constant {
            check(&node)?;
        }
        Ok(folded(node))
    }
}

/// True for a map of arguments, false for an expression.
fn is_named(map: &Map) -> bool {
    map.iter().next().is_none_or(|(name, _)| name.as_str().is_some_and(|name| !name.starts_with('$')))
}

fn argument(node: &Option<Node>) -> Argument<'_> {
    match node {
        None => Argument::Absent,
        Some(Node::Constant(value)) => Argument::Constant(value),
        Some(_) => Argument::Computed,
    }
}

/// Evaluates a call of constants, whose errors are those of every document. What takes its place on an error or for a
/// null may depend on the document.
fn check(node: &Node) -> Result<()> {
    let Node::Prepared(call) = node else { return Ok(()) };
    let is_constant = |node: &Option<Node>| matches!(node, None | Some(Node::Constant(_)));
    if !is_constant(&call.on_null) || !is_constant(&call.on_error) {
        return Ok(());
    }
    match node.evaluate(&mut Scope::of_map(&Map::new())) {
        Err(EvaluateError::Expression(error)) if error.code != ErrorCode::NotImplemented => Err(error),
        _ => Ok(()),
    }
}
