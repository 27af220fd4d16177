//! The documents that an export writes: a range of `_id`s, or the result of a query.

use crate::exit::{Failure, Outcome};
use crate::settings::database::Readable;
use crate::settings::ids::{IdArgs, RangeArgs};
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
}

/// The documents of an export.
pub(super) struct Selection<'a> {
    arguments: &'a SelectionArgs,
    /// `None` for a range of `_id`s.
    query: Option<Query>,
}

struct Query {
    filter: Map,
    sort: Option<Map>,
    projection: Option<Map>,
}

impl SelectionArgs {
    /// Parses the arguments.
    ///
    /// # Errors
    /// They contradict each other, or are not JSON.
    pub(super) fn resolve(&self) -> Outcome<Selection<'_>> {
        let given = [("--where", &self.filter), ("--sort", &self.sort), ("--project", &self.project)]
            .into_iter()
            .find(|(_, text)| text.is_some());
        let Some((name, _)) = given else { return Ok(Selection { arguments: self, query: None }) };
        if let Some(range) = self.range.of_ids() {
            return Err(Failure::Usage(format!(
                "{range} is for an export in order of _id, and {name} for the result of a query: write the range as part of \
                 --where, such as {{\"_id\": {{\"$gte\": 1, \"$lt\": 2}}}}"
            )));
        }
        let map = |what: &str, text: &Option<String>| text.as_deref().map(|text| map_of(what, text)).transpose();
        let query = Query {
            filter: map("the filter of --where", &self.filter)?.unwrap_or_default(),
            sort: map("--sort", &self.sort)?,
            projection: map("--project", &self.project)?,
        };
        Ok(Selection { arguments: self, query: Some(query) })
    }
}

impl Selection<'_> {
    /// True for the result of a query.
    pub(super) fn is_query(&self) -> bool {
        self.query.is_some()
    }

    /// True if documents are written in part.
    pub(super) fn has_projection(&self) -> bool {
        self.query.as_ref().is_some_and(|query| query.projection.is_some())
    }

    /// A cursor over the documents, now or at a snapshot.
    pub(super) fn run(&self, collection: &Readable, at: Option<&Snapshot>, stop: &Stop) -> Outcome<Cursor> {
        let arguments = self.arguments;
        if let (Some(query), Readable::Collection(collection)) = (&self.query, collection) {
            let mut find = collection.find(query.filter.clone()).limit(arguments.range.limit()).stop_when(stop.flag());
            if let Some(sort) = &query.sort {
                find = find.sort(sort.clone());
            }
            if let Some(projection) = &query.projection {
                find = find.projection(projection.clone());
            }
            if let Some(snapshot) = at {
                find = find.at(snapshot);
            }
            return Ok(find.run()?);
        }
        let mut scan = arguments.range.apply(collection.scan(), arguments.id);
        if let Some(snapshot) = at {
            scan = scan.at(snapshot);
        }
        Ok(scan.run()?)
    }
}
