//! Projections, as `{name: 1, "address.city": 1, _id: 0}`: which fields of documents are returned.
//!
//! The rules are those of MongoDB's `find` from version 4.4 on:
//!
//! - A projection **includes** fields, and `_id` unless it says `_id: 0`, or **excludes** fields, never both but for `_id`.
//!   What is true or a number other than 0 includes, false and 0 exclude. Without fields it returns everything.
//! - **Paths** lead into maps, and through arrays into all their maps, arrays in arrays too; a number is a name. Elements
//!   that are no maps are left out by an inclusion and kept by an exclusion. `{a: {b: 1}}` is `{"a.b": 1}`. No path may be
//!   another's or lead into it.
//! - **Order**: that of the document; what `$elemMatch` finds comes last, in an inclusion.
//! - **`$slice`** takes a number of elements (the last ones, if it is negative) or `[skip, limit]` (from the end, if skip is
//!   negative). Alone it includes and excludes nothing. **`$elemMatch`** takes the first element that matches; alone
//!   it includes its field and `_id`.
//! - **`a.$`** takes the element of the first array on the path for which a condition of the filter holds
//!   ([`Filter::position`]).
//! - Expressions and constants are refused by name.

use document::path::FieldPath;
use document::{Document, Map, Value};

mod apply;
mod error;
mod parse;
mod tree;

use crate::filter::{ElementFilter, Filter};
pub use error::ProjectionError;
use tree::{Child, Node};

/// Which fields of documents are returned.
///
/// ```
/// use document::Document;
/// use query::{filter::Filter, projection::Projection};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let projection = Document::from_json(r#"{"name": 1, "tags": {"$slice": 1}}"#)?.to_map()?;
/// let projection = Projection::parse(&projection)?;
/// let document = Document::from_json(r#"{"_id": 1, "name": "Ada", "born": 1815, "tags": ["a", "b"]}"#)?;
/// let returned = Document::from_map(&projection.apply(&document, &Filter::default())?)?;
/// assert_eq!(returned.to_string(), r#"{"_id":1,"name":"Ada","tags":["a"]}"#);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Projection {
    kind: Kind,
    root: Node,
    /// In the order in which they are written.
    elem_matches: Vec<ElemMatch>,
    /// The path before `.$`.
    position: Option<FieldPath>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Inclusion,
    Exclusion,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct ElemMatch {
    name: Box<str>,
    filter: ElementFilter,
}

impl Projection {
    /// Reads a projection.
    ///
    /// # Errors
    /// [`ProjectionError::Invalid`], [`ProjectionError::NotSupported`]; [`ProjectionError::Filter`] of an `$elemMatch`.
    pub fn parse(projection: &Map) -> Result<Self, ProjectionError> {
        parse::projection(projection)
    }

    /// Refuses a positional projection if the filter has no condition on its first field, so that it could tell no element.
    ///
    /// # Errors
    /// [`ProjectionError::Invalid`].
    pub fn check_position(&self, filter: &Filter) -> Result<(), ProjectionError> {
        match &self.position {
            Some(path) if !speaks_of(&filter.to_map(), path.first()) => {
                let message = format!(
                    "the positional projection '{path}.$' needs a condition on '{}' in the filter",
                    path.first()
                );
                Err(ProjectionError::Invalid(message, 31277))
            }
            _ => Ok(()),
        }
    }

    /// What is returned of a document. `filter` is the one that it matches, which tells the element for a positional
    /// projection; others do not ask it. Fields that are not returned are not decoded.
    ///
    /// # Errors
    /// [`ProjectionError::NoPosition`], or the document is damaged.
    pub fn apply(&self, document: &Document, filter: &Filter) -> Result<Map, ProjectionError> {
        if self.is_everything() {
            return Ok(document.to_map()?);
        }
        apply::Application { projection: self, document, filter }.run()
    }

    /// True if documents are returned as they are.
    pub fn is_everything(&self) -> bool {
        self.kind == Kind::Exclusion && self.root.is_empty() && self.elem_matches.is_empty()
    }

    /// The fields of the document itself that are looked at; none if that is all but some.
    pub fn fields(&self) -> Option<Vec<&str>> {
        if self.kind == Kind::Exclusion {
            return None;
        }
        let included = self.root.children().iter().map(|(name, _)| &**name);
        Some(included.chain(self.elem_matches.iter().map(|elem_match| &*elem_match.name)).collect())
    }

    /// True if [`Projection::of_values`] may answer from the values at these paths, so that documents need not be read.
    ///
    /// It includes fields, all of which are at these paths or in what lies there; none by operators.
    pub fn is_covered_by<'p>(&self, paths: impl IntoIterator<Item = &'p FieldPath>) -> bool {
        let paths: Vec<Vec<&str>> = paths.into_iter().map(|path| path.names().collect()).collect();
        self.kind == Kind::Inclusion && self.elem_matches.is_empty() && covers(&self.root, &paths, 0)
    }

    /// What is returned of a document of which only these values are known, none of them reached through arrays: those of
    /// an index entry, none where there is nothing. Fields come in the order of the values.
    ///
    /// None if that cannot be told: the projection is not [covered](Projection::is_covered_by), or a value is missing
    /// at a path of several names, where what is around it may be there or not.
    pub fn of_values(&self, values: &[(&FieldPath, Option<&Value>)]) -> Option<Map> {
        if !self.is_covered_by(values.iter().map(|(path, _)| *path)) {
            return None;
        }
        let mut known = Map::new();
        for (path, value) in values {
            // What leads elsewhere is not looked at.
            if self.root.get(path.first()).is_none() {
                continue;
            }
            match value {
                Some(value) => put(&mut known, path, value)?,
                None if path.depth() > 1 => return None,
                None => {}
            }
        }
        self.apply(&Document::from_map(&known).ok()?, &Filter::default()).ok()
    }
}

/// True if the canonical form of a filter has a condition on a field.
fn speaks_of(filter: &Map, field: &str) -> bool {
    let name_speaks = |(name, value): &(Value, Value)| match (name.as_str().unwrap_or_default(), value) {
        ("$and" | "$or" | "$nor", Value::Array(inner)) => {
            inner.iter().filter_map(Value::as_map).any(|inner| speaks_of(inner, field))
        }
        (path, _) => path.split('.').next() == Some(field),
    };
    filter.entries.iter().any(name_speaks)
}

/// True if all that a node includes lies at, or in what lies at, one of the paths; `depth` of their names led to it.
fn covers(node: &Node, paths: &[Vec<&str>], depth: usize) -> bool {
    node.children().iter().all(|(name, child)| {
        let here = |path: &&Vec<&str>| path.get(depth) == Some(&&**name);
        let below: Vec<Vec<&str>> = paths.iter().filter(here).cloned().collect();
        let known = below.iter().any(|path| path.len() == depth + 1);
        match child {
            Child::Whole => known,
            Child::Fields(inner) => known || covers(inner, &below, depth + 1),
            Child::Slice(_) | Child::Position => false,
        }
    })
}

/// Puts a value at a path. None if something else is in the way, so that the values are not of one document.
fn put(map: &mut Map, path: &FieldPath, value: &Value) -> Option<()> {
    let mut map = map;
    let mut names = path.names();
    let last = names.next_back()?;
    for name in names {
        if !map.contains(name) {
            map.push(name, Map::new());
        }
        let Some(Value::Map(inner)) = map.get_mut(name) else { return None };
        map = inner;
    }
    match map.get(last) {
        Some(known) => (known == value).then_some(()),
        None => {
            map.push(last, value.clone());
            Some(())
        }
    }
}

#[cfg(test)]
mod tests;
