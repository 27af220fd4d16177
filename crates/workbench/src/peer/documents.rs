//! Documents.

use super::Failure;

/// A store of documents. The `_id` of each document is a string.
pub trait Documents: Sync {
    /// A session of one thread.
    ///
    /// # Errors
    /// Errors of the store.
    fn session(&self) -> Result<Box<dyn DocumentSession + '_>, Failure>;

    /// False for a floor: an engine that does only a part of the work of a put and stores nothing.
    fn keeps(&self) -> bool {
        true
    }

    /// Writes everything in memory to files, and waits for the background work that the store can
    /// wait for.
    ///
    /// # Errors
    /// Errors of the store.
    fn settle(&self) -> Result<(), Failure>;

    /// Closes the store.
    ///
    /// # Errors
    /// Errors of the store.
    fn close(self: Box<Self>) -> Result<(), Failure>;
}

/// One thread's connection to a store of documents. Each write is a commit, as in
/// [`super::KeyValueSession`].
pub trait DocumentSession {
    /// Writes a document, given as JSON text with its `_id`. An existing document is replaced.
    ///
    /// # Errors
    /// Errors of the store, and of the text.
    fn put(&mut self, id: &str, json: &str) -> Result<(), Failure>;

    /// Reads a document and decodes every field into a map in memory; `None` if it does not exist.
    ///
    /// # Errors
    /// Errors of the store; a document without `_id` or `score`.
    fn get(&mut self, id: &str) -> Result<Option<Found>, Failure>;

    /// Reads the field `score` of a document in the cheapest way that the store offers; `None` if
    /// the document does not exist.
    ///
    /// # Errors
    /// Errors of the store; a document without `score`.
    fn score(&mut self, id: &str) -> Result<Option<i64>, Failure>;

    /// Adds 1 to the field `score` of a document: reads, changes and writes the document
    /// atomically. Returns false if the document does not exist.
    ///
    /// # Errors
    /// Errors of the store; a document without `score`.
    fn increment(&mut self, id: &str) -> Result<bool, Failure>;

    /// Adds 1 to the field `score` of each of these documents in one transaction: all are changed, or
    /// none. A document that is named twice is changed twice. Returns false if a document does not
    /// exist, and `None` if the store has no such transactions here.
    ///
    /// # Errors
    /// Errors of the store; a document without `score`.
    fn increment_all(&mut self, ids: &[&str]) -> Result<Option<bool>, Failure> {
        let _ids = ids;
        Ok(None)
    }
}

/// The fields of a document that was read as a whole, for the checks of the harness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The `_id` of the document.
    pub id: String,
    /// The `score` of the document.
    pub score: i64,
    /// The number of fields, including `_id`.
    pub fields: usize,
}
