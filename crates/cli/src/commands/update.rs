//! `alluvium update`: changes fields of a document by `_id`, or of those that match a filter.

use crate::exit::{Failure, Outcome};
use crate::notes::{self, Fields};
use crate::output::Output;
use crate::settings::database::CollectionArgs;
use crate::settings::ids::{self, IdArgs};
use crate::settings::questions::{self, QuestionArgs, map_of};
use crate::signals::Stop;
use crate::text;
use alluvium::Map;
use std::time::Duration;

/// Arguments of `update`.
#[derive(Debug, clap::Args)]
#[command(mut_arg("explain", |arg| arg.help(questions::EXPLAIN_A_WRITE)))]
#[command(override_usage = "alluvium update [OPTIONS] <DB> <COLLECTION> <ID> <UPDATE>
       alluvium update [OPTIONS] <DB> <COLLECTION> --where <FILTER> <UPDATE>")]
#[command(after_help = "\
Operators: $set $unset $inc $mul $min $max $push $addToSet $pull $pullAll $pop $bit $rename $currentDate $setOnInsert

Examples:
  alluvium update my.db comments evn2i5p '{\"$inc\": {\"score\": 1}}'
  alluvium update my.db comments --where '{\"author\": \"ann\"}' '{\"$set\": {\"checked\": true}}' --many
  alluvium update my.db pages --where '{\"path\": \"/a\"}' '{\"$inc\": {\"hits\": 1}}' --upsert
  alluvium update my.db pages --where '{}' '{\"$set\": {\"tags.$[old]\": null}}' --array-filters '[{\"old\": {\"$lt\": 5}}]' --many

Of several documents that match, one is changed, or with --many each, in a write of its own.")]
pub(crate) struct Args {
    #[command(flatten)]
    collection: CollectionArgs,
    /// The _id: extended JSON; what does not parse is a string; none with --where
    #[arg(value_name = "ID", required_unless_present = "filter", allow_negative_numbers = true)]
    document_id: Option<String>,
    /// The update: operators, each with paths and values
    #[arg(value_name = "UPDATE", required_unless_present = "filter")]
    update: Option<String>,
    /// Documents that match this filter, as JSON, in place of an _id
    #[arg(long = "where", id = "filter", value_name = "FILTER", conflicts_with_all = ["blind", "id_string"])]
    filter: Option<String>,
    /// All that match
    #[arg(long, requires = "filter")]
    many: bool,
    /// Which elements $[name] in the update stands for: an array of filters, as '[{"name.score": {"$gte": 5}}]'
    #[arg(long, requires = "filter", value_name = "FILTERS")]
    array_filters: Option<String>,
    #[command(flatten)]
    question: QuestionArgs,
    #[command(flatten)]
    id: IdArgs,
    /// Write the update down without reading the document: faster, and does not tell whether it applied
    #[arg(long, conflicts_with = "upsert")]
    blind: bool,
    /// Insert a document if there is none
    #[arg(long)]
    upsert: bool,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Updates, and says what has changed.
    pub(crate) fn run(&self) -> Outcome {
        if let Some(filter) = &self.filter {
            return self.by_filter(filter);
        }
        if self.question.is_given() {
            return Err(Failure::Usage("--hint, --max-time and --explain go with --where".to_owned()));
        }
        let id = self.id.parse(self.document_id.as_deref().unwrap_or_default());
        let shown = ids::show(&id);
        let update = map_of("the update", self.update.as_deref().unwrap_or_default())?;
        let result = self.collection.with(|collection| {
            let asked = update.clone();
            let result = match (self.blind, self.upsert) {
                (true, _) => collection.apply(id, update).map(|()| None),
                (_, true) => collection.upsert(id, update).map(Some),
                _ => collection.update(id, update).map(Some),
            };
            result.map_err(|error| explain(error, &asked))
        })?;
        let mut out = Output::new();
        let Some(result) = result else {
            if self.json {
                out.json(&serde_json::json!({ "blind": true }))?;
            } else {
                out.text("written down, to be applied where the document is\n")?;
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
            true => Err(Failure::NotFound(format!("not found: {shown}"))),
            false => Ok(()),
        }
    }

    /// Updates those that match a filter.
    fn by_filter(&self, filter: &str) -> Outcome {
        if self.update.is_some() {
            return Err(Failure::Usage(
                "an _id and --where do not go together: name one of them, and the update".to_owned(),
            ));
        }
        let Some(update) = &self.document_id else {
            let example = r#"'{"$set": {"checked": true}}'"#;
            return Err(Failure::Usage(format!(
                "the update is missing: say what becomes of those that match, as {example}"
            )));
        };
        questions::refuse_read_only(&self.collection)?;
        let (filter, update) = (map_of("the filter of --where", filter)?, map_of("the update", update)?);
        let stop = Stop::on_signals()?;
        let array_filters = self.array_filters.as_deref().map(questions::maps_of).transpose()?.unwrap_or_default();
        let (asked_for, said) = (filter.clone(), update.clone());
        self.collection.with(|collection| {
            // The update may change what the filter looks at.
            let counts = !self.many && !self.json && !self.question.explain;
            let others = counts.then(|| questions::others(collection.find(asked_for.clone()), 1, &stop));
            let mut asked = match self.many {
                true => collection.update_many(filter, update),
                false => collection.update_one(filter, update),
            };
            asked = asked.upsert(self.upsert).array_filters(array_filters.clone()).stop_when(stop.flag());
            if let Some(hint) = self.question.hint()? {
                asked = asked.hint(hint);
            }
            if let Some(ms) = self.question.max_time {
                asked = asked.max_time(Duration::from_millis(ms));
            }
            if self.question.explain {
                return questions::print(&asked.explain()?, self.json);
            }
            let result = asked.run().map_err(|error| explain(error, &said))?;
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
                (_, Some(others)) => questions::print_others(others, "updates"),
                _ => {}
            }
            Ok(())
        })
    }
}

/// A document in place of an update is what `put` takes; or an operator has lost its dollar sign.
fn explain(error: alluvium::Error, update: &Map) -> Failure {
    match &error {
        alluvium::Error::Update(_) if error.to_string().ends_with("use replace") => {
            let meant = notes::update_without_dollar(update);
            Failure::explained(
                error,
                Some(meant.unwrap_or_else(|| "`alluvium put` replaces a whole document.".to_owned())),
            )
        }
        _ => questions::stopped(error),
    }
}
