//! `alluvium put`: stores one document.

use crate::exit::{Failure, Outcome};
use crate::files;
use crate::operators;
use crate::output::Output;
use crate::relaxed;
use crate::settings::database::{CollectionArgs, WriteArgs};
use crate::settings::ids::{self, IdArgs};
use crate::streams;
use alluvium::{Map, Value};
use alluvium_document::json;
use alluvium_document::key::IdError;
use std::io::Read;
use std::path::Path;

/// Arguments of `put`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  alluvium put my.db pets rex '{\"kind\": \"dog\", \"age\": 3}'
  alluvium put my.db pets '{\"kind\": \"cat\"}'
  alluvium put my.db pets - < document.json")]
pub(crate) struct Args {
    #[command(flatten)]
    collection: CollectionArgs,
    /// The _id, as extended JSON; what is not JSON is taken as a string; - uses the _id in the document, or generates one; a document in its place is stored in this way, too
    #[arg(value_name = "ID", allow_negative_numbers = true)]
    id: String,
    /// The document, in JSON; by default, or with -, it is read from standard input
    #[arg(value_name = "JSON")]
    json: Option<String>,
    #[command(flatten)]
    ids: IdArgs,
    /// Number of partitions, if the database is created; by default 1 if --memory is below 64M,
    /// and otherwise 4
    #[arg(long, value_name = "N")]
    partitions: Option<u32>,
    #[command(flatten)]
    writes: WriteArgs,
}

impl Args {
    /// Stores the document. The database and the collection are created if they do not exist.
    pub(crate) fn run(&self) -> Outcome {
        let map = self.document()?;
        refuse_update(&map)?;
        // Invalid arguments must not create a database.
        alluvium::check_name(&self.collection.name)?;
        self.check_id(&map)?;
        let mut builder = self.collection.database.creating()?;
        if let Some(partitions) = self.partitions {
            builder = builder.partitions(partitions);
        }
        self.collection.write_with(self.writes, builder, |written| {
            let collection = &written.collection;
            let own = map.get("_id").cloned();
            let generated = match (self.id(), own) {
                ("-", Some(id)) => collection.put(id, map).map(|()| None)?,
                ("-", None) => Some(collection.insert_one(map)?.inserted_id),
                (text, _) => collection.put(self.ids.parse(text), map).map(|()| None)?,
            };
            written.make_durable()?;
            let Some(id) = generated else { return Ok(()) };
            let mut out = Output::new();
            out.text(&format!("{}\n", ids::show(&id)))?;
            out.finish()
        })
    }

    /// True if the first argument is the document: no other document is given, and the argument is in braces but is no
    /// `_id` such as `{$oid: …}`.
    fn is_document_alone(&self) -> bool {
        self.json.is_none()
            && self.id.trim_start().starts_with('{')
            && !matches!(relaxed::parse(&self.id), Ok(value) if !matches!(value, Value::Map(_)))
    }

    /// The `_id`, or `-`.
    fn id(&self) -> &str {
        if self.is_document_alone() { "-" } else { &self.id }
    }

    /// The document as the user typed it; `None` if it is read from standard input.
    fn typed(&self) -> Option<&str> {
        match &self.json {
            None if self.is_document_alone() => Some(&self.id),
            json => json.as_deref().filter(|json| *json != "-"),
        }
    }

    /// Checks that the `_id` is valid and equals the `_id` in the document, if there is one. The library makes the same
    /// check, but later.
    fn check_id(&self, map: &Map) -> Outcome {
        let (own, given) = (map.get("_id"), (self.id() != "-").then(|| self.ids.parse(self.id())));
        let refused = |code, what| Err(Failure::from(alluvium::Error::InvalidId { code, what }));
        if let (Some(own), Some(given)) = (own, &given)
            && !alluvium_document::compare::equal(own, given)
        {
            return refused(2, format!("the document has _id {}, which is not {}", ids::show(own), ids::show(given)));
        }
        match given.as_ref().or(own).map(alluvium_document::key::id_key) {
            Some(Err(error @ IdError::Dollar(_))) => refused(52, error.to_string()),
            Some(Err(error)) => refused(2, error.to_string()),
            _ => Ok(()),
        }
    }

    /// The document to store.
    fn document(&self) -> Outcome<Map> {
        let mut piped = Vec::new();
        let typed = self.typed();
        let text = match typed {
            Some(json) => json.as_bytes(),
            None => {
                if streams::input_is_terminal() {
                    streams::complain(
                        "type the document as JSON, such as {\"a\": 1}, and end it with ctrl-D on a line of its own:",
                    );
                }
                files::not_the_shells(Path::new("-"))?;
                streams::input().read_to_end(&mut piped).map_err(|error| Failure::stdin(&error))?;
                &piped
            }
        };
        let parsed = match typed {
            Some(typed) => relaxed::parse(typed).map_err(|error| error.to_string()),
            None => json::parse(text).map_err(|error| error.to_string()),
        };
        match parsed {
            Ok(Value::Map(map)) => Ok(map),
            Ok(other) => {
                let kind = other.type_name();
                Err(Failure::wrong_type(format!("a document is a JSON object {{…}}, not of type {kind}")))
            }
            Err(error) => Err(Failure::no_json(format!("the document is not JSON: {error}"))),
        }
    }
}

/// Refuses an update that was given as the document.
fn refuse_update(map: &Map) -> Outcome {
    let mut names = map.iter().filter_map(|(name, _)| name.as_str());
    match names.find(|name| operators::UPDATE.contains(name)) {
        None => Ok(()),
        Some(name) => Err(Failure::Usage(format!(
            "{name} is an update operator, and `put` stores whole documents: did you mean `update`?"
        ))),
    }
}
