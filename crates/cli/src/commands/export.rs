//! `alluvium export`: a collection, or the result of a query, as JSON, CSV or BSON.

mod columns;
mod selection;

use crate::endings::{self, Access, Ending};
use crate::exit::{Failure, Outcome};
use crate::files;
use crate::output::Output;
use crate::progress::Meter;
use crate::session;
use crate::settings::access::Reading;
use crate::settings::database::CollectionArgs;
use crate::settings::ids::paths_of;
use crate::signals::Stop;
use crate::streams;
use crate::text;
use alluvium::export::{Encoder, Format};
use alluvium::load::Format as Loaded;
use alluvium::{Cursor, Packer, Packing};
use alluvium_env::{Env, WholeFile};
use selection::{Selection, SelectionArgs};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The number of bytes that are written at once.
const CHUNK_BYTES: usize = 256 << 10;

/// Arguments of `export`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  alluvium export my.db comments -o comments.jsonl.zst
  alluvium export my.db comments -o scores.csv --fields _id,author,score --from evn2 --to evn3
  alluvium export my.db comments -o top.csv --where '{\"score\": {\"$gt\": 100}}' --sort '{\"score\": -1}' --project '{\"body\": 0}' --limit 1000
  alluvium export my.db comments -o counts.csv --pipeline '[{\"$sortByCount\": \"$author\"}, {\"$limit\": 100}]'
  alluvium export my.db users -o users.jsonl --sort '{\"name\": 1}' --collation '{\"locale\": \"de\"}'
  alluvium export my.db pets --canonical | alluvium load other.db pets -

The export is a consistent snapshot of the collection. BSON and canonical JSON keep every type and the order of \
fields. Relaxed JSON does not distinguish a small 64-bit integer from a 32-bit one, and CSV has no types \
(`load --types` declares them). A document that would not be the same after loading is refused; \
`dump --alluvium-types` keeps those, too.")]
pub(crate) struct Args {
    #[command(flatten)]
    collection: CollectionArgs<Reading>,
    /// The file to write, compressed if its name ends in .gz or .zst; by default, or with -, standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The format; by default it follows from the ending of the file's name, or is jsonl
    #[arg(long, value_enum)]
    format: Option<FormatName>,
    /// Write canonical extended JSON, which keeps every type; by default relaxed extended JSON
    #[arg(long)]
    canonical: bool,
    /// Write only these fields, separated by commas: a.b is the field b of the map a. They are the columns of CSV and TSV; by default these have a column for each field of the documents, which are read twice for that. A field with a dot in its name is exported only with whole documents
    #[arg(long, value_name = "a,b.c", value_delimiter = ',')]
    fields: Option<Vec<String>>,
    /// The text of null in CSV and TSV; by default null is empty, as a missing field, and an empty text is two quotes
    #[arg(long, value_name = "TEXT")]
    null: Option<String>,
    #[command(flatten)]
    selection: SelectionArgs,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
}

/// The formats by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum FormatName {
    /// One JSON object per line: .jsonl, .ndjson
    #[value(name = "jsonl", alias = "json-lines", alias = "ndjson")]
    JsonLines,
    /// One JSON array: .json
    #[value(name = "json", alias = "json-array")]
    JsonArray,
    /// Comma-separated rows: .csv
    Csv,
    /// Tab-separated rows: .tsv
    Tsv,
    /// BSON documents, as mongodump writes them: .bson
    Bson,
}

impl Args {
    /// Writes the documents.
    pub(crate) fn run(&self) -> Outcome {
        if let Some(path) = self.file() {
            endings::check_name(&path.to_string_lossy(), Access::Write, self.format.is_some())?;
        }
        let format = self.format();
        let encoder = self.encoder(format.clone())?;
        let selection = self.selection.resolve()?;
        if selection.has_projection() && self.fields.is_some() {
            return Err(Failure::Usage("--fields and --project cannot be combined: use one of them".to_owned()));
        }
        let env = Env::os();
        if let Some(path) = self.file() {
            // With --force, an existing file is replaced when the export is complete.
            files::refuse_taken(&env, path, self.force)?;
        }
        let finds_columns = self.fields.is_none() && matches!(format, Format::Csv { .. });
        self.write_documents(&env, encoder, &selection, finds_columns)
    }

    fn write_documents(
        &self,
        env: &Env,
        mut encoder: Encoder,
        selection: &Selection<'_>,
        finds_columns: bool,
    ) -> Outcome {
        let stop = Stop::on_signals()?;
        let database = &self.collection.database;
        // This process alone has the database open, so there are no other snapshots that could pin
        // files.
        self.collection.read_by(None, database.with_long_snapshots()?, |collection| {
            // One snapshot, even if the documents are read twice.
            let snapshot = session::database().map(|database| database.snapshot());
            let documents = || selection.run(collection, snapshot.as_ref(), &stop);
            if finds_columns {
                encoder = encoder.fields(columns::of(documents()?, &stop)?);
            } else if let Some(fields) = &self.fields {
                collection.note(&collection.unknown(&paths_of("--fields", fields)?));
            }
            let cursor = documents()?;
            let mut meter = Meter::new(env);
            let mut target = Target::open(env, self.file())?;
            let bytes = write(cursor, &mut encoder, &mut target, &stop, &mut meter)?;
            target.finish()?;
            meter.end();
            if self.file().is_some() {
                let documents = text::counted(encoder.documents(), "document");
                let took = text::duration(meter.took());
                streams::complain(&format!("exported {documents}, {}, in {took}", text::bytes(bytes)));
            }
            Ok(())
        })
    }

    /// The file of `--output`, unless it is standard output.
    fn file(&self) -> Option<&Path> {
        self.output.as_deref().filter(|path| *path != Path::new("-"))
    }

    fn format(&self) -> Format {
        match self.format {
            Some(FormatName::JsonLines) => Format::JsonLines,
            Some(FormatName::JsonArray) => Format::JsonArray,
            Some(FormatName::Csv) => Format::Csv { separator: b',' },
            Some(FormatName::Tsv) => Format::Csv { separator: b'\t' },
            Some(FormatName::Bson) => Format::Bson,
            None => self.file().map_or(Format::JsonLines, of_name),
        }
    }

    fn encoder(&self, format: Format) -> Outcome<Encoder> {
        let usage = |text: &str| Err(Failure::Usage(text.to_owned()));
        if self.canonical && !matches!(format, Format::JsonLines | Format::JsonArray) {
            return usage("--canonical is for JSON");
        }
        let is_separated = matches!(format, Format::Csv { .. });
        if self.null.is_some() && !is_separated {
            return usage("--null is for CSV and TSV");
        }
        let null = self.null.clone().unwrap_or_default();
        let encoder = Encoder::new(format).canonical(self.canonical).null(null);
        match &self.fields {
            Some(fields) => Ok(encoder.fields(paths_of("--fields", fields)?)),
            None => Ok(encoder),
        }
    }
}

/// The format for the ending of a file's name.
fn of_name(path: &Path) -> Format {
    let name = path.to_string_lossy();
    match endings::of_name(&name) {
        Ending::Known(Loaded::Csv(csv)) => Format::Csv { separator: csv.separator },
        Ending::Known(Loaded::Bson) => Format::Bson,
        Ending::Json => Format::JsonArray,
        Ending::Known(_) | Ending::Unknown => Format::JsonLines,
    }
}

/// Writes all documents; returns the number of bytes before compression.
fn write(
    mut cursor: Cursor,
    encoder: &mut Encoder,
    target: &mut Target,
    stop: &Stop,
    meter: &mut Meter,
) -> Outcome<u64> {
    let mut chunk = Vec::with_capacity(CHUNK_BYTES + (64 << 10));
    let mut bytes = 0;
    encoder.begin(&mut chunk)?;
    while encoder.write_next(&mut cursor, &mut chunk)? {
        stop.check()?;
        if chunk.len() >= CHUNK_BYTES {
            target.write(&chunk)?;
            bytes += chunk.len() as u64;
            chunk.clear();
            meter.show(encoder.documents(), bytes);
        }
    }
    encoder.end(&mut chunk);
    target.write(&chunk)?;
    Ok(bytes + chunk.len() as u64)
}

/// The destination of an export.
enum Target {
    Stdout(Output),
    /// A named pipe or device.
    Stream(Box<dyn Write>, PathBuf),
    File(Box<Packer<WholeFile>>, PathBuf),
}

impl Target {
    fn open(env: &Env, path: Option<&Path>) -> Outcome<Self> {
        let Some(path) = path else { return Ok(Self::Stdout(Output::new())) };
        if files::is_stream(path) {
            return Ok(Self::Stream(Box::new(files::create(path)?), path.to_owned()));
        }
        let file = WholeFile::create(&env.fs, path)?;
        let packer = Packing::of_name(path).writer(file).map_err(|error| Failure::io("write", path, &error))?;
        Ok(Self::File(Box::new(packer), path.to_owned()))
    }

    fn write(&mut self, bytes: &[u8]) -> Outcome {
        match self {
            Self::Stdout(out) => out.content(bytes),
            Self::Stream(out, path) => out.write_all(bytes).map_err(|error| Failure::io("write", path, &error)),
            Self::File(out, path) => out.write_all(bytes).map_err(|error| failed(path, error)),
        }
    }

    fn finish(self) -> Outcome {
        match self {
            Self::Stdout(out) => out.finish(),
            Self::Stream(mut out, path) => out.flush().map_err(|error| Failure::io("write", &path, &error)),
            Self::File(out, path) => Ok(out.finish().map_err(|error| failed(&path, error))?.finish()?),
        }
    }
}

fn failed(path: &Path, error: std::io::Error) -> Failure {
    alluvium_env::Error::of_stream("write", path, error).into()
}
