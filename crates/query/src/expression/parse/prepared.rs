//! Parsing of operators that check constant arguments.

use super::{Parser, Result};
use crate::expression::error::fail;
use crate::expression::node::{Node, PreparedCall};
use crate::expression::operators::prepared::{Argument, Form, PreparedOperator};
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
        // The names with a tilde come last.
        let mut lazy = |name: &str| match operator.names.iter().position(|known| known.strip_suffix('~') == Some(name))
        {
            Some(at) => arguments.get_mut(at).and_then(Option::take),
            None => None,
        };
        let (on_error, on_null) = (lazy("onError"), lazy("onNull"));
        arguments.truncate(operator.names.iter().filter(|name| !name.ends_with('~')).count());
        let known: Vec<Argument<'_>> = arguments.iter().map(argument).collect();
        let prepared = (operator.prepare)(operator, &known, self.patterns)?;
        let node = Node::Prepared(Box::new(PreparedCall { operator, arguments, prepared, on_null, on_error }));
        Ok(self.folded(node))
    }
}

/// True for a map of named arguments, false for an expression.
fn is_named(map: &Map) -> bool {
    map.iter().next().is_none_or(|(name, _)| name.as_str().is_some_and(|name| !name.starts_with('$')))
}

fn argument(node: &Option<Node>) -> Argument<'_> {
    match node {
        None => Argument::Absent,
        Some(node) => node.as_constant().map_or(Argument::Computed, Argument::Constant),
    }
}
