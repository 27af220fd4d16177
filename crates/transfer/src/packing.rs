//! Compression of the files that are read and written beside databases.

use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;

const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];
const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// Compressed bytes are read and written in pieces of this size.
const PIECE_BYTES: usize = 256 << 10;
/// Dumps are often made with `zstd --long=31`, which looks back over 2 GiB.
const ZSTD_WINDOW_LOG_MAX: u32 = 31;
/// Zstandard's own default.
const ZSTD_LEVEL: i32 = 3;

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// Not at all.
    Plain,
    /// gzip; one member, or several.
    Gzip,
    /// Zstandard; one frame, or several.
    Zstd,
}

impl Packing {
    /// The bytes at the beginning of a file that [`Packing::of`] looks at.
    pub const HEAD_BYTES: usize = 4;

    /// By the ending of its name: `.gz`, `.zst`, `.zstd`.
    ///
    /// ```
    /// use alluvium::Packing;
    ///
    /// assert_eq!(Packing::of_name("pets.jsonl.gz".as_ref()), Packing::Gzip);
    /// assert_eq!(Packing::of_name("pets.jsonl".as_ref()), Packing::Plain);
    /// ```
    pub fn of_name(name: &Path) -> Self {
        match name.extension().and_then(|extension| extension.to_str()) {
            Some("gz") => Self::Gzip,
            Some("zst" | "zstd") => Self::Zstd,
            _ => Self::Plain,
        }
    }

    /// By its first bytes; where these say nothing, by its name, so that a damaged file is an error of
    /// its compression and not of what is in it.
    ///
    /// ```
    /// use alluvium::Packing;
    ///
    /// let zstd = [0x28, 0xb5, 0x2f, 0xfd]; // whatever the name says
    /// assert_eq!(Packing::of("pets.jsonl".as_ref(), &zstd), Packing::Zstd);
    /// ```
    pub fn of(name: &Path, head: &[u8]) -> Self {
        if head.starts_with(ZSTD_MAGIC) {
            return Self::Zstd;
        }
        if head.starts_with(GZIP_MAGIC) {
            return Self::Gzip;
        }
        Self::of_name(name)
    }

    /// Reads what a stream holds, decompressed.
    ///
    /// ```
    /// use alluvium::Packing;
    /// use std::io::{Read, Write};
    ///
    /// let mut packer = Packing::Gzip.writer(Vec::new())?;
    /// packer.write_all(b"text")?;
    /// let packed = std::io::Cursor::new(packer.finish()?);
    /// let mut text = String::new();
    /// Packing::Gzip.reader(packed)?.read_to_string(&mut text)?;
    /// assert_eq!(text, "text");
    /// # std::io::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// What setting up the decompression says.
    pub fn reader(self, packed: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
        let packed = BufReader::with_capacity(PIECE_BYTES, packed);
        Ok(match self {
            Self::Plain => Box::new(packed),
            Self::Gzip => Box::new(Unpacked { inner: GzipMembers::new(packed), form: "gzip", bytes: 0 }),
            Self::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(packed)?;
                decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
                Box::new(Unpacked { inner: decoder, form: "zstd", bytes: 0 })
            }
        })
    }

    /// Writes to a stream, compressed.
    ///
    /// ```
    /// use alluvium::Packing;
    /// use std::io::Write;
    ///
    /// let mut packer = Packing::Zstd.writer(Vec::new())?;
    /// packer.write_all(b"text")?;
    /// let packed = packer.finish()?;
    /// assert_eq!(Packing::of("".as_ref(), &packed), Packing::Zstd);
    /// # std::io::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// What setting up the compression says.
    pub fn writer<W: Write>(self, out: W) -> io::Result<Packer<W>> {
        let out = BufWriter::with_capacity(PIECE_BYTES, out);
        Ok(Packer(match self {
            Self::Plain => Form::Plain(out),
            Self::Gzip => Form::Gzip(GzEncoder::new(out, flate2::Compression::default())),
            Self::Zstd => Form::Zstd(zstd::stream::write::Encoder::new(out, ZSTD_LEVEL)?),
        }))
    }
}

/// Reads the members of a gzip file, one after the other. What stands behind the last one and is none is no cut.
struct GzipMembers<R: BufRead> {
    /// Nothing at the end.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> GzipMembers<R> {
    fn new(packed: R) -> Self {
        Self { member: Some(GzDecoder::new(packed)) }
    }
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let read = member.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            let Some(mut rest) = self.member.take().map(GzDecoder::into_inner) else { break };
            match rest.fill_buf()? {
                [] => break,
                [0x1f] | [0x1f, 0x8b, ..] => self.member = Some(GzDecoder::new(rest)),
                _ => {
                    let what =
                        "behind the end of its gzip stream stand bytes that are no gzip: what is before them is whole";
                    return Err(io::Error::new(io::ErrorKind::InvalidData, what));
                }
            }
        }
        Ok(0)
    }
}

/// A stream that is read decompressed, and says so if it ends before it is whole.
struct Unpacked<R> {
    inner: R,
    form: &'static str,
    /// So many were given out.
    bytes: u64,
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                let what = format!("it ends early: its {} stream is cut off behind {} bytes", self.form, self.bytes);
                io::Error::new(io::ErrorKind::UnexpectedEof, format!("{what} of what it holds"))
            }
            _ => error,
        })?;
        self.bytes += read as u64;
        Ok(read)
    }
}

/// A stream that is written compressed. What is not [finished](Packer::finish) is not whole.
pub struct Packer<W: Write>(Form<W>);

enum Form<W: Write> {
    Plain(BufWriter<W>),
    Gzip(GzEncoder<BufWriter<W>>),
    Zstd(zstd::stream::write::Encoder<'static, BufWriter<W>>),
}

impl<W: Write> Packer<W> {
    /// Writes what is left, and gives the stream below.
    ///
    /// ```
    /// let packer = alluvium::Packing::Plain.writer(Vec::new())?;
    /// assert!(packer.finish()?.is_empty());
    /// # std::io::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// What writing says.
    pub fn finish(self) -> io::Result<W> {
        let buffered = match self.0 {
            Form::Plain(out) => out,
            Form::Gzip(out) => out.finish()?,
            Form::Zstd(out) => out.finish()?,
        };
        buffered.into_inner().map_err(io::IntoInnerError::into_error)
    }
}

impl<W: Write> Write for Packer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Form::Plain(out) => out.write(bytes),
            Form::Gzip(out) => out.write(bytes),
            Form::Zstd(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Form::Plain(out) => out.flush(),
            Form::Gzip(out) => out.flush(),
            Form::Zstd(out) => out.flush(),
        }
    }
}

#[cfg(test)]
mod tests;
