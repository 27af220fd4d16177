//! `alluvium-bench gen`: generated data; the same arguments always give the same bytes.

use alluvium_cli::exit::{Failure, Outcome};
use alluvium_cli::files;
use alluvium_cli::output::Output;
use alluvium_cli::signals::Stop;
use alluvium_env::Env;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The size of a write, in bytes.
const CHUNK_BYTES: usize = 1 << 20;

/// The data to generate.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Comments like those of a large discussion site, as JSON lines of some 1.27 KB
    Comments(CommentArgs),
    /// Random 16-byte keys with values, as lines of hexadecimal digits: key, tab, value
    Keys(KeyArgs),
}

/// Arguments of `gen comments`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: alluvium-bench gen comments --docs 1000000 -o comments.jsonl")]
pub(crate) struct CommentArgs {
    /// The number of comments
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    docs: u64,
    /// Another seed gives other comments
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    target: TargetArgs,
}

/// Arguments of `gen keys`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: alluvium-bench gen keys --keys 1000 --value-bytes 100")]
pub(crate) struct KeyArgs {
    /// The number of lines
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    keys: u64,
    /// Another seed gives other keys
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Different keys to draw from
    #[arg(long, value_name = "N", default_value_t = 100_000_000)]
    key_space: u64,
    /// Length of the values in bytes
    #[arg(long, value_name = "N", default_value_t = 1000)]
    value_bytes: usize,
    #[command(flatten)]
    target: TargetArgs,
}

/// The output.
#[derive(Debug, clap::Args)]
struct TargetArgs {
    /// A file to write; - is standard output, the default
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
}

impl Command {
    /// Generates.
    pub(crate) fn run(&self) -> Outcome {
        match self {
            Self::Comments(args) => {
                let mut comments = crate::comments::Generator::new(args.seed);
                args.target.write(args.docs, |out| comments.write_line(out))
            }
            Self::Keys(args) => {
                let mut keys = crate::keys::Generator::new(args.seed, args.key_space, args.value_bytes);
                let mut value = Vec::new();
                args.target.write(args.keys, |out| keys.write_line(&mut value, out))
            }
        }
    }
}

impl TargetArgs {
    fn write(&self, lines: u64, line: impl FnMut(&mut Vec<u8>)) -> Outcome {
        let stop = Stop::on_signals()?;
        match self.output.as_deref().filter(|path| *path != Path::new("-")) {
            Some(path) => {
                files::refuse_taken(&Env::os(), path, self.force)?;
                write_file(path, lines, &stop, line)
            }
            None => {
                let mut out = Output::new();
                chunks(lines, line, |chunk| {
                    stop.check()?;
                    out.bytes(chunk)
                })?;
                out.finish()
            }
        }
    }
}

/// Writes `lines` lines to a file.
pub(crate) fn write_file(path: &Path, lines: u64, stop: &Stop, line: impl FnMut(&mut Vec<u8>)) -> Outcome {
    let mut file = files::create(path)?;
    chunks(lines, line, |chunk| {
        stop.check()?;
        file.write_all(chunk).map_err(|error| Failure::io("write", path, &error))
    })
}

/// Collects lines in chunks, and passes each chunk to `hand_on`.
fn chunks(lines: u64, mut line: impl FnMut(&mut Vec<u8>), mut hand_on: impl FnMut(&[u8]) -> Outcome) -> Outcome {
    let mut chunk = Vec::with_capacity(CHUNK_BYTES + (64 << 10));
    for _ in 0..lines {
        line(&mut chunk);
        if chunk.len() >= CHUNK_BYTES {
            hand_on(&chunk)?;
            chunk.clear();
        }
    }
    hand_on(&chunk)
}
