//! Projections, such as `{name: 1, "address.city": 1, _id: 0}`: the fields of documents that a
//! query returns.
//!
//! The rules are those of MongoDB's `find` from version 4.4 on:
//!
//! - A projection either **includes** fields, and `_id` unless it has `_id: 0`, or **excludes**
//!   fields. Only `_id` may differ from the other fields. True and numbers other than 0 include a
//!   field, false and 0 exclude it. An empty projection returns all fields.
//! - **Paths** are followed into maps, and through arrays, including nested ones, into all their
//!   maps; a number in a path is a field name. Inclusions leave out elements that are not maps;
//!   exclusions keep them. `{a: {b: 1}}` is `{"a.b": 1}`. No path may be equal to another or lead
//!   into it.
//! - **Order**: the order of fields in the document. In an inclusion, fields from `$elemMatch` come last.
//! - **`$slice`** returns a number of elements (the last ones, if negative) or `[skip, limit]`
//!   (from the end, if skip is negative). If a projection has nothing else, it returns all fields.
//!   **`$elemMatch`** returns the first element that matches. If a projection has nothing else, it
//!   includes that field and `_id`.
//! - **`a.$`** returns one element of the first array on the path. Its position is the one that the
//!   filter selects ([`Filter::position`]), even if the filter selects it in another array. If
//!   there is no array on the path, `a.$` is the same as `a`.
//! - **Expressions** compute a field ([`crate::expression`]): `{total: {$add: ["$a", "$b"]}}`, `{old: "$name"}`. Text,
//!   arrays and other constants that are not numbers or booleans are expressions, too. A projection with an expression
//!   includes fields. Computed fields come last; in an array on the path of a computed field, each element gets the
//!   field.

use alluvium_document::path::FieldPath;
use alluvium_document::row::FieldPicker;
use alluvium_document::{Document, Map};

mod apply;
mod computed;
mod error;
mod parse;
mod tree;

use crate::expression::{Expression, Variables};
use crate::filter::{ElementFilter, Filter};
pub use error::ProjectionError;
use tree::{Child, Node};

/// A selection of the fields of documents that a query returns.
///
/// ```
/// use alluvium_document::Document;
/// use alluvium_query::{filter::Filter, projection::Projection};
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
    /// In the order in which they were written.
    elem_matches: Vec<ElemMatch>,
    /// The path before `.$`.
    position: Option<FieldPath>,
    /// In the order in which they were written.
    computed: Vec<(FieldPath, Expression)>,
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
    /// Parses a projection.
    ///
    /// # Errors
    /// [`ProjectionError::Invalid`], [`ProjectionError::Filter`] for an `$elemMatch`,
    /// [`ProjectionError::Expression`].
    pub fn parse(projection: &Map) -> Result<Self, ProjectionError> {
        Self::parse_in(projection, &Variables::NONE)
    }

    /// As [`Projection::parse`], with variables for expressions.
    ///
    /// # Errors
    /// As [`Projection::parse`].
    pub fn parse_in(projection: &Map, variables: &Variables) -> Result<Self, ProjectionError> {
        parse::projection(projection, variables)
    }

    /// Parses the operand of a `$project` stage. Compared with [`Projection::parse`], `$slice` and `$elemMatch` are not
    /// special operators, the positional `.$` is not allowed, and expressions may use variables.
    ///
    /// # Errors
    /// [`ProjectionError::Invalid`], [`ProjectionError::Expression`].
    pub fn parse_stage(projection: &Map, variables: &Variables) -> Result<Self, ProjectionError> {
        parse::stage(projection, variables)
    }

    /// Applies the projection to a document. `filter` is the filter that the document matches. It
    /// is used only to select the element of a positional projection. Fields that are not returned
    /// are not decoded.
    ///
    /// # Errors
    /// [`ProjectionError::NoPosition`], [`ProjectionError::NoElement`], [`ProjectionError::Expression`],
    /// or the document is damaged.
    pub fn apply(&self, document: &Document, filter: &Filter) -> Result<Map, ProjectionError> {
        if self.is_everything() {
            return Ok(document.to_map()?);
        }
        apply::Application { projection: self, document, filter }.run()
    }

    /// A picker that is equivalent to the projection, if the projection only includes whole top-level fields; otherwise
    /// `None`.
    pub fn picker(&self) -> Option<FieldPicker> {
        let is_whole = self.root.children().iter().all(|(_, child)| matches!(child, Child::Whole));
        let picks =
            self.kind == Kind::Inclusion && is_whole && self.elem_matches.is_empty() && self.computed.is_empty();
        picks.then(|| FieldPicker::new(self.root.children().iter().map(|(name, _)| &**name)))
    }

    /// True if documents are returned unchanged.
    pub fn is_everything(&self) -> bool {
        self.kind == Kind::Exclusion && self.root.is_empty() && self.elem_matches.is_empty()
    }

    /// True if the projected document has the same value in this top-level field, or if the field is missing in both.
    pub(crate) fn keeps(&self, name: &str) -> bool {
        if self.elem_matches.iter().any(|chosen| *chosen.name == *name) {
            return false;
        }
        match self.kind {
            Kind::Exclusion => self.root.get(name).is_none(),
            Kind::Inclusion => matches!(self.root.get(name), Some(Child::Whole)),
        }
    }

    /// The path whose value this top-level field gets, if it is computed as the value at a path.
    pub(crate) fn computed_as(&self, name: &str) -> Option<&FieldPath> {
        let mut inside = self.computed.iter().filter(|(path, _)| path.first() == name);
        match (inside.next(), inside.next()) {
            (Some((path, expression)), None) if path.depth() == 1 => expression.as_path(),
            _ => None,
        }
    }

    /// The top-level fields whose values suffice for the projection, so that an index with these
    /// fields can answer without the documents. `None` for an exclusion, or if operators select
    /// elements, or if fields are computed.
    pub fn needs(&self) -> Option<Vec<&str>> {
        let chooses = |child: &Child| matches!(child, Child::Slice(_) | Child::Position);
        if self.kind == Kind::Exclusion || !self.elem_matches.is_empty() || !self.computed.is_empty() {
            return None;
        }
        self.root.children().iter().map(|(name, child)| (!chooses(child)).then_some(&**name)).collect()
    }
}

#[cfg(test)]
mod tests;
