//! Pipelines on the command line.

use crate::exit::{Failure, Outcome};
use crate::files;
use crate::relaxed;
use crate::settings::database::Readable;
use crate::settings::queries::{map_of, whole};
use crate::signals::Stop;
use crate::streams;
use crate::text;
use alluvium::{Aggregate, Error, Map, Value};
use alluvium_query::pipeline::stages::{self, StageName};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A file that is longer is not read as a pipeline.
const MOST_BYTES: u64 = 64 << 20;

/// A pipeline and its options.
#[derive(Debug, clap::Args)]
pub(crate) struct PipelineArgs {
    /// The stages: a JSON array; a single stage needs no brackets
    #[arg(value_name = "PIPELINE", required_unless_present = "file")]
    pipeline: Option<String>,
    /// Read the pipeline from this file; - is standard input
    #[arg(short, long, value_name = "FILE", conflicts_with = "pipeline")]
    file: Option<PathBuf>,
    /// Variables for expressions, such as {"least": 5}, which are used as $$least
    #[arg(long = "let", value_name = "JSON")]
    variables: Option<String>,
    /// Compare strings by the rules of a language, as in MongoDB: {"locale": "en", "strength": 2} ignores case
    #[arg(long, value_name = "JSON")]
    collation: Option<String>,
    /// Whether stages that do not fit into memory may use files; without, the pipeline fails there
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_value_t = true,
        default_missing_value = "true",
        action = clap::ArgAction::Set
    )]
    allow_disk_use: bool,
    /// Stop with an error after this many milliseconds; 0 means no limit, the default
    #[arg(long, value_name = "MS", allow_negative_numbers = true, value_parser = whole)]
    max_time: Option<u64>,
}

impl PipelineArgs {
    /// The stages.
    ///
    /// # Errors
    /// The stages are not JSON, or the file cannot be read.
    pub(crate) fn stages(&self) -> Outcome<Vec<Map>> {
        match (&self.pipeline, &self.file) {
            (_, Some(path)) => stages_of(&read(path)?),
            (text, None) => stages_of(text.as_deref().unwrap_or_default()),
        }
    }

    /// A pipeline of these stages, with the given options. It ends when `stop` is set.
    pub(crate) fn aggregate(&self, collection: &Readable, stages: Vec<Map>, stop: &Stop) -> Outcome<Aggregate> {
        let mut aggregate = aggregate(collection, stages, stop).allow_disk_use(self.allow_disk_use);
        if let Some(variables) = &self.variables {
            aggregate = aggregate.variables(map_of("--let", variables)?);
        }
        if let Some(collation) = &self.collation {
            aggregate = aggregate.collation(map_of("--collation", collation)?);
        }
        if let Some(ms) = self.max_time {
            aggregate = aggregate.max_time(Duration::from_millis(ms));
        }
        Ok(aggregate)
    }
}

/// A pipeline of these stages. It ends when `stop` is set.
pub(crate) fn aggregate(collection: &Readable, stages: Vec<Map>, stop: &Stop) -> Aggregate {
    let stages = Value::Array(stages.into_iter().map(Value::Map).collect());
    collection.aggregate(stages).stop_when(stop.flag())
}

/// Parses the stages of a pipeline: a JSON array of stages, or a single stage.
pub(crate) fn stages_of(text: &str) -> Outcome<Vec<Map>> {
    let example = "such as [{\"$match\": {\"a\": 1}}, {\"$count\": \"n\"}]";
    let other = |value: &Value| {
        let kind = value.type_name();
        Failure::wrong_type(format!(
            "the pipeline must be a JSON array of stages, {example}, and has one of type {kind}"
        ))
    };
    match relaxed::parse(text) {
        Ok(Value::Map(stage)) => Ok(vec![stage]),
        Ok(Value::Array(stages)) => {
            let stage = |value| match value {
                Value::Map(stage) => Ok(stage),
                value => Err(other(&value)),
            };
            stages.into_iter().map(stage).collect()
        }
        Ok(value) => Err(Failure::wrong_type(format!(
            "the pipeline must be a JSON array of stages, {example}, not of type {}",
            value.type_name()
        ))),
        Err(error) => Err(Failure::no_json(format!("the pipeline must be JSON, {example}: {error}"))),
    }
}

fn read(path: &Path) -> Outcome<String> {
    files::not_the_shells(path)?;
    let failed = |error: std::io::Error| Failure::io("read", path, &error);
    let mut bytes = Vec::new();
    match path == Path::new("-") {
        true => streams::input().take(MOST_BYTES).read_to_end(&mut bytes).map_err(|error| Failure::stdin(&error))?,
        false => files::open_stream(path)?.take(MOST_BYTES).read_to_end(&mut bytes).map_err(failed)?,
    };
    String::from_utf8(bytes).map_err(|_| Failure::Usage(format!("{} is not UTF-8 text", text::path(path))))
}

/// The filters of the `$match` stages at the beginning of the pipeline.
pub(crate) fn matched(stages: &[Map]) -> Vec<Map> {
    let filter = |stage: &Map| stage.get(StageName::Match.name()).and_then(Value::as_map).cloned();
    stages.iter().map_while(filter).collect()
}

/// True if the last stage writes the results to a collection.
pub(crate) fn writes(stages: &[Map]) -> bool {
    stages.last().is_some_and(stages::writes)
}

/// True if the pipeline contains its own documents, and reads none of a collection.
pub(crate) fn has_documents(stages: &[Map]) -> bool {
    stages.first().is_some_and(|stage| stage.contains(StageName::Documents.name()))
}

/// The failure of a pipeline that is refused before it runs.
pub(crate) fn refused(error: Error) -> Failure {
    match (&error, error.code()) {
        (Error::Pipeline(_) | Error::Watch(_), Some(code)) => {
            Failure::Malformed { text: text::plain(&error.to_string()), code }
        }
        _ => error.into(),
    }
}
