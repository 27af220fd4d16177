//! Updates with operators, such as `{$set: {"name.first": "Ada"}, $inc: {logins: 1}}`.
//!
//! The operators: `$set`, `$unset`, `$inc`, `$mul`, `$min`, `$max`, `$bit`, `$push` (with `$each`,
//! `$position`, `$slice`, `$sort`), `$addToSet` (with `$each`), `$pull` (by any filter),
//! `$pullAll`, `$pop`, `$rename`, `$currentDate`, `$setOnInsert`. Rules and error codes are those
//! of MongoDB from version 5.0 on. They are taken from its manual (the pages of the operators,
//! "Field Names with Periods and Dollar Signs") and, where the manual is silent, from the behaviour
//! of its server:
//!
//! - **Paths.** A path is followed into maps; a number without leading zeros also selects an
//!   element of an array. Missing maps are created, arrays are not: `{$set: {"a.0": 1}}` makes `{a:
//!   {"0": 1}}` if `a` is missing. An array is padded with at most 1,500,000 nulls up to the
//!   position. A path through any other value is an error ([`UpdateError::PathNotViable`]), except
//!   for `$unset`, which then has no effect.
//! - **A missing value** is created by `$set`, `$inc`, `$min`, `$max`, `$push`, `$addToSet`,
//!   `$currentDate`, and by `$mul` as zero. It remains missing after `$unset`, `$pull`, `$pop`,
//!   `$rename`. `$unset` of an array element sets it to null.
//! - **Order.** The changes of an update are applied in the order of their paths, whatever their
//!   operators and notation: at each level, names are ordered by their bytes, and numbers by value.
//!   Therefore new fields are appended in that order, as in MongoDB since 5.0. `$rename` is ordered
//!   by its new name.
//! - **Names.** Empty names are refused. Top-level field names must not begin with a dollar sign,
//!   even if the update inserts a document (MongoDB allows them in that case); deeper names may.
//! - **Elements.** `$[]` represents all elements of an array, `$[name]` for the elements that match
//!   an array filter ([`Update::parse_with`]), and `$` for the element that the filter of the
//!   operation matched ([`Update::resolved`]). The value must be an array. The matching elements
//!   are determined before any of them changes. An element that is changed twice is a conflict.
//! - **`_id`** never changes. Setting it to its current value has no effect.
//! - **Conflicts.** No path may be equal to another or lead into it; this includes both paths of
//!   `$rename`. Two paths must not select elements of one array by name and by position.
//! - **Limits.** [`alluvium_document::MAX_DEPTH`] levels; [`MAX_DOCUMENT_BYTES`] bytes as BSON;
//!   4,194,304 positions that `$[]` and `$[name]` stand for, over all paths of an update.
//! - **Changed** means that the document is not identical to the previous one: 1 and 1.0 are
//!   different, and a `$push` that its `$slice` undoes changes nothing.

use alluvium_document::path::FieldPath;
use alluvium_document::row::{ID, RowError};
use alluvium_document::{Draft, Map, Value, bson};

use crate::collation::Collation;
use crate::expression::Variables;
use crate::interrupt::Interrupt;
use crate::pattern::Patterns;
use crate::sorting;
use crate::work::Work;

mod action;
mod array;
mod bit;
mod delta;
mod error;
mod fields;
mod modification;
mod order;
mod parse;
mod piped;
mod place;
mod pull;
mod replace;
mod touch;
mod upsert;
mod walk;

use action::Action;
pub use delta::DeltaError;
pub use error::UpdateError;
pub use modification::Modification;
pub use piped::Piped;
use place::ArrayFilter;
pub use replace::Replacement;

/// The maximum size, as BSON, of an updated document and of a delta: MongoDB's limit for documents.
pub const MAX_DOCUMENT_BYTES: usize = 16 << 20;

/// The circumstances in which an update is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Context {
    /// The time that `$currentDate` writes, in milliseconds since 1970 in UTC. As a timestamp it
    /// has whole seconds, clamped to the years 1970 to 2106, and the increment 1.
    pub time_ms: i64,
    /// True if the document is being inserted, so that `$setOnInsert` applies.
    pub inserting: bool,
}

/// The result of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Applied {
    /// False if the document is identical to the previous one.
    pub changed: bool,
}

/// A parsed update, which changes values at paths.
///
/// Two updates are equal if their changes are identical, whatever their notation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Update {
    /// The changes in the order in which they are applied. No path is equal to another or leads into it.
    changes: Vec<Change>,
    /// The array filters, sorted by name. Each of them is used in a path.
    filters: Vec<ArrayFilter>,
    /// The interrupt, which can end long changes of one document.
    interrupt: Option<Interrupt>,
}

/// The change of the value at one path.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Change {
    path: FieldPath,
    action: Action,
    /// The collation of strings; `None` to compare their bytes.
    collation: Option<Collation>,
}

impl Change {
    /// A change. Checks that the operand is allowed at the path.
    fn new(path: FieldPath, action: Action) -> Result<Self, UpdateError> {
        action.check(&path)?;
        Ok(Self { path, action, collation: None })
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
    /// Parses an update, which must have at least one operator. An operator without fields has no effect.
    ///
    /// # Errors
    /// Every [`UpdateError`] that can be detected without a document:
    /// [`UpdateError::FailedToParse`] (also for an update without operators, and for operators that
    /// are not supported), [`UpdateError::ConflictingUpdateOperators`], errors of paths and
    /// operands.
    pub fn parse(update: &Map) -> Result<Self, UpdateError> {
        Self::parse_with(update, &[])
    }

    /// As [`Update::parse`], with array filters: `$[grade]` in a path stands for the elements that
    /// match `{"grade.score": {$gte: 85}}`.
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
    /// As for [`Update::parse`]. For the filters [`UpdateError::Filter`], [`UpdateError::BadValue`]
    /// (a name that is invalid or has no filter) and [`UpdateError::FailedToParse`] (a filter that
    /// is not used, or has several names).
    pub fn parse_with(update: &Map, array_filters: &[Value]) -> Result<Self, UpdateError> {
        Self::parse_by(update, array_filters, None)
    }

    /// As [`Update::parse_with`]. The interrupt of these variables can end the tests of elements.
    ///
    /// # Errors
    /// As [`Update::parse_with`].
    pub fn parse_in(update: &Map, array_filters: &[Value], variables: &Variables) -> Result<Self, UpdateError> {
        Self::parse_by(update, array_filters, variables.interrupt())
    }

    fn parse_by(update: &Map, array_filters: &[Value], interrupt: Option<&Interrupt>) -> Result<Self, UpdateError> {
        // All conditions of the update share one budget for patterns.
        let patterns = Patterns::interrupted_by(interrupt);
        let changes = parse::changes(update, &patterns)?;
        let by_path = |a: &Change, b: &Change| order::compare_paths(&a.path, &b.path);
        let changes = sorting::sorted(changes, by_path, &mut Work::asking(interrupt))?;
        let mut update = Self { changes, filters: Vec::new(), interrupt: interrupt.cloned() };
        update.take_filters(array_filters, &patterns)?;
        update.check_conflicts()?;
        Ok(update)
    }

    /// Returns the update with a collation for comparing strings. The collation applies to `$min`,
    /// `$max`, `$addToSet`, `$pull`, `$pullAll`, the sort of `$push`, and array filters. An update
    /// with a collation and one of these has no delta.
    #[must_use]
    pub fn collated(mut self, collation: Option<&Collation>) -> Self {
        let has_filters = !self.filters.is_empty();
        for change in &mut self.changes {
            change.collation = collation.filter(|_| has_filters || change.action.compares()).cloned();
            if let (Action::Pull(pull), Some(collation)) = (&mut change.action, collation) {
                pull.collate(collation);
            }
        }
        if let Some(collation) = collation {
            self.filters.iter_mut().for_each(|filter| filter.filter.collate(collation));
        }
        self
    }

    /// True if the update compares values with each other, so that a collation affects it.
    pub fn compares(&self) -> bool {
        !self.filters.is_empty() || self.changes.iter().any(|change| change.action.compares())
    }

    /// Applies the update. Only the fields on the changed paths are decoded. Other fields are
    /// decoded only if a field is added, removed or renamed ([`Draft`]).
    ///
    /// # Errors
    /// [`UpdateError`]. The content of the draft is unspecified after an error, so the draft must be dropped.
    pub fn apply(&self, document: &mut Draft, context: &Context) -> Result<Applied, UpdateError> {
        self.apply_to(document, context, |document| Ok(document.bson_size_over(MAX_DOCUMENT_BYTES)?))
    }

    /// As [`Update::apply`], for a decoded document.
    ///
    /// # Errors
    /// [`UpdateError`]. The content of the map is unspecified after an error.
    pub fn apply_to_map(&self, document: &mut Map, context: &Context) -> Result<Applied, UpdateError> {
        let over = |size: usize| Some(size).filter(|size| *size > MAX_DOCUMENT_BYTES);
        self.apply_to(document, context, |document| Ok(over(bson::document_size(document))))
    }

    /// The document that an upsert by `_id` inserts. It is the result of applying the update,
    /// including `$setOnInsert`, to a document that has only an `_id`. `time_ms` is the field of
    /// [`Context`].
    ///
    /// # Errors
    /// [`UpdateError`], for instance if the update sets a different `_id`.
    pub fn for_upsert(&self, id: impl Into<Value>, time_ms: i64) -> Result<Map, UpdateError> {
        let mut document = Map::from([(ID, id.into())]);
        self.apply_to_map(&mut document, &Context { time_ms, inserting: true })?;
        Ok(document)
    }

    /// The paths that the update touches, in no particular order. A `$rename` has two paths.
    pub fn paths(&self) -> impl Iterator<Item = &FieldPath> {
        self.changes.iter().flat_map(Change::paths)
    }

    /// True if the update has no fields and therefore changes no document.
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
        let mut work = Work::asking(self.interrupt.as_ref());
        let mut make = |document: &mut F, change: &Change, positions: &[usize]| {
            let added = change.action.growth_max(&change.path);
            work.add(added.min(MAX_DOCUMENT_BYTES))?;
            changed |= walk::change(document, change, positions, context)?;
            // Many changes, each within the limits, must not exhaust the memory before the size is
            // checked.
            growth = growth.saturating_add(added);
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

    /// Applies the update and returns true if that is possible. Otherwise returns false and leaves the document
    /// unchanged.
    ///
    /// `size_max` is an upper bound of the document's size as BSON, which this function keeps up to
    /// date. With it, the document need not be measured each time.
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
            // A single change is checked before anything is modified. In this case the result also
            // cannot be too large.
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

    /// Refuses paths that are equal to another or lead into it.
    fn check_conflicts(&self) -> Result<(), UpdateError> {
        if let [change] = &self.changes[..]
            && !matches!(change.action, Action::RenameFrom(_))
        {
            return Ok(());
        }
        let mut paths: Vec<&FieldPath> = self.paths().collect();
        // In this order, a path is directly followed by the paths that lead into it.
        sorting::sort_by(&mut paths, |a, b| order::compare_paths(a, b), &mut Work::asking(self.interrupt.as_ref()))?;
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
