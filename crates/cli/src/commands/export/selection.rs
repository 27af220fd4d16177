//! The documents that an export writes: a range of `_id`s, or the result of a query or pipeline.

use crate::exit::{Failure, Outcome};
use crate::settings::database::Readable;
use crate::settings::ids::{IdArgs, RangeArgs};
use crate::settings::pipelines;
use crate::settings::queries::map_of;
use crate::signals::Stop;
use alluvium::{Cursor, Map, Snapshot};

/// Arguments that select documents.
#[derive(Debug, clap::Args)]
pub(super) struct SelectionArgs {
    #[command(flatten)]
    range: RangeArgs,
    #[command(flatten)]
    id: IdArgs,
    /// Write only the documents that match this filter, in JSON
    #[arg(long = "where", value_name = "FILTER")]
    filter: Option<String>,
    /// Sort by these fields, each with 1 (ascending) or -1 (descending), such as {"age": -1}; by default documents are in order of _id, or, with --where, in the order in which they are found
    #[arg(long, value_name = "JSON")]
    sort: Option<String>,
    /// Write only these fields, {"a": 1}, or all except these, {"a": 0}, or computed ones, as in `find --projection`
    #[arg(long, alias = "projection", value_name = "JSON")]
    project: Option<String>,
    /// Write the results of this pipeline, a JSON array of stages as in `aggregate`
    #[arg(long, value_name = "STAGES", conflicts_with_all = ["filter", "sort", "project"])]
    pipeline: Option<String>,
    /// Compare strings by the rules of a language, as in MongoDB: {"locale": "en", "strength": 2} ignores case
    #[arg(long, value_name = "JSON")]
    collation: Option<String>,
}

/// The documents of an export.
pub(super) struct Selection<'a> {
    arguments: &'a SelectionArgs,
    kind: Kind,
    /// The options of the collation of a query or pipeline.
    collation: Option<Map>,
}

enum Kind {
    /// Documents in a range of `_id`s.
    Range,
    Query {
        filter: Map,
        sort: Option<Map>,
        projection: Option<Map>,
    },
    /// The stages.
    Pipeline(Vec<Map>),
}

impl SelectionArgs {
    /// Parses the arguments.
    ///
    /// # Errors
    /// The arguments contradict each other, or are not JSON.
    pub(super) fn resolve(&self) -> Outcome<Selection<'_>> {
        let options = [
            ("--where", &self.filter),
            ("--sort", &self.sort),
            ("--project", &self.project),
            ("--pipeline", &self.pipeline),
        ];
        let Some((name, _)) = options.into_iter().find(|(_, text)| text.is_some()) else {
            if self.collation.is_some() {
                let what = "--collation is for the result of a query: it goes with --where, --sort or --pipeline";
                return Err(Failure::Usage(what.to_owned()));
            }
            return Ok(Selection { arguments: self, kind: Kind::Range, collation: None });
        };
        let collation = self.collation.as_deref().map(|options| map_of("--collation", options)).transpose()?;
        if let Some(range) = self.range.of_ids() {
            return Err(Failure::Usage(format!(
                "{range} is for an export in order of _id, and {name} for the result of a query: write the range as part of \
                 the filter, such as {{\"_id\": {{\"$gte\": 1, \"$lt\": 2}}}}"
            )));
        }
        let kind = match &self.pipeline {
            Some(stages) => Kind::Pipeline(self.stages(stages)?),
            None => {
                let map =
                    |what: &str, text: &Option<String>| text.as_deref().map(|text| map_of(what, text)).transpose();
                Kind::Query {
                    filter: map("the filter of --where", &self.filter)?.unwrap_or_default(),
                    sort: map("--sort", &self.sort)?,
                    projection: map("--project", &self.project)?,
                }
            }
        };
        Ok(Selection { arguments: self, kind, collation })
    }

    fn stages(&self, text: &str) -> Outcome<Vec<Map>> {
        let mut stages = pipelines::stages_of(text)?;
        if pipelines::writes(&stages) {
            let what = "the pipeline writes its results to a collection, and has none to export: use `aggregate`";
            return Err(Failure::Usage(what.to_owned()));
        }
        if let Some(limit) = Some(self.range.limit()).filter(|limit| *limit > 0) {
            stages.push(Map::from([("$limit", limit)]));
        }
        Ok(stages)
    }
}

impl Selection<'_> {
    /// True if only parts of the documents are written.
    pub(super) fn has_projection(&self) -> bool {
        matches!(self.kind, Kind::Query { projection: Some(_), .. })
    }

    /// A cursor over the documents, now or at a snapshot.
    pub(super) fn run(&self, collection: &Readable, at: Option<&Snapshot>, stop: &Stop) -> Outcome<Cursor> {
        match &self.kind {
            Kind::Query { filter, sort, projection } => {
                let limit = self.arguments.range.limit();
                let mut find = collection.find(filter.clone()).limit(limit).stop_when(stop.flag());
                if let Some(sort) = sort {
                    find = find.sort(sort.clone());
                }
                if let Some(projection) = projection {
                    find = find.projection(projection.clone());
                }
                if let Some(collation) = &self.collation {
                    find = find.collation(collation.clone());
                }
                if let Some(snapshot) = at {
                    find = find.at(snapshot);
                }
                Ok(find.run()?)
            }
            Kind::Pipeline(stages) => {
                let mut aggregate = pipelines::aggregate(collection, stages.clone(), stop);
                if let Some(collation) = &self.collation {
                    aggregate = aggregate.collation(collation.clone());
                }
                if let Some(snapshot) = at {
                    aggregate = aggregate.at(snapshot);
                }
                aggregate.run().map_err(pipelines::refused)
            }
            Kind::Range => {
                let mut scan = self.arguments.range.apply(collection.scan(), self.arguments.id);
                if let Some(snapshot) = at {
                    scan = scan.at(snapshot);
                }
                Ok(scan.run()?)
            }
        }
    }
}
