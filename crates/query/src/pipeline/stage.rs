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
    /// Only documents that match.
    Match(Filter),
    /// A change of each document alone.
    Each(Each),
    /// A document for each group.
    Group(Arc<Group>),
    /// All documents in an order, or the first of them.
    Sort {
        /// The order.
        sort: Sort,
        /// The most documents; `None` for all.
        limit: Option<u64>,
    },
    /// All but the first documents.
    Skip(u64),
    /// The first documents.
    Limit(u64),
    /// Groups of about the same size, by an expression.
    BucketAuto(Arc<BucketAuto>),
    /// Fields computed from the documents around each document.
    Window(Arc<WindowFields>),
    /// Documents for the values that are missing in a sequence.
    Densify(Arc<Densify>),
    /// One document, with the results of several pipelines over the same documents.
    Facet(Vec<(Box<str>, Pipeline)>),
    /// Each document with an array of documents of another collection.
    Lookup(Arc<Lookup>),
    /// Each document with an array of those that are reached from it in another collection.
    GraphLookup(Arc<GraphLookup>),
    /// The documents, and then those of another collection.
    Union(Arc<UnionWith>),
    /// Documents chosen at random.
    Sample(u64),
    /// Documents that the pipeline itself has. Only as the first stage.
    Documents(Vec<Map>),
    /// Figures of the collection instead of its documents. Only as the first stage.
    Statistics(Statistics),
    /// The documents replace a collection. Only as the last stage.
    Out(Output),
    /// The documents are written into a collection. Only as the last stage.
    Merge(Arc<MergeInto>),
}

impl Pipeline {
    /// The stages in order.
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// True if the stages may be a view's: they write nothing.
    pub fn is_for_views(&self) -> bool {
        !self.stages.iter().any(|stage| matches!(stage, Stage::Out(_) | Stage::Merge(_) | Stage::Statistics(_)))
    }

    /// The stages, to be executed.
    pub fn into_stages(self) -> Vec<Stage> {
        self.stages
    }

    /// True if the pipeline begins with documents of its own and reads no collection.
    pub fn has_own_documents(&self) -> bool {
        matches!(self.stages.first(), Some(Stage::Documents(_)))
    }

    /// The paths of the collection's documents that the pipeline reads; `None` if it may return or
    /// read all of a document. Paths are given as they are read: one may contain another.
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

/// Figures of a collection.
#[derive(Debug, Clone, PartialEq)]
pub enum Statistics {
    /// `$collStats`: one document.
    Collection {
        /// The number of documents is among them.
        count: bool,
        /// The sizes are among them, in units of this many bytes.
        storage_scale: Option<f64>,
    },
    /// `$indexStats`: a document for each index.
    Indexes,
}

/// `$lookup`: each document with an array of documents of another collection.
#[derive(Debug, Clone, PartialEq)]
pub struct Lookup {
    /// The other collection; `None` if the pipeline has documents of its own.
    pub from: Option<Box<str>>,
    /// The field that gets the array.
    pub into: FieldPath,
    /// A path of the document, and one of the other documents: a value at the one equals a value at
    /// the other.
    pub equality: Option<(FieldPath, FieldPath)>,
    /// Variables for the pipeline.
    pub variables: Vec<(Text, Expression)>,
    /// The stages that the other documents pass through, which are parsed again with the values of
    /// the variables; empty for none.
    pub stages: Value,
    /// The variables that are known around the stage, and the collation.
    pub around: Variables,
}

/// `$graphLookup`: each document with an array of those that are reached from it.
#[derive(Debug, Clone, PartialEq)]
pub struct GraphLookup {
    /// The other collection.
    pub from: Box<str>,
    /// The first value, or an array of them.
    pub start: Expression,
    /// The path of the other documents whose values lead on.
    pub connect_from: FieldPath,
    /// The path of the other documents that these values are looked for in.
    pub connect_to: FieldPath,
    /// The field that gets the array.
    pub into: FieldPath,
    /// An `$unwind` of that field: a document for each that is reached, in place of the array.
    pub unwind: Option<Unwind>,
    /// The most steps after the first; `None` for no limit.
    pub max_depth: Option<u64>,
    /// The field of the other documents that gets the number of steps.
    pub depth: Option<FieldPath>,
    /// A filter that the other documents match.
    pub restrict: Filter,
    /// The collation by which strings are equal; `None` for the equality of their bytes.
    pub collation: Option<Collation>,
}

/// `$unionWith`: the documents, and then those of another collection.
#[derive(Debug, Clone, PartialEq)]
pub struct UnionWith {
    /// The other collection; `None` if the pipeline has documents of its own.
    pub collection: Option<Box<str>>,
    /// The stages that its documents pass through.
    pub pipeline: Pipeline,
}

/// `$merge`: the documents are written into a collection.
#[derive(Debug, Clone, PartialEq)]
pub struct MergeInto {
    /// The collection.
    pub into: Output,
    /// The paths whose values find the document to change.
    pub on: Vec<FieldPath>,
    /// The action where such a document exists.
    pub matched: WhenMatched,
    /// The action where no such document exists.
    pub not_matched: WhenNotMatched,
    /// The variables that are known around the stage.
    pub around: Variables,
}

/// The collection that a stage writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Its logical database; `None` for that of the pipeline.
    pub database: Option<Box<str>>,
    /// Its name there.
    pub collection: Box<str>,
}

/// The action of `$merge` where a document is found.
#[derive(Debug, Clone, PartialEq)]
pub enum WhenMatched {
    /// It is replaced.
    Replace,
    /// It stays as it is.
    Keep,
    /// The fields of the new document are set in it.
    Merge,
    /// The pipeline ends with an error.
    Fail,
    /// These stages change it; the new document is the variable `$$new`. They are parsed again for each
    /// document.
    Pipeline {
        /// The stages.
        stages: Value,
        /// Further variables, computed from the new document.
        variables: Vec<(Text, Expression)>,
    },
}

/// The action of `$merge` where no document is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenNotMatched {
    /// The new document is inserted.
    Insert,
    /// Nothing.
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
