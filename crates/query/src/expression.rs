//! Expressions, such as `{$multiply: ["$price", "$amount"]}`: values computed from a document.
//!
//! The rules are those of MongoDB 8:
//!
//! - **Literals.** Text that begins with a dollar sign is a field path (`"$a.b"`) or a variable
//!   (`"$$ROOT"`); a map whose first name begins with a dollar sign is an operator. Every other
//!   value is a constant. `$literal` makes a constant of any value.
//! - **Paths** lead into maps, and through arrays to their elements that are maps: `"$a.b"` of `{a: [{b: 1}, {b: 2},
//!   3]}` is `[1, 2]`. A number in a path is the name of a field, not a position.
//! - **Missing fields** have no value. Most operators treat a missing value as null, and most
//!   return null if an argument is null. In an array, a missing value is null; in a map, its field
//!   is left out.
//! - **Operands are checked when an expression is parsed**, as far as that is possible. An operator
//!   whose arguments are constants is evaluated once, during parsing.
//! - **Time zones** are offsets such as `+05:30` and the zones of the IANA database, which is compiled into the binary.
//!
//! ```
//! use alluvium_document::{Document, Value, json};
//! use alluvium_query::expression::{Expression, Scope};
//!
//! let total = Expression::parse(&json::parse(br#"{"$multiply": ["$price", {"$ifNull": ["$amount", 1]}]}"#)?)?;
//! let order = Document::from_json(r#"{"_id": 1, "price": 3, "amount": 4}"#)?;
//! assert_eq!(total.evaluate(&mut Scope::of(&order))?, Some(Value::Int32(12)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod evaluate;
mod names;
mod node;
mod operand;
mod operators;
mod parse;
mod random;
mod scope;
mod variables;

pub use crate::interrupt::{Interrupt, Interruption};
use crate::memory::Held;
pub use crate::memory::{Memory, MemoryCharge};
use crate::pattern::Patterns;
use crate::work::Bounds;
use alluvium_document::Value;
pub use error::{EvaluateError, ExpressionError};
pub(crate) use evaluate::LARGE_STORED_BYTES;
use evaluate::Run;
use node::Node;
pub(crate) use node::PathComparison;
pub use operand::is_true;
pub(crate) use operators::numbers::Sum;
pub use scope::Scope;
pub use variables::Variables;

/// Checks the name of a variable.
///
/// # Errors
/// The name begins with a character that is not allowed there, such as an upper-case letter, or contains a character
/// that names of variables must not have.
pub fn check_variable(name: &str) -> Result<(), ExpressionError> {
    parse::variable_name(name).map(drop)
}

/// The maximum size of a value that an expression makes, in bytes as BSON. It is MongoDB's limit
/// for internal documents: 16 KiB above the limit for documents of clients.
pub const MAX_VALUE_BYTES: usize = (16 << 20) + (16 << 10);

/// The maximum size of a text that an expression makes or contains, in bytes.
pub(crate) const TEXT_BYTES_MAX: usize = (16 << 20) - 1;

/// A parsed expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression {
    node: Node,
    bounds: Bounds,
}

impl Expression {
    /// Parses an expression that has no variables except the predefined ones: `$$ROOT`,
    /// `$$CURRENT`, `$$REMOVE`, `$$NOW`.
    ///
    /// # Errors
    /// [`ExpressionError`]: [`ExpressionError`]: an operator that is unknown or not supported, a
    ///                      wrong number of arguments, an undefined variable, more levels than
    ///                      values may have, or constants that the operator does not accept.
    pub fn parse(expression: &Value) -> Result<Self, ExpressionError> {
        Self::parse_in(expression, &Variables::NONE)
    }

    /// As [`Expression::parse`], with further variables.
    ///
    /// # Errors
    /// As [`Expression::parse`].
    pub fn parse_in(expression: &Value, variables: &Variables) -> Result<Self, ExpressionError> {
        Self::parse_sharing(expression, variables, &Patterns::interrupted_by(variables.interrupt()))
    }

    /// As [`Expression::parse_in`]. The budget for the patterns that expressions keep is shared with other expressions.
    pub(crate) fn parse_sharing(
        expression: &Value,
        variables: &Variables,
        patterns: &Patterns,
    ) -> Result<Self, ExpressionError> {
        let node = parse::expression(expression, variables, patterns)?;
        Ok(Self { node, bounds: variables.bounds().clone() })
    }

    /// A constant.
    pub fn constant(value: Value) -> Self {
        Self { node: Node::Constant(value), bounds: Bounds::default() }
    }

    /// The value of the expression; `None` if it is missing.
    ///
    /// # Errors
    /// [`EvaluateError`]: an argument that its operator does not accept, a result that is too large,
    /// or the document is damaged.
    pub fn evaluate(&self, scope: &mut Scope<'_>) -> Result<Option<Value>, EvaluateError> {
        let held = scope.held.bytes();
        let mut run = Run::new(scope, &self.bounds);
        let value = self.node.evaluate(&mut run)?.map(std::borrow::Cow::into_owned);
        run.end(held, value.as_ref())?;
        Ok(value)
    }

    /// Counts the memory of data that a caller derives from the values of an evaluation. The values themselves are
    /// counted separately.
    ///
    /// # Errors
    /// The memory for queries is exhausted.
    pub(crate) fn hold(&self, held: &mut Held, bytes: usize) -> Result<(), ExpressionError> {
        Ok(held.add(bytes, self.bounds.memory.as_ref())?)
    }

    /// The value, if it is the same for every document.
    pub fn as_constant(&self) -> Option<&Value> {
        self.node.as_constant()
    }

    /// The path, if the expression is the value at a path, such as `"$a.b"`.
    pub fn as_path(&self) -> Option<&alluvium_document::path::FieldPath> {
        match &self.node {
            Node::Field(path) => Some(path),
            _ => None,
        }
    }

    /// The calls of an operator with a path and a constant that are true for every document for which the expression is
    /// true.
    pub(crate) fn comparisons(&self) -> Vec<PathComparison<'_>> {
        let mut found = Vec::new();
        self.node.comparisons(&mut found);
        found
    }

    /// True if the expression draws random numbers.
    pub(crate) fn is_random(&self) -> bool {
        self.node.is_random()
    }

    /// The path of the document whose value the expression puts into the field `name` of the map that it makes. `None`
    /// if the field is not the value at a path.
    pub(crate) fn path_of_field(&self, name: &str) -> Option<&alluvium_document::path::FieldPath> {
        match &self.node {
            Node::Map(fields) => fields.iter().find(|(field, _)| *field == name).and_then(|(_, node)| match node {
                Node::Field(path) => Some(path),
                _ => None,
            }),
            _ => None,
        }
    }

    /// The paths of the document that the expression reads; `None` if it may read the whole document.
    pub fn paths(&self) -> Option<Vec<&alluvium_document::path::FieldPath>> {
        let mut paths = Vec::new();
        self.node.paths(&mut paths).then_some(paths)
    }
}

#[cfg(test)]
mod tests;
