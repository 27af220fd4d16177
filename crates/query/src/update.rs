//! Updates by operators, as `{$set: {"name.first": "Ada"}, $inc: {logins: 1}}`.
//!
//! The operators: `$set`, `$unset`, `$inc`, `$mul`, `$min`, `$max`, `$bit`, `$push` (with `$each`,
//! `$position`, `$slice`, `$sort`), `$addToSet` (with `$each`), `$pull` (by any filter),
//! `$pullAll`, `$pop`, `$rename`, `$currentDate`, `$setOnInsert`. Rules and error codes are those
//! of MongoDB from version 5.0 on, taken from its manual (the pages of the operators, "Field Names
//! with Periods and Dollar Signs") and, where the manual is silent, from what its server does:
//!
//! - **Paths.** Names lead into maps; numbers (without leading zeros) also to elements of arrays. Maps that are missing
//!   are created, arrays never: `{$set: {"a.0": 1}}` makes `{a: {"0": 1}}` where there is no `a`. An array is filled up
//!   with nulls as far as the position, with at most 1,500,000. Through other values there is no way
//!   ([`UpdateError::PathNotViable`]), but for `$unset`, which then does nothing.
//! - **What is not there** is created by `$set`, `$inc`, `$min`, `$max`, `$push`, `$addToSet`, `$currentDate`, and by
//!   `$mul` as a zero; left alone by `$unset`, `$pull`, `$pop`, `$rename`. An element of an array
//!   that is unset becomes null.
//! - **Order.** All changes of an update are made in one order, whatever their operators and however they are written:
//!   that of the names at each level, by their bytes, numbers by value. So new fields are appended in that order, as in
//!   MongoDB since 5.0. `$rename` has the place of its new name.
//! - **Names.** Empty names are refused. So are fields of the document itself that begin with a dollar sign, also where
//!   the update inserts (MongoDB takes those then); deeper ones may.
//! - **Elements.** `$[]` means all elements of an array, `$[name]` those that an array filter matches
//!   ([`Update::parse_with`]), and `$` the one that the filter of the operation matched
//!   ([`Update::resolved`]). There must be an array. Which elements match is determined before any
//!   of them changes. What is reached twice is a conflict.
//! - **`_id`** never changes. Setting it to what it is does nothing.
//! - **Conflicts.** No path may be another's or lead into it, `$rename`'s included; nor may two
//!   mean elements of one array by name and by position.
//! - **Limits.** [`alluvium_document::MAX_DEPTH`] levels, [`MAX_DOCUMENT_BYTES`] bytes as BSON;
//!   what `$[]` and `$[name]` represent is 4,194,304 positions at most, in all paths of an update
//!   together.
//! - **Changed** is a document that is not identical to what it was: 1 and 1.0 are different, and a
//!   `$push` whose `$slice` undoes it changes nothing.

use alluvium_document::path::FieldPath;
use alluvium_document::row::{ID, RowError};
use alluvium_document::{Draft, Map, Value, bson};

use crate::filter::Patterns;

mod action;
mod array;
mod bit;
mod delta;
mod error;
mod fields;
mod number;
mod order;
mod parse;
mod place;
mod pull;
mod replace;
mod touch;
mod upsert;
mod walk;

use action::Action;
pub use delta::DeltaError;
pub use error::UpdateError;
use place::ArrayFilter;
pub use replace::{Modification, Replacement};

/// The largest document, as BSON, that an update may make, and the largest delta. MongoDB's limit of documents.
pub const MAX_DOCUMENT_BYTES: usize = 16 << 20;

/// What an update is applied in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Context {
    /// The time that `$currentDate` writes: milliseconds since 1970 in UTC. As a timestamp it is
    /// cut to seconds from 1970 to 2106, with the increment 1.
    pub time_ms: i64,
    /// True while a document is made that was not there, so that `$setOnInsert` applies.
    pub inserting: bool,
}

/// What an update did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Applied {
    /// False if the document is identical to what it was.
    pub changed: bool,
}

/// An update: what is done to which paths.
///
/// `PartialEq` is identity of the changes, however they were written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Update {
    /// In the order in which they are made; no path is another's or leads into it.
    changes: Vec<Change>,
    /// In the order of their names; each is used.
    filters: Vec<ArrayFilter>,
}

/// What is done to one path.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Change {
    path: FieldPath,
    action: Action,
}

impl Change {
    /// A change whose operand goes with the path.
    fn new(path: FieldPath, action: Action) -> Result<Self, UpdateError> {
        action.check(&path)?;
        Ok(Self { path, action })
    }

    fn paths(&self) -> impl Iterator<Item = &FieldPath> {
        let from = match &self.action {
            Action::RenameFrom(from) => Some(from),
            _ => None,
        };
        std::iter::once(&self.path).chain(from)
    }
}

impl Update {
    /// Reads an update. It has at least one operator; an operator without fields does nothing.
    ///
    /// # Errors
    /// Every kind of [`UpdateError`] that can be found without a document:
    /// [`UpdateError::FailedToParse`] (a document in
    /// place of an update, too, and operators that are not made here, by their names),
    /// [`UpdateError::ConflictingUpdateOperators`], errors of paths and operands.
    pub fn parse(update: &Map) -> Result<Self, UpdateError> {
        Self::parse_with(update, &[])
    }

    /// As [`Update::parse`], with array filters: `$[grade]` in a path represents the elements that
    /// `{"grade.score": {$gte: 85}}` matches.
    ///
    /// ```
    /// use alluvium_document::Document;
    /// use alluvium_query::update::{Context, Update};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let update = Document::from_json(r#"{"$set": {"grades.$[grade].mean": 100}}"#)?.to_map()?;
    /// let filter = Document::from_json(r#"{"grade.score": {"$gte": 85}}"#)?.to_value()?;
    /// let mut document = Document::from_json(r#"{"grades": [{"score": 80}, {"score": 90}]}"#)?.to_map()?;
    /// Update::parse_with(&update, &[filter])?.apply_to_map(&mut document, &Context::default())?;
    /// let document = Document::from_map(&document)?;
    /// assert_eq!(document.to_string(), r#"{"grades":[{"score":80},{"score":90,"mean":100}]}"#);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As there; of the filters [`UpdateError::Filter`], [`UpdateError::BadValue`] (a name without
    /// a filter, or that is none) and [`UpdateError::FailedToParse`] (a filter that is not used, or
    /// has several names).
    pub fn parse_with(update: &Map, array_filters: &[Value]) -> Result<Self, UpdateError> {
        // All conditions of the update share what patterns may take.
        let patterns = Patterns::default();
        let mut changes = parse::changes(update, &patterns)?;
        changes.sort_by(|a, b| order::compare_paths(&a.path, &b.path));
        let mut update = Self { changes, filters: Vec::new() };
        update.take_filters(array_filters, &patterns)?;
        update.check_conflicts()?;
        Ok(update)
    }

    /// Applies the update. Of fields of the document that it changes, and of fields that lead there, the values are
    /// decoded; of the others only if a field is added, removed or renamed ([`Draft`]).
    ///
    /// # Errors
    /// [`UpdateError`]. The draft is then unspecified, and to be dropped.
    pub fn apply(&self, document: &mut Draft, context: &Context) -> Result<Applied, UpdateError> {
        self.apply_to(document, context, |document| Ok(document.bson_size_over(MAX_DOCUMENT_BYTES)?))
    }

    /// As [`Update::apply`], to a document that is decoded whole.
    ///
    /// # Errors
    /// [`UpdateError`]. The map is then unspecified.
    pub fn apply_to_map(&self, document: &mut Map, context: &Context) -> Result<Applied, UpdateError> {
        let over = |size: usize| Some(size).filter(|size| *size > MAX_DOCUMENT_BYTES);
        self.apply_to(document, context, |document| Ok(over(bson::document_size(document))))
    }

    /// The document that an upsert by `_id` inserts: `_id` alone, then the update with
    /// `$setOnInsert`. `time_ms` is that of [`Context`].
    ///
    /// # Errors
    /// [`UpdateError`], for instance if the update sets another `_id`.
    pub fn for_upsert(&self, id: impl Into<Value>, time_ms: i64) -> Result<Map, UpdateError> {
        let mut document = Map::from([(ID, id.into())]);
        self.apply_to_map(&mut document, &Context { time_ms, inserting: true })?;
        Ok(document)
    }

    /// The paths that the update touches, in no particular order; for `$rename` the old and the new one.
    pub fn paths(&self) -> impl Iterator<Item = &FieldPath> {
        self.changes.iter().flat_map(Change::paths)
    }

    /// True if the update does nothing to any document, for it has no fields.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    fn apply_to<F: fields::Fields>(
        &self,
        document: &mut F,
        context: &Context,
        size_over_limit: impl Fn(&F) -> Result<Option<usize>, UpdateError>,
    ) -> Result<Applied, UpdateError> {
        let check_size = |document: &F| match size_over_limit(document)? {
            Some(size) => Err(UpdateError::TooLarge(format!(
                "the document would have {size} bytes as BSON; the limit is {MAX_DOCUMENT_BYTES}"
            ))),
            None => Ok(()),
        };
        let (mut changed, mut growth) = (false, 0usize);
        let mut make = |document: &mut F, change: &Change, positions: &[usize]| {
            changed |= walk::change(document, change, positions, context)?;
            // Many changes that are each within the limits must not fill the memory before the size is checked.
            growth = growth.saturating_add(change.action.growth_max(&change.path));
            if growth > MAX_DOCUMENT_BYTES {
                check_size(document)?;
                growth = 0;
            }
            Ok::<(), UpdateError>(())
        };
        if self.has_several() || self.needs_position() {
            let located = self.locate(document, context)?;
            located.iter(&self.changes).try_for_each(|at| make(document, at.change, at.positions))?;
        } else {
            self.changes.iter().try_for_each(|change| make(document, change, &[]))?;
        }
        if changed {
            check_size(document)?;
        }
        Ok(Applied { changed })
    }

    /// Applies the update, or leaves the document as it is. True if it was applied.
    ///
    /// `size_max` is at least the document's size as BSON, and is kept so; it spares measuring the document each time.
    pub(crate) fn apply_or_leave(&self, document: &mut Draft, size_max: &mut usize) -> Result<bool, RowError> {
        let context = Context::default();
        if self.has_several() || self.needs_position() {
            let mut copy = document.clone();
            return match self.apply(&mut copy, &context) {
                Ok(_) => {
                    *size_max = copy.bson_size_max();
                    *document = copy;
                    Ok(true)
                }
                Err(UpdateError::Damaged(error)) => Err(error),
                Err(_) => Ok(false),
            };
        }
        let add = |size: usize, change: &Change| size.saturating_add(change.action.growth_max(&change.path));
        let mut after = self.changes.iter().fold(*size_max, add);
        if after > MAX_DOCUMENT_BYTES {
            after = self.changes.iter().fold(document.bson_size()?, add);
        }
        let result = match &self.changes[..] {
            // A single change looks before it changes anything, and the result cannot be too large.
            [change] if after <= MAX_DOCUMENT_BYTES => walk::change(document, change, &[], &context).map(|_| ()),
            _ => {
                let mut copy = document.clone();
                self.apply(&mut copy, &context).map(|_| *document = copy)
            }
        };
        match result {
            Ok(()) => {
                *size_max = after;
                Ok(true)
            }
            Err(UpdateError::Damaged(error)) => Err(error),
            Err(_) => Ok(false),
        }
    }

    /// Refuses paths that are another's or lead into it.
    fn check_conflicts(&self) -> Result<(), UpdateError> {
        if let [change] = &self.changes[..]
            && !matches!(change.action, Action::RenameFrom(_))
        {
            return Ok(());
        }
        let mut paths: Vec<&FieldPath> = self.paths().collect();
        // What leads into a path comes right behind it.
        paths.sort_by(|a, b| order::compare_paths(a, b));
        match paths.windows(2).find(|pair| pair[1].starts_with(pair[0])) {
            None => Self::check_places(&paths),
            Some(pair) => Err(UpdateError::ConflictingUpdateOperators(format!(
                "updating the path '{}' would conflict with updating '{}'",
                pair[1], pair[0]
            ))),
        }
    }
}

#[cfg(test)]
mod tests;
