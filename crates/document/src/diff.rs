//! The difference between two states of a document, as MongoDB's change streams describe updates.
//!
//! [`Difference::between`] compares the fields of two documents, [`Difference::apply`] makes the later document from
//! the earlier one, and [`Difference::description`] is the `updateDescription` of a change event.
//!
//! # Rules
//!
//! Two values are equal if they have the same type and the same bytes: 1 differs from 1.0, and -0.0 from 0.0.
//!
//! - Fields of a document inside a document are compared one by one, so that `{a: {b: 1}}` and `{a: {b: 2}}` differ in
//!   `a.b`. A new field is set as a whole, and so is a value whose type has changed.
//! - Elements of arrays are compared by position, documents and arrays among them recursively. New elements at the end
//!   are set by position. If the array became shorter, it is truncated.
//! - An array with two or more changes inside is set as a whole if their paths, values and lengths would take at least
//!   as much space as the path and the array. So `[1, 2, 3]` and `[2, 3]` differ in one value, and not in two values
//!   and a length.
//! - The fields that keep their places are the longest beginning of the later document whose names occur in the same
//!   order in the earlier one. All later fields are appended in order: a field that exists already moves to the end
//!   and is listed as updated, with its whole value, even if only its place has changed. It is not listed as removed.
//!   So the later document consists of the fields that kept their places, and those appended, in this order.
//!
//! A document inside the document that has a name twice, or a key that is not a string, cannot be addressed by paths; if
//! it has changed, it is set as a whole.

use crate::value::{MAX_DEPTH, Map, Text, Value};

mod apply;
mod compare;
mod delta;
mod path;
mod stored;

pub use path::{Component, Path};

/// The maximum sum of the lengths of all paths of a difference in bytes, as [`Path::dotted`] writes them: the maximum
/// size of a BSON document.
pub const PATHS_BYTES_MAX: usize = 16 << 20;

/// The difference between an earlier and a later state of a document.
///
/// ```
/// use alluvium_document::{diff::Difference, doc};
///
/// let mut rex = doc! {"_id": "rex", "age": 3, "chip": {"number": 17, "old": true}, "tags": ["dog", "brown", "big"]};
/// let later = doc! {"_id": "rex", "age": 4, "chip": {"number": 17}, "tags": ["dog"], "name": "Rex"};
///
/// let difference = Difference::between(&rex, &later).unwrap();
/// assert_eq!(
///     difference.description(false),
///     doc! {
///         "updatedFields": {"age": 4, "name": "Rex"},
///         "removedFields": ["chip.old"],
///         "truncatedArrays": [{"field": "tags", "newSize": 1}],
///     }
/// );
/// difference.apply(&mut rex).unwrap();
/// assert_eq!(rex, later);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Difference {
    root: Fields,
}

/// One change at a path, passed to the function of [`Difference::try_for_each`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<'a> {
    /// The field or element now has this value. It may be new.
    Updated(&'a Value),
    /// The field does not exist any more.
    Removed,
    /// The array now has this number of elements, which is less than before.
    Truncated(u32),
}

/// The reason why a stored difference cannot be read or applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DifferenceError {
    /// The map is not the stored form of a difference.
    #[error("a stored difference is damaged: {reason} in its entry '{entry}'; use the whole document instead")]
    Malformed {
        /// The name of the entry.
        entry: String,
        /// The violated rule of the form.
        reason: &'static str,
    },
    /// The document is not the earlier state that the difference was computed from.
    #[error("the difference is that of another document: '{path}' does not fit; use the whole document instead")]
    Misfit {
        /// The dotted path to the first value that does not fit.
        path: String,
    },
}

/// The changes inside a document. A name occurs once in all lists.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Fields {
    /// In the order of the earlier document, as are `updated` and `inside`.
    removed: Vec<Text>,
    /// New values of fields that keep their places.
    updated: Vec<(Text, Value)>,
    /// Fields that are new or move to the end, in the order of the later document.
    appended: Vec<(Text, Value)>,
    /// Fields that keep their places and have changed inside.
    inside: Vec<(Text, Inside)>,
}

/// The changes inside an array.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Elements {
    /// The new length, if the array became shorter.
    truncated: Option<u32>,
    /// By ascending position, at most [`POSITION_MAX`]. A position beyond the earlier length appends its value.
    changes: Vec<(u32, Element)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Element {
    Set(Value),
    Inside(Inside),
}

/// The changes inside a value; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Inside {
    Document(Fields),
    Array(Elements),
}

/// The highest position of an element, and the maximum length of an array, in a difference: positions are integers of
/// 32 bits in change events.
const POSITION_MAX: u32 = i32::MAX as u32;

impl Difference {
    /// The difference between two states of a document, empty if they are identical.
    ///
    /// `None` if the later document must be used as a whole, because
    /// - the `_id` has changed, moved, or exists in only one of the documents;
    /// - the documents are not identical, and one of them has a name twice or a key that is not a string, among its own
    ///   fields;
    /// - one of them nests deeper than [`MAX_DEPTH`];
    /// - the paths together are longer than [`PATHS_BYTES_MAX`].
    ///
    /// Otherwise [`Difference::apply`] to `before` gives exactly `after`, with the order of fields.
    ///
    /// ```
    /// use alluvium_document::{diff::Difference, doc};
    ///
    /// let before = doc! {"_id": 1, "a": 1};
    /// assert!(Difference::between(&before, &before).unwrap().is_empty());
    /// assert!(!Difference::between(&before, &doc! {"_id": 1, "a": 1.0}).unwrap().is_empty());
    /// assert_eq!(Difference::between(&before, &doc! {"_id": 2, "a": 1}), None);
    /// ```
    pub fn between(before: &Map, after: &Map) -> Option<Self> {
        compare::between(before, after)
    }

    /// [`Difference::between`] two documents of these fields, each with its earlier and its later value. A name occurs
    /// once.
    pub(crate) fn of_values(fields: &[(&str, Value, &Value)]) -> Option<Self> {
        compare::of_values(fields)
    }

    /// True if the two documents were identical.
    pub fn is_empty(&self) -> bool {
        self.root.is_empty()
    }

    /// Changes the earlier document to the later one.
    ///
    /// # Errors
    /// [`DifferenceError::Misfit`] if the document lacks a field or an element that the difference changes, or if that
    /// has another type. The document is then changed in part.
    ///
    /// ```
    /// use alluvium_document::{diff::Difference, doc};
    ///
    /// let (mut before, after) = (doc! {"a": 1, "b": 2}, doc! {"b": 2, "a": 1});
    /// let difference = Difference::between(&before, &after).unwrap();
    /// difference.apply(&mut before).unwrap();
    /// assert_eq!(before, after);
    ///
    /// let removal = Difference::between(&doc! {"a": 1}, &doc! {}).unwrap();
    /// assert!(removal.apply(&mut doc! {"b": 1}).is_err());
    /// ```
    pub fn apply(&self, document: &mut Map) -> Result<(), DifferenceError> {
        self.root.apply(document, &mut Path::default())
    }

    /// Calls `visit` with each change and its path, until it returns an error, which is returned. In each document,
    /// updated fields are first, then removed ones, then changes inside of fields. In arrays, the truncation is first;
    /// then changes follow by position.
    ///
    /// ```
    /// use alluvium_document::{diff::{Change, Difference}, doc};
    ///
    /// let difference = Difference::between(&doc! {"a": [1, {"b": 1}]}, &doc! {"a": [1, {}]}).unwrap();
    /// let visited: Result<(), String> = difference.try_for_each(|path, change| match change {
    ///     Change::Removed => Err(path.dotted()),
    ///     _ => Ok(()),
    /// });
    /// assert_eq!(visited, Err("a.1.b".to_owned()));
    /// ```
    pub fn try_for_each<E>(&self, mut visit: impl FnMut(&Path, Change<'_>) -> Result<(), E>) -> Result<(), E> {
        self.root.try_for_each(&mut Path::default(), &mut visit)
    }

    /// The `updateDescription` of MongoDB's change events: `updatedFields`, `removedFields` and `truncatedArrays`, and
    /// with `expanded` also `disambiguatedPaths`, as under `showExpandedEvents`. Two different paths may have the same
    /// text, which then occurs twice as a name.
    ///
    /// ```
    /// use alluvium_document::{diff::Difference, doc};
    ///
    /// let difference = Difference::between(&doc! {"a": [{"0": 1}]}, &doc! {"a": [{"0": 2}]}).unwrap();
    /// assert_eq!(
    ///     difference.description(true),
    ///     doc! {
    ///         "updatedFields": {"a.0.0": 2},
    ///         "removedFields": [],
    ///         "truncatedArrays": [],
    ///         "disambiguatedPaths": {"a.0.0": ["a", 0, "0"]},
    ///     }
    /// );
    /// ```
    pub fn description(&self, expanded: bool) -> Map {
        let (mut updated, mut ambiguous) = (Map::new(), Map::new());
        let (mut removed, mut truncated) = (Vec::new(), Vec::new());
        let Ok(()) = self.try_for_each(|path, change| -> Result<(), std::convert::Infallible> {
            let dotted = Value::from(path.dotted());
            if expanded && path.is_ambiguous() {
                ambiguous.push(dotted.clone(), path.to_values());
            }
            match change {
                Change::Updated(value) => updated.push(dotted, value),
                Change::Removed => removed.push(dotted),
                Change::Truncated(size) => {
                    truncated.push(Value::Map(Map::from([("field", dotted), ("newSize", position(size))])));
                }
            }
            Ok(())
        });
        let mut description = Map::new();
        description.push("updatedFields", updated);
        description.push("removedFields", removed);
        description.push("truncatedArrays", truncated);
        if expanded {
            description.push("disambiguatedPaths", ambiguous);
        }
        description
    }

    /// The form of the difference in MongoDB's operation log, version 2 of updates.
    ///
    /// The form of the changes inside a document is a map with these fields, as far as there are such changes:
    ///
    /// | field | value | meaning |
    /// |---|---|---|
    /// | `d` | map of names to false | the fields are removed |
    /// | `u` | map of names to values | the fields keep their places and have these values |
    /// | `i` | map of names to values | the fields are removed if they exist, and appended with these values |
    /// | `s` and a name | map in this form | the field is a document or an array that has changed inside |
    ///
    /// The form of the changes inside an array is a map with `a: true`, then `l` with the new length if the array became
    /// shorter, and then by ascending position `u` or `s` and the position, with values as above.
    ///
    /// ```
    /// use alluvium_document::{diff::Difference, doc};
    ///
    /// let before = doc! {"a": 1, "b": {"c": [1, 2, 3], "d": 0}, "e": 0};
    /// let after = doc! {"a": 2, "b": {"c": [1, 5], "d": 0}, "f": null};
    /// let difference = Difference::between(&before, &after).unwrap();
    /// let inside = doc! {"sc": {"a": true, "l": 2, "u1": 5}};
    /// assert_eq!(
    ///     difference.delta(),
    ///     doc! {"d": {"e": false}, "u": {"a": 2}, "i": {"f": null}, "sb": (inside)}
    /// );
    /// ```
    pub fn delta(&self) -> Map {
        self.root.delta()
    }

    /// The form in which a difference is stored. It does not nest deeper than the two documents.
    ///
    /// The form of the changes inside a document is a map. Each entry is one change; its name is a letter and the name
    /// of the field:
    ///
    /// | letter | value | meaning |
    /// |---|---|---|
    /// | `r` | true | the field is removed |
    /// | `u` | any value | the field keeps its place and has this value |
    /// | `a` | any value | the field is removed if it exists, and appended with this value |
    /// | `d` | map in this form, not empty | the field is a document that has changed inside |
    /// | `l` | map in the form for arrays, not empty | the field is an array that has changed inside |
    ///
    /// The form of the changes inside an array is a map of entries with `u`, `d` and `l` as above and the position in
    /// decimal digits, ascending, and before them `t` with the new length as an integer of 32 bits if the array became
    /// shorter. No name and no position occurs twice.
    ///
    /// ```
    /// use alluvium_document::{diff::Difference, doc};
    ///
    /// let before = doc! {"a": 1, "b": {"c": [1, 2, 3], "d": 0}, "e": 0};
    /// let after = doc! {"a": 2, "b": {"c": [1, 5], "d": 0}, "f": null};
    /// let difference = Difference::between(&before, &after).unwrap();
    ///
    /// let stored = difference.clone().into_map();
    /// assert_eq!(stored, doc! {"re": true, "ua": 2, "af": null, "db": {"lc": {"t": 2, "u1": 5}}});
    /// assert_eq!(Difference::from_map(stored), Ok(difference));
    /// ```
    pub fn into_map(self) -> Map {
        self.root.into_map()
    }

    /// Appends the encoding of [`Difference::into_map`] ([`crate::encoding::encode_map`]).
    ///
    /// ```
    /// use alluvium_document::{diff::Difference, doc, encoding};
    ///
    /// let difference = Difference::between(&doc! {"a": 1}, &doc! {"a": 2}).unwrap();
    /// let (mut encoded, mut map) = (Vec::new(), Vec::new());
    /// difference.encode(&mut encoded);
    /// encoding::encode_map(&doc! {"ua": 2}, &mut map);
    /// assert_eq!(encoded, map);
    /// ```
    pub fn encode(&self, out: &mut Vec<u8>) {
        self.root.encode(out);
    }

    /// Reads the form of [`Difference::into_map`].
    ///
    /// # Errors
    /// [`DifferenceError::Malformed`] if the map does not have this form, or nests deeper than [`MAX_DEPTH`].
    ///
    /// ```
    /// use alluvium_document::{diff::Difference, doc};
    ///
    /// assert!(Difference::from_map(doc! {"ua": 1}).is_ok());
    /// assert!(Difference::from_map(doc! {"xa": 1}).is_err());
    /// ```
    pub fn from_map(map: Map) -> Result<Self, DifferenceError> {
        Ok(Self { root: Fields::from_map(map, MAX_DEPTH - 1)? })
    }
}

impl Fields {
    fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.updated.is_empty() && self.appended.is_empty() && self.inside.is_empty()
    }

    fn try_for_each<E, F>(&self, path: &mut Path, visit: &mut F) -> Result<(), E>
    where
        F: FnMut(&Path, Change<'_>) -> Result<(), E>,
    {
        for (name, value) in self.updated.iter().chain(&self.appended) {
            path.within(Component::Field(name.clone()), |path| visit(path, Change::Updated(value)))?;
        }
        for name in &self.removed {
            path.within(Component::Field(name.clone()), |path| visit(path, Change::Removed))?;
        }
        for (name, inside) in &self.inside {
            path.within(Component::Field(name.clone()), |path| inside.try_for_each(path, visit))?;
        }
        Ok(())
    }
}

impl Elements {
    fn is_empty(&self) -> bool {
        self.truncated.is_none() && self.changes.is_empty()
    }

    fn try_for_each<E, F>(&self, path: &mut Path, visit: &mut F) -> Result<(), E>
    where
        F: FnMut(&Path, Change<'_>) -> Result<(), E>,
    {
        if let Some(size) = self.truncated {
            visit(path, Change::Truncated(size))?;
        }
        for (at, element) in &self.changes {
            path.within(Component::Position(*at), |path| match element {
                Element::Set(value) => visit(path, Change::Updated(value)),
                Element::Inside(inside) => inside.try_for_each(path, visit),
            })?;
        }
        Ok(())
    }
}

impl Inside {
    fn is_empty(&self) -> bool {
        match self {
            Inside::Document(fields) => fields.is_empty(),
            Inside::Array(elements) => elements.is_empty(),
        }
    }

    fn try_for_each<E, F>(&self, path: &mut Path, visit: &mut F) -> Result<(), E>
    where
        F: FnMut(&Path, Change<'_>) -> Result<(), E>,
    {
        match self {
            Inside::Document(fields) => fields.try_for_each(path, visit),
            Inside::Array(elements) => elements.try_for_each(path, visit),
        }
    }
}

/// A position or length as a value; it is at most [`POSITION_MAX`].
fn position(at: u32) -> Value {
    i32::try_from(at).map_or(Value::from(at), Value::from)
}

#[cfg(test)]
mod tests;
