//! The projection of the documents that a query returns.

use super::query::Query;
use crate::error::Result;
use alluvium_document::Document;
use alluvium_document::row::FieldPicker;
use alluvium_query::projection::ProjectionError;

/// Applies the projection of a query to its documents, one after the other.
#[derive(Default)]
pub struct Projector {
    /// Copies the fields of documents as bytes, if the projection only includes top-level fields.
    picker: Option<FieldPicker>,
}

impl Projector {
    /// A projector for this query. The same query is passed with each document.
    pub fn new(query: &Query) -> Self {
        let simple = query.projection.as_ref().filter(|projection| !projection.is_everything());
        Self { picker: simple.and_then(|projection| projection.picker()) }
    }

    /// True if the projection includes top-level fields, and does nothing else.
    pub fn picks(&self) -> bool {
        self.picker.is_some()
    }

    /// Applies the projection of the query to a document.
    ///
    /// # Errors
    /// Errors of the projection; the document is damaged.
    pub fn project(&mut self, query: &Query, document: Document) -> Result<Document> {
        match (&mut self.picker, &query.projection) {
            (_, None) => Ok(document),
            (Some(picker), _) => Ok(document.pick(picker).map_err(ProjectionError::Damaged)?),
            (None, Some(projection)) => Ok(Document::from_map(
                &projection.apply(&document, &query.filter).map_err(|error| error.of_document(document.id()))?,
            )?),
        }
    }
}

/// Applies the projection of the query to one document.
///
/// # Errors
/// As [`Projector::project`].
pub fn project(query: &Query, document: Document) -> Result<Document> {
    Projector::new(query).project(query, document)
}
