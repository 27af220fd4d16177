//! Many writes in one call, each with its own outcome.

use crate::delete::Delete;
use crate::target::Target;
use crate::update::Update;
use alluvium_collections::error::{Error, ErrorKind, Result};
use alluvium_collections::ids;
use alluvium_collections::results::{BulkWriteResult, UpdateResult};
use alluvium_document::{InputError, IntoDocument, Map, Value};

/// One write of [`crate::Collection::bulk_write`].
#[derive(Clone)]
pub struct WriteModel(Kind);

#[derive(Clone)]
enum Kind {
    Insert(std::result::Result<Map, InputError>),
    Update(Box<Update>),
    Delete(Box<Delete>),
}

impl WriteModel {
    /// An insert, like [`crate::Collection::insert_one`].
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// use alluvium::WriteModel;
    ///
    /// pets.bulk_write([WriteModel::insert_one(r#"{"_id": "rex"}"#)]).run()?;
    /// assert!(pets.get("rex")?.is_some());
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn insert_one(document: impl IntoDocument) -> Self {
        Self(Kind::Insert(document.into_map()))
    }
}

/// An update or a replacement, from [`crate::Collection::update_one`],
/// [`crate::Collection::update_many`] or [`crate::Collection::replace_one`].
impl From<Update> for WriteModel {
    fn from(update: Update) -> Self {
        Self(Kind::Update(Box::new(update)))
    }
}

/// A delete, from [`crate::Collection::delete_one`] or [`crate::Collection::delete_many`].
impl From<Delete> for WriteModel {
    fn from(delete: Delete) -> Self {
        Self(Kind::Delete(Box::new(delete)))
    }
}

/// A list of writes to run; created by [`crate::Collection::bulk_write`].
#[derive(Clone)]
#[must_use = "nothing is written until `run`"]
pub struct BulkWrite {
    pub(crate) target: Target,
    pub(crate) models: Vec<WriteModel>,
    pub(crate) ordered: bool,
}

impl BulkWrite {
    /// Sets whether the first error ends the whole call. If false, all writes are tried. Default: true.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// use alluvium::WriteModel;
    ///
    /// let writes = [r#"{"_id": "rex"}"#, r#"{"_id": "new"}"#].map(WriteModel::insert_one);
    /// assert!(pets.bulk_write(writes).ordered(false).run().is_err(), "a duplicate _id");
    /// assert!(pets.get("new")?.is_some(), "the other write was done");
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn ordered(mut self, ordered: bool) -> Self {
        self.ordered = ordered;
        self
    }

    /// Runs the writes in their order.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// use alluvium::WriteModel;
    ///
    /// let result = pets.bulk_write([WriteModel::insert_one(r#"{"_id": "new"}"#), pets.delete_one(r#"{"age": 3}"#).into()]).run()?;
    /// assert_eq!((result.inserted_count, result.deleted_count), (1, 1));
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`Error::BulkWrite`], with the counts, and the error of each write that failed.
    pub fn run(self) -> Result<BulkWriteResult> {
        let (mut result, mut errors) = (BulkWriteResult::default(), Vec::new());
        for (at, model) in self.models.into_iter().enumerate() {
            let Err(error) = write(&self.target, at, model, &mut result) else { continue };
            // After these errors no further write can succeed.
            let ends = matches!(error.kind(), ErrorKind::Closed | ErrorKind::Poisoned | ErrorKind::OutcomeUnknown);
            errors.push((at, error));
            if self.ordered || ends {
                break;
            }
        }
        match errors.is_empty() {
            true => Ok(result),
            false => Err(Error::BulkWrite { result: Box::new(result), errors }),
        }
    }
}

fn write(target: &Target, at: usize, model: WriteModel, result: &mut BulkWriteResult) -> Result<()> {
    match model.0 {
        Kind::Insert(document) => {
            let mut document = document?;
            ids::ensure_id(&mut document, &target.engine.env);
            target.writer()?.insert(std::slice::from_ref(&document))?;
            let id = document.get("_id").cloned().unwrap_or(Value::Null);
            result.inserted_count += 1;
            result.inserted_ids.push((at, id));
        }
        Kind::Update(update) => {
            let done = update.run();
            if let Err(Error::WriteMany { matched_count, modified_count, .. }) = &done {
                result.matched_count += matched_count;
                result.modified_count += modified_count;
            }
            let UpdateResult { matched_count, modified_count, upserted_id, .. } = done?;
            result.matched_count += matched_count;
            result.modified_count += modified_count;
            result.upserted_ids.extend(upserted_id.map(|id| (at, id)));
        }
        Kind::Delete(delete) => {
            let done = delete.run();
            if let Err(Error::WriteMany { modified_count, .. }) = &done {
                result.deleted_count += modified_count;
            }
            result.deleted_count += done?.deleted_count;
        }
    }
    Ok(())
}
