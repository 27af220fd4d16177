//! `alluvium build`: a read-only store of documents, or of keys and values.

mod summary;

use crate::commands::load::{Duplicate, FormatArgs, Rejects, Source};
use crate::exit::{self, Failure, Outcome};
use crate::files;
use crate::progress::Meter;
use crate::settings::size;
use crate::signals::Stop;
use alluvium::load::{OnBad, Outcome as Ended, Progress};
use alluvium::prefixed::PairReader;
use alluvium::{BuildReadOnly, Compression, InputBytes, ReadOnly};
use alluvium_env::Env;
use std::io::BufReader;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use summary::Summary;

/// The number of bytes of an input of pairs that one read requests.
const READ_BYTES: usize = 256 << 10;
/// The memory budget of a build, unless another is given.
const MEMORY_BYTES: usize = 256 << 20;

/// Arguments of `build`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  alluvium build comments.ro comments comments.jsonl.zst --id-field id
  alluvium build airports.ro airports airports.csv --id-field iata --on-duplicate replace
  alluvium build pairs.ro pairs pairs.kv --key-values --index-interval 10,100 --block-size 4K

A read-only store never changes; get, scan, find, count, distinct, aggregate, export, stats and verify read it, in any number of processes at \
once. Input that does not fit the memory budget is sorted in parts on the disk, which temporarily needs the same space \
again. After an interrupted build, run it again.

The input of --key-values is a sequence of pairs of a key and a value, each written as its length, the byte 1a, \
and its bytes. A length is written low byte first; a byte 1a or 1b in it is preceded by a byte 1b.")]
pub(crate) struct Args {
    /// The directory of the new store; it must not exist or be empty
    #[arg(value_name = "DB")]
    path: PathBuf,
    /// The collection: NAME, or LOGICAL.NAME in another logical database than `main`
    #[arg(value_name = "COLLECTION")]
    name: String,
    /// Files of JSON, CSV, TSV or BSON, plain or compressed (.gz, .zst), or of pairs with --key-values; - is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The files contain length-prefixed keys and values, which are stored unchanged
    #[arg(long)]
    key_values: bool,
    #[command(flatten)]
    formats: FormatArgs,
    /// The field whose value becomes the _id; a document without an _id gets a generated one
    #[arg(long, value_name = "FIELD", default_value = "_id")]
    id_field: String,
    /// What to do with a document or pair whose _id or key occurred before
    #[arg(long, value_enum, default_value = "error")]
    on_duplicate: Duplicate,
    /// Skip lines, rows and elements that are not documents; by default the build stops at the first
    #[arg(long)]
    skip_bad: bool,
    /// Append what is skipped to this file, as `load` does
    #[arg(long, value_name = "FILE", requires = "skip_bad")]
    rejects: Option<PathBuf>,
    /// Write an index with an entry for every N keys (1 to 1000000), one index for each N; by default there is one entry for each data block
    #[arg(long, value_name = "N,M", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    index_interval: Vec<u64>,
    /// Size of a data block before compression, 512 to 1M bytes; the default is 2K
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    block_size: Option<u64>,
    /// Compression of data blocks
    #[arg(long, value_enum, default_value = "zstd")]
    compression: Packed,
    /// Memory budget in bytes, such as 64M or 1G; at least 8M, by default 256M
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    memory: Option<u64>,
    /// Number of threads that parse; by default one for each core
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    readers: Option<u64>,
    /// Start even if the disk may be too small
    #[arg(long)]
    no_space_check: bool,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Packed {
    /// Zstandard with a dictionary trained on the input
    Zstd,
    /// LZ4: larger files, faster reads
    Lz4,
    /// No compression
    None,
}

impl Args {
    /// Builds the store, and prints what was done.
    pub(crate) fn run(&self) -> Outcome {
        let env = Env::os();
        let memory_bytes = self.memory_bytes()?;
        let (build, sources) = (self.build(memory_bytes)?, self.sources(&env)?);
        files::refuse_inside(&env, &self.path)?;
        if let Some(rejects) = &self.rejects {
            files::refuse_inside(&env, rejects)?;
            files::refuse_input(rejects, &self.files)?;
        }
        self.enough_space(&build, &sources)?;
        let rejects = self.rejects.as_deref().map(Rejects::open).transpose()?;
        let stop = Stop::on_signals()?;
        let mut meter = Meter::new(&env);
        let built = match self.key_values {
            true => self.build_pairs(&env, &sources, build, &stop, &mut meter),
            false => self.build_documents(&env, &sources, build, &stop, rejects, &meter),
        };
        meter.end();
        built?.print(self, meter.took())
    }

    /// Refuses a build that does not fit the disk. Inputs of unknown size are ignored.
    fn enough_space(&self, build: &BuildReadOnly, sources: &[Source]) -> Outcome {
        let bytes = |packed| {
            let sources = sources.iter().filter(move |source| source.is_packed() == packed);
            sources.filter_map(Source::bytes).fold(0_u64, u64::saturating_add)
        };
        let input = InputBytes { plain: bytes(false), packed: bytes(true) };
        match self.no_space_check {
            true => Ok(()),
            false if self.key_values => exit::enough_space(build.space_of_key_values(input)),
            false => exit::enough_space(build.space(input)),
        }
    }

    fn memory_bytes(&self) -> Outcome<usize> {
        let Some(bytes) = self.memory else { return Ok(MEMORY_BYTES) };
        if bytes < 8 << 20 {
            return Err(Failure::Usage("--memory is at least 8M".to_owned()));
        }
        let large = |_| Failure::Usage("--memory is more than this machine can address".to_owned());
        usize::try_from(bytes).map_err(large)
    }

    fn build(&self, memory_bytes: usize) -> Outcome<BuildReadOnly> {
        let build = ReadOnly::build(&self.path, &self.name)
            .memory(memory_bytes)
            .index_intervals(self.index_interval.iter().copied())
            .on_duplicate(self.on_duplicate.into())
            .compression(match self.compression {
                Packed::Zstd => Compression::Zstd { level: 3 },
                Packed::Lz4 => Compression::Lz4,
                Packed::None => Compression::None,
            });
        match self.block_size {
            Some(bytes) if !(512..=1 << 20).contains(&bytes) => {
                Err(Failure::Usage("--block-size is 512 to 1M".to_owned()))
            }
            Some(bytes) => Ok(build.block_bytes(bytes as usize)),
            None => Ok(build),
        }
    }

    /// Examines the inputs, before anything is created.
    fn sources(&self, env: &Env) -> Outcome<Vec<Source>> {
        if self.formats.splits() && self.id_field != "_id" {
            let what = "with --split-object the fields' names become the _id: leave out --id-field";
            return Err(Failure::Usage(what.to_owned()));
        }
        if self.key_values && (self.id_field != "_id" || self.skip_bad || self.formats.is_given()) {
            let what = "--key-values takes pairs unchanged: leave out the options for documents";
            return Err(Failure::Usage(what.to_owned()));
        }
        let find = |file: &PathBuf| Source::find(env, file, &self.formats);
        let sources = self.files.iter().map(find).collect::<Outcome<Vec<_>>>()?;
        if sources.iter().filter(|source| source.is_stdin()).count() > 1 {
            return Err(Failure::Usage("standard input can be read only once".to_owned()));
        }
        Ok(sources)
    }

    fn build_documents(
        &self,
        env: &Env,
        sources: &[Source],
        build: BuildReadOnly,
        stop: &Stop,
        rejects: Option<Rejects>,
        meter: &Meter,
    ) -> Outcome<Summary> {
        let mut summary = Summary::default();
        let mut build = build.start()?;
        let progress = Arc::new(Progress::default());
        let watched = meter.watch(progress.clone());
        let mut load_all = || -> Outcome {
            for source in sources {
                let (input, format, _) = source.open(env, stop)?;
                let mut load = build.load(input).format(format).id_field(&self.id_field);
                load = load.on_bad(if self.skip_bad { OnBad::Skip } else { OnBad::Error });
                if let Some(readers) = self.readers {
                    load = load.readers(readers as usize);
                }
                if let Some(rejects) = &rejects {
                    load = load.rejects(rejects.writer(source.name()));
                }
                let report = load.stop_when(stop.flag()).progress(progress.clone()).run();
                if stop.is_set() {
                    return Err(stopped());
                }
                let unwritten = || rejects.as_ref().and_then(Rejects::failure);
                if report.map_err(|error| unwritten().unwrap_or_else(|| error.into()))?.outcome == Ended::Stopped {
                    return Err(stopped());
                }
            }
            Ok(())
        };
        let loaded = load_all();
        watched.end();
        loaded?;
        summary.input_bytes = progress.bytes.load(Ordering::Relaxed);
        summary.rejected = progress.rejected.load(Ordering::Relaxed);
        summary.report = build.finish()?;
        Ok(summary)
    }

    fn build_pairs(
        &self,
        env: &Env,
        sources: &[Source],
        build: BuildReadOnly,
        stop: &Stop,
        meter: &mut Meter,
    ) -> Outcome<Summary> {
        let mut summary = Summary::default();
        let mut build = build.start_key_values()?;
        let failed = |error: alluvium_readonly::Error| Failure::from(alluvium::Error::from(error));
        for source in sources {
            let stream = source.open_bytes(env, stop)?;
            let mut reader = PairReader::new(BufReader::with_capacity(READ_BYTES, stream));
            let cannot = |error: std::io::Error| match stop.is_set() {
                true => stopped(),
                false => Failure::Other(format!("cannot read {}: {error}", source.name())),
            };
            while reader.next_pair().map_err(cannot)? {
                build.add(reader.key(), reader.value()).map_err(failed)?;
                if build.added().is_multiple_of(1024) {
                    if stop.is_set() {
                        return Err(stopped());
                    }
                    meter.show(build.added(), summary.input_bytes + reader.bytes());
                }
            }
            summary.input_bytes += reader.bytes();
        }
        summary.report = build.finish(Vec::new()).map_err(failed)?;
        Ok(summary)
    }
}

fn stopped() -> Failure {
    Failure::Interrupted("stopped: the build was removed".to_owned())
}
