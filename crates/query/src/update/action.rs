//! The effect of an operator on the value at its path.

use alluvium_document::bson::bson_size;
use alluvium_document::path::FieldPath;
use alluvium_document::value::Timestamp;
use alluvium_document::{Decimal, MAX_DEPTH, Value};

use super::array::{End, Push, add_to_set, pop, pull_all};
use super::bit::Bit;
use super::pull::Pull;
use super::{Context, UpdateError};
use crate::collation::{Collation, compare_by};
use crate::number::{NumberError, Operation, compute, is_no_change, zero_like};

/// An operator with its operand, checked by [`Action::check`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    Set(Value),
    SetOnInsert(Value),
    CurrentDate(Clock),
    Unset,
    Inc(Value),
    Mul(Value),
    Min(Value),
    Max(Value),
    Push(Push),
    AddToSet(Vec<Value>),
    Pull(Pull),
    PullAll(Vec<Value>),
    Pop(End),
    Bit(Bit),
    /// Moves the value from this path.
    RenameFrom(FieldPath),
}

/// The type in which `$currentDate` writes the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clock {
    Date,
    Timestamp,
}

/// The outcome of a change of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Same,
    Changed,
    /// The value must be removed.
    Remove,
}

impl From<bool> for Outcome {
    fn from(changed: bool) -> Self {
        if changed { Self::Changed } else { Self::Same }
    }
}

impl Clock {
    /// The time as a value. A timestamp has whole seconds from 1970 to 2106, and the increment 1.
    pub fn value(self, time_ms: i64) -> Value {
        match self {
            Self::Date => Value::DateTime(time_ms),
            Self::Timestamp => {
                let seconds = time_ms.div_euclid(1000).max(0);
                Value::Timestamp(Timestamp { time: u32::try_from(seconds).unwrap_or(u32::MAX), increment: 1 })
            }
        }
    }
}

impl Action {
    /// The operator's name.
    pub fn operator(&self) -> &'static str {
        match self {
            Self::Set(_) => "$set",
            Self::SetOnInsert(_) => "$setOnInsert",
            Self::CurrentDate(_) => "$currentDate",
            Self::Unset => "$unset",
            Self::Inc(_) => "$inc",
            Self::Mul(_) => "$mul",
            Self::Min(_) => "$min",
            Self::Max(_) => "$max",
            Self::Push(_) => "$push",
            Self::AddToSet(_) => "$addToSet",
            Self::Pull(_) => "$pull",
            Self::PullAll(_) => "$pullAll",
            Self::Bit(_) => "$bit",
            Self::Pop(_) => "$pop",
            Self::RenameFrom(_) => "$rename",
        }
    }

    /// True if the action applies only to a document that is being inserted.
    pub fn is_for_insert(&self) -> bool {
        matches!(self, Self::SetOnInsert(_))
    }

    /// Refuses operands that are not allowed at this path: a wrong type, too deep nesting, or a
    /// `$rename` to the same path.
    pub fn check(&self, path: &FieldPath) -> Result<(), UpdateError> {
        let Some(levels) = MAX_DEPTH.checked_sub(path.depth()) else {
            return Err(nests_too_deep(self.operator(), path));
        };
        let too_deep = match self {
            Self::Set(value) | Self::SetOnInsert(value) | Self::Min(value) | Self::Max(value) => {
                value.is_deeper_than(levels)
            }
            Self::Inc(number) | Self::Mul(number) if !number.is_number() => {
                let (operator, found) = (self.operator(), number.type_name());
                let message = format!("{operator} of '{path}' needs a number, this is of type {found}");
                return Err(UpdateError::TypeMismatch(message));
            }
            Self::Push(Push { values, .. }) | Self::AddToSet(values) => {
                levels == 0 || values.iter().any(|value| value.is_deeper_than(levels - 1))
            }
            // A delta with such a condition could not be decoded.
            Self::Pull(Pull::Equal(value)) => value.is_too_deep(),
            // In a delta the values are inside an array.
            Self::PullAll(values) => values.iter().any(|value| value.is_deeper_than(MAX_DEPTH - 1)),
            Self::RenameFrom(from) => return check_rename(from, path),
            _ => false,
        };
        if too_deep { Err(nests_too_deep(self.operator(), path)) } else { Ok(()) }
    }

    /// The value to create if none exists; `None` to create none.
    pub fn on_missing(&self, context: &Context, collation: Option<&Collation>) -> Option<Value> {
        match self {
            Self::Set(value) | Self::SetOnInsert(value) | Self::Inc(value) | Self::Min(value) | Self::Max(value) => {
                Some(value.clone())
            }
            Self::CurrentDate(clock) => Some(clock.value(context.time_ms)),
            Self::Mul(number) => Some(zero_like(number)),
            Self::Bit(bit) => bit.compute(&Value::Int32(0)),
            Self::Push(push) => {
                let mut elements = Vec::new();
                push.apply(&mut elements, collation);
                Some(Value::Array(elements))
            }
            Self::AddToSet(values) => {
                let mut elements = Vec::new();
                add_to_set(values, &mut elements, collation);
                Some(Value::Array(elements))
            }
            Self::Unset | Self::Pull(_) | Self::PullAll(_) | Self::Pop(_) | Self::RenameFrom(_) => None,
        }
    }

    /// True if the action compares values with each other.
    pub fn compares(&self) -> bool {
        match self {
            Self::Min(_) | Self::Max(_) | Self::Push(_) | Self::AddToSet(_) | Self::Pull(_) | Self::PullAll(_) => true,
            Self::Set(_)
            | Self::SetOnInsert(_)
            | Self::CurrentDate(_)
            | Self::Unset
            | Self::Inc(_)
            | Self::Mul(_)
            | Self::Pop(_)
            | Self::Bit(_)
            | Self::RenameFrom(_) => false,
        }
    }

    /// Changes the value at the path. Strings are compared by the collation. After an error the
    /// value is unchanged.
    pub fn on_value(
        &self,
        value: &mut Value,
        path: &FieldPath,
        context: &Context,
        collation: Option<&Collation>,
    ) -> Result<Outcome, UpdateError> {
        match self {
            Self::Set(new) | Self::SetOnInsert(new) => Ok(replace(value, new)),
            Self::CurrentDate(clock) => Ok(replace(value, &clock.value(context.time_ms))),
            Self::Min(new) if compare_by(collation, new, value).is_lt() => Ok(replace(value, new)),
            Self::Max(new) if compare_by(collation, new, value).is_gt() => Ok(replace(value, new)),
            Self::Inc(number) => self.calculate(Operation::Add, value, number, path),
            Self::Mul(number) => self.calculate(Operation::Multiply, value, number, path),
            Self::Unset => Ok(Outcome::Remove),
            Self::Push(push) => Ok(push.apply(self.elements(value, path)?, collation).into()),
            Self::AddToSet(values) => Ok(add_to_set(values, self.elements(value, path)?, collation).into()),
            Self::Pop(end) => Ok(pop(*end, self.elements(value, path)?).into()),
            Self::Pull(pull) => {
                let elements = self.elements(value, path)?;
                let removed: Vec<bool> =
                    elements.iter().map(|element| pull.matches(element, collation)).collect::<Result<_, _>>()?;
                let mut removed = removed.into_iter();
                let before = elements.len();
                elements.retain(|_| removed.next() != Some(true));
                Ok((elements.len() < before).into())
            }
            Self::PullAll(values) => Ok(pull_all(values, self.elements(value, path)?, collation).into()),
            Self::Bit(bit) => match bit.compute(value) {
                Some(result) => Ok(replace(value, &result)),
                None => {
                    let found = value.type_name();
                    let message = format!("cannot apply $bit to '{path}', which is of type {found}, not an integer");
                    Err(UpdateError::BadValue(message))
                }
            },
            Self::Min(_) | Self::Max(_) | Self::RenameFrom(_) => Ok(Outcome::Same),
        }
    }

    fn calculate(
        &self,
        operation: Operation,
        value: &mut Value,
        number: &Value,
        path: &FieldPath,
    ) -> Result<Outcome, UpdateError> {
        let operator = self.operator();
        match compute(operation, value, number) {
            Ok(result) if is_no_change(value, &result) => Ok(Outcome::Same),
            Ok(result) => Ok(replace(value, &result)),
            Err(NumberError::NotANumber) => {
                let found = value.type_name();
                let message = format!("cannot apply {operator} to '{path}', which is of type {found}, not a number");
                Err(UpdateError::TypeMismatch(message))
            }
            Err(NumberError::Overflow) => Err(UpdateError::BadValue(format!(
                "{operator} of '{path}' has a result that does not fit any number type"
            ))),
        }
    }

    fn elements<'a>(&self, value: &'a mut Value, path: &FieldPath) -> Result<&'a mut Vec<Value>, UpdateError> {
        let found = value.type_name();
        if let Value::Array(elements) = value {
            return Ok(elements);
        }
        let message = format!("cannot apply {} to '{path}', which is of type {found}, not an array", self.operator());
        Err(match self {
            Self::Pop(_) => UpdateError::TypeMismatch(message),
            _ => UpdateError::BadValue(message),
        })
    }

    /// An upper bound for the bytes that the change can add to the document as BSON. It includes
    /// the names of `path`. The computation saturates.
    pub fn growth_max(&self, path: &FieldPath) -> usize {
        /// The overhead of a field: the type, the terminator of the name, and the frame of a map.
        const FRAME: usize = 7;
        /// An element of an array: type, digits of the position, terminator.
        const ELEMENT: usize = 22;
        /// The text of an exact result with its digits, signs, point and exponent, and the frame of
        /// a string.
        const DECIMAL: usize = Decimal::MAX_RESULT_DIGITS + 32;
        let name = |name: &str| {
            // An array may be padded with nulls up to the position.
            let padding = alluvium_document::path::update_index(name).unwrap_or(0).saturating_mul(ELEMENT);
            padding.saturating_add(name.len() + FRAME)
        };
        let elements = |values: &[Value]| values.iter().map(|value| bson_size(value) + ELEMENT).sum::<usize>();
        let value = match self {
            Self::Set(value) | Self::SetOnInsert(value) | Self::Min(value) | Self::Max(value) => bson_size(value),
            // If there is no value, the operand; otherwise at most a decimal, which has many digits
            // if the exponents differ much.
            Self::Inc(value) | Self::Mul(value) => bson_size(value).max(DECIMAL),
            Self::CurrentDate(_) | Self::Bit(_) => 8,
            Self::Push(Push { values, .. }) | Self::AddToSet(values) => elements(values) + FRAME,
            Self::Unset | Self::Pull(_) | Self::PullAll(_) | Self::Pop(_) | Self::RenameFrom(_) => 0,
        };
        path.names().map(name).fold(value, usize::saturating_add)
    }
}

/// Replaces the value unless it is identical.
fn replace(value: &mut Value, new: &Value) -> Outcome {
    if value == new {
        return Outcome::Same;
    }
    *value = new.clone();
    Outcome::Changed
}

fn check_rename(from: &FieldPath, to: &FieldPath) -> Result<(), UpdateError> {
    if from.starts_with(to) || to.starts_with(from) {
        let message = format!("$rename of '{from}' to '{to}': neither path may be the other or lead into it");
        return Err(UpdateError::BadValue(message));
    }
    Ok(())
}

/// The error for a document whose nesting would be too deep.
pub(super) fn nests_too_deep(operator: &str, path: &FieldPath) -> UpdateError {
    UpdateError::Overflow(format!("{operator} of '{path}' would nest the document deeper than {MAX_DEPTH} levels"))
}
