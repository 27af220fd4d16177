//! Constant parts of expressions, which are computed once, during parsing.

use super::{Parser, Result};
use crate::code::ErrorCode;
use crate::expression::error::{EvaluateError, ExpressionError, fail};
use crate::expression::evaluate::Run;
use crate::expression::node::Node;
use crate::expression::scope::Scope;
use alluvium_document::{Map, Value, bson};

/// The maximum size of a value that is computed during parsing, in bytes as BSON.
const FOLDED_BYTES_MAX: usize = 4096;

/// The maximum size of the constants from which a value is computed during parsing. It bounds the time of parsing, for
/// which there is no time limit.
const FOLDED_FROM_BYTES_MAX: usize = 64 << 10;

impl Parser<'_> {
    /// Computes the value of an expression of constants once. If that fails, the expression has no value for any
    /// document.
    pub(super) fn folded(&mut self, node: Node) -> Node {
        if !is_foldable(&node) {
            return node;
        }
        let nothing = Map::new();
        let mut scope = Scope::of_map(&nothing);
        let mut run = Run::new(&mut scope, self.around.bounds());
        let value = node.evaluate(&mut run).map(|value| value.map(std::borrow::Cow::into_owned));
        match value {
            // A large value is computed for each document instead, because many large constants could take any amount
            // of memory.
            Ok(Some(value)) if bson::bson_size(&value) <= FOLDED_BYTES_MAX => Node::Constant(value),
            Err(EvaluateError::Expression(error)) if error.code != ErrorCode::NotImplemented => {
                self.failures.push(error);
                node
            }
            _ => node,
        }
    }
}

/// True if an expression consists only of constants of a small total size.
fn is_foldable(node: &Node) -> bool {
    let mut bytes = 0;
    let mut constant = |node: &Node| match node {
        Node::Constant(value) => {
            bytes += bson::bson_size(value);
            bytes <= FOLDED_FROM_BYTES_MAX
        }
        _ => false,
    };
    match node {
        Node::Map(fields) => fields.iter().all(|(_, node)| constant(node)),
        Node::Array(nodes) | Node::IfNull(nodes) => nodes.iter().all(constant),
        Node::Call { operator, arguments, .. } => operator.is_constant && arguments.iter().flatten().all(constant),
        Node::Prepared(call) => call.nodes().all(constant),
        _ => false,
    }
}

/// The error of `$setEquals` for a constant that is not an array. The error for an argument that depends on the
/// document is a different one.
pub(super) fn no_array(arguments: &[Option<Node>]) -> Option<ExpressionError> {
    let found = arguments.iter().flatten().find_map(|node| match node.as_constant() {
        None | Some(Value::Array(_)) => None,
        Some(other) => Some(other.type_name()),
    })?;
    let problem = format!("$setEquals takes arrays, this is of type {found}");
    Some(ExpressionError::new(ErrorCode::Location5887502, problem))
}

/// An argument that is not an expression: the order of `$sortArray`, and the field of `$setField` and `$unsetField`.
pub(super) fn argument(operator: &str, value: &Value) -> Result<Node> {
    if operator == "$sortArray" {
        return Ok(Node::Constant(value.clone()));
    }
    let value = match value {
        Value::Map(map) => match &map.entries[..] {
            [(Value::String(name), literal)] if matches!(name.as_str(), "$literal" | "$const") => literal,
            [] => value,
            _ => return fail(ErrorCode::Location4161106, format!("the field of {operator} must be a constant")),
        },
        Value::Array(elements) if !elements.is_empty() => {
            return fail(ErrorCode::Location4161106, format!("the field of {operator} must be a constant"));
        }
        Value::String(path) if path.starts_with('$') => {
            let problem = format!("the field of {operator} must be a constant, not the path '{path}': use $literal");
            return fail(ErrorCode::Location4161108, problem);
        }
        other => other,
    };
    match value {
        Value::String(name) if name.contains('\0') => {
            fail(ErrorCode::Location9534700, format!("the field of {operator} has a zero character"))
        }
        Value::String(_) => Ok(Node::Constant(value.clone())),
        other => {
            let found = other.type_name();
            fail(ErrorCode::Location4161107, format!("the field of {operator} must be text, this is of type {found}"))
        }
    }
}
