//! The inputs of a load: files and streams, plain or compressed.

use super::SIGNAL_CHECK;
use crate::exit::{Failure, Outcome};
use crate::files::{self, FileReader};
use crate::signals::Stop;
use alluvium::Collection;
use alluvium::load::{Identity, Input, LoadOptions, LoadReport};
use env::{Env, OpenMode};
use flate2::read::MultiGzDecoder;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];
const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// Compressed bytes are read in pieces of this size.
const READ_BYTES: usize = 256 << 10;
/// Dumps are often made with `zstd --long=31`, which looks back over 2 GiB.
const ZSTD_WINDOW_LOG_MAX: u32 = 31;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packing {
    Plain,
    Gzip,
    Zstd,
}

impl Packing {
    /// By the first bytes; where these say nothing, by the name, so that a damaged file is an error
    /// of its format and not of JSON.
    fn of(name: &Path, head: &[u8]) -> Self {
        if head.starts_with(ZSTD_MAGIC) {
            return Self::Zstd;
        }
        if head.starts_with(GZIP_MAGIC) {
            return Self::Gzip;
        }
        match name.extension().and_then(|extension| extension.to_str()) {
            Some("gz") => Self::Gzip,
            Some("zst" | "zstd") => Self::Zstd,
            _ => Self::Plain,
        }
    }

    fn reader(self, packed: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
        let packed = BufReader::with_capacity(READ_BYTES, packed);
        Ok(match self {
            Self::Plain => Box::new(packed),
            Self::Gzip => Box::new(MultiGzDecoder::new(packed)),
            Self::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(packed)?;
                decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
                Box::new(decoder)
            }
        })
    }
}

/// One input.
#[derive(Debug)]
pub(crate) struct Source {
    name: String,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Stdin,
    /// Comments that are made while they are loaded.
    Generated {
        docs: u64,
        seed: u64,
    },
    /// A pipe or device with a name.
    Stream(PathBuf),
    File {
        path: PathBuf,
        /// As it lies on disk.
        bytes: u64,
        packing: Packing,
    },
}

/// A source, opened.
pub(crate) enum Opened {
    Input(Input),
    Generated { docs: u64, seed: u64 },
}

impl Opened {
    /// Loads it.
    pub(crate) fn load(self, collection: &Collection, options: LoadOptions) -> alluvium::Result<LoadReport> {
        match self {
            Self::Input(input) => collection.load(input, options),
            Self::Generated { docs, seed } => bench::scenarios::documents::load(collection, docs, seed, options),
        }
    }
}

/// How far a load has read a source, in bytes as they lie on disk.
#[derive(Debug, Clone)]
pub(crate) enum Consumed {
    /// As many as it has taken in.
    AsLoaded,
    /// What is counted here.
    Counted(Arc<AtomicU64>),
    /// Its end is not known.
    Unknown,
}

impl Source {
    /// Looks at what the argument names.
    pub(crate) fn find(env: &Env, path: &Path) -> Outcome<Self> {
        let name = path.display().to_string();
        if name == "-" {
            return Ok(Self { name: "standard input".to_owned(), kind: Kind::Stdin });
        }
        if files::is_stream(path) {
            return Ok(Self { name, kind: Kind::Stream(path.to_owned()) });
        }
        let file = env.fs.open(path, OpenMode::Read)?;
        let mut head = [0; 4];
        let len = file.read_at(&mut head, 0)?;
        let packing = Packing::of(path, &head[..len]);
        Ok(Self { name, kind: Kind::File { path: path.to_owned(), bytes: file.len()?, packing } })
    }

    /// Generated comments.
    pub(crate) fn generated(docs: u64, seed: u64) -> Self {
        Self { name: "generated comments".to_owned(), kind: Kind::Generated { docs, seed } }
    }

    /// As the user named it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Standard input.
    pub(crate) fn is_stdin(&self) -> bool {
        matches!(self.kind, Kind::Stdin)
    }

    /// A load of it that was cut short can go on.
    pub(crate) fn is_resumable(&self) -> bool {
        matches!(self.kind, Kind::File { .. })
    }

    /// What a user may expect to be resumable, and is not.
    pub(crate) fn not_resumable(&self) -> Option<&str> {
        matches!(self.kind, Kind::Stdin | Kind::Stream(_)).then_some(&self.name)
    }

    /// Its bytes as they lie on disk, if it has an end that is known.
    pub(crate) fn bytes(&self) -> Option<u64> {
        match &self.kind {
            Kind::File { bytes, .. } => Some(*bytes),
            _ => None,
        }
    }

    /// Opens it for loading.
    pub(crate) fn open(&self, env: &Env, stop: &Stop) -> Outcome<(Opened, Consumed)> {
        let cannot = |error: io::Error| Failure::Other(format!("cannot read {}: {error}", self.name));
        let (input, consumed) = match &self.kind {
            Kind::File { path, packing: Packing::Plain, .. } => (Input::file(env, path)?, Consumed::AsLoaded),
            Kind::File { path, packing, .. } => {
                let identity = Identity::of_file(env, path)?;
                let counter = Arc::new(AtomicU64::new(0));
                let file = FileReader::new(env.fs.open(path, OpenMode::Read)?);
                let reader = packing.reader(Counting { inner: file, counter: counter.clone() }).map_err(cannot)?;
                (Input::decoded(&self.name, identity, reader), Consumed::Counted(counter))
            }
            Kind::Stdin => (self.stream(Stdin { stop: stop.clone() }).map_err(cannot)?, Consumed::Unknown),
            Kind::Stream(path) => (self.stream(files::open_stream(path)?).map_err(cannot)?, Consumed::Unknown),
            Kind::Generated { docs, seed } => {
                return Ok((Opened::Generated { docs: *docs, seed: *seed }, Consumed::Unknown));
            }
        };
        Ok((Opened::Input(input), consumed))
    }

    fn stream(&self, mut stream: impl Read + Send + 'static) -> io::Result<Input> {
        let mut head = Vec::with_capacity(4);
        stream.by_ref().take(4).read_to_end(&mut head)?;
        let packing = Packing::of(Path::new(""), &head);
        let reader = packing.reader(io::Cursor::new(head).chain(stream))?;
        Ok(Input::stream(&self.name, reader))
    }
}

struct Counting<R> {
    inner: R,
    counter: Arc<AtomicU64>,
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.counter.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// Standard input, given up when a signal comes while nothing does.
struct Stdin {
    stop: Stop,
}

impl Read for Stdin {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let stdin = io::stdin();
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(SIGNAL_CHECK.subsec_nanos()) };
        loop {
            if self.stop.is_set() {
                return Err(io::Error::other("stopped"));
            }
            match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&timeout)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => break,
                Err(error) => return Err(error.into()),
            }
        }
        // Not through the standard library's buffer, whose content `poll` does not see.
        Ok(rustix::io::read(&stdin, buffer)?)
    }
}

#[cfg(test)]
mod tests;
