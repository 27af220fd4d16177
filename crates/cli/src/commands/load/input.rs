//! The inputs of a load: files and streams, plain or compressed.

use super::format::FormatArgs;
use crate::endings::{self, Access, Ending};
use crate::exit::{Failure, Outcome};
use crate::files;
use crate::signals::{SIGNAL_CHECK, Stop};
use crate::streams::{self, Input as StandardInput};
use alluvium::Packing;
use alluvium::load::{Format, Identity, Input, Metadata};
use alluvium_env::{Env, FileReader, OpenMode};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of bytes of a file that are read to find its format.
const LOOK_BYTES: u64 = 1 << 20;

/// One input.
pub struct Source {
    name: String,
    kind: Kind,
    format: Format,
    /// The format follows from the first line, which is read when the input is opened.
    is_by_content: bool,
    /// The path and the content of the metadata file of a BSON dump.
    metadata: Option<(PathBuf, Metadata)>,
}

enum Kind {
    Stdin,
    /// JSON lines that are generated during the load.
    Generated(Generate),
    /// A named pipe or device.
    Stream(PathBuf),
    File {
        path: PathBuf,
        /// The size on disk.
        bytes: u64,
        packing: Packing,
    },
}

/// Starts the generation of an input.
type Generate = Box<dyn Fn() -> Input>;

/// The progress of reading a source, in bytes on disk.
#[derive(Debug, Clone)]
pub(crate) enum Consumed {
    /// The bytes of the documents that were loaded.
    AsLoaded,
    /// The bytes in this counter.
    Counted(Arc<AtomicU64>),
    /// The total is unknown.
    Unknown,
}

impl Source {
    /// Determines the format and the kind of a file.
    pub(crate) fn find(env: &Env, path: &Path, formats: &FormatArgs) -> Outcome<Self> {
        files::not_the_shells(path)?;
        let name = path.display().to_string();
        refuse_address(&name)?;
        endings::check_name(&name, Access::Read, formats.has_name())?;
        let unseen = |name: &str| formats.resolve(name, || Ok(Vec::new()));
        if name == "-" {
            let name = "standard input".to_owned();
            let is_by_content = formats.is_by_content();
            return Ok(Self { format: unseen(&name)?, name, kind: Kind::Stdin, is_by_content, metadata: None });
        }
        if files::is_stream(path) {
            let format = unseen(&name)?;
            let is_by_content = formats.is_by_content() && format == Format::JsonLines;
            return Ok(Self { format, name, kind: Kind::Stream(path.to_owned()), is_by_content, metadata: None });
        }
        let file = env.fs.open(path, OpenMode::Read)?;
        let mut head = [0; endings::HEAD_BYTES];
        let len = file.read_at(&mut head, 0)?;
        endings::check_head(&name, &head[..len])?;
        let packing = Packing::of(path, &head[..len]);
        let bytes = file.len()?;
        let format = formats.resolve(&name, || Ok(look(packing, FileReader::new(file))))?;
        let metadata = match (&format, Metadata::beside(path)) {
            (Format::Bson, Some(beside)) => Metadata::read_in(env, &beside)?.map(|metadata| (beside, metadata)),
            _ => None,
        };
        let kind = Kind::File { path: path.to_owned(), bytes, packing };
        Ok(Self { name, kind, format, is_by_content: false, metadata })
    }

    /// A file of JSON lines.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn json_lines(env: &Env, path: &Path) -> Outcome<Self> {
        Self::find(env, path, &FormatArgs::json_lines())
    }

    /// JSON lines that `generate` produces while they are loaded.
    pub fn generated(name: &str, generate: impl Fn() -> Input + 'static) -> Self {
        let kind = Kind::Generated(Box::new(generate));
        Self { name: name.to_owned(), kind, format: Format::JsonLines, is_by_content: false, metadata: None }
    }

    /// The format of the documents.
    pub(crate) fn format(&self) -> &Format {
        &self.format
    }

    /// The path and the content of the metadata file of a BSON dump.
    pub(crate) fn metadata(&self) -> Option<&(PathBuf, Metadata)> {
        self.metadata.as_ref()
    }

    /// The name that the user gave.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// True for standard input.
    pub(crate) fn is_stdin(&self) -> bool {
        matches!(self.kind, Kind::Stdin)
    }

    /// True if an interrupted load of this input can continue.
    pub(crate) fn is_resumable(&self) -> bool {
        matches!(self.kind, Kind::File { .. })
    }

    /// The name of the input, if it is not resumable although a user may expect it.
    pub(crate) fn not_resumable(&self) -> Option<&str> {
        matches!(self.kind, Kind::Stdin | Kind::Stream(_)).then_some(&self.name)
    }

    /// The size on disk, if it is known.
    pub(crate) fn bytes(&self) -> Option<u64> {
        match &self.kind {
            Kind::File { bytes, .. } => Some(*bytes),
            _ => None,
        }
    }

    /// True for a file whose name has an ending of JSON.
    pub(crate) fn is_json_file(&self) -> bool {
        matches!(self.kind, Kind::File { .. }) && endings::of_name(&self.name) == Ending::Json
    }

    /// True for a file that is not compressed.
    pub(crate) fn is_plain_file(&self) -> bool {
        matches!(&self.kind, Kind::File { packing: Packing::Plain, .. })
    }

    /// True for a compressed file.
    pub(crate) fn is_packed(&self) -> bool {
        matches!(&self.kind, Kind::File { packing, .. } if *packing != Packing::Plain)
    }

    /// Opens the input for loading; also returns its format.
    pub(crate) fn open(&self, env: &Env, stop: &Stop) -> Outcome<(Input, Format, Consumed)> {
        let cannot = |error: io::Error| Failure::Other(format!("cannot read {}: {error}", self.name));
        let (input, consumed) = match &self.kind {
            Kind::File { path, packing: Packing::Plain, .. } => (Input::file_in(env, path)?, Consumed::AsLoaded),
            Kind::File { path, packing, .. } => {
                let identity = Identity::of_file_in(env, path)?;
                let counter = Arc::new(AtomicU64::new(0));
                let file = FileReader::new(env.fs.open(path, OpenMode::Read)?);
                let reader = packing.reader(Counting { inner: file, counter: counter.clone() }).map_err(cannot)?;
                (Input::decoded(&self.name, identity, reader), Consumed::Counted(counter))
            }
            Kind::Stdin => return self.stream(Stdin::new(stop)).map_err(cannot),
            Kind::Stream(path) => return self.stream(files::open_stream(path)?).map_err(cannot),
            Kind::Generated(generate) => (generate(), Consumed::Unknown),
        };
        Ok((input, self.format.clone(), consumed))
    }

    fn stream(&self, stream: impl Read + Send + 'static) -> io::Result<(Input, Format, Consumed)> {
        let mut stream = unpacked(stream)?;
        if !self.is_by_content {
            return Ok((Input::stream(&self.name, stream), self.format.clone(), Consumed::Unknown));
        }
        let head = first_line(&mut stream)?;
        let format = match Format::of_json(&head) {
            Format::JsonObjects if !continues(&head) => Format::JsonLines,
            format => format,
        };
        Ok((Input::stream(&self.name, io::Cursor::new(head).chain(stream)), format, Consumed::Unknown))
    }

    /// Opens the input as a stream of decompressed bytes.
    pub(crate) fn open_bytes(&self, env: &Env, stop: &Stop) -> Outcome<Box<dyn Read + Send>> {
        let cannot = |error: io::Error| Failure::Other(format!("cannot read {}: {error}", self.name));
        match &self.kind {
            Kind::File { path, packing, .. } => {
                let file = FileReader::new(env.fs.open(path, OpenMode::Read)?);
                packing.reader(file).map_err(cannot)
            }
            Kind::Stdin => unpacked(Stdin::new(stop)).map_err(cannot),
            Kind::Stream(path) => unpacked(files::open_stream(path)?).map_err(cannot),
            Kind::Generated(_) => Err(Failure::Usage(format!("{} have no bytes to read", self.name))),
        }
    }
}

/// Refuses web addresses.
fn refuse_address(name: &str) -> Outcome {
    let lower = name.to_ascii_lowercase();
    if ["http://", "https://", "ftp://", "s3://", "gs://"].iter().any(|scheme| lower.starts_with(scheme)) {
        return Err(Failure::Usage(format!(
            "{name} is a web address, which is not supported: download it first, or pipe it in, as in `curl -sSL {name} | \
             alluvium load DB COLLECTION -`"
        )));
    }
    Ok(())
}

/// The bytes of a file or stream, decompressed if the first bytes mark a compressed format; `-` is standard input.
pub(crate) fn open_unpacked(path: &Path, stop: &Stop) -> Outcome<Box<dyn Read + Send>> {
    let opened = match path == Path::new("-") {
        true => unpacked(Stdin::new(stop)),
        false => unpacked(files::open_stream(path)?),
    };
    opened.map_err(|error| Failure::io("read", path, &error))
}

/// The bytes of a stream, decompressed if the first bytes mark a compressed format.
fn unpacked(mut stream: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    let mut head = Vec::with_capacity(Packing::HEAD_BYTES);
    stream.by_ref().take(Packing::HEAD_BYTES as u64).read_to_end(&mut head)?;
    let packing = Packing::of(Path::new(""), &head);
    packing.reader(io::Cursor::new(head).chain(stream))
}

/// True if the first line ends like the first line of an object on several lines; otherwise it may be a bad line.
fn continues(head: &[u8]) -> bool {
    let line = head.trim_ascii_start().split(|byte| *byte == b'\n').next().unwrap_or_default();
    matches!(line.trim_ascii_end().last(), Some(b'{' | b'[' | b',' | b':'))
}

/// Reads at least up to the end of the first line that is not empty. Returns all bytes that were read. Reads no
/// further, because a program may write the next line much later.
fn first_line(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut piece = vec![0; 8 << 10];
    while (head.len() as u64) < LOOK_BYTES {
        let read = match stream.read(&mut piece) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        head.extend_from_slice(piece.get(..read).unwrap_or(&[]));
        if read == 0 || head.trim_ascii_start().contains(&b'\n') {
            break;
        }
    }
    Ok(head)
}

/// The decompressed start of a file. Read errors are ignored here; the load reports them.
fn look(packing: Packing, file: FileReader) -> Vec<u8> {
    let mut head = Vec::new();
    if let Ok(reader) = packing.reader(file) {
        let _reported_by_the_load = reader.take(LOOK_BYTES).read_to_end(&mut head);
    }
    head
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

/// Standard input; a signal ends a wait for input. The thread that reads it may be another one than the command's.
struct Stdin {
    input: StandardInput,
    stop: Stop,
}

impl Stdin {
    fn new(stop: &Stop) -> Self {
        Self { input: streams::input(), stop: stop.clone() }
    }
}

impl Read for Stdin {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(SIGNAL_CHECK.subsec_nanos()) };
        loop {
            if self.stop.is_set() {
                return Err(io::Error::other("stopped"));
            }
            match poll(&mut [PollFd::new(&self.input, PollFlags::IN)], Some(&timeout)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => break,
                Err(error) => return Err(error.into()),
            }
        }
        // Bypasses the buffer of the standard library, because `poll` does not see the content of that buffer.
        Ok(rustix::io::read(&self.input, buffer)?)
    }
}
