//! Creating a view.

use crate::target::Target;
use alluvium_collections::error::Result;
use alluvium_collections::options::View;
use alluvium_collections::pipeline::create_view;
use alluvium_document::{InputError, IntoDocument, Map, Value};
use alluvium_query::collation::Collation;

/// A view to create, with its options; returned by [`crate::Database::create_view`].
#[derive(Debug, Clone)]
#[must_use = "no view is created until `run`"]
pub struct CreateView {
    target: Target,
    on: String,
    pipeline: std::result::Result<Vec<Value>, InputError>,
    collation: Option<std::result::Result<Map, InputError>>,
}

impl CreateView {
    pub(crate) fn new(target: Target, on: &str, pipeline: impl IntoDocument) -> Self {
        Self { target, on: on.to_owned(), pipeline: stages(pipeline), collation: None }
    }

    /// Sets the collation by which the view, and queries of the view, compare strings ([`crate::Find::collation`]
    /// describes collations).
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// db.create_view("all_pets", "pets", "[]").collation(r#"{"locale": "en", "strength": 2}"#).run()?;
    /// assert_eq!(db.collection("all_pets").find(r#"{"_id": "REX"}"#).count()?, 1);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn collation(mut self, options: impl IntoDocument) -> Self {
        self.collation = Some(options.into_map());
        self
    }

    /// Creates the view.
    ///
    /// # Errors
    /// [`crate::Error::Pipeline`] for the stages, or for views over each other in a circle;
    /// [`crate::Error::CollectionExists`]; [`crate::Error::Collation`]; or as for any write.
    pub fn run(self) -> Result<()> {
        let collation = self.collation.transpose()?.map(|options| Collation::parse(&options)).transpose()?.flatten();
        create_view(&self.target.engine, self.target.name()?, View { on: self.on, pipeline: self.pipeline?, collation })
    }
}

/// The stages of a pipeline, which is given as an array of stages or as one stage.
pub(crate) fn stages(pipeline: impl IntoDocument) -> std::result::Result<Vec<Value>, InputError> {
    Ok(match pipeline.into_value()? {
        Value::Array(stages) => stages,
        stage => vec![stage],
    })
}
