//! `alluvium update`: updates a document by `_id`, or documents that match a filter.

use crate::exit::{Failure, Outcome};
use crate::notes::{self, Fields};
use crate::output::{self, Output};
use crate::settings::database::{CollectionArgs, WriteArgs, Written};
use crate::settings::ids::{self, IdArgs};
use crate::settings::pipelines;
use crate::settings::queries::{self, QueryArgs, map_of};
use crate::signals::Stop;
use crate::text;
use alluvium::{Map, Value};
use std::time::Duration;

/// Arguments of `update`.
#[derive(Debug, clap::Args)]
#[command(mut_arg("explain", |arg| arg.help(queries::EXPLAIN_A_WRITE)))]
#[command(override_usage = "alluvium update [OPTIONS] <DB> <COLLECTION> <ID> <UPDATE>
       alluvium update [OPTIONS] <DB> <COLLECTION> --where <FILTER> <UPDATE>")]
#[command(after_help = "\
Operators: $set $unset $inc $mul $min $max $push $addToSet $pull $pullAll $pop $bit $rename $currentDate $setOnInsert

Examples:
  alluvium update my.db comments evn2i5p '{\"$inc\": {\"score\": 1}}'
  alluvium update my.db comments --where '{\"author\": \"ann\"}' '{\"$set\": {\"checked\": true}}' --many
  alluvium update my.db pages --where '{\"path\": \"/a\"}' '{\"$inc\": {\"hits\": 1}}' --upsert
  alluvium update my.db pages --where '{}' '{\"$set\": {\"tags.$[old]\": null}}' --array-filters '[{\"old\": {\"$lt\": 5}}]' --many
  alluvium update my.db users --where '{\"mail\": \"ann@x.org\"}' '{\"$set\": {\"seen\": true}}' --collation '{\"locale\": \"en\", \"strength\": 2}'
  alluvium update my.db orders --where '{}' '[{\"$set\": {\"total\": {\"$multiply\": [\"$price\", \"$count\"]}}}]' --many

By default one matching document is updated; with --many each one is, in a write of its own.")]
pub(crate) struct Args {
    #[command(flatten)]
    collection: CollectionArgs,
    /// The _id, as extended JSON; what is not JSON is taken as a string; left out with --where
    #[arg(value_name = "ID", required_unless_present = "filter", allow_negative_numbers = true)]
    document_id: Option<String>,
    /// The update: operators, each with fields and values, such as {"$inc": {"age": 1}}; or stages, such as [{"$set": {"sum": {"$add": ["$a", "$b"]}}}]
    #[arg(value_name = "UPDATE", required_unless_present = "filter")]
    update: Option<String>,
    /// Update documents that match this filter, in JSON, instead of the one with a given _id
    #[arg(long = "where", id = "filter", value_name = "FILTER", conflicts_with_all = ["blind", "id_string"])]
    filter: Option<String>,
    /// Update all documents that match, not only one
    #[arg(long, requires = "filter")]
    many: bool,
    /// The array elements that $[name] in the update stands for: an array of filters, such as '[{"name.score": {"$gte": 5}}]'
    #[arg(long, requires = "filter", value_name = "FILTERS")]
    array_filters: Option<String>,
    #[command(flatten)]
    query: QueryArgs,
    #[command(flatten)]
    id: IdArgs,
    /// Record the update without reading the document, which is faster; whether it applied is not reported
    #[arg(long, conflicts_with = "upsert")]
    blind: bool,
    /// Insert a document if none matches
    #[arg(long)]
    upsert: bool,
    #[command(flatten)]
    writes: WriteArgs,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Runs the update, and prints what changed.
    pub(crate) fn run(&self) -> Outcome {
        if let Some(filter) = &self.filter {
            return self.by_filter(filter);
        }
        if self.query.is_given() {
            return Err(Failure::Usage("--hint, --collation, --max-time and --explain go with --where".to_owned()));
        }
        let id = self.id.parse(self.document_id.as_deref().unwrap_or_default());
        let shown = ids::show(&id);
        let update = update_of(self.update.as_deref().unwrap_or_default())?;
        if self.blind && !matches!(update, Value::Map(_)) {
            return Err(Failure::Usage("--blind is for operators: stages read the document".to_owned()));
        }
        let (result, hint) = self.with(|written| {
            let (collection, asked) = (&written.collection, update.clone());
            let result = match self.blind {
                true => collection.update_blind(id.clone(), update).map(|()| None),
                false => {
                    let by_id = collection.update_one(Map::from([("_id", id.clone())]), update);
                    by_id.upsert(self.upsert).run().map(Some)
                }
            };
            let result = result.map_err(|error| explain(error, &asked))?;
            written.make_durable()?;
            let hint = match &result {
                Some(result) if result.matched_count == 0 && result.upserted_id.is_none() => {
                    let text = self.document_id.as_deref().unwrap_or_default();
                    self.id.hint(text, &id, |other| Ok(collection.get(other)?.is_some()))?
                }
                _ => String::new(),
            };
            Ok((result, hint))
        })?;
        let mut out = Output::new();
        let Some(result) = result else {
            if self.json {
                out.json(&serde_json::json!({ "blind": true }))?;
            } else {
                out.text("recorded; it is applied when the document is read\n")?;
            }
            return out.finish();
        };
        let upserted = result.upserted_id.is_some();
        if self.json {
            out.json(&serde_json::json!({
                "matched": result.matched_count,
                "modified": result.modified_count,
                "upserted": u64::from(upserted),
            }))?;
        } else {
            match (upserted, result.matched_count, result.modified_count) {
                (true, ..) => out.text(&format!("inserted {shown}\n"))?,
                (_, 0, _) => {}
                (_, _, 0) => out.text(&format!("unchanged {shown}\n"))?,
                _ => out.text(&format!("updated {shown}\n"))?,
            }
        }
        out.finish()?;
        match result.matched_count == 0 && !upserted {
            true => Err(Failure::NotFound(format!("not found: {shown}{hint}"))),
            false => Ok(()),
        }
    }

    fn with<T>(&self, step: impl FnOnce(&Written<'_>) -> Outcome<T>) -> Outcome<T> {
        self.collection.write(self.writes, |written| {
            // An upsert creates the collection.
            if !self.upsert {
                notes::print_if_missing(&written.collection);
            }
            step(written)
        })
    }

    /// Updates documents that match a filter.
    fn by_filter(&self, filter: &str) -> Outcome {
        if self.update.is_some() {
            return Err(Failure::Usage(
                "an _id and --where cannot be combined: give one of them, and the update".to_owned(),
            ));
        }
        let Some(update) = &self.document_id else {
            let example = r#"'{"$set": {"checked": true}}'"#;
            return Err(Failure::Usage(format!(
                "the update is missing: say what becomes of those that match, as {example}"
            )));
        };
        let (filter, update) = (map_of("the filter of --where", filter)?, update_of(update)?);
        let stop = Stop::on_signals()?;
        let array_filters = self.array_filters.as_deref().map(queries::maps_of).transpose()?.unwrap_or_default();
        let (asked_for, said) = (filter.clone(), update.clone());
        self.with(|written| {
            let collection = &written.collection;
            // The number of matching documents is counted before the update, which may change whether a document
            // matches.
            let counts = !self.many && !self.json && !self.query.explain;
            let mut asked = collection.find(asked_for.clone());
            if let Some(collation) = self.query.collation()? {
                asked = asked.collation(collation);
            }
            let others = counts.then(|| queries::others(asked, 1, &stop));
            let mut asked = match self.many {
                true => collection.update_many(filter, update),
                false => collection.update_one(filter, update),
            };
            asked = asked.upsert(self.upsert).array_filters(array_filters.clone()).stop_when(stop.flag());
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
            let result = asked.run().map_err(|error| explain(error, &said))?;
            written.make_durable()?;
            let mut out = Output::new();
            let (matched, modified) = (result.matched_count, result.modified_count);
            match (&result.upserted_id, self.json) {
                (upserted, true) => out.json(&serde_json::json!({
                    "matched": matched,
                    "modified": modified,
                    "upserted": u64::from(upserted.is_some()),
                }))?,
                (Some(id), _) => out.text(&format!("inserted {}\n", ids::show(id)))?,
                (None, _) => {
                    let matching = text::counted(matched, "matching document");
                    out.text(&format!("updated {} of {matching}\n", text::count(modified)))?;
                }
            }
            out.finish()?;
            match (matched, others) {
                (0, _) => Fields::print_of_filter(collection, &asked_for),
                (_, Some(others)) => queries::print_others(others, "updates"),
                _ => {}
            }
            Ok(())
        })
    }
}

/// Parses an update: operators, or the stages of a pipeline.
fn update_of(text: &str) -> Outcome<Value> {
    match text.trim_start().starts_with('[') {
        true => Ok(Value::Array(pipelines::stages_of(text)?.into_iter().map(Value::Map).collect())),
        false => map_of("the update", text).map(Value::Map),
    }
}

/// Explains an error: a document was given instead of an update, or an operator lacks its dollar sign.
fn explain(error: alluvium::Error, update: &Value) -> Failure {
    match &error {
        alluvium::Error::Update(_) if error.to_string().ends_with("use replace") => {
            let meant = update.as_map().and_then(notes::update_without_dollar);
            Failure::explained(
                error,
                Some(meant.unwrap_or_else(|| "`alluvium put` replaces a whole document.".to_owned())),
            )
        }
        _ => queries::stopped(error),
    }
}
