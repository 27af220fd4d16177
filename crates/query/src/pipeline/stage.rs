//! Parsed pipelines.

use super::bucket::BucketAuto;
use super::densify::Densify;
use super::each::{Each, Unwind};
use super::group::Group;
use super::stages::StageName;
use super::window::WindowFields;
use crate::collation::Collation;
use crate::expression::{Expression, Variables};
use crate::filter::Filter;
use crate::sort::Sort;
use alluvium_document::path::FieldPath;
use alluvium_document::value::Text;
use alluvium_document::{Map, Value};
use std::sync::Arc;

/// A pipeline that was parsed and checked.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pipeline {
    pub(super) stages: Vec<Stage>,
}

/// A stage of a pipeline.
#[derive(Debug, Clone, PartialEq)]
pub enum Stage {
    /// Passes only documents that match.
    Match(Filter),
    /// Changes each document separately.
    Each(Each),
    /// Makes a document for each group.
    Group(Arc<Group>),
    /// Sorts all documents, or returns the first documents in an order.
    Sort {
        /// The order.
        sort: Sort,
        /// The maximum number of documents; `None` for all.
        limit: Option<u64>,
    },
    /// Skips this number of documents.
    Skip(u64),
    /// Returns at most this number of documents.
    Limit(u64),
    /// Makes groups of about the same size, by an expression.
    BucketAuto(Arc<BucketAuto>),
    /// Computes fields from the documents around each document.
    Window(Arc<WindowFields>),
    /// Adds documents for values that are missing in a sequence.
    Densify(Arc<Densify>),
    /// Makes one document, with the results of several pipelines over the same documents.
    Facet(Vec<(Box<str>, Pipeline)>),
    /// Adds an array with documents of another collection to each document.
    Lookup(Arc<Lookup>),
    /// Adds an array with the documents of another collection that can be reached from the document to each document.
    GraphLookup(Arc<GraphLookup>),
    /// Returns the documents, followed by the documents of another collection.
    Union(Arc<UnionWith>),
    /// Chooses documents at random.
    Sample(u64),
    /// Documents that the pipeline itself contains. Allowed only as the first stage.
    Documents(Vec<Map>),
    /// Statistics of the collection instead of its documents. Allowed only as the first stage.
    Statistics(Statistics),
    /// Replaces a collection by the documents. Allowed only as the last stage.
    Out(Output),
    /// Writes the documents into a collection. Allowed only as the last stage.
    Merge(Arc<MergeInto>),
}

impl Pipeline {
    /// The stages in order.
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// True if a view may have these stages: none of them writes, and none returns statistics.
    pub fn is_for_views(&self) -> bool {
        !self.stages.iter().any(|stage| matches!(stage, Stage::Out(_) | Stage::Merge(_) | Stage::Statistics(_)))
    }

    /// Returns the stages.
    pub fn into_stages(self) -> Vec<Stage> {
        self.stages
    }

    /// True if the pipeline begins with documents that it contains itself, and reads no collection.
    pub fn has_own_documents(&self) -> bool {
        matches!(self.stages.first(), Some(Stage::Documents(_)))
    }

    /// The paths of the collection's documents that the pipeline reads; `None` if it may return or
    /// read whole documents. The paths are given as they are used: one may contain another.
    pub fn needs(stages: &[Stage]) -> Option<Vec<FieldPath>> {
        let mut needed: Vec<FieldPath> = Vec::new();
        for stage in stages {
            match stage {
                Stage::Group(group) => {
                    needed.extend(group.paths()?.into_iter().cloned());
                    return Some(needed);
                }
                Stage::Sort { sort, .. } => needed.extend(sort.parts().iter().map(|part| part.path.clone())),
                Stage::Skip(_) | Stage::Limit(_) | Stage::Sample(_) => {}
                Stage::Each(Each::Project(_, projection)) => {
                    let names = projection.needs()?.into_iter().map(str::parse::<FieldPath>);
                    needed.extend(names.collect::<Result<Vec<_>, _>>().ok()?);
                    return Some(needed);
                }
                _ => return None,
            }
        }
        None
    }
}

impl Stage {
    /// The name, with its dollar sign.
    pub fn name(&self) -> &'static str {
        let stage = match self {
            Self::Each(each) => return each.name(),
            Self::Match(_) => StageName::Match,
            Self::Group(_) => StageName::Group,
            Self::Sort { .. } => StageName::Sort,
            Self::Skip(_) => StageName::Skip,
            Self::Limit(_) => StageName::Limit,
            Self::BucketAuto(_) => StageName::BucketAuto,
            Self::Window(_) => StageName::SetWindowFields,
            Self::Densify(_) => StageName::Densify,
            Self::Facet(_) => StageName::Facet,
            Self::Lookup(_) => StageName::Lookup,
            Self::GraphLookup(_) => StageName::GraphLookup,
            Self::Union(_) => StageName::UnionWith,
            Self::Sample(_) => StageName::Sample,
            Self::Documents(_) => StageName::Documents,
            Self::Statistics(Statistics::Collection { .. }) => StageName::CollStats,
            Self::Statistics(Statistics::Indexes) => StageName::IndexStats,
            Self::Out(_) => StageName::Out,
            Self::Merge(_) => StageName::Merge,
        };
        stage.name()
    }
}

/// Statistics of a collection.
#[derive(Debug, Clone, PartialEq)]
pub enum Statistics {
    /// `$collStats`: yields one document.
    Collection {
        /// True if the number of documents is requested.
        count: bool,
        /// The unit in bytes in which sizes are requested; `None` if sizes are not requested.
        storage_scale: Option<f64>,
    },
    /// `$indexStats`: yields a document for each index.
    Indexes,
}

/// `$lookup`: adds an array with documents of another collection to each document.
#[derive(Debug, Clone, PartialEq)]
pub struct Lookup {
    /// The other collection; `None` if the pipeline contains its documents itself.
    pub from: Option<Box<str>>,
    /// The field that gets the array.
    pub into: FieldPath,
    /// A path of the document, and a path of the other documents. The documents are joined if a
    /// value at the first path equals a value at the second.
    pub equality: Option<(FieldPath, FieldPath)>,
    /// Variables for the pipeline.
    pub variables: Vec<(Text, Expression)>,
    /// The stages through which the other documents pass. They are parsed again with the values of
    /// the variables. Empty if there are none.
    pub stages: Value,
    /// The variables defined outside of the stage, and the collation.
    pub around: Variables,
}

/// `$graphLookup`: adds an array with the documents that can be reached from the document to each document.
#[derive(Debug, Clone, PartialEq)]
pub struct GraphLookup {
    /// The other collection.
    pub from: Box<str>,
    /// The value at which the search starts, or an array of such values.
    pub start: Expression,
    /// The path of the other documents whose values are searched for in the next step.
    pub connect_from: FieldPath,
    /// The path of the other documents at which values are searched for.
    pub connect_to: FieldPath,
    /// The field that gets the array.
    pub into: FieldPath,
    /// An `$unwind` of that field: yields a document for each document that is reached, instead of the array.
    pub unwind: Option<Unwind>,
    /// The maximum number of steps after the first; `None` for no limit.
    pub max_depth: Option<u64>,
    /// The field of the other documents that gets the number of steps.
    pub depth: Option<FieldPath>,
    /// A filter that the other documents match.
    pub restrict: Filter,
    /// The collation that decides whether strings are equal; `None` to compare their bytes.
    pub collation: Option<Collation>,
}

/// `$unionWith`: returns the documents, followed by the documents of another collection.
#[derive(Debug, Clone, PartialEq)]
pub struct UnionWith {
    /// The other collection; `None` if the pipeline contains its documents itself.
    pub collection: Option<Box<str>>,
    /// The stages through which the documents of the other collection pass.
    pub pipeline: Pipeline,
}

/// `$merge`: writes the documents into a collection.
#[derive(Debug, Clone, PartialEq)]
pub struct MergeInto {
    /// The collection.
    pub into: Output,
    /// The paths whose values identify the document to change.
    pub on: Vec<FieldPath>,
    /// The action if a document with these values exists.
    pub matched: WhenMatched,
    /// The action if no document with these values exists.
    pub not_matched: WhenNotMatched,
    /// The variables defined outside of the stage.
    pub around: Variables,
}

/// The collection into which a stage writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The logical database; `None` for the database of the pipeline.
    pub database: Option<Box<str>>,
    /// The name of the collection in that database.
    pub collection: Box<str>,
}

/// The action of `$merge` for a document that exists in the collection.
#[derive(Debug, Clone, PartialEq)]
pub enum WhenMatched {
    /// The existing document is replaced.
    Replace,
    /// The existing document is kept as it is.
    Keep,
    /// The fields of the new document are set in the existing document.
    Merge,
    /// The pipeline ends with an error.
    Fail,
    /// These stages change the existing document; the new document is the variable `$$new`. The stages are parsed again
    /// for each document.
    Pipeline {
        /// The stages.
        stages: Value,
        /// Further variables, computed from the new document.
        variables: Vec<(Text, Expression)>,
    },
}

/// The action of `$merge` for a document that does not exist in the collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenNotMatched {
    /// The new document is inserted.
    Insert,
    /// The new document is ignored.
    Discard,
    /// The pipeline ends with an error.
    Fail,
}

impl Lookup {
    /// True if the collection's documents pass through stages.
    pub fn has_stages(&self) -> bool {
        self.stages.as_array().is_some_and(|stages| !stages.is_empty())
    }
}
