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
use super::{MAX_LEVELS, MAX_STAGES};
use crate::code::ErrorCode;
use crate::expression::Variables;
use crate::suggest::suggestion;
use alluvium_document::{MAX_DEPTH, Value};
use std::cell::Cell;

type Result<T> = std::result::Result<T, PipelineError>;

/// Where a pipeline is.
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

/// What stages are parsed with.
#[derive(Clone, Copy)]
struct Context<'v> {
    variables: &'v Variables,
    place: Place,
    /// The stages so far, those in pipelines of stages included: each takes room on the stack.
    stages: &'v Cell<usize>,
}

impl Context<'_> {
    /// The level of a pipeline in a stage.
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

/// Parses a stage into one or several.
type Parse = fn(&'static str, &Value, &Context<'_>, &mut Vec<Stage>) -> Result<()>;

/// The stages, by name.
const STAGES: [(&str, Parse); 29] = [
    ("$addFields", simple::add_fields),
    ("$bucket", buckets::bucket),
    ("$bucketAuto", buckets::bucket_auto),
    ("$collStats", statistics::of_collection),
    ("$count", groups::count),
    ("$densify", sequences::densify),
    ("$documents", joins::documents),
    ("$facet", joins::facet),
    ("$fill", sequences::fill),
    ("$graphLookup", joins::graph_lookup),
    ("$group", groups::group),
    ("$indexStats", statistics::of_indexes),
    ("$limit", simple::limit),
    ("$lookup", joins::lookup),
    ("$match", simple::matching),
    ("$merge", joins::merge),
    ("$out", joins::out),
    ("$project", simple::project),
    ("$redact", simple::redact),
    ("$replaceRoot", simple::replace_root),
    ("$replaceWith", simple::replace_with),
    ("$sample", simple::sample),
    ("$set", simple::add_fields),
    ("$setWindowFields", sequences::set_window_fields),
    ("$skip", simple::skip),
    ("$sort", simple::sort),
    ("$sortByCount", groups::sort_by_count),
    ("$unionWith", joins::union_with),
    ("$unset", simple::unset),
];

/// `$unwind`, which is long enough for a line of its own.
const UNWIND: (&str, Parse) = ("$unwind", simple::unwind);

/// MongoDB's stages that are not supported, and why.
const NOT_SUPPORTED: [(&str, &str); 17] = [
    ("$changeStream", "there are no change streams"),
    ("$changeStreamSplitLargeEvent", "there are no change streams"),
    ("$currentOp", "it is for servers"),
    ("$geoNear", "there is no geography"),
    ("$listClusterCatalog", "it is for servers"),
    ("$listLocalSessions", "it is for servers"),
    ("$listSampledQueries", "it is for clusters"),
    ("$listSearchIndexes", "there is no text search"),
    ("$listSessions", "it is for servers"),
    ("$planCacheStats", "use explain"),
    ("$querySettings", "it is for servers"),
    ("$queryStats", "it is for servers"),
    ("$rankFusion", "there is no text search"),
    ("$search", "there is no text search"),
    ("$searchMeta", "there is no text search"),
    ("$shardedDataDistribution", "it is for clusters"),
    ("$vectorSearch", "there is no vector search"),
];

/// The names of all stages that are supported.
pub fn stage_names() -> impl Iterator<Item = &'static str> {
    STAGES.iter().map(|(name, _)| *name).chain([UNWIND.0])
}

impl Pipeline {
    /// Parses a pipeline: an array of stages. The variables are those of `let`.
    ///
    /// # Errors
    /// [`PipelineError::Refused`]: a stage that is unknown, not supported, or in a place where it may
    /// not be; an operand that it does not accept; more than [`super::MAX_STAGES`].
    pub fn parse(stages: &Value, variables: &Variables) -> Result<Self> {
        Ok(Self { stages: rewrite::merged(pipeline(stages, variables, Place::Outermost, &Cell::new(0))?) })
    }

    /// The stages of this pipeline and then others, as one pipeline.
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
        let name = stage(value, &context, &mut parsed)?;
        check_place(name, at, at + 1 == stages.len(), place)?;
    }
    Ok(parsed)
}

fn stage(value: &Value, context: &Context<'_>, out: &mut Vec<Stage>) -> Result<&'static str> {
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
    let known = STAGES.iter().chain(std::iter::once(&UNWIND)).find(|(known, _)| *known == name.as_str());
    match known {
        Some((name, parse)) => {
            parse(name, operand, context, out)?;
            Ok(name)
        }
        None => unknown(name, context.place),
    }
}

fn unknown<T>(name: &str, place: Place) -> Result<T> {
    if let Some((name, why)) = NOT_SUPPORTED.iter().find(|(known, _)| *known == name) {
        let of_server = matches!(*name, "$currentOp" | "$listSessions" | "$listLocalSessions");
        match place {
            Place::Facet(_) if *name != "$listSessions" => {
                return refuse(ErrorCode::Location40600, format!("{name} cannot be inside of $facet"));
            }
            Place::Facet(_) | Place::Inner(_) | Place::Union(_) if of_server => {
                return refuse(ErrorCode::InvalidNamespace, format!("{name} is not over a collection"));
            }
            _ => {}
        }
        return refuse(ErrorCode::NotImplemented, format!("the stage {name} is not supported: {why}"));
    }
    let names: Vec<&str> = stage_names().collect();
    refuse(ErrorCode::Location40324, format!("there is no stage {name}{}", suggestion(name, &names)))
}

/// Checks that a stage may be where it is.
fn check_place(name: &'static str, at: usize, is_last: bool, place: Place) -> Result<()> {
    let begins = matches!(name, "$documents" | "$collStats" | "$indexStats");
    if begins && at > 0 {
        return refuse(ErrorCode::Location40602, format!("{name} must be the first stage"));
    }
    let writes = matches!(name, "$out" | "$merge");
    if writes && !is_last {
        return refuse(ErrorCode::Location40601, format!("{name} must be the last stage"));
    }
    match place {
        Place::Facet(_) if writes || begins || name == "$facet" => {
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
