//! Parsing of pipelines.

mod buckets;
mod groups;
mod joins;
mod sequences;
mod simple;
mod statistics;

use super::error::{PipelineError, refuse};
use super::rewrite;
use super::stage::{Pipeline, Stage};
use super::stages::{self, Over, Position, StageName, StageRow};
use super::{MAX_LEVELS, MAX_STAGES};
use crate::code::ErrorCode;
use crate::expression::Variables;
use crate::suggest::suggestion;
use alluvium_document::{MAX_DEPTH, Value};
use std::cell::Cell;

type Result<T> = std::result::Result<T, PipelineError>;

/// The place of a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Outermost,
    /// In a stage of another pipeline, at this level.
    Inner(usize),
    /// In a `$unionWith`, at this level.
    Union(usize),
    /// In a `$facet`, at this level.
    Facet(usize),
}

impl Place {
    fn level(self) -> usize {
        match self {
            Self::Outermost => 0,
            Self::Inner(level) | Self::Union(level) | Self::Facet(level) => level,
        }
    }
}

/// The context in which stages are parsed.
#[derive(Clone, Copy)]
struct Context<'v> {
    variables: &'v Variables,
    place: Place,
    /// The number of stages so far, including the stages of inner pipelines. It is limited, because each stage takes
    /// space on the stack.
    stages: &'v Cell<usize>,
}

impl Context<'_> {
    /// The level of a pipeline inside of a stage.
    fn inner(&self) -> Result<usize> {
        let level = self.place.level() + 1;
        if level > MAX_LEVELS {
            return refuse(
                ErrorCode::MaxSubPipelineDepthExceeded,
                format!("pipelines are inside of each other at more than {MAX_LEVELS} levels"),
            );
        }
        Ok(level)
    }
}

/// A function that parses a stage. The result may be several stages.
type Parse = fn(&'static str, &Value, &Context<'_>, &mut Vec<Stage>) -> Result<()>;

/// The function that parses a stage; `None` for a stage that is not supported.
fn parser(stage: StageName) -> Option<Parse> {
    Some(match stage {
        StageName::AddFields | StageName::Set => simple::add_fields,
        StageName::Bucket => buckets::bucket,
        StageName::BucketAuto => buckets::bucket_auto,
        StageName::CollStats => statistics::of_collection,
        StageName::Count => groups::count,
        StageName::Densify => sequences::densify,
        StageName::Documents => joins::documents,
        StageName::Facet => joins::facet,
        StageName::Fill => sequences::fill,
        StageName::GraphLookup => joins::graph_lookup,
        StageName::Group => groups::group,
        StageName::IndexStats => statistics::of_indexes,
        StageName::Limit => simple::limit,
        StageName::Lookup => joins::lookup,
        StageName::Match => simple::matching,
        StageName::Merge => joins::merge,
        StageName::Out => joins::out,
        StageName::Project => simple::project,
        StageName::Redact => simple::redact,
        StageName::ReplaceRoot => simple::replace_root,
        StageName::ReplaceWith => simple::replace_with,
        StageName::Sample => simple::sample,
        StageName::SetWindowFields => sequences::set_window_fields,
        StageName::Skip => simple::skip,
        StageName::Sort => simple::sort,
        StageName::SortByCount => groups::sort_by_count,
        StageName::UnionWith => joins::union_with,
        StageName::Unset => simple::unset,
        StageName::Unwind => simple::unwind,
        StageName::ChangeStream
        | StageName::ChangeStreamSplitLargeEvent
        | StageName::CurrentOp
        | StageName::GeoNear
        | StageName::ListClusterCatalog
        | StageName::ListLocalSessions
        | StageName::ListSampledQueries
        | StageName::ListSearchIndexes
        | StageName::ListSessions
        | StageName::PlanCacheStats
        | StageName::QuerySettings
        | StageName::QueryStats
        | StageName::RankFusion
        | StageName::Search
        | StageName::SearchMeta
        | StageName::ShardedDataDistribution
        | StageName::VectorSearch => return None,
    })
}

impl Pipeline {
    /// Parses a pipeline, which is an array of stages. `variables` are those of `let`.
    ///
    /// # Errors
    /// [`PipelineError::Refused`]: [`PipelineError::Refused`]: a stage that is unknown, not supported, or not allowed
    ///                             at its place; an operand that the stage does not accept; or more than
    ///                             [`super::MAX_STAGES`] stages.
    pub fn parse(stages: &Value, variables: &Variables) -> Result<Self> {
        Ok(Self { stages: rewrite::merged(pipeline(stages, variables, Place::Outermost, &Cell::new(0))?) })
    }

    /// Appends stages to this pipeline.
    #[must_use]
    pub fn then(self, others: Vec<Stage>) -> Self {
        Self { stages: rewrite::merged(self.stages.into_iter().chain(others).collect()) }
    }
}

/// Parses the stages of a pipeline.
fn pipeline(stages: &Value, variables: &Variables, place: Place, count: &Cell<usize>) -> Result<Vec<Stage>> {
    let Value::Array(stages) = stages else {
        let found = stages.type_name();
        return refuse(ErrorCode::TypeMismatch, format!("a pipeline is an array of stages, this is of type {found}"));
    };
    count.set(count.get() + stages.len());
    if count.get() > MAX_STAGES {
        return refuse(
            ErrorCode::Location7749501,
            format!("a pipeline has at most {MAX_STAGES} stages, those of inner pipelines included"),
        );
    }
    let context = Context { variables, place, stages: count };
    let mut parsed = Vec::with_capacity(stages.len());
    for (at, value) in stages.iter().enumerate() {
        let row = stage(value, &context, &mut parsed)?;
        check_place(row, at, at + 1 == stages.len(), place)?;
    }
    Ok(parsed)
}

fn stage(value: &Value, context: &Context<'_>, out: &mut Vec<Stage>) -> Result<&'static StageRow> {
    if value.is_deeper_than(MAX_DEPTH) {
        return refuse(ErrorCode::Overflow, format!("a stage nests deeper than {MAX_DEPTH} levels"));
    }
    let Value::Map(map) = value else {
        let found = value.type_name();
        return refuse(ErrorCode::TypeMismatch, format!("a stage is a map such as {{$limit: 5}}, not of type {found}"));
    };
    let [(Value::String(name), operand)] = &map.entries[..] else {
        return refuse(
            ErrorCode::Location40323,
            format!(
                "a stage has exactly one field, its name, and this one has {}: give each a map of its own",
                map.len()
            ),
        );
    };
    let Some(row) = stages::find(name) else {
        let names: Vec<&str> = stages::supported().collect();
        return refuse(
            ErrorCode::Location40324,
            format!("Unrecognized pipeline stage name: '{name}'{}", suggestion(name, &names)),
        );
    };
    match parser(row.stage) {
        Some(parse) => {
            parse(row.name, operand, context, out)?;
            Ok(row)
        }
        None => missing(row, context.place),
    }
}

/// Refuses a stage that is not supported.
fn missing<T>(row: &StageRow, place: Place) -> Result<T> {
    let name = row.name;
    match place {
        // Errors about the source of the stage take precedence over the error that the stage is not supported.
        Place::Facet(_) if row.over != Over::Sessions => {
            return refuse(ErrorCode::Location40600, format!("{name} cannot be inside of $facet"));
        }
        Place::Facet(_) | Place::Inner(_) | Place::Union(_) if row.not_over_collections => {
            return refuse(ErrorCode::InvalidNamespace, format!("{name} is not over a collection"));
        }
        _ => {}
    }
    let why = row.missing.unwrap_or("it cannot be parsed");
    refuse(ErrorCode::NotImplemented, format!("the stage {name} is not supported: {why}"))
}

/// Checks that a stage is allowed at its place.
fn check_place(row: &StageRow, at: usize, is_last: bool, place: Place) -> Result<()> {
    let (name, writes) = (row.name, row.writes);
    match row.position {
        Position::First if at > 0 => {
            return refuse(ErrorCode::Location40602, format!("{name} must be the first stage"));
        }
        Position::Last if !is_last => {
            return refuse(ErrorCode::Location40601, format!("{name} must be the last stage"));
        }
        _ => {}
    }
    match place {
        Place::Facet(_) if !row.is_for_facets() => {
            refuse(ErrorCode::Location40600, format!("{name} cannot be inside of $facet"))
        }
        Place::Union(_) if writes => {
            refuse(ErrorCode::Location31441, format!("{name} cannot be in the pipeline of $unionWith"))
        }
        Place::Inner(_) if writes => {
            refuse(ErrorCode::Location51047, format!("{name} cannot be in the pipeline of another stage"))
        }
        _ => Ok(()),
    }
}
