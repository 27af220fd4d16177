//! Parsed expressions as trees.

use super::operators::Operator;
use super::operators::prepared::{Prepared, PreparedOperator};
use super::random::Random;
use crate::collation::Collation;
use alluvium_document::Value;
use alluvium_document::path::FieldPath;
use alluvium_document::value::Text;
use std::sync::Arc;

/// An expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    Constant(Value),
    /// The value of a variable. It may be large and is shared rather than copied for each use.
    Known(Arc<Value>),
    /// The value at a path of the known value of a variable.
    KnownPart(Arc<Value>, FieldPath),
    /// The value at a path of the document.
    Field(FieldPath),
    /// `$$ROOT`.
    Root,
    /// `$$REMOVE`.
    Missing,
    /// `$rand`.
    Random(Arc<Random>),
    /// A variable of an enclosing operator, or of the query.
    Variable {
        slot: usize,
        path: Option<FieldPath>,
    },
    Map(Vec<(Text, Node)>),
    Array(Vec<Node>),
    And(Vec<Node>),
    Or(Vec<Node>),
    IfNull(Vec<Node>),
    /// The value of the first branch whose condition is true, otherwise the default. An error if no
    /// condition is true and there is no default.
    Switch {
        branches: Vec<(Node, Node)>,
        default: Option<Box<Node>>,
    },
    /// Sets variables at and above the slot, and evaluates an expression that uses them.
    Let {
        slot: usize,
        values: Vec<Node>,
        body: Box<Node>,
    },
    /// Evaluates an expression for each element; the variable is the element.
    MapOver {
        input: Box<Node>,
        slot: usize,
        body: Box<Node>,
    },
    /// The elements for which a condition is true, up to a limit.
    Filter {
        input: Box<Node>,
        slot: usize,
        condition: Box<Node>,
        limit: Option<Box<Node>>,
    },
    /// Evaluates an expression for each element; the variables are the element and the value so far.
    Reduce {
        input: Box<Node>,
        initial: Box<Node>,
        slot: usize,
        body: Box<Node>,
    },
    /// A call of an operator with the values of its arguments.
    Call {
        operator: &'static Operator,
        arguments: Vec<Option<Node>>,
        /// The collation, if the operator compares strings; `None` to compare their bytes.
        collation: Option<Collation>,
    },
    /// A call of an operator that was prepared during parsing.
    Prepared(Box<PreparedCall>),
}

/// A call of an operator with the value at a path and a constant.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PathComparison<'n> {
    /// The name of the operator, with its dollar sign.
    pub operator: &'static str,
    pub path: &'n FieldPath,
    pub constant: &'n Value,
    /// True if the constant is the first argument.
    pub is_reversed: bool,
}

/// A call of an operator that keeps data derived from its constant arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PreparedCall {
    pub operator: &'static PreparedOperator,
    pub arguments: Vec<Option<Node>>,
    pub prepared: Option<Prepared>,
    /// The value if the first argument is null or missing.
    pub on_null: Option<Node>,
    /// The value if a conversion fails.
    pub on_error: Option<Node>,
}

impl PreparedCall {
    /// All expressions in the call.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.arguments.iter().flatten().chain(&self.on_null).chain(&self.on_error)
    }
}

impl Node {
    /// The value, if it is known without computation.
    pub fn as_constant(&self) -> Option<&Value> {
        match self {
            Self::Constant(value) => Some(value),
            Self::Known(value) => Some(value),
            _ => None,
        }
    }

    /// Collects the calls of operators with a path and a constant, in either order, that are true
    /// for every document for which the expression is true.
    pub fn comparisons<'n>(&'n self, out: &mut Vec<PathComparison<'n>>) {
        match self {
            Self::And(nodes) => nodes.iter().for_each(|node| node.comparisons(out)),
            Self::Call { operator, arguments, .. } => {
                let [Some(left), Some(right)] = &arguments[..] else { return };
                match (left, left.as_constant(), right, right.as_constant()) {
                    (Self::Field(path), _, _, Some(constant)) => {
                        out.push(PathComparison { operator: operator.name, path, constant, is_reversed: false });
                    }
                    (_, Some(constant), Self::Field(path), _) => {
                        out.push(PathComparison { operator: operator.name, path, constant, is_reversed: true });
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }

    /// True if the expression draws random numbers.
    pub fn is_random(&self) -> bool {
        let any = |nodes: &[Self]| nodes.iter().any(Self::is_random);
        match self {
            Self::Random(_) => true,
            Self::Constant(_)
            | Self::Known(_)
            | Self::KnownPart(..)
            | Self::Field(_)
            | Self::Root
            | Self::Missing
            | Self::Variable { .. } => false,
            Self::Map(fields) => fields.iter().any(|(_, node)| node.is_random()),
            Self::Array(nodes) | Self::And(nodes) | Self::Or(nodes) | Self::IfNull(nodes) => any(nodes),
            Self::Switch { branches, default } => {
                branches.iter().any(|(when, then)| when.is_random() || then.is_random())
                    || default.iter().any(|node| node.is_random())
            }
            Self::Let { values, body, .. } => any(values) || body.is_random(),
            Self::MapOver { input, body, .. } => input.is_random() || body.is_random(),
            Self::Filter { input, condition, limit, .. } => {
                input.is_random() || condition.is_random() || limit.iter().any(|node| node.is_random())
            }
            Self::Reduce { input, initial, body, .. } => input.is_random() || initial.is_random() || body.is_random(),
            Self::Call { arguments, .. } => arguments.iter().flatten().any(Self::is_random),
            Self::Prepared(call) => call.nodes().any(Self::is_random),
        }
    }

    /// Collects the paths of the document that are read. Returns false if the whole document may be read.
    pub fn paths<'n>(&'n self, out: &mut Vec<&'n FieldPath>) -> bool {
        match self {
            Self::Constant(_)
            | Self::Known(_)
            | Self::KnownPart(..)
            | Self::Missing
            | Self::Random(_)
            | Self::Variable { .. } => true,
            Self::Root => false,
            Self::Field(path) => {
                out.push(path);
                true
            }
            Self::Map(fields) => fields.iter().all(|(_, node)| node.paths(out)),
            Self::Array(nodes) | Self::And(nodes) | Self::Or(nodes) | Self::IfNull(nodes) => {
                nodes.iter().all(|node| node.paths(out))
            }
            Self::Switch { branches, default } => {
                branches.iter().all(|(when, then)| when.paths(out) && then.paths(out))
                    && default.iter().all(|node| node.paths(out))
            }
            Self::Let { values, body, .. } => values.iter().all(|node| node.paths(out)) && body.paths(out),
            Self::MapOver { input, body, .. } => input.paths(out) && body.paths(out),
            Self::Filter { input, condition, limit, .. } => {
                input.paths(out) && condition.paths(out) && limit.iter().all(|node| node.paths(out))
            }
            Self::Reduce { input, initial, body, .. } => input.paths(out) && initial.paths(out) && body.paths(out),
            Self::Call { arguments, .. } => arguments.iter().flatten().all(|node| node.paths(out)),
            Self::Prepared(call) => call.nodes().all(|node| node.paths(out)),
        }
    }
}
