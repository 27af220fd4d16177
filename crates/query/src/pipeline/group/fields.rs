//! Reads the fields that a simple group needs from a stored document, in a single pass over its row.

use super::Group;
use crate::expression::Expression;
use alluvium_document::Value;
use alluvium_document::row::{FieldFinder, MapRef, RowError, ValueRef};

/// The `_id` and the arguments of a group, if all of them are top-level fields or constants. Their values are read
/// without copies.
#[derive(Debug)]
pub(super) struct GroupFields {
    finder: FieldFinder,
    id: Origin,
    arguments: Box<[Origin]>,
}

/// The source of a value.
#[derive(Debug)]
enum Origin {
    /// The field at this position of the finder.
    Field(usize),
    Constant(Value),
}

impl Origin {
    /// `None` if the expression is neither a top-level field nor a constant.
    fn of<'g>(expression: &'g Expression, names: &mut Vec<&'g str>) -> Option<Self> {
        match (expression.as_path(), expression.as_constant()) {
            (Some(path), _) if path.depth() == 1 => {
                names.push(path.first());
                Some(Self::Field(names.len() - 1))
            }
            (None, Some(constant)) => Some(Self::Constant(constant.clone())),
            _ => None,
        }
    }
}

impl GroupFields {
    /// `None` if the group evaluates other expressions, or sorts documents.
    pub fn of(group: &Group) -> Option<Self> {
        let mut names = Vec::new();
        let id = Origin::of(&group.id, &mut names)?;
        let plain = group.fields.iter().filter(|(_, accumulator)| accumulator.takes_values());
        let arguments = plain.map(|(_, accumulator)| Origin::of(&accumulator.argument, &mut names));
        let arguments: Box<[Origin]> = arguments.collect::<Option<_>>()?;
        let is_complete = arguments.len() == group.fields.len() && group.only_field.is_none();
        is_complete.then(|| Self { finder: FieldFinder::new(names), id, arguments })
    }

    /// Locates the fields of a document.
    ///
    /// # Errors
    /// The row is damaged.
    pub fn find(&mut self, row: MapRef<'_>) -> Result<(), RowError> {
        self.finder.find(row)
    }

    /// The `_id` of the group of the document that was passed to [`GroupFields::find`].
    ///
    /// # Errors
    /// The value is damaged.
    pub fn id<'a>(&self, row: MapRef<'a>) -> Result<ValueRef<'a>, RowError> {
        Ok(self.value(&self.id, row)?.unwrap_or(ValueRef::Null))
    }

    /// The arguments of the accumulators, in their order; `None` if a value is missing.
    pub fn arguments<'a>(&self, row: MapRef<'a>) -> impl Iterator<Item = Result<Option<ValueRef<'a>>, RowError>> {
        self.arguments.iter().map(move |argument| self.value(argument, row))
    }

    fn value<'a>(&self, origin: &Origin, row: MapRef<'a>) -> Result<Option<ValueRef<'a>>, RowError> {
        match origin {
            Origin::Field(at) => self.finder.value(row, *at),
            Origin::Constant(value) => Ok(Some(ValueRef::from_value(value.clone()))),
        }
    }
}
