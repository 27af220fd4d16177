//! Operators that check constant arguments when an expression is parsed, and keep data derived from them.

use super::{Operand, Outcome, is_nullish};
use crate::code::ErrorCode;
use crate::date::Zone;
use crate::expression::error::ExpressionError;
use crate::pattern::Pattern;
use crate::pattern::Patterns;
use crate::work::Work;
use alluvium_document::Value;

/// An operator with named arguments.
pub(in crate::expression) struct PreparedOperator {
    /// The name, with its dollar sign.
    pub name: &'static str,
    pub form: Form,
    /// The names of the arguments. A name with an exclamation mark is required. If the value of a name with a question
    /// mark is missing, it is null. Names with a tilde come last: `onNull~` is evaluated only if the first argument is
    /// null or missing, `onError~` only if a conversion fails.
    pub names: &'static [&'static str],
    pub codes: Codes,
    /// Checks the combination of arguments, and the constant arguments.
    pub prepare: Prepare,
    /// Computes the value, and counts the work that exceeds the sizes of the arguments.
    pub function: fn(&PreparedOperator, &[Operand<'_>], Option<&Prepared>, &mut Work<'_>) -> Outcome,
}

type Prepare = fn(&PreparedOperator, &[Argument<'_>], &Patterns) -> Result<Option<Prepared>, ExpressionError>;

/// How the arguments are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::expression) enum Form {
    /// A map.
    Named,
    /// A map, or only the first argument, which may be in an array of one element.
    NamedOrFirst,
}

/// The codes of errors about the names of arguments.
#[derive(Clone, Copy)]
pub(in crate::expression) struct Codes {
    /// The operand is not a map.
    pub no_map: ErrorCode,
    /// An argument has an unknown name.
    pub unknown: ErrorCode,
    /// The codes for missing required arguments, in the order of the arguments; the last code is used for all further
    /// ones.
    pub missing: &'static [ErrorCode],
}

impl Codes {
    /// The codes of operators without codes of their own.
    pub const PLAIN: Self = Self::new(ErrorCode::FailedToParse, ErrorCode::FailedToParse, &[ErrorCode::FailedToParse]);

    pub const fn new(no_map: ErrorCode, unknown: ErrorCode, missing: &'static [ErrorCode]) -> Self {
        Self { no_map, unknown, missing }
    }

    /// The code for a missing argument, by its place among the required ones.
    pub fn missing(&self, required: usize) -> ErrorCode {
        self.missing.get(required).or(self.missing.last()).copied().unwrap_or(ErrorCode::FailedToParse)
    }
}

/// The kind of an argument when an expression is parsed: absent, computed or constant.
#[derive(Clone, Copy)]
pub(in crate::expression) enum Argument<'a> {
    Absent,
    Computed,
    Constant(&'a Value),
}

/// An argument that is a constant and not null. `None` if all arguments are constants, because the evaluation then
/// checks them in its own order.
pub(super) fn constant<'a>(arguments: &[Argument<'a>], at: usize) -> Option<&'a Value> {
    let is_computed = |argument: &Argument<'_>| matches!(argument, Argument::Computed);
    match arguments.get(at) {
        Some(Argument::Constant(value)) if arguments.iter().any(is_computed) => {
            Some(*value).filter(|value| !is_nullish(Some(value)))
        }
        _ => None,
    }
}

/// A value that is made once from constant arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::expression) enum Prepared {
    Pattern(Pattern),
    Zone(Zone),
}

impl PartialEq for PreparedOperator {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for PreparedOperator {}

impl std::fmt::Debug for PreparedOperator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}
