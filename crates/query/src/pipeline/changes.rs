//! Pipelines that change one document, as in updates and in `$merge`.

use super::each::Each;
use super::error::{PipelineError, refuse};
use super::record::Record;
use super::stage::{Pipeline, Stage};
use crate::code::ErrorCode;
use crate::expression::Variables;
use alluvium_document::{Map, Value};

/// Stages that turn one document into one document: `$set`, `$addFields`, `$unset`, `$project`, `$replaceRoot`,
/// `$replaceWith`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changes {
    stages: Vec<Each>,
}

impl Changes {
    /// Parses the stages.
    ///
    /// # Errors
    /// As [`Pipeline::parse`]; [`PipelineError::Refused`] for other stages.
    pub fn parse(stages: &Value, variables: &Variables) -> Result<Self, PipelineError> {
        Self::of(Pipeline::parse(stages, variables)?.into_stages())
    }

    /// The changes made by stages that are already parsed.
    ///
    /// # Errors
    /// One of the stages does not turn one document into one document.
    pub(super) fn of(stages: Vec<Stage>) -> Result<Self, PipelineError> {
        let mut changes = Vec::with_capacity(stages.len());
        for stage in stages {
            match stage {
                Stage::Each(each @ (Each::Project(..) | Each::Add(..) | Each::Replace(..))) => changes.push(each),
                other => {
                    return refuse(
                        ErrorCode::InvalidOptions,
                        format!("{} cannot be in an update: use $set, $unset, $project or $replaceWith", other.name()),
                    );
                }
            }
        }
        Ok(Self { stages: changes })
    }

    /// Applies the stages to a document and returns the result.
    ///
    /// # Errors
    /// An expression does not accept a value.
    pub fn apply(&self, document: Map) -> Result<Map, PipelineError> {
        let (mut record, mut made) = (Record::Map(document), Vec::new());
        for stage in &self.stages {
            stage.apply(record, &mut made)?;
            record = made.pop().unwrap_or_else(|| Record::Map(Map::new()));
        }
        Ok(record.into_map()?)
    }
}
