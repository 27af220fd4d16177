//! `alluvium delete`: deletes documents by `_id`, or all documents that match a filter.

use crate::exit::{Failure, Outcome};
use crate::notes::{self, Fields};
use crate::output::{self, Output};
use crate::settings::database::{CollectionArgs, WriteArgs};
use crate::settings::ids::{self, IdArgs};
use crate::settings::queries::{self, QueryArgs, map_of};
use crate::signals::Stop;
use crate::text;
use alluvium::{Error, Map, Value};
use alluvium_document::key::{self, IdError};
use std::time::Duration;

/// Arguments of `delete`.
#[derive(Debug, clap::Args)]
#[command(mut_arg("explain", |arg| arg.help(queries::EXPLAIN_A_WRITE)))]
#[command(override_usage = "alluvium delete [OPTIONS] <DB> <COLLECTION> <ID>...
       alluvium delete [OPTIONS] <DB> <COLLECTION> --where <FILTER> [--many]")]
#[command(after_help = "Examples:
  alluvium delete my.db comments evn2i5p '{\"$oid\":\"5f43a1b2c3d4e5f601234567\"}'
  alluvium delete my.db comments --where '{\"score\": {\"$lt\": -10}}' --many

By default one matching document is deleted; with --many each one is, in a write of its own.")]
pub(crate) struct Args {
    #[command(flatten)]
    collection: CollectionArgs,
    /// The _ids, as extended JSON; what is not JSON is taken as a string
    #[arg(value_name = "ID", required_unless_present = "filter", allow_negative_numbers = true)]
    ids: Vec<String>,
    /// Delete documents that match this filter, in JSON, instead of those with given _ids
    #[arg(long = "where", id = "filter", value_name = "FILTER", conflicts_with_all = ["ids", "id_string"])]
    filter: Option<String>,
    /// Delete all documents that match, not only one
    #[arg(long, requires = "filter")]
    many: bool,
    #[command(flatten)]
    query: QueryArgs,
    #[command(flatten)]
    id: IdArgs,
    #[command(flatten)]
    writes: WriteArgs,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Deletes the documents, and prints the `_id`s that do not exist.
    pub(crate) fn run(&self) -> Outcome {
        if let Some(filter) = &self.filter {
            return self.by_filter(filter);
        }
        if self.query.is_given() {
            return Err(Failure::Usage("--hint, --collation, --max-time and --explain go with --where".to_owned()));
        }
        // All `_id`s are checked before the first document is deleted.
        let ids: Vec<Value> = self.ids.iter().map(|text| checked(self.id.parse(text))).collect::<Outcome<_>>()?;
        let (deleted, missing) = self.collection.write(self.writes, |written| {
            let collection = &written.collection;
            notes::print_if_missing(collection);
            let (mut deleted, mut missing) = (0_u64, Vec::new());
            for (id, text) in ids.into_iter().zip(&self.ids) {
                match collection.delete_one(Map::from([("_id", id.clone())])).run()?.deleted_count {
                    0 => {
                        let hint = self.id.hint(text, &id, |other| Ok(collection.get(other)?.is_some()))?;
                        missing.push(ids::show(&id) + &hint);
                    }
                    _ => deleted += 1,
                }
            }
            written.make_durable()?;
            Ok((deleted, missing))
        })?;
        let mut out = Output::new();
        if self.json {
            out.json(&serde_json::json!({ "deleted": deleted, "not_found": missing.len() }))?;
        } else {
            out.text(&format!("deleted {}\n", text::counted(deleted, "document")))?;
        }
        out.finish()?;
        match missing.is_empty() {
            true => Ok(()),
            false => Err(Failure::NotFound(format!("not found: {}", missing.join(", ")))),
        }
    }

    fn by_filter(&self, filter: &str) -> Outcome {
        let filter = map_of("the filter of --where", filter)?;
        let (asked_for, counts) = (filter.clone(), !self.many && !self.json);
        let stop = Stop::on_signals()?;
        self.collection.write(self.writes, |written| {
            let collection = &written.collection;
            notes::print_if_missing(collection);
            let mut asked = match self.many {
                true => collection.delete_many(filter),
                false => collection.delete_one(filter),
            };
            asked = asked.stop_when(stop.flag());
            if let Some(hint) = self.query.hint()? {
                asked = asked.hint(hint);
            }
            if let Some(collation) = self.query.collation()? {
                asked = asked.collation(collation);
            }
            if let Some(ms) = self.query.max_time {
                asked = asked.max_time(Duration::from_millis(ms));
            }
            if self.query.explain {
                return output::print_explanation(&asked.explain()?, self.json);
            }
            let deleted = asked.run().map_err(queries::stopped)?.deleted_count;
            written.make_durable()?;
            let mut out = Output::new();
            match self.json {
                true => out.json(&serde_json::json!({ "deleted": deleted }))?,
                false => out.text(&format!("deleted {}\n", text::counted(deleted, "document")))?,
            }
            out.finish()?;
            match deleted {
                0 => Fields::print_of_filter(collection, &asked_for),
                _ if counts => {
                    let mut rest = collection.find(asked_for);
                    if let Some(collation) = self.query.collation()? {
                        rest = rest.collation(collation);
                    }
                    queries::print_others(queries::others(rest, 0, &stop), "deletes");
                }
                _ => {}
            }
            Ok(())
        })
    }
}

/// Checks that a document can have this `_id`.
fn checked(id: Value) -> Outcome<Value> {
    match key::id_key(&id) {
        Ok(_) => Ok(id),
        Err(error) => {
            let code = if matches!(error, IdError::Dollar(_)) { 52 } else { 2 };
            Err(Error::InvalidId { code, what: error.to_string() }.into())
        }
    }
}
