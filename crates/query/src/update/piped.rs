//! Updates by pipelines.

use super::replace::Replacement;
use super::{Applied, Update, UpdateError};
use crate::expression::Variables;
use crate::filter::Filter;
use crate::pipeline::{Changes, PipelineError};
use alluvium_document::{Draft, Map, Value};

/// An update by a pipeline, whose stages compute the new document from the old one. The document keeps its `_id`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piped {
    changes: Changes,
}

impl Piped {
    /// Parses an array of stages.
    ///
    /// # Errors
    /// [`UpdateError::Pipeline`].
    pub fn parse(stages: &Value, variables: &Variables) -> Result<Self, UpdateError> {
        // As in MongoDB, an update that matches no document does not fail because of its expressions.
        Ok(Self { changes: Changes::parse(stages, &variables.clone().deferring())? })
    }

    /// Changes the document. [`Applied::changed`] is false if the result is identical.
    ///
    /// # Errors
    /// [`UpdateError::Pipeline`] if an expression does not accept a value; [`UpdateError::ImmutableField`] if the `_id`
    /// would change; or the document is damaged.
    pub fn apply(&self, document: &mut Draft) -> Result<Applied, UpdateError> {
        let changed = self.changes.apply(document.clone().into_map()?)?;
        Replacement::computed(changed)?.apply(document)
    }

    /// The document that an upsert by a filter inserts: the result of applying the pipeline to the fields that the
    /// filter demands.
    ///
    /// # Errors
    /// As [`Piped::apply`], and as [`Update::for_upsert_by`].
    pub fn for_upsert_by(&self, filter: &Filter, time_ms: i64) -> Result<Map, UpdateError> {
        let demanded = Update::default().for_upsert_by(filter, time_ms)?;
        let changed = self.changes.apply(demanded)?;
        Replacement::computed(changed)?.for_upsert_by(filter)
    }
}

impl From<PipelineError> for UpdateError {
    fn from(error: PipelineError) -> Self {
        match error {
            PipelineError::Damaged(error) => Self::Damaged(error),
            error => Self::Pipeline(error),
        }
    }
}
